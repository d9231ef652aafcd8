// SPDX-License-Identifier: Apache-2.0
import ConsumerGroup
import Waiting

/// Kafka's client in a process, and the way to the group's coordinator: what the process's `GroupMachine` wants done is done
/// in `GroupModel`, late, or not at all.
struct MemberModel {
  /// What the service has to do.
  enum Task {
    /// For a sender: say where these begin (`begin`).
    case begin(GroupAssignment<Int>)
    /// The others read these from now on.
    case begun([Int])
    case drain(deadline: UInt64, isLost: Bool, isLeaving: Bool)
    case abandon
    case unassigned
    case forget([Int])
    /// The ends of these partitions' logs were told, and this was found.
    case told([Int], [GroupFinding<Int>])
  }

  /// Whether a partition is read from its first record, given the group's offset; nil: that cannot be said now.
  typealias StartsOver = (Int, Int64?, inout World) -> Bool?

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
  var machine: GroupMachine<Int>
  /// Which log a sender reads of each partition, as far as it knows.
  var logs: [Int: Int] = [:]
  private var events: [Event] = []
  /// What it reads next of each partition, and what it has read that is not done; of all but senders.
  private var positions: [(partition: Int, next: Int64)] = []
  private var open: [Int: Set<Int64>] = [:]
  private var generation = -1
  /// The partitions were others' when they were given back, or the last commit before was refused.
  private var isLastRefused = false
  /// All that is done is committed, as far as the process was told, since the partitions were given back.
  private(set) var hasCommitted = false
  private var onTheWay: OnTheWay?
  /// The partitions whose ends were asked for, and when the answer is here.
  private var question: (partitions: [Int], answersAt: UInt64)?
  /// It has nothing that the group waits for.
  private(set) var hasUnassigned = true
  /// The group has gone on without it.
  var isFenced = false
  private var hasHeardLoss = false
  /// The process was told to stop.
  private(set) var isStopping = false
  /// Its process stands still until then.
  var stalledUntil: UInt64 = 0

  init(_ kind: GroupModel.Kind, patience: UInt64 = 3_000) {
    self.kind = kind
    var plan = GroupPlan(
      group: "\(kind)", topics: ["topic"], instanceID: nil, rebalancePatience: patience,
      stopPatience: 5_000, cost: "")
    plan.watchesLosses = kind != .signer
    machine = GroupMachine(plan)
  }

  var isAssigned: Bool { machine.isAssigned }
  var hasLeft: Bool { machine.hasLeft }
  /// The assignment under which records are taken.
  var epoch: UInt32 { machine.epoch }

  // MARK: The coordinator's side

  mutating func assign(_ partitions: [Int], generation: Int) {
    events.append(.assigned(partitions, generation: generation))
  }

  mutating func revoke(isLost: Bool) {
    hasUnassigned = false
    events.append(.revoked(isLost: isLost))
  }

  mutating func stop() {
    isStopping = true
    machine.stop()
  }

  // MARK: Turns

  /// What the service has to do next; nil when there is nothing.
  ///
  /// - Parameters:
  ///   - isIdle: nothing that was taken is unfinished; nil for a sender, which says so itself.
  ///   - startsOver: of a service that keeps a view of the topic.
  mutating func next(
    _ world: inout World, isIdle: Bool? = nil, startsOver: StartsOver? = nil
  ) -> Task? {
    moveCommit(&world)
    if let task = answerQuestion(&world) { return task }
    if isFenced, !hasHeardLoss, !machine.isDraining {
      hasHeardLoss = true
      events.append(.revoked(isLost: true))
    }
    while true {
      if machine.takesEvents, !events.isEmpty {
        handle(events.removeFirst(), world)
      } else if let action = machine.next(now: world.now, isIdle: isIdle) {
        if let task = perform(action, startsOver, &world) { return task }
      } else {
        return nil
      }
    }
  }

  private mutating func handle(_ event: Event, _ world: World) {
    switch event {
    case .assigned(let partitions, let generation):
      self.generation = generation
      machine.assigned(partitions, now: world.now)
    case .revoked(let isLost): machine.revoked(isLost: isLost, now: world.now)
    }
  }

  private mutating func perform(
    _ action: GroupMachine<Int>.Action, _ startsOver: StartsOver?, _ world: inout World
  ) -> Task? {
    switch action {
    case .begin(let assignment):
      if kind == .sender { return .begin(assignment) }
      return begin(assignment, startsOver, &world) ? .begun(assignment.partitions) : nil
    case .drain(let deadline, let isLost, let isLeaving):
      isLastRefused = isLost
      return .drain(deadline: deadline, isLost: isLost, isLeaving: isLeaving)
    case .abandon: return .abandon
    case .forget(let partitions): return .forget(partitions)
    case .unassign:
      unassign(&world)
      return .unassigned
    case .commit(let plans, _): send(plans, &world)
    case .commitLast(let plans): commitLast(plans, &world)
    case .askCommitted(let partitions):
      machine.committed(partitions.map { ($0, world[kind].committed[$0]) })
    case .askEnds(let partitions):
      question = (partitions, world.now + UInt64(world.chance.within(1...100)))
    // Members have no names here.
    case .retire, .rejoin: return nil
    case .leave:
      if !isStopping { world.kafka.fail("a process left its group without being stopped") }
      world[kind].wantRebalance(at: world.now)
      hasUnassigned = true
    }
    return nil
  }

