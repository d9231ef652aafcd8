// SPDX-License-Identifier: Apache-2.0

import Testing
import Waiting

@testable import ConsumerGroup

@Suite struct OffsetLedgerTests {
  @Test func `the ledger commits only the contiguous prefix`() {
    var ledger = OffsetLedger(nextOffset: 100)
    for offset in 100..<105 as Range<Int64> { #expect(ledger.received(offset) == .new) }
    #expect(ledger.incomplete == 5)
    ledger.completed(102)
    ledger.completed(101)
    #expect(ledger.committable == 100)
    ledger.completed(100)
    #expect(ledger.committable == 103)
    #expect(ledger.incomplete == 2)
  }

  @Test func `offsets that the log skips count as done`() {
    var ledger = OffsetLedger(nextOffset: 0)
    #expect(ledger.received(0) == .new)
    #expect(ledger.received(7) == .new)
    #expect(ledger.incomplete == 2)
    ledger.completed(0)
    #expect(ledger.committable == 7)
    ledger.completed(7)
    #expect(ledger.committable == 8)
    #expect(ledger.received(1_000_000) == .new)
    #expect(ledger.committable == 1_000_000, "nothing was open: the gap is passed at once")
  }

  @Test func `a vast gap above an open record costs no memory`() {
    var ledger = OffsetLedger(nextOffset: 0)
    #expect(ledger.received(0) == .new)
    #expect(ledger.received(50_000_000_000) == .new)
    #expect(ledger.received(90_000_000_000) == .new)
    #expect(ledger.words.count == 16)
    #expect(ledger.completed(50_000_000_000) == true)
    #expect(ledger.completed(60_000_000_000) == false, "a skipped offset was never open")
    #expect(ledger.received(70_000_000_000) == .alreadyCompleted)
    #expect(ledger.completedRuns(limit: 9) == [1..<90_000_000_000])
    #expect(ledger.completed(0) == true)
    #expect(ledger.committable == 90_000_000_000)
    #expect(ledger.completed(90_000_000_000) == true)
    #expect(ledger.committable == 90_000_000_001)
    #expect(ledger.incomplete == 0)
  }

  @Test func `the ledger refuses a completion that is not open`() {
    var ledger = OffsetLedger(nextOffset: 10)
    #expect(ledger.completed(10) == false, "never received")
    _ = ledger.received(10)
    _ = ledger.received(11)
    #expect(ledger.completed(11) == true)
    #expect(ledger.completed(11) == false, "completed before")
    #expect(ledger.completed(9) == false, "below the watermark")
    #expect(ledger.incomplete == 1)
    #expect(ledger.committable == 10)
  }

  @Test func `the ledger distinguishes a repeated record from a new one`() {
    var ledger = OffsetLedger(nextOffset: 5)
    #expect(ledger.received(5) == .new)
    #expect(ledger.received(6) == .new)
    ledger.completed(6)
    #expect(ledger.received(5) == .alreadyReceived)
    #expect(ledger.received(6) == .alreadyCompleted)
    #expect(ledger.received(4) == .alreadyCompleted)
    #expect(ledger.incomplete == 1)
  }

  @Test func `the ledger starts from the map of an earlier assignment`() {
    var ledger = OffsetLedger(nextOffset: 20, completedAbove: [22..<25, 5..<8, 3_000..<3_001])
    #expect(ledger.received(20) == .new)
    #expect(ledger.received(21) == .new)
    #expect(ledger.received(22) == .alreadyCompleted)
    #expect(ledger.received(24) == .alreadyCompleted)
    #expect(ledger.incomplete == 2)
    ledger.completed(20)
    ledger.completed(21)
    #expect(ledger.committable == 25)
    #expect(ledger.received(2_999) == .new)
    #expect(ledger.received(3_000) == .alreadyCompleted)
    ledger.completed(2_999)
    #expect(ledger.committable == 3_001)
  }

  @Test func `one slow record makes the ring grow and give back`() {
    var ledger = OffsetLedger(nextOffset: 3)
    for offset in 3..<200_003 as Range<Int64> { _ = ledger.received(offset) }
    for offset in 4..<200_003 as Range<Int64> { ledger.completed(offset) }
    #expect(ledger.incomplete == 1)
    #expect(ledger.committable == 3)
    #expect(ledger.words.count == 262_144 / 64)
    ledger.completed(3)
    #expect(ledger.committable == 200_003)
    #expect(ledger.words.count < 2_048)
  }

  /// Random arrivals (in order, with gaps of every size and records that come again) and completions in any
  /// order, against a list of what is open.
  @Test(arguments: 0..<60 as Range<UInt64>)
  func `the ledger agrees with a list in any order of events`(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let start = Int64(random.below(5_000))
    var map: [Range<Int64>] = []
    if random.oneIn(2) {
      for _ in 0..<random.below(6) {
        let lower = start + 1 + Int64(random.below(3_000))
        map.append(lower..<lower + 1 + Int64(random.below(200)))
      }
    }
    var ledger = OffsetLedger(nextOffset: start, completedAbove: map)
    var model = LedgerModel(start: start, map: map)
    for step in 0..<1_500 {
      runStep(&ledger, &model, &random)
      if step % 7 != 0 { continue }
      let agrees = model.agrees(with: ledger)
      #expect(agrees, "seed \(seed), step \(step)")
      if !agrees { return }
    }
    for offset in model.open.shuffled(using: &random) {
      #expect(ledger.completed(offset) == true, "seed \(seed)")
      model.complete(offset)
    }
    #expect(model.agrees(with: ledger), "seed \(seed), at the end")
    #expect(ledger.incomplete == 0)
  }

  private func runStep(
    _ ledger: inout OffsetLedger, _ model: inout LedgerModel, _ random: inout SeededGenerator
  ) {
    switch random.below(100) {
    case 0..<42:
      let gap = random.oneIn(20) ? random.below(random.oneIn(4) ? 20_000 : 70) : 0
      let offset = model.next + Int64(gap)
      #expect(ledger.received(offset) == model.receive(offset))
    case 45..<50:
      let offset = max(0, model.next - 1 - Int64(random.below(100)))
      #expect(ledger.received(offset) == model.receive(offset))
    case 50..<55:
      let offset = model.next - Int64(random.below(100)) + 5
      #expect(ledger.completed(offset) == model.complete(offset))
    default:
      // Some record, sometimes the oldest.
      guard let oldest = model.open.first else { return }
      let offset = random.oneIn(9) ? oldest : model.open[random.below(model.open.count)]
      #expect(ledger.completed(offset) == model.complete(offset))
    }
  }
}

/// What the ledger promises, said with a list.
struct LedgerModel {
  let start: Int64
  var next: Int64
  /// Ascending, as records arrive.
  var open: [Int64] = []
  var map: [Range<Int64>]

