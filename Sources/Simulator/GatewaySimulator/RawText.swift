// SPDX-License-Identifier: Apache-2.0
import Contract
import Glibc

/// Parses header values in place, without creating strings.
extension UnsafeRawBufferPointer {
  func spells(_ text: StaticString) -> Bool {
    guard count == text.utf8CodeUnitCount, let start = baseAddress else { return false }
    return memcmp(start, text.utf8Start, count) == 0
  }

  func equals(_ bytes: [UInt8]) -> Bool {
    guard count == bytes.count, let start = baseAddress else { return false }
    return bytes.withUnsafeBytes { other in
      guard let otherStart = other.baseAddress else { return true }
      return memcmp(start, otherStart, count) == 0
    }
  }

  func hasSuffix(_ text: StaticString) -> Bool {
    let size = text.utf8CodeUnitCount
    guard size > 0 else { return true }
    // The suffix must not be the whole text.
    guard count > size, let start = baseAddress else { return false }
    return memcmp(start + (count - size), text.utf8Start, size) == 0
  }

  func hasSuffix(_ text: String) -> Bool {
    text.isEmpty || count > text.utf8.count && suffix(text.utf8.count).elementsEqual(text.utf8)
  }

  /// A decimal integer of 1…19 digits and nothing else.
  var decimal: Int64? {
    guard count > 0, count <= 19 else { return nil }
    var value: UInt64 = 0
    for byte in self {
      let digit = byte &- UInt8(ascii: "0")
      guard digit < 10 else { return nil }
      value = value &* 10 &+ UInt64(digit)
    }
    return Int64(exactly: value)
  }

  var text: String { String(decoding: self, as: UTF8.self) }

  func withSpan<Result>(_ body: (Span<UInt8>) -> Result) -> Result {
    body(
      UnsafeBufferPointer(
        start: baseAddress?.assumingMemoryBound(to: UInt8.self), count: count
      ).span)
  }

  func pushType(in types: PushTypes) -> PushType? { withSpan { types.find($0) } }

  /// A notification id; the caller checks the length.
  var id: NotificationID? { withSpan { NotificationID($0) } }

  var isDeviceToken: Bool {
    withSpan { span in
      do throws(DeviceToken.Problem) {
        try DeviceToken.validate(span)
        return true
      } catch {
        return false
      }
    }
  }

  /// FNV-1a over letters in lower case, for hash tables that compare the bytes afterwards.
  var foldedHash: UInt64 {
    var hash: UInt64 = 0xCBF2_9CE4_8422_2325
    for byte in self { hash = (hash ^ UInt64(byte | 0x20)) &* 0x0000_0100_0000_01B3 }
    return hash
  }
}

extension UnsafeRawBufferPointer? {
  func spells(_ text: StaticString) -> Bool { self?.spells(text) ?? false }
}
