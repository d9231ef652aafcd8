// SPDX-License-Identifier: Apache-2.0

/// How far each partition of a topic has been read, for a reader that stops where the logs ended when it began.
///
/// The last offsets below such an end may never come: transaction markers are no records, and an open transaction holds
/// records back. A partition that stays at its end counts as read, whatever comes from the others meanwhile.
struct ReadProgress: Sendable {
  /// How long a partition has to stay at its end, in milliseconds.
  static let quiet: UInt64 = 1_000

  /// The next offset of each partition.
  private var expected: [Int64] = []
  /// When each was read to its end, in monotonic milliseconds; nil if records came since.
  private var endedAt: [UInt64?] = []

  /// Adds the next partition.
  mutating func begin(at offset: Int64) {
    expected.append(offset)
    endedAt.append(nil)
  }

  /// Notes a record.
  ///
  /// - Returns: how many offsets were skipped before it.
  mutating func read(_ partition: Int32, _ offset: Int64) -> Int {
    let skipped = offset - expected[Int(partition)]
    expected[Int(partition)] = offset + 1
    endedAt[Int(partition)] = nil
    return Int(max(0, skipped))
  }

  /// Notes that a partition was read to its end (`now`: monotonic milliseconds).
  mutating func ended(_ partition: Int32, now: UInt64) { endedAt[Int(partition)] = now }

  /// True if each partition has been read up to the offset that `ends` has for it, as far as its records come.
  func hasRead(to ends: [Int64], now: UInt64) -> Bool {
    for (partition, end) in ends.enumerated()
    where partition < expected.count && expected[partition] < end {
      guard let endedAt = endedAt[partition], now >= endedAt + Self.quiet else { return false }
    }
    return true
  }
}
