// SPDX-License-Identifier: Apache-2.0
public import APNS
import Bytes
import Glibc

/// The facts that the audit needs from a delivered notification's receipt, read from a line as `ReceiptEncoder` writes
/// it. Nearly all receipts are like this, and parsing one as JSON costs as much as sending the notification.
public struct DeliveredLine: Equatable {
  public let id: NotificationID
  /// The time of the request, and that of the outcome, in milliseconds since the epoch.
  public let created: Int64
  public let at: Int64

  /// Returns nil for any other line, which must be parsed as JSON.
  public init?(_ line: UnsafeRawBufferPointer) {
    let begin = UnsafeRawBufferPointer("{\"outcome\":\"delivered\",\"apns_id\":\"" as StaticString)
    let idEnd = begin.count + NotificationID.textLength
    guard line.count > idEnd, memcmp(line.baseAddress!, begin.baseAddress!, begin.count) == 0,
      line[idEnd] == UInt8(ascii: "\""),
      let id = NotificationID(
        UnsafeRawBufferPointer(rebasing: line[begin.count..<idEnd]).bindMemory(to: UInt8.self).span)
    else { return nil }
    // No string can contain the key: a quotation mark in it is escaped.
    let last = UnsafeRawBufferPointer(rebasing: line.suffix(Self.numbers))
    guard let created = Self.number("\"created\":", in: last),
      let at = Self.number("\"at\":", in: last)
    else { return nil }
    (self.id, self.created, self.at) = (id, created, at)
  }

  /// The number of bytes at the end of a line that contain its times, whatever other numbers there are.
  private static let numbers = 160

  /// Reads the number of a key; nil if it is absent or has more than 18 digits.
  private static func number(_ key: StaticString, in text: UnsafeRawBufferPointer) -> Int64? {
    let key = UnsafeRawBufferPointer(key)
    guard var place = find(key, in: text) else { return nil }
    var (value, digits): (Int64, Int) = (0, 0)
    while place < text.count, text[place] &- 0x30 < 10, digits <= 18 {
      value = value * 10 + Int64(text[place] &- 0x30)
      digits += 1
      place += 1
    }
    return digits > 0 && digits <= 18 ? value : nil
  }

  /// The position after a key, which starts with a quotation mark; nil if it is absent.
  private static func find(_ key: UnsafeRawBufferPointer, in text: UnsafeRawBufferPointer) -> Int? {
    guard let base = text.baseAddress, let wanted = key.baseAddress else { return nil }
    var place = 0
    while place + key.count <= text.count {
      guard let quote = memchr(base + place, 0x22, text.count - place) else { return nil }
      place = UnsafeRawPointer(quote) - base
      guard place + key.count <= text.count else { return nil }
      if memcmp(quote, wanted, key.count) == 0 { return place + key.count }
      place += 1
    }
    return nil
  }
}
