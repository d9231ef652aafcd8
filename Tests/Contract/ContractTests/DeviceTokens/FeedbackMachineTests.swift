// SPDX-License-Identifier: Apache-2.0
import FeedbackDecisions
import Testing

@Suite struct FeedbackMachineTests {
  private typealias Machine = FeedbackMachine<Int>

  @Test func `after a large batch the next one grows for a while`() {
    var machine = Machine(records: 2_000, atOnce: 1)
    machine.begin([], now: 0)
    func judge(at now: UInt64, records: Int) -> Machine.Action? {
      for _ in 0..<records { machine.took(timestamp: -1, bytes: 0, lines: 0) }
      return machine.next(now: now, isVerified: true, outstanding: 0)
    }
    func finish() {
      _ = machine.next(now: 0, isVerified: true, outstanding: 0)
      machine.judged(following: 0)
      #expect(machine.next(now: 0, isVerified: true, outstanding: 0) == .complete)
      machine.rounds.refuting.read(to: nil)
    }
    #expect(judge(at: 1, records: 1_000) == .verify, "the first one does not wait")
    finish()
    #expect(judge(at: 10, records: 1) == nil && judge(at: 259, records: 1) == nil)
    #expect(judge(at: 260, records: 0) == .verify)
    finish()
    #expect(judge(at: 270, records: 1) == .verify, "the one before was small")
    finish()
    #expect(judge(at: 280, records: 1_500) == .verify)
    finish()
    #expect(judge(at: 290, records: 2_000) == .verify, "there is no more room")
  }

  @Test func `batches begin 25 ms apart, and a record that comes alone at once`() {
    var machine = settled()
    take(1, &machine)
    finishRounds(&machine)
    take(1, &machine)
    #expect(machine.next(now: 24, isVerified: true, outstanding: 0) == nil)
    #expect(machine.growsUntil == 25 && machine.hasRoom, "its owner looks again then")
    take(1, &machine)
    #expect(machine.next(now: 25, isVerified: true, outstanding: 0) == .verify)
    _ = machine.next(now: 25, isVerified: true, outstanding: 0)
    machine.judged(following: 0)
    #expect(machine.next(now: 30, isVerified: true, outstanding: 0) == .complete)
    #expect(machine.growsUntil == nil)
    take(100, &machine)
    #expect(machine.next(now: 31, isVerified: true, outstanding: 0) == .verify, "it is full")
    _ = machine.next(now: 31, isVerified: true, outstanding: 0)
    machine.judged(following: 0)
    #expect(machine.next(now: 40, isVerified: true, outstanding: 0) == .complete)
    take(1, &machine)
    #expect(machine.next(now: 65, isVerified: true, outstanding: 0) == .verify)
  }

  @Test func `a walk over all devices waits for no batch`() {
    var machine = settled()
    take(1, &machine)
    finishRounds(&machine)
    machine.marksAreRefuted()
    #expect(machine.next(now: 1, isVerified: true, outstanding: 0) == .verify)
  }

  /// A machine that owns a partition and has looked at all devices.
  private func settled() -> Machine {
    var machine = Machine(records: 100, atOnce: 10)
    machine.begin([0], now: 0)
    finishRounds(&machine)
    return machine
  }

  /// Goes through a batch without records.
  private func finishRounds(_ machine: inout Machine) {
    while let action = machine.next(now: 0, isVerified: true, outstanding: 0) {
      guard action == .judge else { continue }
      machine.rounds.refuting.read(to: nil)
      machine.rounds.confirming.read(to: nil)
      machine.judged(following: 0)
    }
  }

  private func take(_ count: Int, _ machine: inout Machine) {
    for _ in 0..<count { machine.took(timestamp: 5, bytes: 10, lines: 0) }
  }

