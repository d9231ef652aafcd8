// SPDX-License-Identifier: Apache-2.0
import ConsumerGroup
import Random

/// One process's membership in a group: the shipped `Membership`, `OffsetBook` and `CommitState`, and what
/// `ServiceKit.GroupMember`, or the sender's control thread, does with them on librdkafka, done in `GroupModel`. A sender
/// keeps no book: it notes how far it is.
struct MemberModel {
  /// What the service has to do, as from `GroupMember`.
  enum Task {
    case begun([Int], atFirstRecord: Set<Int>)
    case drain(deadline: UInt64, isLeaving: Bool)
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
    /// Which log each of them is of: a topic may be made again before it arrives.
    var logs: [Int: Int]
    var arrivesAt: UInt64
    var answersAt: UInt64
    var isTaken: Bool?
  }

  private let kind: GroupModel.Kind
  private var membership: Membership<Int>
  private var book = OffsetBook(topics: 1)
  var commits = CommitState<Int>()
  /// Which log a sender reads of each partition, as far as it knows.
  var logs: [Int: Int] = [:]
  private var steps: [Membership<Int>.Step] = []
  private var events: [Event] = []
  private var positions: [(partition: Int, next: Int64)] = []
  private var generation = -1
  /// Counts assignments.
  private(set) var epoch: UInt32 = 0
  /// The last commit before the partitions were given back was taken.
  private(set) var hasCommitted = false
  private var onTheWay: OnTheWay?
  private var nextCommit: UInt64 = 0
  /// It has nothing that the group waits for.
  private(set) var hasReleased = true
  /// The group has gone on without it.
  var isFenced = false
  private var hasHeardLoss = false
  /// The process was told to drain, and that the time is up.
  private var isToldToDrain = false
  private var isAbandoned = false
  /// It was told to stop, and how long what is under way gets.
  private(set) var stopPatience: UInt64?
  /// Its process stands still until then.
  var stalledUntil: UInt64 = 0

  init(_ kind: GroupModel.Kind, patience: UInt64 = 3_000) {
    self.kind = kind
    membership = Membership(rebalancePatience: patience)
  }

  var isAssigned: Bool { membership.isAssigned }
  var hasLeft: Bool { membership.hasLeft && steps.isEmpty }
  var isLeaving: Bool { stopPatience != nil }
  var isDraining: Bool { membership.isDraining }

  // MARK: The coordinator's side

  mutating func assign(_ partitions: [Int], generation: Int) {
    events.append(.assigned(partitions, generation: generation))
  }

  mutating func revoke(isLost: Bool) {
    hasReleased = false
    events.append(.revoked(isLost: isLost))
  }

  mutating func stop(patience: UInt64) { stopPatience = stopPatience ?? patience }

  /// The logs of these partitions are others than were read.
  mutating func remade(_ partitions: [Int], _ world: World) {
    for partition in partitions { commits.forget(partition) }
    steps += membership.remade(Set(partitions), now: world.now)
  }

  // MARK: Turns

  /// What the service has to do next; nil when there is nothing.
  ///
  /// - Parameter isIdle: nothing that was taken is unfinished.
  mutating func next(_ world: inout World, isIdle: Bool) -> Task? {
    moveCommit(&world)
    // The sender's loops have the deadline, and keep it.
    if isToldToDrain, isIdle || (isAbandoned && kind != .sender) {
      (isToldToDrain, isAbandoned) = (false, false)
      steps += membership.drained(now: world.now)
    }
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
    case .begin(let partitions, let atFirstRecord):
      if world.chance.oneIn(30) {
        membership.began(false, now: world.now)
        return nil
      }
      begin(partitions, &world)
      return .begun(partitions, atFirstRecord: atFirstRecord)
    case .drain(let deadline, _, let isLeaving):
      isToldToDrain = true
      return .drain(deadline: deadline, isLeaving: isLeaving)
    case .abandon:
      isAbandoned = true
      return .abandon
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
    epoch += 1
    commits.removeAll()
    membership.began(true, now: world.now)
    guard kind != .sender else { return }
    book.begin(partitions.map { Source(topic: 0, partition: Int32($0)) }, epoch: epoch)
    positions = partitions.map { ($0, world[kind].committed[$0] ?? 0) }
    for partition in partitions {
      commits.begin(partition, epoch: epoch, committed: nil, ResumePoint(next: nil), isNews: false)
    }
  }

  private mutating func release(_ isCommitting: Bool, _ world: inout World) {
    hasCommitted = false
    if isCommitting {
      let standing = book.progress
      commits.note(progress)
      let plans = commits.everything(now: world.now)
      // The broker may refuse the last commit, as the embedded one does in a rebalance.
      hasCommitted = isCurrent(world) && !world.chance.oneIn(5)
      if hasCommitted {
        world.commit(kind, plans, logs)
        commits.answered(plans.map { ($0.partition, $0.offset) })
        judgeLast(standing, world.groups[kind.rawValue], &world.kafka)
      } else {
        commits.refused()
      }
    }
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
      plans: plans, logs: logs, arrivesAt: arrival,
      answersAt: arrival + UInt64(world.chance.within(1...late)))
  }

  private mutating func moveCommit(_ world: inout World) {
    guard var commit = onTheWay else { return }
    if commit.isTaken == nil, world.now >= commit.arrivesAt {
      commit.isTaken = isCurrent(world) && !world.chance.oneIn(20)
      if commit.isTaken! { world.commit(kind, commit.plans, commit.logs) }
    }
    onTheWay = commit
    guard let isTaken = commit.isTaken, world.now >= commit.answersAt else { return }
    commits.answered(isTaken ? commit.plans.map { ($0.partition, $0.offset) } : [])
    onTheWay = nil
  }

  private func isCurrent(_ world: World) -> Bool {
    generation >= 0 && generation == world[kind].generation && !isFenced
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

  mutating func completed(_ partition: Int, epoch: UInt32, _ offset: Int64) {
    book.completed(Source(topic: 0, partition: Int32(partition)), epoch: epoch, offset)
  }
}
