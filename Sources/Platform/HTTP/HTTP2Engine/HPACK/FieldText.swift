// SPDX-License-Identifier: Apache-2.0

/// One decoded field: its name, and behind it its value, in memory that is used again for the next one.
public struct FieldText {
  public private(set) var bytes = [UInt8](repeating: 0, count: 256)
  public private(set) var nameCount = 0
  public private(set) var valueCount = 0

  /// A copy, for a table.
  var field: TableField {
    TableField(
      Array(bytes[..<nameCount]), Array(bytes[nameCount..<nameCount + valueCount]))
  }

  mutating func set(name: [UInt8]) {
    nameCount = name.count
    put(name.span, at: 0)
  }

  mutating func set(value: [UInt8]) {
    valueCount = value.count
    put(value.span, at: nameCount)
  }

  mutating func read(name: Span<UInt8>, _ isHuffman: Bool, _ huffman: Huffman) throws(HPACKError) {
    nameCount = try read(name, isHuffman, huffman, at: 0)
  }

  mutating func read(value: Span<UInt8>, _ isHuffman: Bool, _ huffman: Huffman) throws(HPACKError) {
    valueCount = try read(value, isHuffman, huffman, at: nameCount)
  }

  /// Writes a string's bytes, decoded if it is coded.
  ///
  /// - Returns: how many there are.
  private mutating func read(
    _ coded: Span<UInt8>, _ isHuffman: Bool, _ huffman: Huffman, at start: Int
  ) throws(HPACKError) -> Int {
    guard isHuffman else {
      put(coded, at: start)
      return coded.count
    }
    // The shortest code has five bits.
    makeRoom(start + coded.count * 8 / 5 + 1)
    var room = bytes.mutableSpan
    var end = start
    try huffman.decode(coded, into: &room, end: &end)
    return end - start
  }

  private mutating func put(_ text: Span<UInt8>, at start: Int) {
    makeRoom(start + text.count)
    var room = bytes.mutableSpan
    var place = room._mutatingExtracting(start..<start + text.count)
    for index in text.indices { place[index] = text[index] }
  }

  private mutating func makeRoom(_ count: Int) {
    guard count > bytes.count else { return }
    let more = max(count - bytes.count, bytes.count)
    bytes += [UInt8](repeating: 0, count: more)
  }
}
