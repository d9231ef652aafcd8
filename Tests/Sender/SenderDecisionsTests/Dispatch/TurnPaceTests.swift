// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import SenderDecisions

@Suite struct TurnPaceTests {
  /// The pause after each turn of a loop that finds so many events every so many microseconds.
  private func pauses(
    events: Int, every microseconds: UInt64, turns: Int = 1_000, isExpecting: Bool = true
  ) -> [UInt64] {
    var pace = TurnPace()
    var now: UInt64 = 1_000_000
    return (0..<turns).map { _ in
      pace.beginTurn(now: now)
      pace.note(events)
      defer { now += microseconds }
      return pace.endTurn(now: now + 100, isExpecting: isExpecting)
    }
  }

  @Test func `a loop at rest never waits`() {
    #expect(pauses(events: 1, every: 50_000).allSatisfy { $0 == 0 })
    #expect(pauses(events: 2, every: 10_000).allSatisfy { $0 == 0 })
  }

  @Test func `a loop that is woken often and finds little waits out the interval`() {
    #expect(pauses(events: 1, every: 200).last == TurnPace.interval - 100)
    #expect(pauses(events: TurnPace.worthwhile - 1, every: 5_000).last == TurnPace.interval - 100)
  }

  @Test func `a turn that finds much is followed by the next at once`() {
    #expect(pauses(events: TurnPace.worthwhile, every: 1_000).allSatisfy { $0 == 0 })
  }

  @Test func `nothing is waited for where no answer is to come`() {
    #expect(pauses(events: 1, every: 200, isExpecting: false).allSatisfy { $0 == 0 })
  }

  @Test func `a turn that takes the interval is followed by no pause`() {
    var pace = TurnPace()
    for turn in UInt64(1)..<1_000 {
      pace.beginTurn(now: turn * 2_000)
      pace.note(10)
      #expect(pace.endTurn(now: turn * 2_000 + TurnPace.interval, isExpecting: true) == 0)
    }
    #expect(pace.isBusy)
  }

  @Test func `a loop that comes to rest no longer waits`() {
    var pace = TurnPace()
    for turn in UInt64(1)..<1_000 {
      pace.beginTurn(now: turn * 1_000)
      pace.note(10)
      _ = pace.endTurn(now: turn * 1_000 + 100, isExpecting: true)
    }
    #expect(pace.isBusy)
    pace.beginTurn(now: 1_050_000)
    pace.note(1)
    _ = pace.endTurn(now: 1_050_100, isExpecting: true)
    pace.beginTurn(now: 1_100_001)
    #expect(!pace.isBusy)
  }
}
