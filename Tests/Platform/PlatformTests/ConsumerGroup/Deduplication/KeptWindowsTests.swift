// SPDX-License-Identifier: Apache-2.0
import Contract
import Testing
import Waiting

@testable import ConsumerGroup

/// Windows of partitions that come back.
@Suite struct KeptWindowsTests {
  private func id(_ number: Int64) -> NotificationID {
    NotificationID(high: 7, low: UInt64(number))
  }

  private func window(_ numbers: Range<Int64>) -> DedupWindow {
    var window = DedupWindow(capacity: 100)
    for number in numbers { _ = window.insert(id(number)) }
    return window
  }

  @Test func `a partition that comes back as it was needs nothing read again`() {
    var kept = KeptWindows<Int>()
    kept.keep(1, window(0..<50), next: 50)
    let start = kept.take(1, next: 50, capacity: 100)
    #expect(start.window?.count == 50 && start.missing.isEmpty)
    #expect(kept.count == 0)
  }

  @Test func `of one that another process had meanwhile, only what that one read`() {
    var kept = KeptWindows<Int>()
    kept.keep(1, window(0..<50), next: 50)
    let start = kept.take(1, next: 70, capacity: 100)
    #expect(start.window?.count == 50 && start.missing == 50..<70)
  }

  @Test
  func
    `of one that was never here, was away for long, went back or is another log: all of a window`()
  {
    var kept = KeptWindows<Int>()
    kept.keep(1, window(0..<50), next: 50)
    kept.keep(2, window(0..<50), next: 50)
    kept.keep(3, window(0..<50), next: 50)
    kept.forget(3)
    let starts = [
      kept.take(1, next: 151, capacity: 100), kept.take(2, next: 49, capacity: 100),
      kept.take(3, next: 50, capacity: 100), kept.take(4, next: 20, capacity: 100),
    ]
    #expect(starts.allSatisfy { $0.window == nil })
    #expect(starts.map(\.missing) == [51..<151, 0..<49, 0..<50, 0..<20])
  }

  @Test
  func
    `a log that ends before the place to go on is another one: its ids are of nothing that was sent`()
  {
    var kept = KeptWindows<Int>()
    let start = kept.take(1, next: 20, capacity: 100)
    #expect(start.missing == 0..<20)
    #expect(start.isOfLog(endingAt: 20) && start.isOfLog(endingAt: 500))
    #expect(!start.isOfLog(endingAt: 19) && !start.isOfLog(endingAt: 0))
  }

  /// The owner changes at random; what counts as taken is always what a rebuild of the whole tail would say.
  @Test(arguments: 0..<30 as Range<UInt64>)
  func `over any changes of owner the ids are those of the log's tail`(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let capacity = 1 + random.below(40)
    var kept = [KeptWindows<Int>](repeating: KeptWindows(), count: 3)
    var next: Int64 = 0
    for _ in 0..<60 {
      let owner = random.below(3)
      let start = kept[owner].take(0, next: next, capacity: capacity)
      for other in kept.indices where other != owner && random.oneIn(3) { kept[other].removeAll() }
      var ids = RecentIDs(capacity: capacity)
      var base = start.window ?? DedupWindow(capacity: capacity)
      for number in start.missing { _ = base.insert(id(number)) }
      for number in max(0, next - Int64(capacity - capacity / 8))..<next {
        #expect(base.contains(id(number)), "seed \(seed): \(number) is not remembered")
      }
      ids.inherit(base)
      // Some are taken, and of the last ones some are given up unsent.
      let end = next + Int64(random.below(30))
      for number in next..<end {
        let isFirst = ids.take(id(number), payload: 0) == .first
        #expect(isFirst, "seed \(seed): \(number) was never taken")
      }
      next += Int64(random.below(Int(end - next) + 1))
      for number in next..<end { ids.remove(id(number)) }
      if let window = ids.merged() { kept[owner].keep(0, window, next: next) }
    }
  }
}

/// Which tails are read again, and how many at a time.
@Suite struct RebuildPlanTests {
  @Test(arguments: [1, 3, 128], 0..<5 as Range<UInt64>)
  func `a few at a time, each partition once, every offset once, the newest of all before the rest`(
    partitions: Int, seed: UInt64
  ) {
    var random = SeededGenerator(seed: seed)
    var missing: [Int: Int64] = [:]
    var plan = RebuildPlan<Int>(
      (0..<partitions).map {
        missing[$0] = 1 + Int64(random.below(20_000))
        return .init(partition: $0, offsets: 100..<100 + missing[$0]!)
      })
    var underWay: [RebuildPlan<Int>.Stretch] = []
    var begun: [Int: Int] = [:]
    var whole: Set<Int> = []
    while !plan.isDone {
      while let stretch = plan.next() {
        #expect(!underWay.contains { $0.partition == stretch.partition })
        begun[stretch.partition, default: 0] += 1
        // Nobody's second stretch before everybody's first, as long as there is room.
        if begun[stretch.partition] == 2 { #expect(begun.count == partitions) }
        missing[stretch.partition]! -= Int64(stretch.offsets.count)
        underWay.append(stretch)
      }
      #expect(underWay.count <= RebuildPlan<Int>.atATime && !underWay.isEmpty)
      let stretch = underWay.remove(at: random.below(underWay.count))
      if plan.finished(stretch.partition) { #expect(whole.insert(stretch.partition).inserted) }
    }
    #expect(missing.values.allSatisfy { $0 == 0 })
    #expect(whole.count == partitions)
  }

  private func all(_ plan: inout RebuildPlan<Int>) -> [RebuildPlan<Int>.Stretch] {
    var all: [RebuildPlan<Int>.Stretch] = []
    while let next = plan.next() { all.append(next) }
    return all
  }

  @Test func `a partition that cannot be read keeps no other one`() {
    let wanted = (0..<3).map { RebuildPlan<Int>.Stretch(partition: $0, offsets: 0..<100) }
    var plan = RebuildPlan(wanted)
    #expect(all(&plan).map(\.offsets) == Array(repeating: 90..<100, count: 3))
    plan.failed(1)
    var wholes = [plan.finished(0), plan.finished(2)]
    #expect(wholes == [false, false])
    let rest = all(&plan)
    #expect(rest.map(\.partition) == [0, 2] && rest.allSatisfy { $0.offsets == 0..<90 })
    wholes = [plan.finished(0), plan.finished(2)]
    #expect(wholes == [true, true] && plan.isDone)
  }
}
