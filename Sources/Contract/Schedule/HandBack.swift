// SPDX-License-Identifier: Apache-2.0

/// That ingest has handed a released request back, because its time had not come. Of two of one key that with the newer
/// request counts, then the later one: what is written again of an earlier one may come last, and the tombstone of that
/// one's release after it. Times are milliseconds since the epoch, as the record has them.
public struct HandBack: Comparable, Sendable {
  /// When the request was written.
  public let written: Int64
  /// Ingest's clock when it handed the request back (`SendTime.handBack`).
  public let at: Int64

  public init(written: Int64, at: Int64) { (self.written, self.at) = (written, at) }

  /// Reads the value of a record of the schedule; nil if it is none of a request that was handed back.
  public init?(value: some Collection<UInt8>) {
    let fields = value.prefix { $0 != UInt8(ascii: "\n") }.split(
      separator: UInt8(ascii: "\t"), maxSplits: 4, omittingEmptySubsequences: false)
    guard fields.count == 5, fields[0].elementsEqual("S1".utf8),
      let written = Int64(String(decoding: fields[2], as: UTF8.self)),
      let at = Int64(String(decoding: fields[3], as: UTF8.self))
    else { return nil }
    self.init(written: written, at: at)
  }

  public static func < (one: HandBack, other: HandBack) -> Bool {
    (one.written, one.at) < (other.written, other.at)
  }
}
