// SPDX-License-Identifier: Apache-2.0
import Contract
import ScheduleDecisions
import Waiting

/// One process of the scheduler: the shipped group membership, `ScheduleMachine`, rules of the schedule's records and
/// `CampaignMachine`, on the topics and the database as models.
final class SchedulerModel: GroupProcess {
  typealias Machine = ScheduleMachine

  enum Tag {
    case request(slot: Int, round: Int)
    case tombstone(slot: Int, round: Int)
    case restored(partition: Int, epoch: UInt32, Int64)
    case page(run: Int, Int)
    case progress(run: Int)
    case nothing
  }

  enum Product {
    case release(Request, work: Int)
    case page(campaign: Int, Range<Int>)
    case record(ScheduleModel.Record, partition: Int)

    /// The schedule's partition; -1 for requests.
    var destination: Int {
      if case .record(_, let partition) = self { partition } else { -1 }
    }
  }

  private struct Outgoing {
    let what: Product
    var tag: Tag
    let storedAt: UInt64
    let acknowledgedAt: UInt64
    var isStored = false
  }

  /// A record of no consequence, behind which compaction would drop what counts.
  private struct Repair {
    let partition: Int
    let offset: Int64
    let key: String
  }

  /// A record that was read, and what was known then.
  private struct Job {
    let offset: Int64
    let record: ScheduleModel.Record
    let clock: Int64
    let isCaughtUp: Bool
  }

  private static let recordsAtOnce = 20
  private static let actionsATurn = 60

  var member = MemberModel(.scheduler)
  /// Its database.
  private let place: Int
  var machine: Machine
  var campaigns: [Int: CampaignRun] = [:]
  var lastRun = 0
  var isDraining = false
  private var outgoing: [Outgoing] = []
  private var owed: [Repair] = []
  /// Behind which key of a partition entries may be on no topic.
  private var unwritten: [Int: String] = [:]
  private var positions: [Int: Int64] = [:]
  private var round = 0
  /// The time at which the partitions were taken over, by a true clock.
  private var since: Int64 = 0
  /// Releases of this round, by partition, offset and the value's identity.
  private var released: Set<[Int64]> = []
  /// Its client fetches nothing until then.
  private var fetchesAt: UInt64 = 0
  private var question: (partitions: [Int32], answersAt: UInt64)?
  /// It can do nothing more.
  private(set) var hasFailed = false
  /// Milliseconds by which its clock is ahead, and by how much more for a while.
  private let skew: Int64
  private var jump: (by: Int64, until: UInt64) = (0, 0)

  init(place: Int, _ chance: inout SeededGenerator) {
    self.place = place
    skew = Int64(chance.within(-400...400))
    machine = Machine(capacity: chance.pick([10, 60, 500]), bytes: .max, page: 10)
  }

  func setClock(by step: Int64, until time: UInt64) { jump = (step, time) }

  func hasRightClock(_ world: World) -> Bool { world.now >= jump.until }

  func ownTime(_ world: World) -> Int64 {
    world.wall + skew + (world.now < jump.until ? jump.by : 0)
  }

  /// True if nothing of it is on its way to Kafka.
  var isIdle: Bool { machine.isIdle && campaigns.values.allSatisfy { $0.machine.isIdle } }

  private func isDown(_ world: World) -> Bool {
    world.schedule.databases[place].downUntil > world.now
  }

  func turn(_ world: inout World) {
    drainAnswers(&world)
    if let question, world.now >= question.answersAt {
      self.question = nil
      machine.answered(
        Dictionary(
          uniqueKeysWithValues: question.partitions.map { ($0, world.schedule.end(Int($0))) }))
    }
    followGroup(&world)
    guard !member.hasLeft, !hasFailed else { return }
    readRecords(&world)
    act(&world)
    runCampaigns(&world)
    if machine.count > 600 || outgoing.count > 1_500 {
      world.kafka.fail("a scheduler holds too much")
    }
  }

  // MARK: The group

  private func followGroup(_ world: inout World) {
    while let task = member.next(&world, isIdle: isIdle, startsOver: startsOver) {
      switch task {
      case .begun(let partitions):
        round += 1
        since = world.wall
        world.kafka.note("scheduler \(skew), round \(round): \(partitions)")
        (owed, released) = ([], [])
        unwritten = Dictionary(uniqueKeysWithValues: partitions.map { ($0, "") })
        machine.begin(partitions.map { Int32($0) })
        removeCampaigns()
        for partition in partitions.sorted() {
          let entries = world.schedule.databases[place].entries[partition]
          for key in entries.keys.sorted() { follow(key, entries[key]!, partition, world) }
        }
      case .drain:
        machine.drain()
        drainCampaigns()
      case .abandon, .unassigned:
        abandon(&world)
        machine.removeAll()
        removeCampaigns()
      case .begin, .forget, .told: break
      }
    }
  }

