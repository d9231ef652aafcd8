// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import ConsumerGroup

/// The sequence of a member, without a client of Kafka. (`GroupSessionTests` drive it through its shell, and the
/// simulation through models.)
@Suite struct GroupMachineTests {
  private typealias Action = GroupMachine<Int>.Action

  private func plan(_ change: (inout GroupPlan) -> Void = { _ in }) -> GroupPlan {
    var plan = GroupPlan(
      group: "g", topics: ["t"], instanceID: nil, commitInterval: 100, rebalancePatience: 1_000,
      stopPatience: 5_000, cost: "")
    plan.lostPatience = 300
    change(&plan)
    return plan
  }

  private func source(_ partition: Int) -> Source { Source(topic: 0, partition: Int32(partition)) }

  /// Whether all of these records of partition 1 are to be worked on.
  private func read(_ machine: inout GroupMachine<Int>, _ offsets: Range<Int64>) -> Bool {
    offsets.allSatisfy { machine.received(source(1), $0) }
  }

  /// All actions of a turn; questions about logs are answered, and nothing is wrong with them.
  private func turn(
    _ machine: inout GroupMachine<Int>, now: UInt64, isIdle: Bool? = nil
  ) -> [Action] {
    var actions: [Action] = []
    while let action = machine.next(now: now, isIdle: isIdle) {
      switch action {
      case .askCommitted(let partitions): machine.committed(partitions.map { ($0, nil) })
      case .askEnds(let partitions):
        let ends = partitions.map { ($0, (low: Int64(0), high: Int64(1_000))) }
        #expect(machine.ends(Dictionary(uniqueKeysWithValues: ends), now: now).isEmpty)
      default: actions.append(action)
      }
    }
    return actions
  }

  /// Has begun the partitions at the group's offsets.
  private func begun(
    _ partitions: [Int], _ plan: GroupPlan? = nil, hasSources: Bool = true
  ) -> GroupMachine<Int> {
    var machine = GroupMachine<Int>(plan ?? self.plan())
    machine.assigned(partitions, now: 0)
    let assignment = GroupAssignment(partitions: partitions, atFirstRecord: [], epoch: 1)
    #expect(machine.next(now: 0) == .begin(assignment))
    #expect(!machine.takesEvents, "another change waits until this one is through")
    machine.begin(
      partitions.map { GroupStart($0, committed: 10, ResumePoint(next: 10), isNews: false) },
      sources: hasSources ? partitions.map(source) : [])
    machine.began(true, now: 0)
    #expect(machine.isAssigned && machine.takesEvents)
    _ = turn(&machine, now: 0)
    return machine
  }

