// SPDX-License-Identifier: Apache-2.0

/// The representation of a field in the header block.
public enum FieldIndexing: Sendable {
  /// Enters the compression table, and is an index from then on (RFC 7541 §6.2.1).
  case incremental
  /// Its name may be an index; its value is written out, Huffman-coded unless that is longer (§6.2.2).
  case literal
}

/// Writes the header blocks of one direction of a connection (RFC 7541 §3.1, §6).
public struct HeaderEncoder {
  private var table = DynamicTable(capacity: HeaderDecoder.initialCapacity)
  private let huffman: Huffman
  /// No more is used of what the peer allows.
  private let most: Int
  /// Fields push others out of a full table until as much has entered as half the table holds, and then no more before
  /// so many blocks have passed: otherwise more values than there is room for would push each other out with every
  /// request.
  private let blocksBetweenTurnovers: Int
  private var blocksSinceTurnover = 0
  /// The size that may still enter a full table.
  private var allowance: Int
  /// True if a field was written out that would enter the table if there were room.
  private var isCrowded = false
  /// The smallest capacity since the last block, and the last one; nil when none has changed (RFC 7541 §4.2).
  private var announced: (least: Int, last: Int)?

  public init(most: Int = HeaderDecoder.initialCapacity, blocksBetweenTurnovers: Int = 20_000) {
    self.most = most
    self.blocksBetweenTurnovers = blocksBetweenTurnovers
    allowance = most
    huffman = .shared
    if most < HeaderDecoder.initialCapacity { announced = (most, most) }
  }

  /// Says whether what was written down about the table still holds.
  var generation: Int { table.generation }

  /// The peer's SETTINGS_HEADER_TABLE_SIZE.
  public mutating func changeLimit(_ limit: Int) {
    let capacity = min(limit, most)
    guard announced != nil || capacity != table.capacity else { return }
    announced = (min(announced?.least ?? capacity, capacity), capacity)
  }

  /// Begins a block: changes of the table's size come first.
  public mutating func beginBlock(_ out: inout OutputSpan<UInt8>) {
    blocksSinceTurnover &+= 1
    if isCrowded, blocksSinceTurnover >= blocksBetweenTurnovers { beginTurnover() }
    guard let (least, last) = announced else { return }
    announced = nil
    if least < last {
      table.changeCapacity(least)
      HPACKInteger.append(least, prefix: 5, flags: 0x20, to: &out)
    }
    table.changeCapacity(last)
    HPACKInteger.append(last, prefix: 5, flags: 0x20, to: &out)
  }

  /// Appends one field; at most `bound(name, value)` bytes.
  public mutating func append(
    _ name: Span<UInt8>, _ value: Span<UInt8>, _ indexing: FieldIndexing,
    to out: inout OutputSpan<UInt8>
  ) {
    let (index, isWhole) = find(name, value)
    if isWhole { return HPACKInteger.append(index, prefix: 7, flags: 0x80, to: &out) }
    let isIndexing = indexing == .incremental && mayInsert(name.count + value.count + 32)
    if isIndexing {
      HPACKInteger.append(index, prefix: 6, flags: 0x40, to: &out)
    } else {
      HPACKInteger.append(index, prefix: 4, flags: 0, to: &out)
    }
    if index == 0 { append(string: name, to: &out) }
    append(string: value, to: &out)
    if isIndexing { table.insert(TableField(name.array, value.array)) }
  }

  private mutating func mayInsert(_ size: Int) -> Bool {
    guard size <= table.capacity else { return false }
    guard table.size + size > table.capacity else { return true }
    guard allowance > 0 else {
      isCrowded = true
      return false
    }
    allowance -= size
    return true
  }

  /// Lets fields in use that were evicted enter the table again, and those not in use leave it, such as provider tokens
  /// that were renewed. Of what enters at its beginning nothing is pushed out before its end.
  private mutating func beginTurnover() {
    isCrowded = false
    blocksSinceTurnover = 0
    allowance = table.capacity / 2
    table.invalidate()
  }

  /// Appends a field whose name has this index and whose value does not enter the table. The value stands as it is: to code
  /// a device token costs more of the processor than a fifteenth of a push, and saves one byte of thirty.
  @inline(__always)
  func append(value: Span<UInt8>, ofNameAt index: Int, to out: inout OutputSpan<UInt8>) {
    HPACKInteger.append(index, prefix: 4, flags: 0, to: &out)
    append(raw: value, to: &out)
  }

  /// Bytes that a field takes at most.
  public static func bound(_ name: Int, _ value: Int) -> Int { name + value + 16 }

  /// The index of a name, 0 without one, and whether the entry has this value, too.
  func find(_ name: Span<UInt8>, _ value: Span<UInt8>) -> (index: Int, isWhole: Bool) {
    let marks = (name: TableField.mark(name), value: TableField.mark(value))
    let known = StaticTable.fields
    var found = 0
    for place in known.indices {
      let matches = known[place].matches(name, value, marks)
      if matches.whole { return (place + 1, true) }
      if matches.name, found == 0 { found = place + 1 }
    }
    guard let entry = table.find(name, value, marks), entry.isWhole || found == 0 else {
      return (found, false)
    }
    return (StaticTable.count + entry.index + 1, entry.isWhole)
  }

  /// RFC 7541 §5.2.
  private func append(string bytes: Span<UInt8>, to out: inout OutputSpan<UInt8>) {
    let coded = huffman.encodedCount(bytes)
    guard coded <= bytes.count else { return append(raw: bytes, to: &out) }
    HPACKInteger.append(coded, prefix: 7, flags: 0x80, to: &out)
    huffman.encode(bytes, to: &out)
  }

  @inline(__always)
  private func append(raw bytes: Span<UInt8>, to out: inout OutputSpan<UInt8>) {
    HPACKInteger.append(bytes.count, prefix: 7, flags: 0, to: &out)
    out.append(copying: bytes)
  }
}

extension Span<UInt8> {
  /// A copy.
  var array: [UInt8] {
    var bytes: [UInt8] = []
    bytes.append(copying: self)
    return bytes
  }
}
