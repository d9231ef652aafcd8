// SPDX-License-Identifier: Apache-2.0
public import Identity
public import Schedule

/// The state machine of one process's share of the schedule: when entries of its partitions are loaded from the
/// database, released, and removed once Kafka has the request. Events and times in, actions out. Times are milliseconds
/// since the epoch.
///
/// Only entries due within seconds are in memory; the rest stay in the database. A request is released once it is due
/// and everything written to its partition until a second before that has been read: an earlier cancellation always
/// counts, however far behind the process was.
public struct ScheduleMachine: Sendable {
  /// One entry, with everything needed to write it.
  public struct Entry: Sendable {
    public let partition: Int32
    public let key: ExactText
    public let row: ScheduleRow
    /// The record's value.
    public let content: String

    public init(partition: Int32, key: ExactText, row: ScheduleRow, content: String) {
      (self.partition, self.key, self.row, self.content) = (partition, key, row, content)
    }
  }

  public enum Action: Sendable, Equatable {
    /// Load the entries of a partition after a position and due by a time, ordered by time and key; ends with `loaded`.
    case load(partition: Int32, after: Place, through: Int64, limit: Int)
    /// Write the request of the entry in a slot; ends with `released` or `postponed`.
    case release(Int)
    /// Write the tombstone of that entry; ends with `ended` or `postponed`.
    case end(Int)
    /// Ask for the end offsets of these partitions; ends with `answered`.
    case ask([Int32])
  }

  /// A position in the order in which entries are loaded.
  public struct Place: Sendable, Equatable {
    public let due: Int64
    public let key: ExactText

    public init(due: Int64, key: ExactText) { (self.due, self.key) = (due, key) }

    func isBefore(_ row: ScheduleRow, _ key: ExactText) -> Bool {
      (due, self.key) < (row.due, key)
    }
  }

  private enum State: Sendable { case waiting, releasing, released, ending, ended }

  private struct Slot: Sendable {
    let entry: Entry
    let serial: UInt64
    let bytes: Int
    var state = State.waiting
    /// The key has a newer record, or was removed: no tombstone is needed.
    var isReplaced = false
  }

  private struct Key: Hashable, Sendable {
    let partition: Int32
    let key: ExactText
  }

  private struct Partition: Sendable {
    var queue = DueQueue()
    /// Entries up to here are or were in memory.
    var loaded = Place(due: .min, key: "")
    /// The next offset to read.
    var position: Int64 = 0
    /// Everything written before this time has been read; nil until known.
    var readUntil: Int64?
    /// The end offset to read to, and the time for which it was asked.
    var target: (end: Int64, at: Int64)?

    mutating func settle() {
      guard let target, position >= target.end else { return }
      readUntil = target.at
      self.target = nil
    }
  }

  /// How far ahead of their due time entries are loaded.
  static var ahead: Int64 { 3_000 }
  /// Everything written until this long before an entry is due is read before its release.
  static var grace: Int64 { 1_000 }
  /// How long before an entry is due the end offsets are asked for.
  static var askAhead: Int64 { 500 }

  /// Entries due within this span are released in any order; the next partition has its turn only after it.
  static var stride: Int64 { 100 }

  private let capacity: Int
  private let capacityBytes: Int
  private let page: Int
  private var partitions: [Int32: Partition] = [:]
  private var slots: [Slot?] = []
  private var free: [Int] = []
  private var places: [Key: Int] = [:]
  private var endings: [Int] = []
  private var serial: UInt64 = 0
  private var askedAt: Int64?
  private var latest = Int64.min / 2
  /// The earliest `loaded` position of any partition.
  private var leastLoaded = Int64.min
  /// The partition being released, and the due time up to which it stays so.
  private var current: (partition: Int32, until: Int64)?
  private var loadNotBefore = Int64.min
  private var isDraining = false
  /// The clock went back: entries loaded by time must be loaded again (`reload`).
  public private(set) var hasClockGoneBack = false
  /// Entries and bytes in memory.
  public private(set) var count = 0
  private var bytes = 0
  /// Requests and tombstones that Kafka has not acknowledged yet.
  public private(set) var underWay = 0

