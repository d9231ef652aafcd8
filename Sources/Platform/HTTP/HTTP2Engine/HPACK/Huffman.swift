// SPDX-License-Identifier: Apache-2.0

/// Strings in the Huffman code (RFC 7541 §5.2, Appendix B).
struct Huffman {
  private let codes = HuffmanCode.codes
  /// By the next eight bits: the byte they begin with and, in the low eight bits, the bits of its code; 0 for a code
  /// of more than eight bits.
  private var short = [UInt16](repeating: 0, count: 256)
  /// Codes of more than eight bits, by length and value.
  private var long: [(code: UInt32, bits: Int, byte: UInt8)] = []

  /// The tables are the same for all connections.
  static let shared = Huffman()

  init() {
    for byte in 0..<256 {
      let bits = Int(codes[byte] & 0xFF)
      let code = Int(codes[byte] >> 8)
      guard bits <= 8 else {
        long.append((UInt32(code), bits, UInt8(byte)))
        continue
      }
      let first = code << (8 - bits)
      for place in first..<first + 1 << (8 - bits) {
        short[place] = UInt16(byte) << 8 | UInt16(bits)
      }
    }
    long.sort { ($0.bits, $0.code) < ($1.bits, $1.code) }
  }

  /// Bytes of the coded form.
  func encodedCount(_ bytes: Span<UInt8>) -> Int {
    let codes = self.codes.span
    var bits = 0
    for index in bytes.indices { bits &+= Int(codes[Int(bytes[index])] & 0xFF) }
    return (bits + 7) >> 3
  }

  /// Appends the coded form, padded with ones to a whole byte.
  func encode(_ bytes: Span<UInt8>, to out: inout OutputSpan<UInt8>) {
    let codes = self.codes.span
    var pending: UInt64 = 0
    var count: UInt64 = 0
    for index in bytes.indices {
      let entry = codes[Int(bytes[index])]
      let bits = entry & 0xFF
      pending = pending &<< bits | entry &>> 8
      count &+= bits
      guard count >= 32 else { continue }
      count &-= 32
      out.append(bigEndian: UInt32(truncatingIfNeeded: pending &>> count))
    }
    while count >= 8 {
      count &-= 8
      out.append(UInt8(truncatingIfNeeded: pending &>> count))
    }
    if count > 0 {
      let padding = 8 &- count
      out.append(UInt8(truncatingIfNeeded: pending &<< padding | (1 &<< padding &- 1)))
    }
  }

  /// Decodes into `text`, which has room for 8/5 of the coded bytes, from `end` on, and moves `end`.
  func decode(
    _ bytes: Span<UInt8>, into text: inout MutableSpan<UInt8>, end: inout Int
  ) throws(HPACKError) {
    let short = self.short.span
    var pending: UInt64 = 0
    var count: UInt64 = 0
    var next = 0
    var place = end
    while true {
      if count <= 32, bytes.count &- next >= 4 {
        pending = pending &<< 32 | UInt64(bytes.bigEndian(at: next))
        count &+= 32
        next &+= 4
      }
      while count <= 56, next < bytes.count {
        pending = pending &<< 8 | UInt64(bytes[next])
        count &+= 8
        next &+= 1
      }
      // Nearly every code is a short one.
      while count >= 8 {
        let entry = short[Int(pending &>> (count &- 8) & 0xFF)]
        if entry == 0 { break }
        text[place] = UInt8(truncatingIfNeeded: entry &>> 8)
        place &+= 1
        count &-= UInt64(entry & 0xFF)
      }
      // Enough for the longest code, or all there is.
      if count >= 32 || next == bytes.count {
        guard try decodeOne(&pending, &count, into: &text, &place) else { break }
      }
    }
    end = place
  }

  /// Decodes a long code, or one of the last bits; false at the end.
  private func decodeOne(
    _ pending: inout UInt64, _ count: inout UInt64, into text: inout MutableSpan<UInt8>,
    _ place: inout Int
  ) throws(HPACKError) -> Bool {
    if count == 0 { return false }
    let window = count >= 8 ? pending &>> (count &- 8) : pending &<< (8 &- count) | 0xFF &>> count
    let entry = short[Int(window & 0xFF)]
    let bits = UInt64(entry & 0xFF)
    if bits != 0, bits <= count {
      text[place] = UInt8(truncatingIfNeeded: entry &>> 8)
      place &+= 1
      count &-= bits
      return true
    }
    // What is left is padding, fewer than eight ones, or begins with a longer code.
    let mask: UInt64 = 1 &<< count &- 1
    if count < 8, pending & mask == mask { return false }
    let found = try longCode(pending, count)
    text[place] = found.byte
    place &+= 1
    count &-= UInt64(found.bits)
    return true
  }

  private func longCode(
    _ pending: UInt64, _ count: UInt64
  ) throws(HPACKError) -> (byte: UInt8, bits: Int) {
    for entry in long where UInt64(entry.bits) <= count {
      let value = pending &>> (count &- UInt64(entry.bits)) & (1 &<< UInt64(entry.bits) &- 1)
      if value == UInt64(entry.code) { return (entry.byte, entry.bits) }
    }
    throw .invalidHuffman
  }
}
