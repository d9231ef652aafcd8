// SPDX-License-Identifier: Apache-2.0
import Contract
import ScheduleDecisions
import Testing
import Waiting

/// `ScheduleMachine` and its `DueQueue` in virtual time, with a database and a log that are arrays.
@Suite struct ScheduleMachineTests {
  @Test func `a request is released at its time, not before, and ended when Kafka has it`() {
    var world = ScheduleWorld()
    world.schedule("a", due: 10_000)
    world.run(until: 9_999)
    #expect(world.released.isEmpty)
    world.run(until: 10_050)
    #expect(world.released.map(\.key) == ["a"])
    world.run(until: 11_000)
    #expect(world.rows.isEmpty && world.machine.count == 0 && world.machine.isIdle)
  }

  @Test
  func `a request is not released before everything that is a second older than its time was read`()
  {
    var world = ScheduleWorld()
    world.schedule("a", due: 10_000)
    world.run(until: 2_000)
    world.isReading = false
    world.cancel("a", at: 7_900)
    world.run(until: 60_000)
    #expect(world.released.isEmpty, "what stands on the topic and was not read may cancel it")
    world.isReading = true
    world.run(until: 70_000)
    #expect(world.released.isEmpty)
    #expect(world.rows["a"]?.row.isCancellation == true)
  }

  @Test func `keys of other bytes but equal text are two requests`() {
    var world = ScheduleWorld()
    world.schedule("caf\u{E9}", due: 10_000)
    world.schedule("cafe\u{301}", due: 10_000)
    world.cancel("caf\u{E9}", at: 1_000)
    world.run(until: 12_000)
    #expect(world.released.map(\.key) == ["cafe\u{301}"])
  }

  @Test func `without an answer about the log's end nothing is released`() {
    var world = ScheduleWorld()
    world.schedule("a", due: 10_000)
    world.run(until: 2_000)
    world.answers = false
    world.run(until: 20_000)
    #expect(world.released.isEmpty)
    world.answers = true
    world.run(until: 21_000)
    #expect(world.released.map(\.key) == ["a"])
  }

  @Test func `a request that was due when it was written is released without an answer`() {
    var world = ScheduleWorld()
    world.run(until: 1_000)
    world.answers = false
    world.run(until: 20_000)
    world.schedule("now", due: 20_000)
    world.schedule("later", due: 20_020)
    world.run(until: 20_100)
    #expect(world.released.map(\.key) == ["now"])
    world.answers = true
    world.run(until: 20_200)
    #expect(world.released.map(\.key) == ["now", "later"])
  }

  @Test func `one that was due when it was written waits for what a new owner has not read`() {
    var world = ScheduleWorld()
    world.answers = false
    world.schedule("a", due: 0)
    world.run(until: 5_000)
    #expect(world.released.isEmpty, "behind it may be its cancellation")
    world.answers = true
    world.run(until: 6_000)
    #expect(world.released.map(\.key) == ["a"])
  }

  @Test func `a request that is replaced while it is under way is not ended by the old tombstone`()
  {
    var world = ScheduleWorld()
    world.schedule("a", due: 1_000)
    world.acknowledges = false
    world.run(until: 1_100)
    world.schedule("a", due: 5_000)
    world.run(until: 1_200)
    world.acknowledges = true
    world.run(until: 4_900)
    #expect(world.rows["a"]?.row.due == 5_000)
    world.run(until: 6_000)
    #expect(world.released.map(\.key) == ["a", "a"])
    #expect(world.rows.isEmpty)
  }

  @Test func `a clock that goes back makes nothing fresh that was not read`() {
    var world = ScheduleWorld()
    world.schedule("a", due: 10_000)
    world.run(until: 9_000)
    world.answers = false
    world.schedule("b", due: 4_000)
    world.now = 2_000
    world.run(until: 12_000)
    #expect(world.released.isEmpty)
    world.answers = true
    world.run(until: 12_500)
    #expect(world.released.count == 2)
  }

  @Test func `more entries than memory holds are all released, the first ones first`() {
    var world = ScheduleWorld(capacity: 50)
    for index in 0..<1_000 { world.schedule("k\(index)", due: 5_000 + Int64(index % 7)) }
    world.run(until: 4_000)
    #expect(world.machine.count <= 50)
    world.run(until: 20_000)
    #expect(world.released.count == 1_000 && Set(world.released.map(\.key)).count == 1_000)
    #expect(world.rows.isEmpty)
    #expect(world.loads < 1_000 / 13 + 20, "a page at a time, not an entry for each that has gone")
  }

