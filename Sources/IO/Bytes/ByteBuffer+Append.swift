// SPDX-License-Identifier: Apache-2.0

extension ByteBuffer {
  @inlinable
  package mutating func append(_ byte: UInt8) {
    reserve(1)
    storage.storeBytes(of: byte, toByteOffset: end, as: UInt8.self)
    end += 1
  }

  /// Appends the UTF-8 of a literal.
  @inlinable
  package mutating func append(_ text: StaticString) {
    append(UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
  }

  @inlinable
  package mutating func append(_ bytes: UnsafeRawBufferPointer) {
    guard let base = bytes.baseAddress, bytes.count > 0 else { return }
    reserve(bytes.count)
    (storage + end).copyMemory(from: base, byteCount: bytes.count)
    end += bytes.count
  }

  @inlinable
  package mutating func append(_ bytes: [UInt8]) {
    bytes.withUnsafeBytes { append($0) }
  }

  @inlinable
  package mutating func append(_ bytes: Span<UInt8>) {
    bytes.withUnsafeBytes { append($0) }
  }

  /// Appends the UTF-8 of a string: for cold paths, a `StaticString` literal costs less.
  @inlinable
  @_disfavoredOverload
  package mutating func append(_ text: String) {
    var copy = text
    copy.withUTF8 { append(UnsafeRawBufferPointer($0)) }
  }

  /// Appends an integer in decimal digits, with a minus sign if it is negative.
  @inlinable
  package mutating func append(decimal value: Int64) {
    if value < 0 { append(0x2D) }
    append(decimalMagnitude: value.magnitude)
  }

  /// Appends an unsigned integer in decimal digits.
  @inlinable
  package mutating func append(decimalMagnitude value: UInt64) {
    reserve(20)
    var digits = 1
    var bound: UInt64 = 10
    // Twenty digits are the most that fit; their bound, which does not, is never looked at.
    while digits < 20 && value >= bound {
      digits += 1
      bound = bound &* 10
    }
    var rest = value
    var position = end + digits
    end = position
    repeat {
      position -= 1
      let (quotient, digit) = rest.quotientAndRemainder(dividingBy: 10)
      storage.storeBytes(of: 0x30 + UInt8(digit), toByteOffset: position, as: UInt8.self)
      rest = quotient
    } while rest > 0
  }

  /// Appends bytes as lower-case hexadecimal digits, two a byte.
  @inlinable
  package mutating func append(hex bytes: UnsafeRawBufferPointer) {
    reserve(bytes.count * 2)
    for byte in bytes {
      append(hexDigit: byte >> 4)
      append(hexDigit: byte & 15)
    }
  }

  /// Appends one lower-case hexadecimal digit; `value` is 0…15.
  @inlinable
  package mutating func append(hexDigit value: UInt8) {
    append(value < 10 ? 0x30 + value : 0x57 + value)
  }

  /// Appends the content of a JSON string (RFC 8259 §7), without its quotes: `"`, `\` and the control
  /// characters are escaped, everything else is copied as it is.
  @inlinable
  package mutating func append(jsonEscaped bytes: UnsafeRawBufferPointer) {
    var plain = 0
    for index in 0..<bytes.count {
      let byte = bytes[index]
      if byte >= 0x20 && byte != 0x22 && byte != 0x5C { continue }
      append(UnsafeRawBufferPointer(rebasing: bytes[plain..<index]))
      append(jsonEscape: byte)
      plain = index + 1
    }
    append(UnsafeRawBufferPointer(rebasing: bytes[plain...]))
  }

  @usableFromInline
  mutating func append(jsonEscape byte: UInt8) {
    append(0x5C)
    switch byte {
    case 0x22, 0x5C: append(byte)
    case 0x08: append(UInt8(ascii: "b"))
    case 0x09: append(UInt8(ascii: "t"))
    case 0x0A: append(UInt8(ascii: "n"))
    case 0x0C: append(UInt8(ascii: "f"))
    case 0x0D: append(UInt8(ascii: "r"))
    default:
      append("u00")
      append(hexDigit: byte >> 4)
      append(hexDigit: byte & 15)
    }
  }
}
