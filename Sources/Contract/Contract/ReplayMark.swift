// SPDX-License-Identifier: Apache-2.0

/// The mark of a record created from a dead letter or a receipt: its `PARTITION/OFFSET` on its topic. The record keeps
/// it through retries, and its receipts contain it.
public enum ReplayMark {
  /// The most bytes of a mark: the largest partition and offset.
  public static let longest = 30

  /// The mark for the dead letter or receipt at this position of its topic.
  public static func text(partition: Int32, offset: Int64) -> String { "\(partition)/\(offset)" }

  /// True if these bytes are a mark: digits, a slash, digits.
  public static func isMark(_ text: Span<UInt8>) -> Bool {
    guard text.count <= longest else { return false }
    var digits = 0
    var slashes = 0
    for index in 0..<text.count {
      if text[index] &- 0x30 < 10 {
        digits += 1
      } else {
        guard text[index] == UInt8(ascii: "/"), digits > 0, slashes == 0 else { return false }
        slashes = 1
        digits = 0
      }
    }
    return slashes == 1 && digits > 0
  }

  /// The id under which a record with this mark is deduplicated: a different one for each replay.
  public static func mix(_ id: NotificationID, _ mark: Span<UInt8>) -> NotificationID {
    // FNV-1a of the mark.
    var hash: UInt64 = 0xCBF2_9CE4_8422_2325
    for index in 0..<mark.count { hash = (hash ^ UInt64(mark[index])) &* 0x0000_0100_0000_01B3 }
    return NotificationID(high: id.high ^ hash, low: id.low)
  }
}
