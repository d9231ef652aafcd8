// SPDX-License-Identifier: Apache-2.0
import Contract
import Testing

/// When an operator is told of a trouble.
@Suite struct ProblemReminderTests {
  @Test func `a problem that heals is not logged; another is, repeatedly, and so is its end`() {
    var reminder = ProblemReminder()
    var said: [UInt64] = []
    var ends: [UInt64] = []
    for now in stride(from: UInt64(0), to: 100_000, by: 100) {
      let isFailing = (1_000..<1_900).contains(now) || (5_000..<70_000).contains(now)
      switch reminder.step(isFailing: isFailing, now: now) {
      case .nothing: break
      case .report: said.append(now)
      case .reportResolved: ends.append(now)
      }
    }
    #expect(said == [6_000, 36_000, 66_000])
    #expect(ends == [70_000])
  }

  @Test func `a problem that often takes longer to heal is reported later`() {
    var reminder = ProblemReminder(quiet: 10_000)
    let said = stride(from: UInt64(0), to: 50_000, by: 100).filter { now in
      reminder.step(isFailing: !(9_900..<10_000).contains(now), now: now) == .report
    }
    #expect(said == [20_000])
  }
}
