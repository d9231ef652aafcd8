// SPDX-License-Identifier: Apache-2.0
import Kafka
import TestSupport
import Testing
import Waiting

@testable import ConsumerGroup
@testable import ServiceKit

/// The shell that all services share, against a model of a group: assignments, revocations, losses, logs that are made
/// again, commits that fail, a stop, in any order.
@Suite struct GroupSessionTests {
  @Test(arguments: 0..<150 as Range<UInt64>, [nil, "one"])
  func `no commit says what is not so, every drain ends, the last answer is remembered`(
    seed: UInt64, name: String?
  ) throws {
    var world = try SessionWorld(seed: seed, name: name)
    for _ in 0..<600 where world.problem == nil && !world.session.hasLeft { world.step() }
    world.end()
    #expect(world.problem == nil, "seed \(seed): \(world.problem ?? "")")
  }

  /// So that the test above is about something.
  @Test func `the seeds contain drains, losses, new producers and commits`() throws {
    var (drains, losses, remade, remembered, commits, rejoins) = (0, 0, 0, 0, 0, 0)
    for seed in 1_000..<1_040 as Range<UInt64> {
      var world = try SessionWorld(seed: seed, name: seed % 2 == 0 ? "one" : nil)
      for _ in 0..<600 where world.problem == nil && !world.session.hasLeft { world.step() }
      drains += world.drains
      losses += world.losses
      remade += world.remade
      remembered += world.remembered
      commits += world.model.commits.count
      rejoins += world.model.rejoins
    }
    #expect(drains > 400 && losses > 50 && remade > 50 && remembered > 100 && commits > 100)
    #expect(rejoins > 20)
  }

  @Test func `a member with a name whose session ran out joins again with a new client`() throws {
    var world = try SessionWorld(seed: 1, name: "one")
    try world.assign()
    world.model.lose()
    for _ in 0..<20 where world.model.rejoins == 0 { world.wait(500) }
    #expect(world.model.rejoins == 1 && world.session.failure == nil && world.problem == nil)
    try world.assign()
    #expect(world.session.isAssigned)
  }

  @Test
  func `one that is told again and again that its name is another's ends, and says so`() throws {
    var world = try SessionWorld(seed: 1, name: "one")
    for turn in 0..<FencedMember.attempts {
      try world.assign()
      world.model.fence()
      for _ in 0..<20 where world.model.rejoins == turn { world.wait(500) }
      #expect(world.model.rejoins == turn + 1 && world.session.failure == nil)
    }
    try world.assign()
    world.model.fence()
    for _ in 0..<20 { world.wait(500) }
    let failure = try #require(world.session.failure)
    #expect(failure.description.contains("another process uses --instance-id one"))
    #expect(world.session.hasLeft && world.problem == nil)
  }

  @Test func `one without a name cannot be told that; it ends as with any such error`() throws {
    var world = try SessionWorld(seed: 1)
    try world.assign()
    world.model.fence()
    for _ in 0..<20 { world.wait(500) }
    #expect(world.session.failure != nil && world.session.hasLeft && world.model.rejoins == 0)
  }
}

/// A process with a `GroupSession`, as the sender uses it.
private struct SessionWorld {
  private struct Place {
    var ledger: OffsetLedger
    var open: Set<Int64> = []
    var epoch: UInt32
    /// Its log was made again: what is completed now is of the old one.
    var isOld = false
  }

  let model: GroupModel
  private let context: ServiceContext
  private(set) var session: GroupSession<GroupModel>
  private var random: SeededGenerator
  private var now: UInt64 = 1_000
  private var memory = CompletionMemory<TopicPartition>()
  private var places: [TopicPartition: Place] = [:]
  private var owesDrained = false
  private var isResuming = false
  /// Reports that are late.
  private var late: [PartitionProgress<TopicPartition>] = []
  private(set) var (drains, losses, remade, remembered) = (0, 0, 0, 0)

  init(seed: UInt64, name: String? = nil) throws {
    random = SeededGenerator(seed: seed ^ 0x5e55)
    model = GroupModel(seed: seed)
    context = try .test()
    var plan = GroupPlan(
      group: "g", topics: ["t"], instanceID: name, commitInterval: 100, rebalancePatience: 1_500,
      stopPatience: 5_000, cost: "does it again")
    plan.lostPatience = 500
    session = GroupSession(plan, model, nil, context)
  }

  var problem: String? { model.problem }

  // MARK: One thing after the other

  /// Time passes.
  mutating func wait(_ milliseconds: UInt64) {
    now += milliseconds
    follow()
    if owesDrained { drained() }
    follow()
  }

  /// The group gives partitions to the member, which begins them.
  mutating func assign() throws {
    model.give()
    for _ in 0..<100 where !session.isAssigned { wait(500) }
    try #require(session.isAssigned && problem == nil)
  }

  // MARK: What happens

  mutating func step() {
    now += UInt64(random.below(random.oneIn(20) ? 15_000 : 200))
    model.act()
    switch random.below(12) {
    case 0..<4: read()
    case 4..<8: complete()
    case 8: report()
    case 9: remakeLog()
    case 10: if owesDrained { drained() }
    default:
      if random.oneIn(150) { context.signals.requestStop() }
      if random.oneIn(400) { context.signals.requestFastShutdown() }
      if random.oneIn(400) { model.fence() }
    }
    follow()
  }