  /// - Parameters:
  ///   - capacity: the most entries in memory.
  ///   - bytes: their most bytes.
  ///   - page: entries loaded at once; at most a quarter of the capacity is.
  public init(capacity: Int, bytes: Int, page: Int) {
    (self.capacity, capacityBytes, self.page) = (capacity, bytes, min(page, (capacity + 3) / 4))
  }

  /// Whether Kafka has acknowledged everything written.
  public var isIdle: Bool { underWay == 0 }
  /// The assigned partitions.
  public var owned: [Int32] { partitions.keys.sorted() }

  /// Whether a partition has been read to its end since it was assigned.
  public func isCaughtUp(_ partition: Int32) -> Bool { partitions[partition]?.readUntil != nil }

  /// The entry in a slot named by an action.
  public func entry(_ slot: Int) -> Entry { slots[slot]!.entry }

  // MARK: The group

  /// These partitions are assigned.
  public mutating func begin(_ partitions: [Int32]) {
    removeAll()
    for partition in partitions { self.partitions[partition] = Partition() }
  }

  /// Releases nothing more.
  public mutating func drain() { isDraining = true }

  /// Revokes all partitions and abandons what is in flight.
  public mutating func removeAll() {
    (partitions, slots, free, places, endings) = ([:], [], [], [:], [])
    (count, bytes, underWay, askedAt, isDraining) = (0, 0, 0, nil, false)
    (leastLoaded, current) = (.min, nil)
  }

  // MARK: What was read

  /// The database has all records of a partition below an offset.
  public mutating func read(_ partition: Int32, to position: Int64) {
    guard partitions[partition] != nil else { return }
    partitions[partition]!.position = max(partitions[partition]!.position, position)
    partitions[partition]!.settle()
  }

  /// The end offsets of those partitions for which they could be determined.
  public mutating func answered(_ ends: [Int32: Int64]) {
    guard let at = askedAt else { return }
    askedAt = nil
    for (partition, end) in ends where partitions[partition] != nil {
      // An earlier target is kept: the log may grow for ever.
      if partitions[partition]!.target == nil { partitions[partition]!.target = (end, at) }
      partitions[partition]!.settle()
    }
  }

  /// The database has another record of a key.
  public mutating func stored(_ entry: Entry, bytes: Int) {
    leave(entry.partition, entry.key)
    guard let partition = partitions[entry.partition] else { return }
    // Later entries are loaded when their time comes.
    if partition.loaded.isBefore(entry.row, entry.key) { return }
    guard hasRoom else {
      partitions[entry.partition]!.loaded = Place(due: entry.row.due - 1, key: "")
      leastLoaded = .min
      return
    }
    insert(entry, bytes)
  }

  /// The database no longer has an entry for the key.
  public mutating func removed(_ partition: Int32, _ key: ExactText) { leave(partition, key) }

  /// The database row of a key, if it is in memory.
  public func row(_ partition: Int32, _ key: ExactText) -> ScheduleRow? {
    guard let slot = places[Key(partition: partition, key: key)] else { return nil }
    return slots[slot]!.entry.row
  }

  /// Invalidates the entry of a key in memory.
  private mutating func leave(_ partition: Int32, _ key: ExactText) {
    guard let slot = places.removeValue(forKey: Key(partition: partition, key: key)) else { return }
    switch slots[slot]!.state {
    case .waiting, .ended: release(slot)
    case .releasing, .released, .ending: slots[slot]!.isReplaced = true
    }
  }

  private var hasRoom: Bool { count < capacity && bytes < capacityBytes }

  private mutating func insert(_ entry: Entry, _ size: Int) {
    serial += 1
    let new = Slot(entry: entry, serial: serial, bytes: size)
    let slot: Int
    if let place = free.popLast() {
      slot = place
      slots[slot] = new
    } else {
      slot = slots.count
      slots.append(new)
    }
    count += 1
    bytes += size
    places[Key(partition: entry.partition, key: entry.key)] = slot
    enqueue(slot)
  }

