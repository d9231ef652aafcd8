// SPDX-License-Identifier: Apache-2.0

extension UnsafeRawBufferPointer {
  /// The UTF-8 of a literal, which lives as long as the program.
  @inlinable
  public init(_ text: StaticString) {
    self.init(start: text.utf8Start, count: text.utf8CodeUnitCount)
  }
}

extension ByteBuffer {
  @inlinable @inline(__always)
  public mutating func append(_ byte: UInt8) {
    reserve(1)
    storage.storeBytes(of: byte, toByteOffset: end, as: UInt8.self)
    end += 1
  }

  /// Appends the UTF-8 of a literal. Where it is inlined its length is known, and a few stores copy it.
  @inlinable @inline(__always)
  public mutating func append(_ text: StaticString) {
    append(UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
  }

  @inlinable
  public mutating func append(_ bytes: UnsafeRawBufferPointer) {
    guard let base = bytes.baseAddress, bytes.count > 0 else { return }
    reserve(bytes.count)
    (storage + end).copyMemory(from: base, byteCount: bytes.count)
    end += bytes.count
  }

  @inlinable
  public mutating func append(_ bytes: [UInt8]) {
    bytes.withUnsafeBytes { append($0) }
  }

  @inlinable
  public mutating func append(_ bytes: Span<UInt8>) {
    bytes.withUnsafeBytes { append($0) }
  }

  /// Appends the UTF-8 of a string: for cold paths, a `StaticString` literal costs less.
  @inlinable
  @_disfavoredOverload
  public mutating func append(_ text: String) {
    var copy = text
    copy.withUTF8 { append(UnsafeRawBufferPointer($0)) }
  }

  /// Appends an integer in decimal digits, with a minus sign if it is negative.
  @inlinable
  public mutating func append(decimal value: Int64) {
    if value < 0 { append(0x2D) }
    append(decimalMagnitude: value.magnitude)
  }

  @inlinable
  public mutating func append(decimalMagnitude value: UInt64) {
    reserve(20)
    // Times in milliseconds have thirteen digits, and are most of what is written.
    if value >= 1_000_000_000_000 && value < 10_000_000_000_000 {
      let (first, last) = value.quotientAndRemainder(dividingBy: 100_000_000)
      let digits = Self.eightDigits(first) >> 24
      storage.storeBytes(of: digits.littleEndian, toByteOffset: end, as: UInt64.self)
      let rest = Self.eightDigits(last)
      storage.storeBytes(of: rest.littleEndian, toByteOffset: end + 5, as: UInt64.self)
      end += 13
      return
    }
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
    while rest >= 100 {
      let (quotient, pair) = rest.quotientAndRemainder(dividingBy: 100)
      position -= 2
      storeDigits(UInt8(truncatingIfNeeded: pair), at: position)
      rest = quotient
    }
    if rest >= 10 {
      storeDigits(UInt8(truncatingIfNeeded: rest), at: position - 2)
    } else {
      storage.storeBytes(
        of: 0x30 + UInt8(truncatingIfNeeded: rest), toByteOffset: position - 1, as: UInt8.self)
    }
  }

  /// The digits of a number below 10⁸, the first one in the lowest byte, with zeros in front: halves, then pairs, then
  /// digits side by side.
  @inlinable
  static func eightDigits(_ value: UInt64) -> UInt64 {
    let high = value / 10_000
    let fours = high | (value &- high &* 10_000) << 32
    let hundreds = (fours &* 5_243) >> 19 & 0x0000_007F_0000_007F
    let pairs = hundreds | (fours &- hundreds &* 100) << 16
    let tens = (pairs &* 103) >> 10 & 0x000F_000F_000F_000F
    return (tens | (pairs &- tens &* 10) << 8) | 0x3030_3030_3030_3030
  }

  /// Writes a number below 100 as two digits.
  @inlinable
  mutating func storeDigits(_ value: UInt8, at position: Int) {
    let tens = UInt16(value / 10)
    let pair = 0x3030 &+ tens &+ (UInt16(value) &- tens &* 10) << 8
    storage.storeBytes(of: pair.littleEndian, toByteOffset: position, as: UInt16.self)
  }

  /// Appends bytes as lower-case hexadecimal digits, two a byte.
  @inlinable
  public mutating func append(hex bytes: UnsafeRawBufferPointer) {
    reserve(bytes.count * 2)
    for byte in bytes {
      append(hexDigit: byte >> 4)
      append(hexDigit: byte & 15)
    }
  }

  /// Appends one lower-case hexadecimal digit; `value` is 0…15.
  @inlinable
  public mutating func append(hexDigit value: UInt8) {
    append(value < 10 ? 0x30 + value : 0x57 + value)
  }

  /// Appends the content of a JSON string (RFC 8259 §7), without its quotes: `"`, `\` and the control
  /// characters are escaped, everything else is copied as it is.
  @inlinable
  public mutating func append(jsonEscaped bytes: UnsafeRawBufferPointer) {
    guard Self.hasEscapes(bytes) else { return append(bytes) }
    var start = 0
    for (index, byte) in bytes.enumerated() where Self.escapeMark(byte) != 0 {
      append(UnsafeRawBufferPointer(rebasing: bytes[start..<index]))
      append(jsonEscape: byte)
      start = index + 1
    }
    append(UnsafeRawBufferPointer(rebasing: bytes[start...]))
  }

  /// Not 0 for a byte that has to be escaped. Without a branch, so that the compiler looks at many at once.
  @inlinable @inline(__always)
  static func escapeMark(_ byte: UInt8) -> UInt8 {
    (byte < 0x20 ? 1 : 0) | (byte == 0x22 ? 1 : 0) | (byte == 0x5C ? 1 : 0)
  }

  @inlinable @inline(__always)
  static func hasEscapes(_ bytes: UnsafeRawBufferPointer) -> Bool {
    var found: UInt8 = 0
    for byte in bytes { found |= escapeMark(byte) }
    return found != 0
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