  /// Stops, whatever is under way, and gives it all the answers that it waits for.
  mutating func end() {
    context.signals.requestStop()
    for _ in 0..<10 where !session.hasLeft {
      now += 600
      follow()
      if owesDrained { drained() }
      follow()
    }
    guard problem == nil else { return }
    if !session.hasLeft { model.fail("a stop does not end") }
    if !model.isClosed { model.fail("has left, and has not") }
  }

  private mutating func anyPlace() -> TopicPartition? {
    GroupModel.partitions.filter { places[$0] != nil }.randomElement(using: &random)
  }

  private mutating func read() {
    guard session.isAssigned, let partition = anyPlace() else { return }
    for _ in 0..<random.below(4) {
      let offset = places[partition]!.ledger.nextOffset
      if places[partition]!.ledger.received(offset) == .new {
        places[partition]!.open.insert(offset)
      }
    }
  }

  private mutating func complete() {
    guard let partition = anyPlace() else { return }
    guard let offset = places[partition]!.open.sorted().randomElement(using: &random) else {
      return
    }
    places[partition]!.open.remove(offset)
    _ = places[partition]!.ledger.completed(offset)
    if !places[partition]!.isOld { model.complete(partition, offset) }
  }

  private var progress: [PartitionProgress<TopicPartition>] {
    places.map {
      PartitionProgress(
        $0.key, epoch: $0.value.epoch, committable: $0.value.ledger.committable,
        completedAbove: $0.value.ledger.completedRuns(limit: 100))
    }
  }

  private mutating func report() {
    session.note(late)
    late = []
    if random.oneIn(3) { late = progress } else { session.note(progress) }
  }

  private mutating func remakeLog() {
    guard session.isAssigned || isResuming, random.oneIn(4),
      let partition = anyPlace()
    else { return }
    model.remake(partition)
    memory.forget(partition)
    places[partition]!.isOld = true
    isResuming = true
    remade += 1
    session.machine.remade([partition], now: now)
  }

  // MARK: The session's tasks

  mutating func follow() {
    while let task = session.next(now: now) {
      switch task {
      case .assigned(let assignment): begin(assignment)
      case .drain(let deadline, let isLost, let isLeaving):
        if isLost { losses += 1 }
        if isLost != model.isLost, !isLeaving { model.fail("does not know what is lost") }
        if deadline > now + 5_000 { model.fail("waits for too long") }
        owesDrained = true
      case .abandon:
        if !owesDrained { model.fail("gives up what is not under way") }
        drained()
      case .unassigned: unassigned()
      case .forget(let partitions): for partition in partitions { memory.forget(partition) }
      }
    }
    if session.isDraining != owesDrained { model.fail("waits although nothing is open") }
  }

  private mutating func begin(_ assignment: GroupAssignment<TopicPartition>) {
    if !places.isEmpty || owesDrained { model.fail("begins before it has given back") }
    if session.isLeaving { model.fail("begins while it leaves") }
    guard let committed = session.committed(assignment, now: now) else { return }
    var starts: [GroupStart<TopicPartition>] = []
    var resumes: [TopicPartition: ResumePoint] = [:]
    for entry in committed {
      let map =
        entry.offset.flatMap {
          try? OffsetMap.decode(entry.metadata, of: entry.partition, base: $0)
        } ?? []
      let (resume, isNews, _) = memory.resume(entry.partition, committed: entry.offset, map: map)
      resumes[entry.partition] = resume
      starts.append(GroupStart(entry.partition, committed: entry.offset, resume, isNews: isNews))
    }
    guard session.begin(starts, now: now) else { return session.handOver(to: &memory) }
    isResuming = false
    for (partition, resume) in resumes { place(partition, resume, assignment.epoch) }
  }

  private mutating func place(_ partition: TopicPartition, _ resume: ResumePoint, _ epoch: UInt32) {
    let next = resume.next ?? 0
    let isOtherLog = next > 0 && model.stale.contains(partition)
    let ledger =
      isOtherLog
      ? OffsetLedger(nextOffset: 0)
      : OffsetLedger(nextOffset: next, completedAbove: resume.completedAbove)
    places[partition] = Place(ledger: ledger, epoch: epoch)
    guard isOtherLog else { return }
    session.machine.restarted(partition, epoch: epoch)
    memory.forget(partition)
  }

  private mutating func drained() {
    owesDrained = false
    if random.oneIn(2) { session.note(progress) }
    session.drained(now: now)
  }

  private mutating func unassigned() {
    drains += 1
    if owesDrained { model.fail("gives back before all is drained") }
    let (known, ours) = (model.known, places)
    places = [:]
    session.handOver(to: &memory)
    // What is committed, as far as this process was told, is what its memory stands on: below it, it is not believed.
    for (partition, offset) in known where offset > 0 && ours[partition]?.isOld == false {
      var copy = memory
      let told = copy.resume(partition, committed: offset - 1, map: []).point
      if told != ResumePoint(next: offset - 1) { model.fail("does not know of its last commit") }
      remembered += 1
    }
  }
}