  private mutating func enqueue(_ slot: Int) {
    let entry = slots[slot]!.entry
    partitions[entry.partition]?.queue.insert(
      .init(due: entry.row.due, slot: slot, serial: slots[slot]!.serial))
  }

  /// Frees the slot.
  private mutating func release(_ slot: Int) {
    guard let old = slots[slot] else { return }
    count -= 1
    bytes -= old.bytes
    slots[slot] = nil
    free.append(slot)
  }

  // MARK: What the database had

  /// The answer to `load`: its entries with their sizes, in order.
  public mutating func loaded(
    _ partition: Int32, _ entries: [(entry: Entry, bytes: Int)], through: Int64, limit: Int
  ) {
    guard partitions[partition] != nil else { return }
    for (entry, size) in entries
    where places[Key(partition: partition, key: entry.key)] == nil {
      insert(entry, size)
    }
    if entries.count < limit {
      partitions[partition]!.loaded = Place(due: through + 1, key: "")
    } else if let last = entries.last?.entry {
      partitions[partition]!.loaded = Place(due: last.row.due, key: last.key)
    }
  }

  // MARK: Steps

  /// The next action; nil when there is none now. Call it every turn until it returns nil.
  public mutating func next(now: Int64) -> Action? {
    note(now)
    if !isDraining, let load = nextLoad(now) { return load }
    if let slot = endings.popLast() {
      slots[slot]!.state = .ending
      return .end(slot)
    }
    guard !isDraining else { return nil }
    return nextRelease(now) ?? nextQuestion(now)
  }

  /// After the clock went back, `readUntil` would lie in the future.
  private mutating func note(_ now: Int64) {
    if now < latest - Self.grace {
      for partition in partitions.keys {
        (partitions[partition]!.readUntil, partitions[partition]!.target) = (nil, nil)
      }
      (askedAt, loadNotBefore) = (nil, .min)
      hasClockGoneBack = true
    }
    latest = now
  }

  private mutating func nextLoad(_ now: Int64) -> Action? {
    // Called for each action, with possibly hundreds of partitions. Loading waits until a whole page fits: filling up
    // one entry at a time would cost a query for each.
    guard hasRoom, count + page <= capacity, now >= loadNotBefore,
      now + Self.ahead / 2 > leastLoaded
    else { return nil }
    let least = partitions.min {
      ($0.value.loaded.due, $0.key) < ($1.value.loaded.due, $1.key)
    }
    guard let least else { return nil }
    leastLoaded = least.value.loaded.due
    guard leastLoaded < now + Self.ahead / 2 else { return nil }
    return .load(
      partition: least.key, after: least.value.loaded, through: now + Self.ahead,
      limit: page)
  }

  /// The entry that has been due longest, give or take `stride`, among partitions read far enough.
  private mutating func nextRelease(_ now: Int64) -> Action? {
    guard let (partition, item) = itemOfCurrent(now) ?? oldestItem(now) else {
      current = nil
      return nil
    }
    partitions[partition]!.queue.removeFirst()
    underWay += 1
    let isCancellation = slots[item.slot]!.entry.row.isCancellation
    slots[item.slot]!.state = isCancellation ? .ending : .releasing
    return isCancellation ? .end(item.slot) : .release(item.slot)
  }

  /// The next due entry of the partition released from last: searching all partitions for each entry would cost more
  /// than the entry itself.
  private mutating func itemOfCurrent(_ now: Int64) -> (Int32, DueQueue.Item)? {
    guard let current, partitions[current.partition] != nil,
      let item = firstWaiting(of: current.partition), item.due <= min(now, current.until),
      isFresh(current.partition, item)
    else { return nil }
    return (current.partition, item)
  }