  @Test func `of partitions with the same times the first one is next`() {
    var machine = ScheduleMachine(capacity: 100, bytes: 1_000, page: 10)
    var (loads, releases): ([Int32], [Int32]) = ([], [])
    machine.begin([7, 3, 5, 1])
    while let action = machine.next(now: 10_000) {
      switch action {
      case .ask(let partitions):
        machine.answered(Dictionary(uniqueKeysWithValues: partitions.map { ($0, 0) }))
      case .load(let partition, _, let through, let limit):
        loads.append(partition)
        let row = ScheduleRow(offset: 0, identity: 1, kind: .request(due: 9_000, written: 0))
        let entry = ScheduleMachine.Entry(partition: partition, key: "a", row: row, content: "")
        machine.loaded(partition, [(entry, 1)], through: through, limit: limit)
      case .release(let slot): releases.append(machine.entry(slot).partition)
      case .end: break
      }
    }
    #expect(loads == [1, 3, 5, 7] && releases == [1, 3, 5, 7])
  }

  private func entry(
    _ key: ExactText, due: Int64, identity: Int64 = 1, of partition: Int32 = 0
  ) -> ScheduleMachine.Entry {
    let row = ScheduleRow(
      offset: 0, identity: identity, kind: .request(due: due, written: 0))
    return .init(partition: partition, key: key, row: row, content: "")
  }

  @Test func `a page ends where the bytes end, and what is behind it is loaded later`() {
    var machine = ScheduleMachine(capacity: 100, bytes: 1_000, page: 10)
    let stored = (10..<30).map { entry("k\($0)", due: 5_000) }
    var (released, underWay): ([ExactText], [Int]) = ([], [])
    var most = 0
    machine.begin([0])
    for now in stride(from: Int64(10_000), to: 20_000, by: 100) {
      while let action = machine.next(now: now) {
        switch action {
        case .ask: machine.answered([0: 0])
        case .load(_, let after, let through, let limit):
          let room = machine.bytesLeft
          let rest = stored.filter { ($0.row.due, $0.key) > (after.due, after.key) }
          let page = Array(rest.prefix(min(limit, (room + 299) / 300)))
          machine.loaded(
            0, page.map { ($0, 300) }, through: through,
            limit: page.count * 300 >= room ? page.count : limit)
          most = max(most, machine.count)
        case .release(let slot):
          released.append(machine.entry(slot).key)
          underWay.append(slot)
        case .end(let slot):
          let key = machine.entry(slot).key
          machine.ended(slot)
          machine.removed(0, key)
        }
      }
      for slot in underWay { machine.released(slot) }
      underWay = []
    }
    #expect(released.sorted() == stored.map(\.key))
    #expect(most == 4, "the last one reaches the bound")
  }

  /// Partition 0 has any number of entries that are due, and 1 has two.
  @Test func `a partition whose log has no known end does not take the room of others`() {
    var machine = ScheduleMachine(capacity: 40, bytes: 1_000, page: 10)
    var left = [entry("x", due: 100_050, of: 1), entry("y", due: 108_000, of: 1)]
    var (pages, released): (Int64, [ExactText]) = (0, [])
    machine.begin([0, 1])
    for now in stride(from: Int64(100_000), to: 110_000, by: 100) {
      var isAsked = false
      while let action = machine.next(now: now) {
        switch action {
        case .ask: isAsked = true
        case .load(1, _, let through, let limit):
          let found = left.filter { $0.row.due <= through }
          left.removeFirst(found.count)
          machine.loaded(1, found.map { ($0, 1) }, through: through, limit: limit)
        case .load(let partition, _, let through, let limit):
          pages += 1
          let found = (0..<Int64(limit)).map { entry("\(pages) \($0)", due: 50_000 + pages) }
          machine.loaded(partition, found.map { ($0, 1) }, through: through, limit: limit)
        case .release(let slot):
          released.append(machine.entry(slot).key)
          machine.released(slot)
        case .end(let slot): machine.ended(slot)
        }
      }
      if isAsked { machine.answered([1: 0]) }
    }
    #expect(released == ["x", "y"] && pages == 1)
  }

  /// A machine in which "a" and "b" are released at 9,000 and wait for their tombstones, and "c" is due at 10,200.
  private func withTombstones() -> ScheduleMachine {
    var machine = ScheduleMachine(capacity: 100, bytes: 1_000, page: 10)
    var released: [Int] = []
    machine.begin([0])
    while let action = machine.next(now: 9_000) {
      switch action {
      case .ask: machine.answered([0: 0])
      case .load(let partition, _, let through, let limit):
        let entries = [entry("a", due: 9_000), entry("b", due: 9_000), entry("c", due: 10_200)]
        machine.loaded(partition, entries.map { ($0, 1) }, through: through, limit: limit)
      case .release(let slot): released.append(slot)
      case .end: break
      }
    }
    for slot in released { machine.released(slot) }
    return machine
  }