  init(start: Int64, map: [Range<Int64>]) {
    self.start = start
    self.map = map
    next = start
  }

  var committable: Int64 { open.first ?? next }

  mutating func receive(_ offset: Int64) -> OffsetLedger.Admission {
    if offset < next { return open.contains(offset) ? .alreadyReceived : .alreadyCompleted }
    next = offset + 1
    if map.contains(where: { $0.contains(offset) }) { return .alreadyCompleted }
    open.append(offset)
    return .new
  }

  @discardableResult mutating func complete(_ offset: Int64) -> Bool {
    guard let index = open.firstIndex(of: offset) else { return false }
    open.remove(at: index)
    return true
  }

  func agrees(with ledger: OffsetLedger) -> Bool {
    ledger.committable == committable && ledger.incomplete == open.count
      && ledger.nextOffset == next && runs(of: ledger) == expectedRuns
  }

  private func runs(of ledger: OffsetLedger) -> [Range<Int64>] {
    // Only below `next`: what the map says above it is not the model's business.
    ledger.completedRuns(limit: .max).compactMap { range in
      range.lowerBound >= next ? nil : range.clamped(to: committable..<max(next, committable))
    }
  }

  private var expectedRuns: [Range<Int64>] {
    var runs: [Range<Int64>] = []
    var offset = committable
    for hole in open {
      if hole > offset { runs.append(offset..<hole) }
      offset = hole + 1
    }
    if next > offset { runs.append(offset..<next) }
    return runs
  }
}