  /// True if a partition is read from its first record; nil while the database does not answer.
  private func startsOver(_ partition: Int, _ committed: Int64?, _ world: inout World) -> Bool? {
    guard !isDown(world) else { return nil }
    let position = world.schedule.databases[place].positions[partition]
    if ScheduleView.isAnotherLog(position: position, end: world.schedule.end(partition))
      || hasAnotherRecord(partition, world)
    {
      world.kafka.note("scheduler \(skew): the log of \(partition) is another one")
      world.schedule.databases[place].renew(partition)
      positions[partition] = 0
      return true
    }
    if ScheduleView.isComplete(position: position, committed: committed) {
      positions[partition] = position
      mendTimes(partition, &world)
      return false
    }
    world.kafka.note("scheduler \(skew): the view of \(partition) ends at \(position ?? -1)")
    world.schedule.databases[place].startOver(partition)
    positions[partition] = nil
    return true
  }

  private func hasAnotherRecord(_ partition: Int, _ world: World) -> Bool {
    let read = world.schedule.databases[place].entries[partition].filter {
      $0.value.row.offset >= 0
    }
    let first = read.min { ($0.value.row.due, $0.key) < ($1.value.row.due, $1.key) }
    guard let (key, entry) = first else { return false }
    let record = world.schedule[partition, entry.row.offset]
    return ScheduleView.isAnotherLog(
      found: record.isGone ? nil : (record.key.exact, record.value?.identity ?? 0),
      known: (key.exact, entry.row.identity))
  }

  /// Requests that were handed back while the clock was ahead get their own times.
  private func mendTimes(_ partition: Int, _ world: inout World) {
    let now = ownTime(world)
    for (key, entry) in world.schedule.databases[place].entries[partition] {
      guard case .request(let work, _, _) = entry.value,
        let kind = entry.row.kind.mended(due: world.schedule.works[work].sendAt, now: now)
      else { continue }
      world.schedule.databases[place].entries[partition][key]!.row.kind = kind
    }
  }

  // MARK: Records

  private func readRecords(_ world: inout World) {
    if !world.isCalm, world.schedule.chance.oneIn(300) {
      fetchesAt = world.now + UInt64(world.schedule.chance.below(20_000))
    }
    guard member.isAssigned, !isDraining, !isDown(world), world.isCalm || world.now >= fetchesAt
    else { return }
    var jobs: [Int: [Job]] = [:]
    for _ in 0..<Self.recordsAtOnce {
      guard let (partition, offset) = member.take(&world, end: world.schedule.end) else { break }
      jobs[partition, default: []].append(
        Job(
          offset: offset, record: world.schedule[partition, offset], clock: ownTime(world),
          isCaughtUp: machine.isCaughtUp(Int32(partition))))
    }
    for partition in jobs.keys.sorted() where !hasFailed {
      guard world.schedule.databases[place].positions[partition] == positions[partition] else {
        world.kafka.note("scheduler: another one writes the view of \(partition)")
        hasFailed = true
        return
      }
      for job in jobs[partition]! { apply(job, partition, &world) }
      let position = max(jobs[partition]!.last!.offset + 1, positions[partition] ?? 0)
      positions[partition] = position
      world.schedule.databases[place].positions[partition] = position
      world.schedule.viewed(partition, to: position)
    }
    // Also of a partition that has nothing new.
    for partition in machine.owned { machine.read(partition, to: member.position(Int(partition))) }
  }

  private func apply(_ job: Job, _ partition: Int, _ world: inout World) {
    let key = job.record.key
    let current = world.schedule.databases[place].entries[partition][key]
    var isOpen = false
    if !job.record.isGone {
      let change = change(job, world)
      var row = current?.row
      // As the product does.
      if case .end = change, let known = machine.row(Int32(partition), key.exact) { row = known }
      switch change.verdict(at: job.offset, over: row) {
      case .ignore: break
      case .store(let row):
        let entry = ScheduleDatabase.Entry(row: row, value: job.record.value!)
        world.schedule.databases[place].entries[partition][key] = entry
        machine.stored(machineEntry(partition, key, entry), bytes: 1)
        follow(key, entry, partition, world)
      case .remove:
        world.schedule.databases[place].entries[partition][key] = nil
        machine.removed(Int32(partition), key.exact)
      case .restore:
        owed.append(Repair(partition: partition, offset: job.offset, key: key))
        isOpen = true
      }
    }
    if !isOpen { member.completed(partition, epoch: member.epoch, job.offset) }
  }

