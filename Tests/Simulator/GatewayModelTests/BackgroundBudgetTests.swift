// SPDX-License-Identifier: Apache-2.0
import APNS
import GatewayModel
import Testing

@Suite struct BackgroundBudgetTests {
  private static let start: Int64 = 1_795_000_000_000
  private static let minute: Int64 = 60_000

  private func rules(_ budget: Int) -> GatewayRules {
    var rules = GatewayRules()
    rules.backgroundBudget = budget
    return rules
  }

  @Test func `a device takes so many background pushes of an app within an hour`() {
    var budget = BackgroundBudget()
    func takes(_ minute: Int64, token: UInt8 = 1, app: UInt8 = 1) -> Bool {
      budget.takes(
        token: [token], app: [app], type: .background, rules(3),
        now: Self.start + minute * Self.minute)
    }
    #expect([0, 10, 20].map { takes($0) } == [true, true, true])
    #expect(!takes(30) && !takes(59))
    // Other devices and apps have their own.
    #expect(takes(30, token: 2) && takes(30, app: 2))
    // The first one is an hour old.
    #expect(takes(60) && !takes(69) && takes(70))
  }

  @Test func `without a budget, and for other types, every push is taken`() {
    var budget = BackgroundBudget()
    for _ in 0..<100 {
      let isTaken = budget.takes(
        token: [1], app: [1], type: .background, rules(0), now: Self.start)
      let isAlertTaken = budget.takes(
        token: [1], app: [1], type: .alert, rules(1), now: Self.start)
      #expect(isTaken && isAlertTaken)
    }
  }

  @Test func `a clock that goes back frees what was taken ahead of it`() {
    var budget = BackgroundBudget()
    let first = budget.takes(
      token: [1], app: [1], type: .background, rules(1), now: Self.start)
    let earlier = budget.takes(
      token: [1], app: [1], type: .background, rules(1), now: Self.start - 10 * Self.minute)
    #expect(first && earlier)
  }
}