  @Test func `a released request whose key has a newer record by then needs no tombstone`() {
    var machine = withTombstones()
    machine.stored(entry("b", due: 60_000, identity: 2), bytes: 1)
    var ended: [ExactText] = []
    while case .end(let slot)? = machine.next(now: 9_100) {
      ended.append(machine.entry(slot).key)
      machine.ended(slot)
    }
    #expect(ended == ["a"] && machine.isIdle)
    #expect(machine.count == 2, "a until its tombstone is read, and c")
  }

  /// As when a topic that was made anew gets it again, or what came behind it would hide it.
  @Test func `a request whose record is written once more while it is under way is released once`()
  {
    var machine = withTombstones()
    machine.stored(entry("a", due: 9_000), bytes: 1)
    var ended: [ExactText] = []
    while let action = machine.next(now: 9_100) {
      guard case .end(let slot) = action else { continue }
      ended.append(machine.entry(slot).key)
      machine.ended(slot)
      // That of "b" is read when its tombstone was written already, and is behind it.
      machine.stored(entry(machine.entry(slot).key, due: 9_000), bytes: 1)
    }
    #expect(ended.sorted() == ["a", "b"] && machine.isIdle)
    #expect(machine.isEnding(0, "a") && !machine.isEnding(0, "c"))
    #expect(machine.count == 3, "until the tombstones are read")
    machine.removed(0, "a")
    machine.removed(0, "b")
    #expect(machine.count == 1)
  }