  private func change(_ job: Job, _ world: World) -> ScheduleChange {
    guard let value = job.record.value else { return .end(of: job.record.ends) }
    switch value {
    case .cancellation(let at):
      return .cancellation(at: at, keptFrom: min(at, job.clock), identity: value.identity)
    case .campaign(_, let progress):
      return .value(.campaign(revision: progress.revision), identity: value.identity)
    case .request(let work, let accepted, let requeuedAt):
      return .request(
        due: world.schedule.works[work].sendAt, accepted: accepted, requeuedAt: requeuedAt,
        now: job.clock, isCaughtUp: job.isCaughtUp, identity: value.identity)
    }
  }

  private func machineEntry(
    _ partition: Int, _ key: String, _ entry: ScheduleDatabase.Entry
  ) -> Machine.Entry {
    .init(
      partition: Int32(partition), key: key.exact, row: entry.row,
      content: entry.value.text)
  }

  // MARK: What is due

  private func act(_ world: inout World) {
    restore(&world)
    guard writeAgain(&world) else { return }
    if machine.hasClockGoneBack, !isDown(world) {
      for partition in machine.owned { mendTimes(Int(partition), &world) }
      machine.reload()
    }
    for _ in 0..<Self.actionsATurn {
      guard let action = machine.next(now: ownTime(world)) else { return }
      switch action {
      case .ask(let partitions):
        let delay = world.isCalm || !world.schedule.chance.oneIn(50) ? 50 : 5_000
        question = (partitions, world.now + UInt64(world.schedule.chance.within(1...delay)))
      case .load(let partition, let after, let through, let limit):
        load(Int(partition), after, through, limit, &world)
      case .release(let slot), .end(let slot):
        guard hasRoom(&world) else { return machine.postponed(slot) }
        if case .release = action { release(slot, &world) } else { end(slot, &world) }
      }
    }
  }

  private func load(
    _ partition: Int, _ after: Machine.Place, _ through: Int64, _ limit: Int, _ world: inout World
  ) {
    guard !isDown(world) else { return machine.notLoaded(until: ownTime(world) + 500) }
    let found = world.schedule.databases[place].due(
      partition, after: after, through: through, limit: limit)
    machine.loaded(
      Int32(partition), found.map { (machineEntry(partition, $0.key, $0.entry), 1) },
      through: through, limit: limit)
  }

  /// True if the client has room for another record.
  func hasRoom(_ world: inout World) -> Bool { world.isCalm || !world.schedule.chance.oneIn(200) }

  private func release(_ slot: Int, _ world: inout World) {
    let entry = machine.entry(slot)
    guard
      case .request(let work, let accepted, let requeuedAt)? = ScheduleModel.Value(
        text: entry.content)
    else { preconditionFailure("a request that was read before") }
    let clock = ownTime(world)
    world.kafka.note("scheduler \(skew), round \(round): request \(work) is released, \(entry.row)")
    world.schedule.released(
      work, entry.row, clock: clock, since: since, wall: world.wall, &world.kafka)
    let record = [Int64(entry.partition), entry.row.offset, entry.row.identity]
    if !released.insert(record).inserted {
      world.kafka.fail("request \(work) is released twice by one process")
    }
    var request = world.schedule.works[work].request
    request.schedule!.written = clock
    request.schedule!.released = (accepted, requeuedAt)
    produce(.release(request, work: work), .request(slot: slot, round: round), &world)
  }

  private func end(_ slot: Int, _ world: inout World) {
    let entry = machine.entry(slot)
    let record = ScheduleModel.Record(key: entry.key.text, value: nil, ends: entry.row.identity)
    produce(
      .record(record, partition: Int(entry.partition)), .tombstone(slot: slot, round: round),
      &world)
  }

