// SPDX-License-Identifier: Apache-2.0

internal import Contract
internal import Glibc

/// Reads a record in exactly the form in which Martlet writes it: members in order, nothing between them, ASCII texts
/// without escapes. It is not a parser: any other form, valid or not, is left to one. It costs a tenth.
struct WrittenRecord {
  private let bytes: UnsafeRawBufferPointer
  private var place = 0

  init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

  var isAtEnd: Bool { place == bytes.count }

  /// Skips these bytes; false, without moving, if others follow.
  @inline(__always)
  mutating func takes(_ literal: StaticString) -> Bool {
    let count = literal.utf8CodeUnitCount
    guard let base = bytes.baseAddress, bytes.count - place >= count,
      memcmp(base + place, literal.utf8Start, count) == 0
    else { return false }
    place += count
    return true
  }

  /// A text up to its closing quote; nil if it has an escape, a control character, or is not ASCII.
  mutating func text() -> UnsafeRawBufferPointer? {
    guard let base = bytes.baseAddress else { return nil }
    let start = place
    var end = start
    // Eight bytes per step. A byte that ends the text or is not allowed sets its high bit; a borrow may also set a
    // higher one, and then the bytes are checked one by one.
    let ones: UInt64 = 0x0101_0101_0101_0101
    while end &+ 8 <= bytes.count {
      let word = base.loadUnaligned(fromByteOffset: end, as: UInt64.self)
      let quote = word ^ (ones &* 0x22)
      let backslash = word ^ (ones &* 0x5C)
      let hits = (quote &- ones) | (backslash &- ones) | (word &- ones &* 0x20) | word
      if hits & (ones &* 0x80) != 0 { break }
      end &+= 8
    }
    while end < bytes.count {
      let byte = bytes[end]
      if byte == UInt8(ascii: "\"") {
        place = end
        return UnsafeRawBufferPointer(start: base + start, count: end - start)
      }
      guard byte >= 0x20, byte < 0x80, byte != UInt8(ascii: "\\") else { return nil }
      end &+= 1
    }
    return nil
  }

  /// A text after these bytes: nil if it is malformed, `.some(nil)` if other bytes follow.
  mutating func text(after literal: StaticString) -> UnsafeRawBufferPointer?? {
    guard takes(literal) else { return .some(nil) }
    return text().map { .some($0) }
  }

  /// A non-empty text.
  mutating func filledText() -> UnsafeRawBufferPointer? {
    guard let text = text(), !text.isEmpty else { return nil }
    return text
  }

  /// A number from 0 to `limit`, of at most 15 digits.
  mutating func number(upTo limit: Int64) -> Int64? {
    let start = place
    var value: Int64 = 0
    while place < bytes.count, bytes[place] &- 0x30 < 10 {
      value = value &* 10 &+ Int64(bytes[place] &- 0x30)
      place += 1
      guard place - start <= 15 else { return nil }
    }
    guard place > start, bytes[start] != 0x30 || place == start + 1, value <= limit else {
      return nil
    }
    return value
  }

  /// A number after these bytes: nil if it is malformed, `.some(nil)` if other bytes follow.
  mutating func number(after literal: StaticString, upTo limit: Int64) -> Int64?? {
    guard takes(literal) else { return .some(nil) }
    return number(upTo: limit).map { .some($0) }
  }

  /// A time in milliseconds since the epoch (`OutsideTime`).
  mutating func time() -> Int64? {
    guard let time = number(upTo: OutsideTime.last), OutsideTime.problem(time) == nil else {
      return nil
    }
    return time
  }

  /// A time after these bytes: nil if it is malformed, `.some(nil)` if other bytes follow.
  mutating func time(after literal: StaticString) -> Int64?? {
    guard takes(literal) else { return .some(nil) }
    return time().map { .some($0) }
  }

  /// `production` or `sandbox`.
  mutating func environment() -> Environment? {
    if takes("production") { return .production }
    return takes("sandbox") ? .sandbox : nil
  }

  /// The members of a device that begin a record, up to the quote after its environment.
  mutating func device() -> WrittenDevice? {
    guard takes(#"{"token":""#), let token = text(), WrittenDevice.isToken(token),
      takes(#"","app":""#), let app = filledText(), takes(#"","environment":""#),
      let environment = environment()
    else { return nil }
    return WrittenDevice(token: token, app: app, environment: environment)
  }
}

/// A device as views of a record.
struct WrittenDevice {
  let token: UnsafeRawBufferPointer
  let app: UnsafeRawBufferPointer
  let environment: Environment

  /// True for the lower-case form of a token.
  static func isToken(_ text: UnsafeRawBufferPointer) -> Bool {
    guard (try? DeviceToken.validateLength(text.count)) != nil else { return false }
    var invalid: UInt8 = 0
    for byte in text { invalid |= HexDigit.isNone(byte) | (byte &- UInt8(ascii: "A") < 6 ? 1 : 0) }
    return invalid == 0
  }

  var key: DeviceKey {
    let name = UnsafeRawBufferPointer(
      start: environment.name.utf8Start, count: environment.name.utf8CodeUnitCount)
    let count = token.count + app.count + name.count + 2
    let text = String(unsafeUninitializedCapacity: count) { buffer in
      let buffer = UnsafeMutableRawBufferPointer(buffer)
      buffer.copyMemory(from: token)
      buffer[token.count] = UInt8(ascii: ":")
      let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[(token.count + 1)...])
      rest.copyMemory(from: app)
      rest[app.count] = UInt8(ascii: ":")
      UnsafeMutableRawBufferPointer(rebasing: rest[(app.count + 1)...]).copyMemory(from: name)
      return count
    }
    return DeviceKey(text: text, tokenBytes: token.count, environment: environment)
  }

  /// True if this is the device's key.
  func isKey(_ key: UnsafeRawBufferPointer) -> Bool {
    let name = environment.name
    guard let start = key.baseAddress,
      key.count == token.count + app.count + name.utf8CodeUnitCount + 2
    else { return false }
    let rest = start + token.count + 1
    return memcmp(start, token.baseAddress!, token.count) == 0
      && key[token.count] == UInt8(ascii: ":") && memcmp(rest, app.baseAddress!, app.count) == 0
      && key[token.count + 1 + app.count] == UInt8(ascii: ":")
      && memcmp(rest + app.count + 1, name.utf8Start, name.utf8CodeUnitCount) == 0
  }

  func isDevice(_ device: DeviceKey) -> Bool {
    guard device.environment == environment, device.tokenBytes == token.count,
      device.appBytes.count == app.count
    else { return false }
    return device.description.utf8.withContiguousStorageIfAvailable { text in
      memcmp(text.baseAddress!, token.baseAddress!, token.count) == 0
        && memcmp(text.baseAddress! + token.count + 1, app.baseAddress!, app.count) == 0
    } ?? false
  }
}

extension UnsafeRawBufferPointer {
  var asciiText: String { String(decoding: self, as: UTF8.self) }
}
