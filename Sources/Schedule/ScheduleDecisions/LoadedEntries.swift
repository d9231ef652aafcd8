// SPDX-License-Identifier: Apache-2.0
public import Contract

extension ScheduleMachine {
  /// One entry, with everything needed to write it.
  public struct Entry: Sendable {
    public let partition: Int32
    public let key: ExactText
    public internal(set) var row: ScheduleRow
    /// The record's value; empty once the request is released.
    public internal(set) var content: String

    public init(partition: Int32, key: ExactText, row: ScheduleRow, content: String) {
      (self.partition, self.key, self.row, self.content) = (partition, key, row, content)
    }
  }
}

/// The entries of the schedule that are in memory, in slots.
struct LoadedEntries: Sendable {
  typealias Entry = ScheduleMachine.Entry

  enum State: Sendable { case waiting, releasing, released, ending, ended }

  struct Slot: Sendable {
    fileprivate(set) var entry: Entry
    /// Tells an entry from a later one in the same slot.
    let serial: UInt64
    fileprivate var bytes: Int
    var state = State.waiting
    /// The key has a newer record, or was removed: no tombstone is needed.
    var isReplaced = false
    /// Kafka has the request: what is left is its tombstone.
    fileprivate(set) var isReleased = false
  }

  private struct Key: Hashable, Sendable {
    let partition: Int32
    let key: ExactText
  }

  private let capacity: Int
  private let capacityBytes: Int
  private var slots: [Slot?] = []
  private var free: [Int] = []
  private var places: [Key: Int] = [:]
  private var serial: UInt64 = 0
  /// Entries, and their bytes.
  private(set) var count = 0
  private var bytes = 0
  /// Those entries that wait for their tombstone alone.
  private var countReleased = 0

  /// - Parameters:
  ///   - capacity: the most entries that are not released.
  ///   - bytes: the most bytes of all.
  init(capacity: Int, bytes: Int) { (self.capacity, capacityBytes) = (capacity, bytes) }

  /// Whether there is room for so many entries. The bytes are looked at before, not after them: of a page there are no
  /// more than `bytesLeft`, and the rest of the last entry.
  func hasRoom(for more: Int) -> Bool {
    count - countReleased + more <= capacity && bytes < capacityBytes
  }

  /// The bytes that may be loaded, at least one.
  var bytesLeft: Int { max(1, capacityBytes - bytes) }

  /// Whether seven eighths of the bytes are used.
  var isNearlyFull: Bool { bytes > capacityBytes / 8 * 7 }

  /// An occupied slot.
  subscript(slot: Int) -> Slot {
    get { slots[slot]! }
    _modify { yield &slots[slot]! }
  }

  /// Whether a slot has this entry, and it waits.
  func isWaiting(_ slot: Int, serial: UInt64) -> Bool {
    slots[slot]?.serial == serial && slots[slot]!.state == .waiting
  }

  func slot(_ partition: Int32, _ key: ExactText) -> Int? {
    places[Key(partition: partition, key: key)]
  }

  var waiting: [Entry] {
    slots.lazy.compactMap { $0 }.filter { $0.state == .waiting }.map(\.entry)
  }

  /// - Returns: the slot; nil if the key has an entry.
  mutating func insert(_ entry: Entry, _ size: Int) -> Int? {
    let slot = free.last ?? slots.count
    let key = Key(partition: entry.partition, key: entry.key)
    if let known = places.updateValue(slot, forKey: key) {
      places[key] = known
      return nil
    }
    serial += 1
    let new = Slot(entry: entry, serial: serial, bytes: size)
    if slot < slots.count {
      free.removeLast()
      slots[slot] = new
    } else {
      slots.append(new)
    }
    count += 1
    bytes += size
    return slot
  }

  /// The key of an entry means it no longer: frees the slot, unless the entry is under way.
  mutating func leave(_ partition: Int32, _ key: ExactText) {
    guard let slot = places.removeValue(forKey: Key(partition: partition, key: key)) else { return }
    switch slots[slot]!.state {
    case .waiting, .ended: remove(slot)
    case .releasing, .released, .ending: slots[slot]!.isReplaced = true
    }
  }

  /// The record of an entry that is under way was written once more: the key still means that entry.
  ///
  /// - Returns: false for any other record of the key.
  mutating func renew(_ entry: Entry) -> Bool {
    guard let slot = slot(entry.partition, entry.key), slots[slot]!.state != .waiting,
      slots[slot]!.entry.row.identity == entry.row.identity
    else { return false }
    slots[slot]!.entry.row = entry.row
    return true
  }

  /// Frees the slot of an entry whose key means it no longer.
  mutating func remove(_ slot: Int) {
    count -= 1
    bytes -= slots[slot]!.bytes
    if slots[slot]!.isReleased { countReleased -= 1 }
    slots[slot] = nil
    free.append(slot)
  }

  /// Kafka has the request of an entry, which needs its content no more.
  mutating func release(_ slot: Int) {
    let freed = min(slots[slot]!.bytes, slots[slot]!.entry.content.utf8.count)
    slots[slot]!.entry.content = ""
    slots[slot]!.bytes -= freed
    slots[slot]!.state = .released
    slots[slot]!.isReleased = true
    bytes -= freed
    countReleased += 1
  }

  mutating func removeAll() { self = LoadedEntries(capacity: capacity, bytes: capacityBytes) }
}
