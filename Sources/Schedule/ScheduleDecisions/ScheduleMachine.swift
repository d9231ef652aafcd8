// SPDX-License-Identifier: Apache-2.0
public import Contract

/// The state machine of one process's share of the schedule: when entries of its partitions are loaded from the
/// database, released, and removed once Kafka has the request. Events and times in, actions out. Times are milliseconds
/// since the epoch.
///
/// Only entries due within seconds are in memory; the rest stay in the database. A request is released once it is due
/// and everything written to its partition until a second before that has been read: an earlier cancellation always
/// counts, however far behind the process was.
public struct ScheduleMachine: Sendable {
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

  /// How far ahead of their due time entries are loaded.
  static var ahead: Int64 { 3_000 }
  /// Everything written until this long before an entry is due is read before its release.
  static var grace: Int64 { 1_000 }
  /// How long tombstones wait while requests are due.
  static var endingPatience: Int64 { 2_000 }
  /// How long before an entry is due the end offsets are asked for.
  static var askAhead: Int64 { 500 }

  /// Entries due within this span are released in any order; the next partition has its turn only after it.
  static var stride: Int64 { 100 }

  private let page: Int
  private var entries: LoadedEntries
  /// In the order of their numbers.
  private var partitions: [LoadedPartition] = []
  /// Released entries without a tombstone.
  private var endings: [Int] = []
  /// When the first of them was released.
  private var endingsSince: Int64 = 0
  /// When it was last looked whether to ask although tombstones wait.
  private var lookedAt = Int64.min
  private var askedAt: Int64?
  private var latest = Int64.min / 2
  /// The earliest `loaded` position of any partition; the least time while one is held.
  private var leastLoaded = Int64.min
  /// The index of the partition being released, and the due time up to which it stays so.
  private var current: (partition: Int, until: Int64)?
  private var loadNotBefore = Int64.min
  private var isDraining = false
  /// The clock went back: entries loaded by time must be loaded again (`reload`).
  public private(set) var hasClockGoneBack = false
  /// Requests and tombstones that Kafka has not acknowledged yet.
  public private(set) var underWay = 0

  /// - Parameters:
  ///   - capacity: the most entries in memory that are not released.
  ///   - bytes: the most bytes of all.
  ///   - page: entries loaded at once; at most a quarter of the capacity is.
  public init(capacity: Int, bytes: Int, page: Int) {
    self.page = min(page, (capacity + 3) / 4)
    entries = LoadedEntries(capacity: capacity, bytes: bytes)
  }

  /// Whether Kafka has acknowledged everything written.
  public var isIdle: Bool { underWay == 0 }
  /// Entries in memory.
  public var count: Int { entries.count }
  /// The assigned partitions.
  public var owned: [Int32] { partitions.map(\.number) }

  /// Whether a partition has been read to its end since it was assigned.
  public func isCaughtUp(_ partition: Int32) -> Bool {
    index(of: partition).map { partitions[$0].readUntil != nil } ?? false
  }

  /// The place of a partition in `partitions`; nil if it is not assigned.
  private func index(of number: Int32) -> Int? {
    var (low, high) = (0, partitions.count)
    while low < high {
      let middle = (low + high) / 2
      if partitions[middle].number < number { low = middle + 1 } else { high = middle }
    }
    return low < partitions.count && partitions[low].number == number ? low : nil
  }

  /// The entry in a slot named by an action.
  public func entry(_ slot: Int) -> Entry { entries[slot].entry }

  /// Its time of release.
  public func due(_ slot: Int) -> Int64 { entries[slot].entry.row.due }

  // MARK: The group

  /// These partitions are assigned.
  public mutating func begin(_ partitions: [Int32]) {
    removeAll()
    self.partitions = partitions.sorted().map { LoadedPartition($0) }
  }

  /// Releases nothing more.
  public mutating func drain() { isDraining = true }

  /// Revokes all partitions and abandons what is in flight.
  public mutating func removeAll() {
    entries.removeAll()
    (partitions, endings, underWay, askedAt, isDraining) = ([], [], 0, nil, false)
    (leastLoaded, current) = (.min, nil)
  }

  // MARK: What was read

  /// The database has all records of a partition below an offset.
  public mutating func read(_ partition: Int32, to position: Int64) {
    guard let index = index(of: partition) else { return }
    partitions[index].position = max(partitions[index].position, position)
    partitions[index].settle()
  }

  /// The end offsets of those partitions for which they could be determined.
  public mutating func answered(_ ends: [Int32: Int64]) {
    guard let at = askedAt else { return }
    askedAt = nil
    for (partition, end) in ends {
      guard let index = index(of: partition) else { continue }
      // An earlier target is kept: the log may grow for ever.
      if partitions[index].target == nil { partitions[index].target = (end, at) }
      partitions[index].settle()
    }
  }

