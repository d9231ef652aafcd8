// SPDX-License-Identifier: Apache-2.0

/// Decompresses an LZ4 frame (LZ4 frame format 1.6) as Kafka's clients write it. Checksums are ignored: the batch has
/// one.
enum LZ4 {
  /// Returns nil for damaged bytes, or output above `limit`.
  static func unfold(_ frame: ArraySlice<UInt8>, atMost limit: Int) -> [UInt8]? {
    var rest = frame
    guard rest.starts(with: [0x04, 0x22, 0x4D, 0x18]), rest.count > 7 else { return nil }
    rest = rest.dropFirst(4)
    let flags = rest.removeFirst()
    guard flags >> 6 == 1, flags & 1 == 0 else { return nil }
    // The block size, the optional content size, and a checksum.
    rest = rest.dropFirst(1 + (flags & 8 != 0 ? 8 : 0) + 1)
    var output: [UInt8] = []
    while rest.count >= 4 {
      let word = little(rest)
      rest = rest.dropFirst(4)
      if word == 0 { return output }
      let size = Int(word & 0x7FFF_FFFF)
      guard size <= rest.count else { return nil }
      if word >> 31 == 1 {
        output += rest.prefix(size)
      } else {
        guard block(rest.prefix(size), into: &output, limit) else { return nil }
      }
      guard output.count <= limit else { return nil }
      rest = rest.dropFirst(size + (flags & 16 != 0 ? 4 : 0))
    }
    return nil
  }

  private static func little(_ bytes: ArraySlice<UInt8>) -> UInt32 {
    bytes.prefix(4).reversed().reduce(0) { $0 << 8 | UInt32($1) }
  }

  private static func block(
    _ bytes: ArraySlice<UInt8>, into output: inout [UInt8], _ limit: Int
  ) -> Bool {
    var rest = bytes
    while let token = rest.popFirst() {
      guard let literals = length(Int(token >> 4), &rest), literals <= rest.count else {
        return false
      }
      output += rest.prefix(literals)
      rest = rest.dropFirst(literals)
      if rest.isEmpty { return true }
      guard let low = rest.popFirst(), let high = rest.popFirst(),
        let more = length(Int(token & 15), &rest)
      else { return false }
      guard output.repeatTail(Int(low) | Int(high) << 8, more + 4, limit) else { return false }
    }
    return true
  }

  private static func length(_ start: Int, _ rest: inout ArraySlice<UInt8>) -> Int? {
    guard start == 15 else { return start }
    var length = 15
    while let byte = rest.popFirst() {
      length += Int(byte)
      if byte < 255 { return length }
    }
    return nil
  }
}

/// Decompresses Snappy: one raw block, or the blocks of the Java library (`xerial`).
enum Snappy {
  /// Returns nil for damaged bytes, or output above `limit`.
  static func unfold(_ bytes: ArraySlice<UInt8>, atMost limit: Int) -> [UInt8]? {
    var output: [UInt8] = []
    guard bytes.starts(with: [0x82] + Array("SNAPPY".utf8) + [0]) else {
      return block(bytes, into: &output, limit) ? output : nil
    }
    var rest = bytes.dropFirst(16)
    while rest.count >= 4 {
      let size = rest.prefix(4).reduce(0) { $0 << 8 | Int($1) }
      rest = rest.dropFirst(4)
      guard size <= rest.count, block(rest.prefix(size), into: &output, limit) else { return nil }
      rest = rest.dropFirst(size)
    }
    return output
  }

  private static func block(
    _ bytes: ArraySlice<UInt8>, into output: inout [UInt8], _ limit: Int
  ) -> Bool {
    var rest = bytes
    // The length of the output, which follows from the end of the block as well.
    while let byte = rest.popFirst(), byte >= 0x80 {}
    while let tag = rest.popFirst() {
      var length = Int(tag >> 2) + 1
      if tag & 3 == 0 {
        if length > 60 {
          let count = length - 60
          guard rest.count >= count else { return false }
          length = rest.prefix(count).reversed().reduce(0) { $0 << 8 | Int($1) } + 1
          rest = rest.dropFirst(count)
        }
        guard length <= rest.count, output.count + length <= limit else { return false }
        output += rest.prefix(length)
        rest = rest.dropFirst(length)
        continue
      }
      let count = [0, 1, 2, 4][Int(tag & 3)]
      guard rest.count >= count else { return false }
      var distance = rest.prefix(count).reversed().reduce(0) { $0 << 8 | Int($1) }
      rest = rest.dropFirst(count)
      if tag & 3 == 1 {
        distance |= Int(tag >> 5) << 8
        length = Int(tag >> 2 & 7) + 4
      }
      guard output.repeatTail(distance, length, limit) else { return false }
    }
    return true
  }
}

extension [UInt8] {
  /// Copies `length` bytes from `distance` bytes before the end, which may overlap. False if that is impossible.
  fileprivate mutating func repeatTail(_ distance: Int, _ length: Int, _ limit: Int) -> Bool {
    guard distance > 0, distance <= count, count + length <= limit else { return false }
    let from = count - distance
    for place in from..<from + length { append(self[place]) }
    return true
  }
}
