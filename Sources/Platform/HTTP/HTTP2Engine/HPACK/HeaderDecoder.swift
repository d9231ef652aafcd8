// SPDX-License-Identifier: Apache-2.0

/// Reads the header blocks of one direction of a connection (RFC 7541 §3.2, §6).
///
/// Blocks must be read in the order of their arrival and up to their end, also those of streams that are gone.
public struct HeaderDecoder {
  /// The last field.
  public private(set) var text = FieldText()
  /// No fields of a block may count for more, nor may one string be longer.
  let listLimit: Int
  private var table = DynamicTable(capacity: Self.initialCapacity)
  private let huffman: Huffman
  /// The largest capacity that the peer may choose.
  private var limit = Self.initialCapacity
  /// The size of this block's fields so far.
  private var listSize = 0
  private var isAtStart = true

  /// The capacity before anybody announced another one (RFC 9113 §6.5.2).
  public static let initialCapacity = 4_096

  public init(listLimit: Int) {
    self.listLimit = listLimit
    huffman = .shared
  }

  /// The size of the compression table's fields.
  var tableSize: Int { table.size }

  /// Says whether what an index meant still holds.
  public var generation: Int { table.generation }

  /// The peer has acknowledged another SETTINGS_HEADER_TABLE_SIZE.
  ///
  /// A lower one takes effect with the peer's change of its table. RFC 9113 §4.3.1 wants COMPRESSION_ERROR if its next
  /// block does not begin with one; h2o 2.2 and whoever else leaves it out is read with the table as it was, which is
  /// right whether the peer goes on with it or has silently given it up.
  public mutating func changeLimit(_ limit: Int) { self.limit = limit }

  public mutating func beginBlock() {
    listSize = 0
    isAtStart = true
  }

  /// The owner has read a block's first field itself, one that leaves the table as it is.
  @inline(__always)
  public mutating func passField() {
    isAtStart = false
    listSize = 42
  }

  /// Reads the next field of a block into `text`; false at the block's end.
  public mutating func next(
    in block: Span<UInt8>, at position: inout Int
  ) throws(HPACKError) -> Bool {
    while position < block.count {
      let first = block[position]
      if first & 0xE0 == 0x20 {
        try changeCapacity(block, &position)
        continue
      }
      isAtStart = false
      if first >= 0x80 {
        try readIndexed(block, &position)
      } else {
        try readLiteral(block, &position, isIndexing: first >= 0x40)
      }
      listSize += text.nameCount + text.valueCount + 32
      guard listSize <= listLimit else { throw .listTooLarge }
      return true
    }
    return false
  }

  /// RFC 7541 §6.3.
  private mutating func changeCapacity(
    _ block: Span<UInt8>, _ position: inout Int
  ) throws(HPACKError) {
    let capacity = try HPACKInteger.read(block, at: &position, prefix: 5)
    guard isAtStart, capacity <= limit else { throw .invalidSizeUpdate }
    table.changeCapacity(capacity)
  }

  /// RFC 7541 §6.1.
  private mutating func readIndexed(
    _ block: Span<UInt8>, _ position: inout Int
  ) throws(HPACKError) {
    let index = try HPACKInteger.read(block, at: &position, prefix: 7)
    let field = try entry(index)
    text.set(name: field.name)
    text.set(value: field.value)
  }

  /// RFC 7541 §6.2.
  private mutating func readLiteral(
    _ block: Span<UInt8>, _ position: inout Int, isIndexing: Bool
  ) throws(HPACKError) {
    let index = try HPACKInteger.read(block, at: &position, prefix: isIndexing ? 6 : 4)
    if index == 0 {
      let name = try string(block, &position)
      try text.read(name: block.extracting(name.range), name.isHuffman, huffman)
    } else {
      text.set(name: try entry(index).name)
    }
    let value = try string(block, &position)
    try text.read(value: block.extracting(value.range), value.isHuffman, huffman)
    if isIndexing { table.insert(text.field) }
  }

  private func entry(_ index: Int) throws(HPACKError) -> TableField {
    if index >= 1, index <= StaticTable.count { return StaticTable.fields[index - 1] }
    let place = index - StaticTable.count - 1
    guard index > 0, place < table.count else { throw .noSuchEntry }
    return table[place]
  }

  /// Takes a string off the block (RFC 7541 §5.2).
  @inline(__always)
  private func string(
    _ block: Span<UInt8>, _ position: inout Int
  ) throws(HPACKError) -> (range: Range<Int>, isHuffman: Bool) {
    guard position < block.count else { throw .truncated }
    let isHuffman = block[position] & 0x80 != 0
    let count = try HPACKInteger.read(block, at: &position, prefix: 7)
    guard count <= block.count - position else { throw .truncated }
    guard count <= listLimit else { throw .listTooLarge }
    position += count
    return (position - count..<position, isHuffman)
  }
}
