// SPDX-License-Identifier: Apache-2.0

import Waiting

@testable import ConsumerGroup

/// Two partitions, the process that reads them, and a broker.
struct CommitWorld {
  private var random: SeededGenerator
  private var state = CommitState<Int>()
  private var memory = CompletionMemory<Int>()
  private var ledgers: [OffsetLedger?] = [nil, nil]
  private var open: [[Int64]] = [[], []]
  /// What is truly done.
  private var done: [Set<Int64>] = [[], []]
  private var next: [Int64] = [0, 0]
  private var broker: [(offset: Int64, text: String?)?] = [nil, nil]
  private var flying: [PlannedCommit<Int>]?
  private var epoch: UInt32 = 0
  private var now: UInt64 = 0
  private(set) var problem: String?

  init(seed: UInt64) {
    random = SeededGenerator(seed: seed)
    assign()
  }

  var isAllCommitted: Bool { (0..<2).allSatisfy { (broker[$0]?.offset ?? 0) == next[$0] } }

  mutating func step() {
    now += 1
    let partition = random.below(2)
    switch random.below(100) {
    case 0..<45: receive(partition)
    case 45..<80: complete(partition)
    case 80..<88: report(partition)
    case 88..<93: send()
    case 93..<98: answer()
    default: rebalance()
    }
  }

  mutating func finish() {
    answer()
    for partition in 0..<2 {
      while !open[partition].isEmpty { complete(partition) }
      // Some reports are of an earlier assignment only.
      for _ in 0..<30 { report(partition) }
    }
    for _ in 0..<3 {
      send()
      if let plans = flying {
        take(plans)
        state.answered(plans.map { ($0.partition, $0.offset) })
      }
      flying = nil
    }
  }

  private mutating func assign() {
    epoch += 1
    for partition in 0..<2 {
      let committed = broker[partition]
      var map: [Range<Int64>] = []
      if let committed, let text = committed.text {
        map = (try? OffsetMap.decode(Array(text.utf8), of: partition, base: committed.offset)) ?? []
      }
      let (point, isNews, _) = memory.resume(partition, committed: committed?.offset, map: map)
      for offset in 0..<(point.next ?? 0) where !done[partition].contains(offset) {
        problem = "the start passes \(offset)"
      }
      for offset in point.completedAbove.joined() where !done[partition].contains(offset) {
        problem = "the start skips \(offset)"
      }
      state.begin(partition, epoch: epoch, committed: committed?.offset, point, isNews: isNews)
      ledgers[partition] = point.next.map {
        OffsetLedger(nextOffset: $0, completedAbove: point.completedAbove)
      }
      open[partition] = []
      next[partition] = max(point.next ?? 0, 0)
    }
  }

  private mutating func receive(_ partition: Int) {
    let offset = next[partition]
    next[partition] += 1
    if ledgers[partition] == nil { ledgers[partition] = OffsetLedger(nextOffset: offset) }
    switch ledgers[partition]!.received(offset) {
    case .new: open[partition].append(offset)
    case .alreadyCompleted where done[partition].contains(offset): break
    default: problem = "\(offset) is skipped and not done"
    }
  }

  private mutating func complete(_ partition: Int) {
    guard !open[partition].isEmpty else { return }
    let place = random.oneIn(3) ? 0 : random.below(open[partition].count)
    let offset = open[partition].remove(at: place)
    done[partition].insert(offset)
    ledgers[partition]?.completed(offset)
  }

  private mutating func report(_ partition: Int) {
    guard let ledger = ledgers[partition] else { return }
    state.note([
      PartitionProgress(
        partition, epoch: random.oneIn(9) ? epoch &- 1 : epoch, committable: ledger.committable,
        completedAbove: ledger.completedRuns(limit: 1_000))
    ])
    if random.oneIn(9) { return }
    state.note([
      PartitionProgress(
        partition, epoch: epoch, committable: ledger.committable,
        completedAbove: ledger.completedRuns(limit: 1_000))
    ])
  }

  private mutating func send() {
    let plans = state.due(now: now)
    guard !plans.isEmpty else { return }
    if flying != nil { problem = "two commits are outstanding" }
    flying = plans
  }

  private mutating func answer() {
    guard let plans = flying else { return }
    flying = nil
    switch random.below(4) {
    case 0: state.answered([])
    case 1:
      // Taken, and the answer says nothing of it.
      take(plans)
      state.answered([])
    case 2:
      take([plans[0]])
      state.answered([(plans[0].partition, plans[0].offset)])
    default:
      take(plans)
      state.answered(plans.map { ($0.partition, $0.offset) })
    }
  }

  /// The broker takes a commit.
  private mutating func take(_ plans: [PlannedCommit<Int>]) {
    for plan in plans {
      for offset in 0..<plan.offset where !done[plan.partition].contains(offset) {
        problem = "a commit passes \(offset)"
      }
      broker[plan.partition] = (
        plan.offset, OffsetMap.encode(of: plan.partition, base: plan.offset, plan.completedAbove)
      )
    }
  }

  /// All is given back, with a last commit that may be refused, and assigned again.
  private mutating func rebalance() {
    for partition in 0..<2 { report(partition) }
    answer()
    let plans = state.everything(now: now)
    if !plans.isEmpty {
      if random.oneIn(2) {
        take(plans)
        state.answered(plans.map { ($0.partition, $0.offset) })
      } else {
        state.refused()
      }
    }
    state.handOver(to: &memory)
    // Sometimes another process, which remembers nothing.
    if random.oneIn(4) { memory = CompletionMemory() }
    assign()
  }
}
