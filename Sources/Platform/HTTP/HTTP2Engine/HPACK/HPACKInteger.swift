// SPDX-License-Identifier: Apache-2.0

/// A header block that cannot be read; the connection ends with COMPRESSION_ERROR (RFC 7541 §2.1, RFC 9113 §4.3).
public enum HPACKError: Error, Sendable, Equatable {
  /// The block ends inside a field.
  case truncated
  /// An integer above 2²⁸, which no length or index reaches.
  case integerTooLarge
  /// There is no entry with this index.
  case noSuchEntry
  /// Huffman padding of more than seven bits or other than ones, or the end-of-string symbol.
  case invalidHuffman
  /// A change of the table's size above what was announced, or behind a field.
  case invalidSizeUpdate
  /// A field is larger than the limit for all fields together.
  case listTooLarge
}

/// Integers with a prefix of 1…8 bits (RFC 7541 §5.1).
enum HPACKInteger {
  /// Appends a value of 0…2³¹−1 whose first byte also holds `flags` above the prefix.
  @inline(__always)
  static func append(
    _ value: Int, prefix bits: Int, flags: UInt8, to out: inout OutputSpan<UInt8>
  ) {
    let mask = 1 << bits - 1
    guard value >= mask else { return out.append(flags | UInt8(truncatingIfNeeded: value)) }
    out.append(flags | UInt8(truncatingIfNeeded: mask))
    var rest = value - mask
    while rest >= 0x80 {
      out.append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    out.append(UInt8(truncatingIfNeeded: rest))
  }

  /// Reads a value and goes past it.
  @inline(__always)
  static func read(
    _ bytes: Span<UInt8>, at position: inout Int, prefix bits: Int
  ) throws(HPACKError) -> Int {
    guard position < bytes.count else { throw .truncated }
    let mask = 1 << bits - 1
    let first = Int(bytes[position]) & mask
    position += 1
    guard first == mask else { return first }
    return try readRest(bytes, at: &position, from: mask)
  }

  /// Four more bytes hold 28 bits; a longer form is refused, even if it only has zeros.
  private static func readRest(
    _ bytes: Span<UInt8>, at position: inout Int, from mask: Int
  ) throws(HPACKError) -> Int {
    var value = mask
    for shift in stride(from: 0, to: 28, by: 7) {
      guard position < bytes.count else { throw .truncated }
      let byte = bytes[position]
      position += 1
      value += Int(byte & 0x7F) << shift
      if byte < 0x80 { return value }
    }
    throw .integerTooLarge
  }
}