  @Test func `the log's end is asked for before tombstones are written that take a while`() {
    var machine = withTombstones()
    #expect(machine.next(now: 9_800) == .ask([0]))
    machine.answered([0: 0])
    var ended = 0
    while case .end(let slot)? = machine.next(now: 9_800) {
      ended += 1
      machine.ended(slot)
    }
    #expect(ended == 2)
    guard case .release(let slot)? = machine.next(now: 10_200) else { return #expect(Bool(false)) }
    #expect(machine.entry(slot).key == "c")
  }

  @Test func `a cancellation is removed when its time is over`() {
    var world = ScheduleWorld()
    world.cancel("a", at: 0)
    world.run(until: 1_000)
    #expect(world.rows.count == 1)
    world.now = ScheduleChange.cancellationKept
    world.run(until: ScheduleChange.cancellationKept + 2_000)
    #expect(world.rows.isEmpty && world.released.isEmpty)
  }

  /// Seeds of everything at once: kills, empty databases, clocks that jump, a log that stands still, Kafka that does not
  /// answer. Nothing is lost, nothing early, and what was cancelled two seconds before is not sent.
  @Test(arguments: 0..<400 as Range<UInt64>)
  func `nothing is lost, nothing early, nothing that was cancelled in time is sent`(_ seed: UInt64)
  {
    var random = SeededGenerator(seed: seed)
    var world = ScheduleWorld(capacity: random.below(2) == 0 ? 5 : 100)
    var dues: [ExactText: Int64] = [:]
    var cancelled: [ExactText: Int64] = [:]
    for index in 0..<60 {
      let key: ExactText = "k\(index)"
      dues[key] = world.now + (index % 8 == 0 ? 0 : 1_000 + Int64(random.below(20_000)))
      world.schedule(key, due: dues[key]!)
      if random.below(4) == 0 {
        let before = Array(dues.keys.sorted())[Int(random.below(UInt64(dues.count)))]
        if cancelled[before] == nil {
          cancelled[before] = world.now
          world.cancel(before, at: world.now)
        }
      }
      world.run(until: world.now + Int64(random.below(600)))
      switch random.below(12) {
      case 0: world.kill()
      case 1: world.kill(losesDatabase: true)
      case 2: world.isReading.toggle()
      case 3: world.answers.toggle()
      case 4: world.acknowledges.toggle()
      default: break
      }
    }
    (world.isReading, world.answers, world.acknowledges) = (true, true, true)
    world.run(until: world.now + 60_000)
    #expect(!world.isAtOdds, "seed \(seed): memory and database differ")
    for (key, due) in dues {
      let times = world.released.filter { $0.key == key }.map(\.at)
      #expect(times.allSatisfy { $0 >= due }, "seed \(seed): \(key) early")
      if let at = cancelled[key] {
        if at <= due - 2_000 { #expect(times.isEmpty, "seed \(seed): \(key) was cancelled") }
      } else {
        #expect(!times.isEmpty, "seed \(seed): \(key) lost")
      }
    }
    #expect(world.rows.values.allSatisfy { $0.row.isCancellation })
  }
}

extension SeededGenerator {
  fileprivate mutating func below(_ bound: UInt64) -> UInt64 { next() % bound }
}

/// A scheduler around its machine: one partition, its topic, its database, and Kafka.
struct ScheduleWorld {
  struct Record {
    let key: ExactText
    let change: ScheduleChange
  }

  var now: Int64 = 0
  var machine: ScheduleMachine
  var topic: [Record] = []
  var rows: [ExactText: (row: ScheduleRow, change: ScheduleChange)] = [:]
  var released: [(key: ExactText, at: Int64)] = []
  var isReading = true
  var answers = true
  var acknowledges = true
  /// The machine has had another row of a key than the database.
  private(set) var isAtOdds = false
  /// Questions to the database.
  private(set) var loads = 0
  private let capacity: Int
  private var position = 0
  private var isAsked = false
  private var underWay: [(slot: Int, isRequest: Bool)] = []

  init(capacity: Int = 100) {
    self.capacity = capacity
    machine = ScheduleMachine(capacity: capacity, bytes: 1 << 20, page: 20)
    machine.begin([0])
  }

  mutating func schedule(_ key: ExactText, due: Int64) {
    let request = ScheduleRow.Kind.request(due: due, written: now)
    topic.append(Record(key: key, change: .value(request, identity: Int64(topic.count))))
  }

  mutating func cancel(_ key: ExactText, at: Int64) {
    topic.append(Record(key: key, change: .cancellation(at: at, identity: Int64(topic.count))))
  }

  /// The process ends and starts again. What it had written and Kafka had not acknowledged may be there or not.
  mutating func kill(losesDatabase: Bool = false) {
    machine = ScheduleMachine(capacity: capacity, bytes: 1 << 20, page: 20)
    machine.begin([0])
    isAsked = false
    underWay = []
    if losesDatabase {
      rows = [:]
      position = 0
    } else {
      position = max(0, position - 3)
    }
  }

  mutating func run(until end: Int64) {
    while now < end {
      read()
      acknowledge()
      if isAsked, answers {
        isAsked = false
        machine.answered([0: Int64(topic.count)])
      }
      while let action = machine.next(now: now) { perform(action) }
      now = min(end, now + 10)
    }
  }

  private mutating func read() {
    while isReading, position < topic.count {
      let record = topic[position]
      let offset = Int64(position)
      position += 1
      if let row = machine.row(0, record.key), row != rows[record.key]?.row { isAtOdds = true }
      switch record.change.verdict(at: offset, over: rows[record.key]?.row) {
      case .store(let row):
        rows[record.key] = (row, record.change)
        machine.stored(entry(record.key, row), bytes: 100)
      case .remove:
        rows[record.key] = nil
        machine.removed(0, record.key)
      case .restore: topic.append(Record(key: record.key, change: rows[record.key]!.change))
      case .ignore: break
      }
      machine.read(0, to: offset + 1)
    }
  }

  private func entry(_ key: ExactText, _ row: ScheduleRow) -> ScheduleMachine.Entry {
    .init(partition: 0, key: key, row: row, content: "")
  }

  private mutating func acknowledge() {
    guard acknowledges else { return }
    let answered = underWay
    underWay = []
    for (slot, isRequest) in answered {
      if isRequest { machine.released(slot) } else { machine.ended(slot) }
    }
  }

  private mutating func perform(_ action: ScheduleMachine.Action) {
    switch action {
    case .ask: isAsked = true
    case .load(_, let after, let through, let limit):
      loads += 1
      let due = rows.filter { key, value in
        value.row.due <= through && (after.due, after.key) < (value.row.due, key)
      }.sorted { ($0.value.row.due, $0.key) < ($1.value.row.due, $1.key) }.prefix(limit)
      machine.loaded(
        0, due.map { (entry($0.key, $0.value.row), 100) }, through: through, limit: limit)
    case .release(let slot):
      released.append((machine.entry(slot).key, now))
      underWay.append((slot, true))
    case .end(let slot):
      let entry = machine.entry(slot)
      topic.append(Record(key: entry.key, change: .end(of: entry.row.identity)))
      underWay.append((slot, false))
    }
  }
}
