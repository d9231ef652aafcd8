// SPDX-License-Identifier: Apache-2.0
public import APNS

/// The pushes of which a device takes only so many within an hour.
public enum BudgetKind: UInt8, Sendable, CaseIterable {
  /// Apple, "Pushing background updates to your App": two or three.
  case background
  /// Updates of Live Activities with priority 10 (Apple, "Starting and updating Live Activities…", without a number).
  case liveActivity
  /// Live Activities that pushes start.
  case pushToStart

  /// The name of its switch, and of the reason why a push was not shown.
  public var name: String {
    switch self {
    case .background: "background-budget"
    case .liveActivity: "live-activity-budget"
    case .pushToStart: "push-to-start-budget"
    }
  }

  /// The budget that a push is counted in, or nil.
  ///
  /// - Parameter isStart: its body starts a Live Activity.
  public init?(_ type: PushType?, priority: UInt8, isStart: Bool) {
    switch type {
    case .background: self = .background
    case .liveactivity where isStart: self = .pushToStart
    case .liveactivity where priority == 10: self = .liveActivity
    default: return nil
    }
  }
}

/// Budgets that were declared for one device; nil leaves the gateway's.
public struct BudgetLimits: Sendable, Equatable {
  public var background: Int?
  public var liveActivity: Int?
  public var pushToStart: Int?

  public init(background: Int? = nil, liveActivity: Int? = nil, pushToStart: Int? = nil) {
    self.background = background
    self.liveActivity = liveActivity
    self.pushToStart = pushToStart
  }

  /// Pushes an hour; 0 for any number.
  func limit(of kind: BudgetKind, _ rules: GatewayRules) -> Int {
    switch kind {
    case .background: background ?? rules.backgroundBudget
    case .liveActivity: liveActivity ?? rules.liveActivityBudget
    case .pushToStart: pushToStart ?? rules.pushToStartBudget
    }
  }
}

extension GatewayRules {
  /// True if any device may drop pushes.
  @inline(__always)
  public var hasBudgets: Bool { backgroundBudget | liveActivityBudget | pushToStartBudget != 0 }
}

/// The pushes that count in a budget and that each device token has taken within the last hour.
public struct DeviceBudgets: Sendable {
  /// Milliseconds.
  public static let interval: Int64 = 3_600_000

  private struct Place: Hashable {
    let token: [UInt8]
    let app: [UInt8]
    let kind: BudgetKind
  }

  /// The times of those that were taken within the last hour, oldest first.
  private var taken: [Place: [Int64]] = [:]
  /// So many devices are told apart; further ones take every push.
  private static let capacity = 100_000

  public init() {}

  /// True if the device takes a push that reaches it at `now` (ms).
  public mutating func takes(
    token: [UInt8], app: [UInt8], _ kind: BudgetKind, _ limits: BudgetLimits?,
    _ rules: GatewayRules, now: Int64
  ) -> Bool {
    let limit = (limits ?? BudgetLimits()).limit(of: kind, rules)
    guard limit > 0 else { return true }
    let place = Place(token: token, app: app, kind: kind)
    guard taken[place] != nil || taken.count < Self.capacity else { return true }
    var times = taken[place, default: []]
    // One that is ahead of the clock has been set back with it.
    times.removeAll { $0 <= now - Self.interval || $0 > now }
    defer { taken[place] = times }
    guard times.count < limit else { return false }
    times.append(now)
    return true
  }
}
