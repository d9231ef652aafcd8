// SPDX-License-Identifier: Apache-2.0

/// The versions of librdkafka that the programs refuse to work with.
extension LibraryVersion {
  /// The reason why this version of librdkafka is refused, as librdkafka's own change log has it; nil if it is not.
  public var refusalAsLibrdkafka: String? {
    Self.badLibrdkafkas.first { $0.version == self }.map {
      "librdkafka \($0.version) is refused: \($0.reason); install \($0.mended) or newer"
    }
  }

  /// The refused versions, oldest first, with the first one that is mended.
  static let badLibrdkafkas: [(version: Self, reason: String, mended: Self)] = [
    (
      Self(2, 1, 0),
      "taking events does not count as polling, so that a member whose partitions hold no records is put"
        + " out of its group after max.poll.interval.ms (its change log, 2.1.1)", Self(2, 1, 1)
    ),
    (
      Self(2, 5, 0),
      "it ends the process on an assertion when the brokers ask clients for metrics (librdkafka#4833)",
      Self(2, 5, 3)
    ),
    (
      Self(2, 10, 0),
      "once all brokers were away, it asks the bootstrap servers again and again and does not come"
        + " back (librdkafka#5088), and it can corrupt memory meanwhile (#5051)", Self(2, 10, 1)
    ),
  ]
}
