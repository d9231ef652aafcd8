// SPDX-License-Identifier: Apache-2.0
import Delivery
import Random

/// One process's membership in a group: the shipped `Membership`, `OffsetBook` and `CommitState`, and what
/// `ServiceKit.GroupMember` does with them on librdkafka, done in `GroupModel`.
struct MemberModel {
  /// What the service has to do, as from `GroupMember`.
  enum Task {
    case begun([Int])
    case drain
    case abandon
    case released
  }

  private enum Event {
    case assigned([Int], generation: Int)
    case revoked(isLost: Bool)
  }

  /// A commit on its way to the coordinator and back.
  private struct OnTheWay {
    var plans: [PlannedCommit<Int>]
    var arrivesAt: UInt64
    var answersAt: UInt64
    var isTaken: Bool?
  }

  private let kind: GroupModel.Kind
  private var membership = Membership<Int>(rebalancePatience: 3_000)
  private var book = OffsetBook(topics: 1)
  private var commits = CommitState<Int>()
  private var steps: [Membership<Int>.Step] = []
  private var events: [Event] = []
  private var positions: [(partition: Int, next: Int64)] = []
  private var generation = -1
  /// Assignments so far.
  private var assignments: UInt32 = 0
  private var onTheWay: OnTheWay?
  private var nextCommit: UInt64 = 0
  /// It has nothing that the group waits for.
  private(set) var hasReleased = true
  /// The group has gone on without it.
  var isFenced = false
  private var hasHeardLoss = false
  /// It was told to stop, and how long what is under way gets.
  private(set) var stopPatience: UInt64?
  /// Its process stands still until then.
  var stalledUntil: UInt64 = 0

  init(_ kind: GroupModel.Kind) { self.kind = kind }

  var isAssigned: Bool { membership.isAssigned }
  var isDraining: Bool { membership.isDraining }
  var hasLeft: Bool { membership.hasLeft && steps.isEmpty }
  var isLeaving: Bool { stopPatience != nil }
  var epoch: UInt32 { book.epoch }

  // MARK: The coordinator's side

  mutating func assign(_ partitions: [Int], generation: Int) {
    events.append(.assigned(partitions, generation: generation))
  }

  mutating func revoke(isLost: Bool) {
    hasReleased = false
    events.append(.revoked(isLost: isLost))
  }

  mutating func stop(patience: UInt64) { stopPatience = stopPatience ?? patience }

  // MARK: Turns

  /// What the service has to do next; nil when there is nothing.
  mutating func next(_ world: inout World) -> Task? {
    moveCommit(&world)
    while true {
      if steps.isEmpty { look(world) }
      if steps.isEmpty, membership.takesEvents, !events.isEmpty {
        take(events.removeFirst(), world)
        continue
      }
      guard !steps.isEmpty else { break }
      if let task = perform(steps.removeFirst(), &world) { return task }
    }
    if membership.isAssigned, world.now >= nextCommit {
      nextCommit = world.now + 200
      commits.note(progress)
      send(commits.due(now: world.now), &world)
    }
    return nil
  }

  private mutating func look(_ world: World) {
    if isFenced, !hasHeardLoss, !membership.isDraining {
      hasHeardLoss = true
      events.append(.revoked(isLost: true))
    }
    if let stopPatience { steps += membership.stop(patience: stopPatience, now: world.now) }
    if steps.isEmpty { steps = membership.tick(now: world.now) }
  }

  private mutating func take(_ event: Event, _ world: World) {
    switch event {
    case .assigned(let partitions, let generation):
      self.generation = generation
      steps += membership.assigned(partitions, now: world.now)
    case .revoked(let isLost):
      steps += membership.revoked(isLost: isLost, now: world.now)
    }
  }

  private mutating func perform(
    _ step: Membership<Int>.Step, _ world: inout World
  ) -> Task? {
    switch step {
    case .begin(let partitions, _):
      if world.chance.oneIn(30) {
        membership.began(false, now: world.now)
        return nil
      }
      begin(partitions, &world)
      return .begun(partitions)
    case .drain: return .drain
    case .abandon: return .abandon
    case .release(let isCommitting, _):
      release(isCommitting, &world)
      return .released
    // Members have no names here.
    case .retire, .rejoin: return nil
    case .leave:
      if stopPatience == nil { world.kafka.fail("a process left its group without being stopped") }
      world[kind].wantRebalance(at: world.now)
      hasReleased = true
      return nil
    }
  }