  private mutating func oldestItem(_ now: Int64) -> (Int32, DueQueue.Item)? {
    var best: (partition: Int32, item: DueQueue.Item)?
    for partition in partitions.keys {
      guard let item = firstWaiting(of: partition), item.due <= now,
        best.map({ (item.due, partition) < ($0.item.due, $0.partition) }) ?? true,
        isFresh(partition, item)
      else { continue }
      best = (partition, item)
    }
    guard let best else { return nil }
    current = (best.partition, best.item.due + Self.stride)
    return (best.partition, best.item)
  }

  /// The first waiting entry of a partition's queue.
  private mutating func firstWaiting(of partition: Int32) -> DueQueue.Item? {
    while let item = partitions[partition]!.queue.first {
      if let slot = slots[item.slot], slot.serial == item.serial, slot.state == .waiting {
        return item
      }
      partitions[partition]!.queue.removeFirst()
    }
    return nil
  }

  /// Whether everything that may cancel an entry in time has been read. An entry that was already due when it was
  /// written needs no check: such a cancellation stands before it.
  private func isFresh(_ partition: Int32, _ item: DueQueue.Item) -> Bool {
    guard let readUntil = partitions[partition]?.readUntil, let slot = slots[item.slot] else {
      return false
    }
    return readUntil >= item.due - Self.grace || item.due <= slot.entry.row.at
  }

  /// Asks for the end offsets of the partitions whose next entry needs them. Also asks after an assignment, to tell
  /// when they are caught up.
  private mutating func nextQuestion(_ now: Int64) -> Action? {
    guard askedAt == nil else { return nil }
    let wanted = partitions.filter { _, partition in
      guard partition.target == nil else { return false }
      guard let readUntil = partition.readUntil else { return true }
      guard let due = partition.queue.first?.due else { return false }
      return due <= now + Self.askAhead && readUntil < due - Self.grace
    }
    guard !wanted.isEmpty else { return nil }
    askedAt = now
    return .ask(wanted.keys.sorted())
  }

  /// Times in the database have changed since loading: reloads what waits in memory.
  public mutating func reload() {
    hasClockGoneBack = false
    for (key, slot) in places where slots[slot]!.state == .waiting { leave(key.partition, key.key) }
    for partition in partitions.keys { partitions[partition]!.loaded = Place(due: .min, key: "") }
    leastLoaded = .min
  }

  /// The end offsets of `ask` could not be requested.
  public mutating func askFailed() { askedAt = nil }

  /// The database does not answer: load nothing before this time.
  public mutating func notLoaded(until time: Int64) { loadNotBefore = time }

  /// How long the oldest entry in memory that Kafka does not have yet has been due.
  public func lateness(now: Int64) -> Int64 {
    let oldest = partitions.values.compactMap { $0.queue.first?.due }.min()
    return max(0, now - (oldest ?? now))
  }

  /// Whether the key of an entry in flight has a newer record, or was removed.
  public func isReplaced(_ slot: Int) -> Bool { slots[slot]!.isReplaced }

  // MARK: Kafka's answers

  /// Kafka has acknowledged the request of an entry.
  public mutating func released(_ slot: Int) {
    guard slots[slot]!.isReplaced else {
      slots[slot]!.state = .released
      endings.append(slot)
      return
    }
    underWay -= 1
    release(slot)
  }

  /// Kafka has the entry's tombstone. Until that is read, the entry stays in memory, as in the database.
  public mutating func ended(_ slot: Int) {
    underWay -= 1
    if slots[slot]!.isReplaced { release(slot) } else { slots[slot]!.state = .ended }
  }

  /// The record of an action could not be written now.
  public mutating func postponed(_ slot: Int) {
    switch slots[slot]!.state {
    case .ending where !slots[slot]!.entry.row.isCancellation:
      slots[slot]!.state = .released
      endings.append(slot)
    default:
      underWay -= 1
      slots[slot]!.state = .waiting
      if slots[slot]!.isReplaced { release(slot) } else { enqueue(slot) }
    }
  }
}
