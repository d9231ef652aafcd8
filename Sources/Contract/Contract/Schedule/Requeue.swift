// SPDX-License-Identifier: Apache-2.0

/// Marks a released request that ingest has handed back because it was not due. Of two with the same key, the one with
/// the newer request counts, then the later one: a rewritten earlier one may come last, followed by the tombstone
/// of its release. Times are milliseconds since the epoch, as in the record.
public struct Requeue: Comparable, Sendable {
  /// When the request was written.
  public let written: Int64
  /// Ingest's clock when it handed the request back (`SendTime.requeue`).
  public let at: Int64

  public init(written: Int64, at: Int64) { (self.written, self.at) = (written, at) }

  /// Reads the value of a schedule record; nil if it is not a request that was handed back.
  public init?(value: borrowing Span<UInt8>) {
    guard value.count > 3, value[0] == UInt8(ascii: "S"), value[1] == UInt8(ascii: "1") else {
      return nil
    }
    // The tabs after the first four fields.
    var tabs: (Int, Int, Int, Int) = (0, 0, 0, 0)
    var (count, index) = (0, 2)
    while count < 4, index < value.count, value[index] != UInt8(ascii: "\n") {
      if value[index] == UInt8(ascii: "\t") {
        count += 1
        tabs = (tabs.1, tabs.2, tabs.3, index)
      }
      index += 1
    }
    guard count == 4, tabs.0 == 2, tabs.2 + 1 < tabs.3,
      let written = Self.number(value, tabs.1 + 1..<tabs.2),
      let at = Self.number(value, tabs.2 + 1..<tabs.3)
    else { return nil }
    self.init(written: written, at: at)
  }

  private static func number(_ value: borrowing Span<UInt8>, _ range: Range<Int>) -> Int64? {
    guard !range.isEmpty else { return nil }
    return Int64(String(decoding: range.map { value[$0] }, as: UTF8.self))
  }

  public static func < (one: Requeue, other: Requeue) -> Bool {
    (one.written, one.at) < (other.written, other.at)
  }
}