  private mutating func begin(
    _ assignment: GroupAssignment<Int>, _ startsOver: StartsOver?, _ world: inout World
  ) -> Bool {
    var atFirstRecord = assignment.atFirstRecord
    var again: [Int: Int64] = [:]
    for partition in assignment.partitions {
      guard let startsOver else { break }
      let committed = atFirstRecord.contains(partition) ? nil : world[kind].committed[partition]
      guard let isAgain = startsOver(partition, committed, &world) else {
        machine.began(false, now: world.now)
        return false
      }
      guard isAgain else { continue }
      atFirstRecord.insert(partition)
      again[partition] = committed
    }
    let starts = assignment.partitions.map {
      GroupStart($0, atFirstRecord: atFirstRecord.contains($0), committed: again[$0])
    }
    guard begin(starts, sources: assignment.partitions.map(source), &world) else { return false }
    positions = assignment.partitions.map {
      ($0, atFirstRecord.contains($0) ? 0 : world[kind].committed[$0] ?? 0)
    }
    return true
  }

  /// Begins to read, if that works.
  mutating func begin(
    _ starts: [GroupStart<Int>], sources: [Source] = [], _ world: inout World
  ) -> Bool {
    machine.begin(starts, sources: sources)
    let isDone = !world.chance.oneIn(30)
    machine.began(isDone, now: world.now)
    if isDone { hasUnassigned = false }
    return isDone
  }

  private mutating func unassign(_ world: inout World) {
    hasCommitted = !isLastRefused && isCurrent(world)
    if hasCommitted { judgeLast(world[kind], &world.kafka) }
    (positions, open) = ([], [:])
    onTheWay = nil
    hasUnassigned = true
    if isFenced {
      (isFenced, hasHeardLoss) = (false, false)
      world[kind].wantRebalance(at: world.now + 100)
    }
  }

  /// After a last commit that was taken the group knows all that is done.
  private func judgeLast(_ group: GroupModel, _ kafka: inout KafkaModel) {
    for (partition, next) in positions {
      let done = open[partition]?.min() ?? next
      if (group.committed[partition] ?? 0) < done {
        kafka.fail("\(kind): what was done was not committed when partitions were given back")
      }
    }
  }

  // MARK: Commits

  /// The broker may refuse the last commit, as the embedded one does in a rebalance.
  private mutating func commitLast(_ plans: [PlannedCommit<Int>], _ world: inout World) {
    isLastRefused = isLastRefused || !isCurrent(world) || world.chance.oneIn(5)
    if isLastRefused { return machine.failedToCommit() }
    world.commit(kind, plans, logs)
    machine.answered(plans.map { ($0.partition, $0.offset) })
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
    machine.answered(isTaken ? commit.plans.map { ($0.partition, $0.offset) } : [])
    onTheWay = nil
  }

  private func isCurrent(_ world: World) -> Bool {
    generation >= 0 && generation == world[kind].generation && !isFenced
  }

  // MARK: Logs

  private mutating func answerQuestion(_ world: inout World) -> Task? {
    guard let (partitions, time) = question, world.now >= time else { return nil }
    question = nil
    var ends: [Int: RetentionGaps<Int>.Ends] = [:]
    for partition in partitions { ends[partition] = world.ends(kind, partition) }
    let findings = machine.ends(ends, now: world.now)
    for finding in findings where kind != .sender {
      if case .begins = finding { continue }
      world.kafka.fail("\(kind): \(finding), and nothing is wrong with its logs")
    }
    return .told(partitions, findings)
  }

  // MARK: Records of all but senders

  private func source(_ partition: Int) -> Source { Source(topic: 0, partition: Int32(partition)) }

  /// Takes the next record of any partition.
  ///
  /// - Parameter end: of a partition's log.
  mutating func take(_ world: inout World, end: (Int) -> Int64) -> (partition: Int, offset: Int64)?
  {
    guard machine.isAssigned, !positions.isEmpty else { return nil }
    let first = world.chance.below(positions.count)
    for step in positions.indices {
      let index = (first + step) % positions.count
      let (partition, offset) = positions[index]
      guard offset < end(partition) else { continue }
      positions[index].next += 1
      open[partition, default: []].insert(offset)
      guard machine.received(source(partition), offset) else {
        world.kafka.fail("\(kind): a record that is new to this assignment is called known")
        return nil
      }
      return (partition, offset)
    }
    return nil
  }

  /// The next offset that it reads of a partition.
  func position(_ partition: Int) -> Int64 {
    positions.first { $0.partition == partition }?.next ?? 0
  }

  mutating func completed(_ partition: Int, epoch: UInt32, _ offset: Int64) {
    if epoch == machine.epoch { open[partition]?.remove(offset) }
    machine.completed(source(partition), epoch: epoch, offset)
  }
}