  /// The database has another record of a key.
  public mutating func stored(_ entry: Entry, bytes: Int) {
    // Its tombstone follows. As another entry it would be released again.
    if entries.renew(entry) { return }
    entries.leave(entry.partition, entry.key)
    guard let index = index(of: entry.partition) else { return }
    // Later entries are loaded when their time comes.
    if partitions[index].loaded.isBefore(entry.row, entry.key) { return }
    guard entries.hasRoom(for: 1) else {
      partitions[index].loaded = Place(due: entry.row.due - 1, key: "")
      leastLoaded = .min
      return
    }
    insert(entry, bytes, index)
  }

  /// The database no longer has an entry for the key.
  public mutating func removed(_ partition: Int32, _ key: ExactText) {
    entries.leave(partition, key)
  }

  /// The database row of a key, if it is in memory.
  public func row(_ partition: Int32, _ key: ExactText) -> ScheduleRow? {
    entries.slot(partition, key).map { entries[$0].entry.row }
  }

  /// Whether the tombstone of a key's entry was handed to Kafka and has not been read.
  public func isEnding(_ partition: Int32, _ key: ExactText) -> Bool {
    entries.slot(partition, key).map { [.ending, .ended].contains(entries[$0].state) } ?? false
  }

  /// Takes in an entry, unless its key has one.
  ///
  /// - Parameter index: the place of its partition.
  private mutating func insert(_ entry: Entry, _ size: Int, _ index: Int) {
    if let slot = entries.insert(entry, size) { enqueue(slot, index) }
  }

  private mutating func enqueue(_ slot: Int, _ index: Int) {
    partitions[index].queue.insert(.init(due: due(slot), slot: slot, serial: entries[slot].serial))
  }

  // MARK: What the database had

  /// How many bytes a page that is loaded now may have: it ends with the entry that reaches them.
  public var bytesLeft: Int { entries.bytesLeft }

  /// The answer to `load`: its entries with their sizes, in order.
  ///
  /// - Parameter limit: that of the action, or how many were found where there may be more: the page was cut.
  public mutating func loaded(
    _ partition: Int32, _ found: [(entry: Entry, bytes: Int)], through: Int64, limit: Int
  ) {
    guard let index = index(of: partition) else { return }
    for (entry, size) in found { insert(entry, size, index) }
    if found.count < limit {
      partitions[index].loaded = Place(due: through + 1, key: "")
    } else if let last = found.last?.entry {
      partitions[index].loaded = Place(due: last.row.due, key: last.key)
    }
  }

  // MARK: Steps

  /// The next action; nil when there is none now. Call it every turn until it returns nil.
  public mutating func next(now: Int64) -> Action? {
    note(now)
    if isDraining { return nextEnding() }
    if let load = nextLoad(now) { return load }
    if areEndingsUrgent(now), let ending = nextEnding() { return ending }
    if let release = nextRelease(now) { return release }
    // What is due next must not wait for tombstones and then for an answer. All partitions are looked at: once a turn.
    if now != lookedAt, !endings.isEmpty {
      lookedAt = now
      if let question = nextQuestion(now) { return question }
    }
    return nextEnding() ?? nextQuestion(now)
  }

  /// What is due goes before tombstones, for a while: those of a burst would take as long as its requests. A process
  /// that crashes before it has written them releases their requests again.
  private func areEndingsUrgent(_ now: Int64) -> Bool {
    !endings.isEmpty && (now >= endingsSince + Self.endingPatience || entries.isNearlyFull)
  }

  private mutating func nextEnding() -> Action? {
    while let slot = endings.popLast() {
      guard entries[slot].isReplaced else {
        entries[slot].state = .ending
        return .end(slot)
      }
      underWay -= 1
      entries.remove(slot)
    }
    return nil
  }

  /// After the clock went back, `readUntil` would lie in the future.
  private mutating func note(_ now: Int64) {
    if now < latest - Self.grace {
      for index in partitions.indices {
        (partitions[index].readUntil, partitions[index].target) = (nil, nil)
      }
      (askedAt, loadNotBefore, endingsSince) = (nil, .min, now)
      hasClockGoneBack = true
    }
    latest = now
  }

  private mutating func nextLoad(_ now: Int64) -> Action? {
    // Called for each action, with possibly hundreds of partitions. Loading waits until a whole page fits, or an eighth
    // of the bytes: filling up one entry at a time would cost a query for each.
    guard entries.hasRoom(for: page), !entries.isNearlyFull, now >= loadNotBefore,
      now + Self.ahead / 2 > leastLoaded
    else { return nil }
    var (least, isAnyHeld): (Int?, Bool) = (nil, false)
    for index in partitions.indices {
      if isHeld(index, now) {
        isAnyHeld = true
      } else if least.map({ partitions[index].loaded.due < partitions[$0].loaded.due }) ?? true {
        least = index
      }
    }
    guard let least else { return nil }
    let due = partitions[least].loaded.due
    leastLoaded = isAnyHeld ? .min : due
    guard due < now + Self.ahead / 2 else { return nil }
    return .load(
      partition: partitions[least].number, after: partitions[least].loaded,
      through: now + Self.ahead, limit: page)
  }