  /// Writes again what counts and would be dropped by compaction.
  private func restore(_ world: inout World) {
    for repair in owed where machine.isCaughtUp(Int32(repair.partition)) {
      guard !isDown(world), hasRoom(&world) else { return }
      owed.removeAll { $0.partition == repair.partition && $0.offset == repair.offset }
      let entry = world.schedule.databases[place].entries[repair.partition][repair.key]
      guard let entry, entry.row.offset < repair.offset,
        !machine.isEnding(Int32(repair.partition), repair.key.exact)
      else {
        member.completed(repair.partition, epoch: member.epoch, repair.offset)
        continue
      }
      produce(
        .record(.init(key: repair.key, value: entry.value), partition: repair.partition),
        .restored(partition: repair.partition, epoch: member.epoch, repair.offset), &world)
    }
  }

  /// Writes what a new topic does not have; nothing is released before.
  private func writeAgain(_ world: inout World) -> Bool {
    for partition in unwritten.keys.sorted() where machine.isCaughtUp(Int32(partition)) {
      while true {
        guard !isDown(world), hasRoom(&world) else { return false }
        let next = world.schedule.databases[place].unwritten(
          partition, after: unwritten[partition]!)
        guard let (key, entry) = next else { break }
        produce(
          .record(.init(key: key, value: entry.value), partition: partition), .nothing, &world)
        unwritten[partition] = key
      }
      unwritten[partition] = nil
    }
    return true
  }

  // MARK: Kafka

  /// The records of a partition are stored in their order.
  func produce(_ what: Product, _ tag: Tag, _ world: inout World) {
    let slow = !world.isCalm && world.schedule.chance.oneIn(50) ? 3_000 : 60
    let stored = max(
      world.now + UInt64(world.schedule.chance.within(1...slow)),
      outgoing.last { $0.what.destination == what.destination }?.storedAt ?? 0)
    let late = !world.isCalm && world.schedule.chance.oneIn(100) ? 5_000 : 40
    outgoing.append(
      Outgoing(
        what: what, tag: tag, storedAt: stored,
        acknowledgedAt: stored + UInt64(world.schedule.chance.within(1...late))))
  }

  private func drainAnswers(_ world: inout World) {
    for index in outgoing.indices where !outgoing[index].isStored {
      guard outgoing[index].storedAt <= world.now else { continue }
      outgoing[index].isStored = true
      store(outgoing[index].what, &world)
    }
    let acknowledged = outgoing.filter { $0.isStored && $0.acknowledgedAt <= world.now }
    outgoing.removeAll { $0.isStored && $0.acknowledgedAt <= world.now }
    for record in acknowledged { acknowledge(record.tag) }
  }

  private func acknowledge(_ tag: Tag) {
    switch tag {
    case .request(let slot, round): machine.released(slot)
    case .tombstone(let slot, round): machine.ended(slot)
    case .restored(let partition, let epoch, let offset):
      member.completed(partition, epoch: epoch, offset)
    case .page(let run, let page): acknowledge(page: page, run)
    case .progress(let run): acknowledge(progress: run)
    case .request, .tombstone, .nothing: break
    }
  }

  private func store(_ what: Product, _ world: inout World) {
    switch what {
    case .record(let record, let partition):
      world.schedule.append(record, to: partition, at: world.wall, &world.kafka)
    case .release(let request, let work):
      world.schedule.stored(work, &world.kafka)
      world.requests.append(request, to: work % world.requests.partitions.count)
    case .page(let number, let page):
      world.schedule.stored(number, page, &world.kafka)
      let campaign = world.schedule.campaigns[number]
      let request = Request(
        first: campaign.first + page.lowerBound, devices: Array(campaign.devices[page]),
        app: campaign.app, lane: .bulk, created: world.wall, expiresAt: .max, isBad: false,
        campaign: number)
      world.requests.append(request, to: page.lowerBound % world.requests.partitions.count)
    }
  }

  /// Records that are not acknowledged are given up: some of it is on its way.
  private func abandon(_ world: inout World) {
    outgoing = onTheWay(&world).map { record in
      var record = record
      record.tag = .nothing
      return record
    }
  }

  func crash(_ world: inout World) {
    for record in onTheWay(&world) { store(record.what, &world) }
  }

  /// Of the records that are not stored the first ones of each partition.
  private func onTheWay(_ world: inout World) -> [Outgoing] {
    var cut: Set<Int> = []
    return outgoing.filter { record in
      if record.isStored { return false }
      if world.schedule.chance.oneIn(4) { cut.insert(record.what.destination) }
      return !cut.contains(record.what.destination)
    }
  }
}
