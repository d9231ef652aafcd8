// SPDX-License-Identifier: Apache-2.0
import Contract
import Testing

@testable import ConsumerGroup

@Suite struct AssignmentsTests {
  private func known(
    _ partition: Int, committed: Int64? = 20, metadata: [UInt8] = [], logEnd: Int64? = 1_000,
    logStart: Int64? = nil
  ) -> Assignments<Int>.Known {
    .init(
      partition, takesIDs: true, committed: committed, metadata: metadata, logStart: logStart,
      logEnd: logEnd)
  }

  private func map(_ partition: Int, base: Int64, _ ranges: [Range<Int64>]) -> [UInt8] {
    Array((OffsetMap.encode(of: partition, base: base, ranges) ?? "").utf8)
  }

  @Test(arguments: [1, 2, 3])
  func `each loop gets as much of every topic`(loops: Int) {
    var assignments = Assignments<Int>(loops: loops, window: 10, rebuildMilliseconds: 100)
    let plan = assignments.plan([(0..<6).map { known($0) }, (6..<12).map { known($0) }], now: 0)
    #expect(plan.grants.map(\.partition) == Array(0..<12))
    for topic in [plan.grants.prefix(6), plan.grants.suffix(6)] {
      for loop in 0..<loops { #expect(topic.count { $0.loop == loop } == 6 / loops) }
    }
  }

  @Test func `a partition goes on at the group's offset, without what its map says is done`() {
    var assignments = Assignments<Int>(loops: 1, window: 10, rebuildMilliseconds: 0)
    let metadata = map(1, base: 20, [22..<25])
    let plan = assignments.plan([[known(1, metadata: metadata)]], now: 0)
    #expect(plan.grants[0].resume == ResumePoint(next: 20, completedAbove: [22..<25]))
    #expect(plan.starts[0].position == .offset(20) && plan.refusedMaps.isEmpty)
  }

  @Test func `a map that cannot be believed is told of, and its offset is used without it`() {
    var assignments = Assignments<Int>(loops: 1, window: 10, rebuildMilliseconds: 0)
    let another = map(2, base: 20, [22..<25])
    let plan = assignments.plan(
      [[known(1, metadata: another), known(3, metadata: Array("nonsense".utf8))]], now: 0)
    #expect(plan.grants.allSatisfy { $0.resume == ResumePoint(next: 20) })
    #expect(plan.refusedMaps.map(\.partition) == [1, 3])
    #expect(plan.refusedMaps.allSatisfy { $0.offset == 20 })
  }

  @Test func `ids that are not known are wanted, and the partition waits for them so long`() {
    var assignments = Assignments<Int>(loops: 1, window: 10, rebuildMilliseconds: 100)
    let plan = assignments.plan([[known(1), known(2, committed: nil)]], now: 1_000)
    #expect(plan.wants.map(\.partition) == [1] && plan.windowsKept == 0)
    #expect(plan.grants.map(\.windowDeadline) == [1_100, nil])
    var without = Assignments<Int>(loops: 1, window: 10, rebuildMilliseconds: 0)
    let unread = without.plan([[known(1)]], now: 1_000)
    #expect(unread.wants.isEmpty && unread.grants[0].windowDeadline == nil)
  }

  @Test func `what came back as it was needs nothing read again`() {
    var assignments = Assignments<Int>(loops: 1, window: 10, rebuildMilliseconds: 100)
    var window = DedupWindow(capacity: 10)
    for number in 0..<10 as Range<UInt64> {
      _ = window.insert(NotificationID(high: 1, low: number))
    }
    func giveBack(isLost: Bool) {
      _ = assignments.drain(isLost: false)
      if isLost { _ = assignments.drain(isLost: true) }
      assignments.memory.completions.remember(1, committed: 20, committable: 20, completedAbove: [])
      assignments.keep(1, window, next: 20)
      _ = assignments.loopDrained()
    }
    giveBack(isLost: false)
    let plan = assignments.plan([[known(1)]], now: 0)
    #expect(plan.windowsKept == 1 && plan.wants.isEmpty && plan.grants[0].window?.count == 10)
    giveBack(isLost: false)
    assignments.begun()
    #expect(assignments.plan([[known(1)]], now: 0).windowsKept == 0)
    giveBack(isLost: true)
    let lost = assignments.plan([[known(1)]], now: 0)
    #expect(lost.windowsKept == 0 && lost.wants[0].start.missing == 10..<20)
  }

  @Test func `drained is only who has heard it from every loop`() {
    var assignments = Assignments<Int>(loops: 3, window: 10, rebuildMilliseconds: 0)
    #expect(!assignments.isDraining)
    let told = [assignments.drain(isLost: false), assignments.drain(isLost: false)]
    #expect(told == [true, false], "the second time they have only less time")
    var drained: [Bool] = []
    for _ in 0..<3 where assignments.isDraining { drained.append(assignments.loopDrained()) }
    #expect(drained == [false, false, true] && !assignments.isDraining)
  }
}