  /// Whether what is in memory of a partition has been due for long and may not be released, because nobody says where
  /// its log ends, or it is not read. More of it would only take the room of other partitions.
  private func isHeld(_ index: Int, _ now: Int64) -> Bool {
    guard let due = partitions[index].queue.first?.due, due < now - Self.ahead else { return false }
    return partitions[index].readUntil ?? .min < due - Self.grace
  }

  /// The entry that has been due longest, give or take `stride`, among partitions read far enough.
  private mutating func nextRelease(_ now: Int64) -> Action? {
    guard let (index, slot) = slotOfCurrent(now) ?? oldestSlot(now) else {
      current = nil
      return nil
    }
    partitions[index].queue.removeFirst()
    underWay += 1
    let isCancellation = entries[slot].entry.row.isCancellation
    entries[slot].state = isCancellation ? .ending : .releasing
    return isCancellation ? .end(slot) : .release(slot)
  }

  /// The next due entry of the partition released from last: searching all partitions for each entry would cost more
  /// than the entry itself.
  private mutating func slotOfCurrent(_ now: Int64) -> (index: Int, slot: Int)? {
    guard let (index, until) = current, let item = firstWaiting(of: index),
      item.due <= min(now, until), isFresh(index, item)
    else { return nil }
    return (index, item.slot)
  }

  private mutating func oldestSlot(_ now: Int64) -> (index: Int, slot: Int)? {
    var best: (index: Int, item: DueQueue.Item)?
    for index in partitions.indices {
      guard let item = firstWaiting(of: index), item.due <= now,
        best.map({ item.due < $0.item.due }) ?? true, isFresh(index, item)
      else { continue }
      best = (index, item)
    }
    guard let (index, item) = best else { return nil }
    current = (index, item.due + Self.stride)
    return (index, item.slot)
  }

  /// The first waiting entry of a partition's queue.
  private mutating func firstWaiting(of index: Int) -> DueQueue.Item? {
    while let item = partitions[index].queue.first {
      if entries.isWaiting(item.slot, serial: item.serial) { return item }
      partitions[index].queue.removeFirst()
    }
    return nil
  }

  /// Whether everything that may cancel an entry in time has been read. An entry that was already due when it was
  /// written needs no check: such a cancellation stands before it.
  private func isFresh(_ index: Int, _ item: DueQueue.Item) -> Bool {
    guard let readUntil = partitions[index].readUntil else { return false }
    return readUntil >= item.due - Self.grace || entries[item.slot].entry.row.wasDue
  }

  /// Asks for the end offsets of the partitions whose next entry needs them. Also asks after an assignment, to tell
  /// when they are caught up.
  private mutating func nextQuestion(_ now: Int64) -> Action? {
    guard askedAt == nil else { return nil }
    let wanted = partitions.filter { partition in
      guard partition.target == nil else { return false }
      guard let readUntil = partition.readUntil else { return true }
      guard let due = partition.queue.first?.due else { return false }
      return due <= now + Self.askAhead && readUntil < due - Self.grace
    }
    guard !wanted.isEmpty else { return nil }
    askedAt = now
    return .ask(wanted.map(\.number))
  }

  /// Times in the database have changed since loading: reloads what waits in memory.
  public mutating func reload() {
    hasClockGoneBack = false
    for entry in entries.waiting { entries.leave(entry.partition, entry.key) }
    for index in partitions.indices { partitions[index].loaded = Place(due: .min, key: "") }
    leastLoaded = .min
  }

  /// The end offsets of `ask` could not be requested.
  public mutating func askFailed() { askedAt = nil }

  /// The database does not answer: load nothing before this time.
  public mutating func notLoaded(until time: Int64) { loadNotBefore = time }

  /// How long the oldest entry in memory that Kafka does not have yet has been due.
  public func lateness(now: Int64) -> Int64 {
    let oldest = partitions.compactMap { $0.queue.first?.due }.min()
    return max(0, now - (oldest ?? now))
  }

  /// Whether the key of an entry in flight has a newer record, or was removed.
  public func isReplaced(_ slot: Int) -> Bool { entries[slot].isReplaced }

  // MARK: Kafka's answers

  /// Kafka has acknowledged the request of an entry.
  public mutating func released(_ slot: Int) {
    guard !entries[slot].isReplaced else {
      underWay -= 1
      return entries.remove(slot)
    }
    entries.release(slot)
    awaitEnding(slot)
  }

  private mutating func awaitEnding(_ slot: Int) {
    if endings.isEmpty { endingsSince = latest }
    endings.append(slot)
  }

  /// Kafka has the entry's tombstone. Until that is read, the entry stays in memory, as in the database.
  public mutating func ended(_ slot: Int) {
    underWay -= 1
    if entries[slot].isReplaced { entries.remove(slot) } else { entries[slot].state = .ended }
  }

  /// The record of an action could not be written now.
  public mutating func postponed(_ slot: Int) {
    if entries[slot].isReleased {
      entries[slot].state = .released
      return awaitEnding(slot)
    }
    underWay -= 1
    entries[slot].state = .waiting
    guard !entries[slot].isReplaced, let index = index(of: entries[slot].entry.partition) else {
      return entries.remove(slot)
    }
    enqueue(slot, index)
  }
}