  private mutating func begin(_ partitions: [Int], _ world: inout World) {
    hasReleased = false
    assignments += 1
    book.begin(partitions.map { Source(topic: 0, partition: Int32($0)) }, epoch: assignments)
    commits.removeAll()
    positions = partitions.map { ($0, world[kind].committed[$0] ?? 0) }
    for partition in partitions {
      commits.begin(
        partition, epoch: book.epoch, committed: nil, ResumePoint(next: nil), isNews: false)
    }
    membership.began(true, now: world.now)
  }

  private mutating func release(_ isCommitting: Bool, _ world: inout World) {
    if isCommitting {
      let standing = book.progress
      commits.note(progress)
      let plans = commits.everything(now: world.now)
      // The broker may refuse the last commit, as the embedded one does in a rebalance.
      if isCurrent(world), !world.chance.oneIn(5) {
        for plan in plans.sorted(by: { $0.partition < $1.partition }) { apply(plan, &world) }
        judgeLast(standing, world.groups[kind.rawValue], &world.kafka)
      }
    }
    commits.removeAll()
    book.removeAll()
    positions = []
    onTheWay = nil
    hasReleased = true
    if isFenced {
      (isFenced, hasHeardLoss) = (false, false)
      world[kind].wantRebalance(at: world.now + 100)
    }
  }

  /// After a last commit that was taken the group knows all that is done.
  private func judgeLast(
    _ standing: [PartitionProgress<Source>], _ group: GroupModel, _ kafka: inout KafkaModel
  ) {
    for item in standing {
      let committed = group.committed[Int(item.partition.partition)] ?? 0
      if committed < item.committable {
        kafka.fail("\(kind): what was done was not committed when partitions were given back")
      }
    }
  }

  private mutating func send(_ plans: [PlannedCommit<Int>], _ world: inout World) {
    guard !plans.isEmpty else { return }
    let arrival = world.now + UInt64(world.chance.within(1...50))
    let late = world.chance.oneIn(50) ? 15_000 : 50
    onTheWay = OnTheWay(
      plans: plans, arrivesAt: arrival,
      answersAt: arrival + UInt64(world.chance.within(1...late)))
  }

  private mutating func moveCommit(_ world: inout World) {
    guard var commit = onTheWay else { return }
    if commit.isTaken == nil, world.now >= commit.arrivesAt {
      commit.isTaken = isCurrent(world) && !world.chance.oneIn(20)
      if commit.isTaken! {
        for plan in commit.plans.sorted(by: { $0.partition < $1.partition }) { apply(plan, &world) }
      }
    }
    onTheWay = commit
    guard let isTaken = commit.isTaken, world.now >= commit.answersAt else { return }
    commits.answered(isTaken ? commit.plans.map { ($0.partition, $0.offset) } : [])
    onTheWay = nil
  }

  private func isCurrent(_ world: World) -> Bool {
    generation >= 0 && generation == world[kind].generation && !isFenced
  }

  private func apply(_ plan: PlannedCommit<Int>, _ world: inout World) {
    world.kafka.note("\(kind) \(plan.partition): committed \(plan.offset)")
    world[kind].committed[plan.partition] = plan.offset
    world.verify(kind, plan.partition, plan.offset)
  }

  private var progress: [PartitionProgress<Int>] {
    book.progress.map {
      PartitionProgress(
        Int($0.partition.partition), epoch: $0.epoch, committable: $0.committable)
    }
  }

  // MARK: Records

  /// Takes the next record of any partition.
  ///
  /// - Parameter end: of a partition's log.
  mutating func take(_ world: inout World, end: (Int) -> Int64) -> (partition: Int, offset: Int64)?
  {
    guard membership.isAssigned, !positions.isEmpty else { return nil }
    let first = world.chance.below(positions.count)
    for step in positions.indices {
      let index = (first + step) % positions.count
      let (partition, offset) = positions[index]
      guard offset < end(partition) else { continue }
      positions[index].next += 1
      let arrival = book.received(Source(topic: 0, partition: Int32(partition)), offset)
      guard arrival == .new else {
        world.kafka.fail("\(kind): a record that is new to this assignment is called \(arrival)")
        return nil
      }
      return (partition, offset)
    }
    return nil
  }

  /// Whether everything was read.
  func isAtEnd(_ end: (Int) -> Int64) -> Bool {
    positions.allSatisfy { $0.next >= end($0.partition) }
  }

  mutating func completed(_ partition: Int, epoch: UInt32, _ offset: Int64) {
    book.completed(Source(topic: 0, partition: Int32(partition)), epoch: epoch, offset)
  }

  mutating func drained(_ world: World) { steps += membership.drained(now: world.now) }
}