  @Test func `what was taken is finished, then committed, then the partitions are given back`() {
    var machine = begun([1, 2])
    #expect(read(&machine, 10..<12))
    machine.completed(source(1), epoch: machine.epoch, 10)
    machine.revoked(isLost: false, now: 1_000)
    #expect(
      turn(&machine, now: 1_000, isIdle: false) == [
        .drain(deadline: 2_000, isLost: false, isLeaving: false)
      ])
    #expect(machine.isDraining && !machine.takesEvents)
    #expect(turn(&machine, now: 1_500, isIdle: false) == [], "something is under way")
    machine.completed(source(1), epoch: machine.epoch, 11)
    #expect(
      turn(&machine, now: 1_600, isIdle: true) == [
        .commitLast([PlannedCommit(partition: 1, offset: 12, completedAbove: [])]),
        .unassign(isAwaited: true, isOver: true),
      ])
    #expect(!machine.isDraining && !machine.isAssigned && machine.takesEvents)
  }

  @Test func `what is not finished in time is given up, and only what is done is committed`() {
    var machine = begun([1])
    #expect(read(&machine, 10..<13))
    machine.completed(source(1), epoch: machine.epoch, 10)
    machine.revoked(isLost: false, now: 0)
    _ = turn(&machine, now: 0, isIdle: false)
    #expect(
      turn(&machine, now: 1_000, isIdle: false) == [
        .abandon,
        .commitLast([PlannedCommit(partition: 1, offset: 11, completedAbove: [])]),
        .unassign(isAwaited: true, isOver: true),
      ])
  }

  @Test func `of partitions that are others' already nothing is committed`() {
    var machine = begun([1])
    #expect(read(&machine, 10..<11))
    machine.completed(source(1), epoch: machine.epoch, 10)
    machine.revoked(isLost: true, now: 1_000)
    #expect(
      turn(&machine, now: 1_000, isIdle: true) == [
        .drain(deadline: 1_000, isLost: true, isLeaving: false),
        .unassign(isAwaited: true, isOver: true),
      ])
  }

  @Test func `commits come at their interval, and say so when the last one was not answered`() {
    var machine = begun([1])
    #expect(turn(&machine, now: 99) == [])
    #expect(read(&machine, 10..<11))
    machine.completed(source(1), epoch: machine.epoch, 10)
    let commit = PlannedCommit(partition: 1, offset: 11, completedAbove: [])
    #expect(turn(&machine, now: 100) == [.commit([commit], isRepeat: false)])
    machine.answered([(1, 11)])
    #expect(turn(&machine, now: 200) == [.commit([], isRepeat: false)])
    machine.completed(source(1), epoch: machine.epoch, 10)
    #expect(read(&machine, 11..<12))
    machine.completed(source(1), epoch: machine.epoch, 11)
    #expect(turn(&machine, now: 300).count == 1)
    // No answer: the next ones wait for it, and after a while it comes again.
    let repeats = stride(from: 400 as UInt64, through: 60_000, by: 100)
      .flatMap { turn(&machine, now: $0) }
      .contains { if case .commit(let plans, true) = $0 { !plans.isEmpty } else { false } }
    #expect(repeats)
  }

  @Test func `a refused partition is counted until its commit is taken`() {
    var machine = begun([1, 2])
    machine.answered([(1, 10)], refused: [2])
    #expect(machine.refusedPartitions == 1)
    machine.answered([(2, 10)])
    #expect(machine.refusedPartitions == 0)
  }

  @Test func `what an earlier assignment completes changes nothing in this one`() {
    var machine = begun([1])
    let earlier = machine.epoch
    #expect(read(&machine, 10..<11))
    machine.revoked(isLost: true, now: 0)
    _ = turn(&machine, now: 0, isIdle: false)
    _ = turn(&machine, now: 0, isIdle: false)
    machine.assigned([1], now: 10)
    #expect(
      turn(&machine, now: 10)
        == [.begin(GroupAssignment(partitions: [1], atFirstRecord: [], epoch: 2))])
    machine.begin(
      [GroupStart(1, committed: 10, ResumePoint(next: 10), isNews: false)], sources: [source(1)])
    machine.began(true, now: 10)
    #expect(machine.epoch != earlier && read(&machine, 10..<11))
    machine.completed(source(1), epoch: earlier, 10)
    #expect(
      !turn(&machine, now: 1_000).contains {
        if case .commit(let plans, _) = $0 { plans.contains { $0.offset > 10 } } else { false }
      })
  }

  @Test func `an assignment that cannot be begun is tried again, and stays the same`() {
    var machine = GroupMachine<Int>(plan())
    machine.assigned([1], now: 0)
    _ = turn(&machine, now: 0)
    machine.began(false, now: 0)
    #expect(!machine.isAssigned && turn(&machine, now: 499) == [])
    #expect(
      turn(&machine, now: 500)
        == [.begin(GroupAssignment(partitions: [1], atFirstRecord: [], epoch: 2))])
  }

  @Test func `a stop ends with the group left, a second signal takes the time away`() {
    var machine = begun([1], hasSources: false)
    machine.stop()
    #expect(turn(&machine, now: 100) == [.drain(deadline: 5_100, isLost: false, isLeaving: true)])
    #expect(machine.isLeaving && machine.takesEvents, "the group may take them back meanwhile")
    machine.fastShutdown(now: 200)
    #expect(
      turn(&machine, now: 200) == [.drain(deadline: 200, isLost: false, isLeaving: true), .abandon])
    machine.drained(now: 250)
    #expect(turn(&machine, now: 250) == [.unassign(isAwaited: false, isOver: false), .leave])
    #expect(machine.hasLeft && turn(&machine, now: 9_999) == [])
  }

  @Test func `a process that can do nothing more leaves, and commits nothing`() {
    var machine = begun([1], hasSources: false)
    machine.note([PartitionProgress(1, epoch: 1, committable: 20)])
    machine.fail()
    #expect(turn(&machine, now: 100) == [.drain(deadline: 400, isLost: true, isLeaving: true)])
    machine.drained(now: 150)
    #expect(turn(&machine, now: 150) == [.unassign(isAwaited: false, isOver: false), .leave])
  }

  @Test func `a named member that lost its place takes a new client, after a while`() {
    var machine = begun([1], plan { $0.instanceID = "one" }, hasSources: false)
    machine.revoked(isLost: true, now: 100)
    #expect(
      turn(&machine, now: 100) == [.drain(deadline: 100, isLost: true, isLeaving: false), .abandon])
    machine.drained(now: 100)
    #expect(
      turn(&machine, now: 100) == [.unassign(isAwaited: false, isOver: true), .retire, .rejoin])
    machine.failedToRejoin(now: 200)
    _ = turn(&machine, now: 200)
    machine.drained(now: 200)
    #expect(turn(&machine, now: 200).last == .retire && turn(&machine, now: 1_199) == [])
    #expect(turn(&machine, now: 1_200) == [.rejoin])
  }

  @Test func `only a named member can be fenced, and not for ever`() {
    var unnamed = begun([1], hasSources: false)
    #expect(unnamed.fenced(now: 0) == nil)
    var machine = begun([1], plan { $0.instanceID = "one" }, hasSources: false)
    var delays: [UInt64?] = []
    for turn in 0...UInt64(FencedMember.attempts) { delays.append(machine.fenced(now: turn)) }
    #expect(delays.dropLast().allSatisfy { $0 != nil } && delays.last! == nil)
  }

  @Test func `who stops between two clients commits nothing: there is no client`() {
    var machine = begun([1], plan { $0.instanceID = "one" })
    #expect(read(&machine, 10..<11))
    machine.completed(source(1), epoch: machine.epoch, 10)
    let commit = PlannedCommit(partition: 1, offset: 11, completedAbove: [])
    #expect(turn(&machine, now: 100, isIdle: true) == [.commit([commit], isRepeat: false)])
    machine.answered([], refused: [1])
    #expect(machine.fenced(now: 150) == 1_000)
    #expect(
      turn(&machine, now: 150, isIdle: true) == [
        .drain(deadline: 450, isLost: true, isLeaving: false),
        .unassign(isAwaited: false, isOver: true), .retire,
      ])
    machine.stop()
    #expect(
      turn(&machine, now: 200, isIdle: true) == [
        .drain(deadline: 5_200, isLost: false, isLeaving: true),
        .unassign(isAwaited: false, isOver: false), .leave,
      ])
  }

  @Test func `a stop after a loss does not set the next owner's offset back`() {
    var machine = begun([1])
    #expect(read(&machine, 10..<11))
    machine.completed(source(1), epoch: machine.epoch, 10)
    machine.revoked(isLost: true, now: 50)
    #expect(turn(&machine, now: 50, isIdle: true).last == .unassign(isAwaited: true, isOver: true))
    machine.stop()
    #expect(
      turn(&machine, now: 60, isIdle: true) == [
        .drain(deadline: 5_060, isLost: false, isLeaving: true),
        .unassign(isAwaited: false, isOver: false), .leave,
      ])
  }

  @Test func `a log that ends below what was read is begun again at its first record`() {
    var machine = begun([1, 2])
    #expect(read(&machine, 10..<13))
    #expect(!read(&machine, 0..<1), "it was taken before, as far as is known")
    #expect(machine.next(now: 50) == .askEnds([1]))
    #expect(
      machine.ends([1: (low: 0, high: 1)], now: 60) == [
        .endsBefore(1, committed: 13, end: 1), .remade([1]),
      ])
    #expect(
      turn(&machine, now: 60, isIdle: true) == [
        .forget([1]), .drain(deadline: 1_060, isLost: false, isLeaving: false),
        .unassign(isAwaited: true, isOver: false),
        .begin(GroupAssignment(partitions: [1, 2], atFirstRecord: [1], epoch: 2)),
      ])
  }

  @Test func `a log that reaches as far as was read is the same one`() {
    var machine = begun([1])
    #expect(read(&machine, 10..<13))
    #expect(!read(&machine, 11..<12))
    #expect(machine.next(now: 50) == .askEnds([1]))
    #expect(machine.ends([1: (low: 0, high: 20)], now: 60).isEmpty)
    #expect(machine.isAssigned && turn(&machine, now: 61) == [])
    #expect(!read(&machine, 12..<13), "it follows the one before")
    #expect(machine.next(now: 62) == nil)
  }

  @Test
  func `a log that was found to be the same one is looked at again when offsets go back again`() {
    var machine = begun([1])
    #expect(read(&machine, 10..<13))
    #expect(!read(&machine, 0..<1))
    #expect(machine.next(now: 50) == .askEnds([1]))
    #expect(machine.ends([1: (low: 0, high: 13)], now: 60).isEmpty)
    #expect(!read(&machine, 0..<1))
    #expect(machine.next(now: 70) == .askEnds([1]))
    #expect(machine.ends([1: (low: 0, high: 1)], now: 80).last == .remade([1]))
  }

  @Test
  func `a log of which retention removes records is no other one, whatever was asked of it before`()
  {
    var machine = begun([1])
    #expect(read(&machine, 10..<13) && !read(&machine, 11..<12))
    #expect(machine.next(now: 50) == .askEnds([1]))
    #expect(machine.ends([1: (low: 0, high: 20)], now: 60).isEmpty)
    #expect(read(&machine, 17..<18))
    #expect(machine.next(now: 70) == .askEnds([1]))
    #expect(machine.ends([1: (low: 17, high: 20)], now: 80) == [.lost(1, 13..<17)])
    #expect(machine.isAssigned && turn(&machine, now: 81) == [.forget([1])])
  }

  @Test func `where losses do not matter, what comes again is worked on again`() {
    var machine = begun([1], plan { $0.watchesLosses = false })
    #expect(read(&machine, 10..<11) && read(&machine, 0..<2))
    #expect(turn(&machine, now: 50) == [])
  }

  @Test func `removed records are a finding, and the next offset can be committed`() {
    var machine = begun([1])
    #expect(read(&machine, 10..<11) && read(&machine, 15..<16))
    for offset in [10, 15] as [Int64] { machine.completed(source(1), epoch: machine.epoch, offset) }
    #expect(machine.next(now: 50) == .askEnds([1]))
    #expect(machine.ends([1: (low: 15, high: 16)], now: 60) == [.lost(1, 11..<15)])
    #expect(
      turn(&machine, now: 200) == [
        .forget([1]),
        .commit([PlannedCommit(partition: 1, offset: 16, completedAbove: [])], isRepeat: false),
      ])
  }

  @Test func `a jump of another assignment is nobody's`() {
    var machine = begun([1], hasSources: false)
    machine.jumped(1, epoch: 0, 10..<12)
    machine.wentBack(1, epoch: 0, from: 12)
    #expect(machine.next(now: 50) == nil)
    machine.jumped(1, epoch: 1, 10..<12)
    #expect(machine.next(now: 50) == .askEnds([1]))
  }
}
