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

  /// Appends an unsigned integer in decimal digits.
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
    var start = 0
    while true {
      let end = Self.nextEscape(in: bytes, from: start)
      append(UnsafeRawBufferPointer(rebasing: bytes[start..<end]))
      if end == bytes.count { return }
      append(jsonEscape: bytes[end])
      start = end + 1
    }
  }

  /// The position of the next byte that a JSON string has to escape, or the end. Looks at eight bytes per step: a byte
  /// below 0x20, `"` or `\` sets the high bit of its place (a borrow may set a higher one as well, and then the bytes
  /// are looked at one by one).
  @inlinable
  static func nextEscape(in bytes: UnsafeRawBufferPointer, from start: Int) -> Int {
    let ones: UInt64 = 0x0101_0101_0101_0101
    var index = start
    guard let base = bytes.baseAddress else { return start }
    while index &+ 8 <= bytes.count {
      let word = base.loadUnaligned(fromByteOffset: index, as: UInt64.self)
      let quote = word ^ (ones &* 0x22)
      let backslash = word ^ (ones &* 0x5C)
      let hits =
        (quote &- ones) & ~quote | (backslash &- ones) & ~backslash
        | (word &- ones &* 0x20) & ~word
      if hits & (ones &* 0x80) != 0 { break }
      index &+= 8
    }
    while index < bytes.count {
      let byte = bytes[index]
      if byte < 0x20 || byte == 0x22 || byte == 0x5C { return index }
      index += 1
    }
    return index
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