  @Test func `a batch is verified, judged, published and completed, in this order`() {
    var machine = settled()
    take(2, &machine)
    #expect(machine.age(now: 25) == 20)
    #expect(machine.next(now: 1, isVerified: false, outstanding: 0) == .verify)
    #expect(machine.next(now: 1, isVerified: false, outstanding: 0) == nil)
    #expect(!machine.hasRoom && !machine.isIdle)
    // Until the database takes it.
    for _ in 0..<3 { #expect(machine.next(now: 1, isVerified: true, outstanding: 0) == .judge) }
    machine.judged(following: 3)
    #expect(machine.next(now: 1, isVerified: true, outstanding: 0) == .publish(from: 0))
    machine.handedOver(below: 2)
    #expect(machine.next(now: 1, isVerified: true, outstanding: 2) == .publish(from: 2))
    machine.handedOver(below: 3)
    #expect(machine.next(now: 1, isVerified: true, outstanding: 1) == nil)
    #expect(machine.next(now: 1, isVerified: true, outstanding: 0) == .complete)
    #expect(machine.isIdle && machine.hasRoom && machine.age(now: 25) == 0)
    #expect(machine.next(now: 1, isVerified: true, outstanding: 0) == nil)
  }

  @Test func `a database that is another one is verified again`() {
    var machine = settled()
    take(1, &machine)
    _ = machine.next(now: 1, isVerified: true, outstanding: 0)
    #expect(machine.next(now: 1, isVerified: true, outstanding: 0) == .judge)
    let isGivenUp = machine.outdated()
    #expect(!isGivenUp)
    #expect(machine.next(now: 1, isVerified: true, outstanding: 0) == .verify)
  }

  @Test func `a batch of a database that is another one is given up with its partitions`() {
    var machine = settled()
    take(1, &machine)
    _ = machine.next(now: 1, isVerified: true, outstanding: 0)
    #expect(machine.next(now: 1, isVerified: true, outstanding: 0) == .judge)
    let isGivenUp = (machine.drain(isRebuilding: false), machine.outdated())
    #expect(isGivenUp == (false, true), "the next assignment would complete it")
    machine.drop()
    #expect(machine.isIdle && machine.age(now: 25) == 0, "its next owner reads it again")
  }

  @Test func `records, lines and bytes are bounded`() {
    var machine = settled()
    take(90, &machine)
    #expect(machine.hasRoom)
    take(1, &machine)
    #expect(!machine.hasRoom, "ten more could be too many")
    var many = settled()
    many.took(timestamp: -1, bytes: 0, lines: 16_000)
    #expect(!many.hasRoom && many.age(now: 100) == 0)
    var large = settled()
    large.took(timestamp: 1, bytes: 8 << 20, lines: 0)
    #expect(!large.hasRoom)
  }

  @Test
  func `while partitions are given back nothing begins, and nobody waits for a rebuilt database`() {
    var machine = settled()
    take(1, &machine)
    _ = machine.next(now: 1, isVerified: false, outstanding: 0)
    var rebuilding = machine
    let isGivenUp = (machine.drain(isRebuilding: false), rebuilding.drain(isRebuilding: true))
    #expect(isGivenUp == (false, true))
    #expect(machine.next(now: 1, isVerified: true, outstanding: 0) == .judge)
    machine.judged(following: 0)
    #expect(machine.next(now: 1, isVerified: true, outstanding: 0) == .complete)
    machine.marksAreRefuted()
    #expect(machine.next(now: 90_000, isVerified: true, outstanding: 0) == nil && !machine.hasRoom)
    machine.unassigned()
    machine.begin([0], now: 90_000)
    #expect(machine.next(now: 90_000, isVerified: true, outstanding: 0) == .verify)
  }

  @Test func `a batch that still grows is given up with its partitions`() {
    var machine = Machine(records: 2_000, atOnce: 1)
    machine.begin([0], now: 0)
    take(1_000, &machine)
    finishRounds(&machine)
    take(1, &machine)
    #expect(machine.next(now: 10, isVerified: true, outstanding: 0) == nil, "it grows")
    #expect(machine.isIdle && machine.age(now: 25) == 20)
    var without = settled()
    let isGivenUp = (machine.drain(isRebuilding: false), without.drain(isRebuilding: true))
    #expect(isGivenUp == (true, false))
    machine.drop()
    machine.unassigned()
    machine.begin([1], now: 20)
    #expect(machine.age(now: 25) == 0, "its next owner reads it again")
  }

  @Test
  func `all devices are looked at at the beginning, every minute, and when marks are refuted`() {
    var machine = Machine(records: 100, atOnce: 10)
    machine.marksAreRefuted()
    #expect(machine.next(now: 0, isVerified: true, outstanding: 0) == nil, "none are ours")
    machine.begin([3], now: 0)
    #expect(machine.owns(3) && !machine.owns(4))
    #expect(machine.rounds.refuting.isDue)
    finishRounds(&machine)
    #expect(machine.next(now: 59_999, isVerified: true, outstanding: 0) == nil)
    #expect(machine.next(now: 60_000, isVerified: true, outstanding: 0) == .verify)
    #expect(machine.rounds.refuting.isDue && machine.rounds.confirming.isDue)
    finishRounds(&machine)
    machine.marksAreRefuted()
    #expect(machine.next(now: 60_001, isVerified: true, outstanding: 0) == .verify)
    #expect(machine.rounds.refuting.isDue && !machine.rounds.confirming.isDue)
  }

  @Test func `suspicions are confirmed only when all answers are read`() {
    var machine = Machine(records: 100, atOnce: 10)
    machine.begin([0, 1], now: 0)
    machine.reachedEnd(of: 0)
    #expect(!machine.isConfirming)
    machine.reachedEnd(of: 1)
    #expect(machine.isConfirming)
    machine.reads(0)
    #expect(!machine.isConfirming)
  }

  @Test func `what a batch under way leaves unread is not taken`() {
    var machine = Machine(records: 100, atOnce: 10)
    machine.begin([0], now: 0)
    machine.takes(now: 5)
    #expect(machine.next(now: 0, isVerified: true, outstanding: 0) == .verify)
    #expect(machine.next(now: 0, isVerified: true, outstanding: 0) == .judge)
    machine.takes(now: 9)
    #expect(machine.takenUntil == 5)
    _ = machine.outdated()
    machine.takes(now: 9)
    #expect(machine.takenUntil == 9)
  }
}
