// SPDX-License-Identifier: Apache-2.0

/// The fields that one direction of a connection has put on record, newest first (RFC 7541 §2.3.2).
struct DynamicTable {
  /// Oldest first.
  private var fields: [TableField] = []
  /// The size of all fields together; at most `capacity`.
  private(set) var size = 0
  /// The most that they may count for (RFC 7541 §4.2).
  private(set) var capacity: Int
  /// Changes with every change of the table, so that whoever wrote an index down knows when it is void.
  private(set) var generation = 0

  init(capacity: Int) { self.capacity = capacity }

  var count: Int { fields.count }

  /// The field with an index counted from the newest, 0…`count`−1.
  subscript(index: Int) -> TableField { fields[fields.count - 1 - index] }

  /// The newest field with a name and this value, or else with the name: its index, counted from the newest.
  func find(
    _ name: Span<UInt8>, _ value: Span<UInt8>, _ marks: (name: UInt32, value: UInt32)
  ) -> (index: Int, isWhole: Bool)? {
    var found: Int?
    for place in fields.indices.reversed() {
      let matches = fields[place].matches(name, value, marks)
      if matches.whole { return (fields.count - 1 - place, true) }
      if matches.name, found == nil { found = fields.count - 1 - place }
    }
    return found.map { ($0, false) }
  }

  /// Puts a field in; the oldest ones make room. One that is larger than the table empties it (RFC 7541 §4.4).
  mutating func insert(_ field: TableField) {
    generation += 1
    evict(to: capacity - field.size)
    guard field.size <= capacity else { return }
    fields.append(field)
    size += field.size
  }

  /// Makes all encoded forms that depend on the table invalid.
  mutating func invalidate() { generation += 1 }

  mutating func changeCapacity(_ capacity: Int) {
    guard capacity != self.capacity else { return }
    generation += 1
    self.capacity = capacity
    evict(to: capacity)
  }

  private mutating func evict(to limit: Int) {
    var evicted = 0
    while evicted < fields.count, size > limit {
      size -= fields[evicted].size
      evicted += 1
    }
    fields.removeFirst(evicted)
  }
}
