// SPDX-License-Identifier: Apache-2.0
import Contract
import GatewayModel
import Testing

@Suite struct DeviceBudgetsTests {
  private static let start: Int64 = 1_795_000_000_000
  private static let minute: Int64 = 60_000

  private func rules(_ budget: Int) -> GatewayRules {
    var rules = GatewayRules()
    (rules.backgroundBudget, rules.liveActivityBudget) = (budget, budget)
    rules.pushToStartBudget = budget
    return rules
  }

  @Test(arguments: BudgetKind.allCases)
  func `a device takes so many pushes of an app within an hour`(kind: BudgetKind) {
    var budgets = DeviceBudgets()
    func takes(_ minute: Int64, token: UInt8 = 1, app: UInt8 = 1) -> Bool {
      budgets.takes(
        token: [token], app: [app], kind, nil, rules(3), now: Self.start + minute * Self.minute)
    }
    #expect([0, 10, 20].map { takes($0) } == [true, true, true])
    #expect(!takes(30) && !takes(59))
    // Other devices and apps have their own.
    #expect(takes(30, token: 2) && takes(30, app: 2))
    // The first one is an hour old.
    #expect(takes(60) && !takes(69) && takes(70))
  }

  @Test func `each budget is counted for itself`() {
    var budgets = DeviceBudgets()
    for kind in BudgetKind.allCases {
      let taken = (0..<2).map { _ in
        budgets.takes(token: [1], app: [1], kind, nil, rules(1), now: Self.start)
      }
      #expect(taken == [true, false], "\(kind)")
    }
  }

  @Test func `a device's own budget takes the place of the gateway's, and 0 is none`() {
    var budgets = DeviceBudgets()
    let (own, free) = (BudgetLimits(background: 2), BudgetLimits(background: 0))
    func takes(_ token: UInt8, _ limits: BudgetLimits?) -> Bool {
      budgets.takes(token: [token], app: [1], .background, limits, rules(1), now: Self.start)
    }
    #expect([takes(1, own), takes(1, own), takes(1, own)] == [true, true, false])
    #expect([takes(2, free), takes(2, free), takes(2, free)] == [true, true, true])
    // The other budgets are still the gateway's.
    let starts = (0..<2).map { _ in
      budgets.takes(token: [1], app: [1], .pushToStart, own, rules(1), now: Self.start)
    }
    #expect(starts == [true, false])
  }

  @Test func `without a budget every push is taken`() {
    var budgets = DeviceBudgets()
    for _ in 0..<100 {
      let isTaken = budgets.takes(token: [1], app: [1], .background, nil, rules(0), now: Self.start)
      #expect(isTaken)
    }
    #expect(!rules(0).hasBudgets && rules(1).hasBudgets)
  }

  @Test func `a clock that goes back frees what was taken ahead of it`() {
    var budgets = DeviceBudgets()
    let first = budgets.takes(token: [1], app: [1], .background, nil, rules(1), now: Self.start)
    let earlier = budgets.takes(
      token: [1], app: [1], .background, nil, rules(1), now: Self.start - 10 * Self.minute)
    #expect(first && earlier)
  }

  @Test func `devices have a budget however many there were before them`() {
    var budgets = DeviceBudgets()
    func takes(_ number: Int) -> Bool {
      let token = withUnsafeBytes(of: number) { Array($0) }
      return budgets.takes(token: token, app: [1], .background, nil, rules(1), now: Self.start)
    }
    var taken = 0
    for number in 0..<150_000 where takes(number) { taken += 1 }
    #expect(taken == 150_000)
    #expect(!takes(149_999) && !takes(100_001))
    // The oldest are forgotten.
    #expect(takes(0))
  }

  @Test func `type, priority and event say which budget counts a push`() {
    #expect(BudgetKind(.background, priority: 5, isStart: false) == .background)
    #expect(BudgetKind(.liveactivity, priority: 10, isStart: false) == .liveActivity)
    #expect(BudgetKind(.liveactivity, priority: 5, isStart: false) == nil)
    #expect(BudgetKind(.liveactivity, priority: 5, isStart: true) == .pushToStart)
    #expect(BudgetKind(.alert, priority: 10, isStart: false) == nil)
    #expect(BudgetKind(nil, priority: 10, isStart: false) == nil)
  }
}
