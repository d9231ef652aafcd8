// SPDX-License-Identifier: Apache-2.0
public import Contract

/// The pushes that a device accepts only a limited number of per hour.
///
/// The name is that of its switch, and the reason reported when a push was not shown.
public enum BudgetKind: String, Sendable, CaseIterable {
  /// Two or three per hour (Apple, "Pushing background updates to your App").
  case background = "background-budget"
  /// Live Activity updates with priority 10 (Apple, "Starting and updating Live Activities…", without a number).
  case liveActivity = "live-activity-budget"
  /// Live Activities started by pushes.
  case pushToStart = "push-to-start-budget"

  public var name: String { rawValue }

  /// The budget that a push counts against, or nil.
  ///
  /// - Parameter isStart: Whether its body starts a Live Activity.
  public init?(_ type: PushType?, priority: UInt8, isStart: Bool) {
    switch type {
    case .background: self = .background
    case .liveactivity where isStart: self = .pushToStart
    case .liveactivity where priority == 10: self = .liveActivity
    default: return nil
    }
  }
}

/// Budgets declared for one device; nil uses the gateway's.
public struct BudgetLimits: Sendable, Equatable {
  public var background: Int?
  public var liveActivity: Int?
  public var pushToStart: Int?

  public init(background: Int? = nil, liveActivity: Int? = nil, pushToStart: Int? = nil) {
    self.background = background
    self.liveActivity = liveActivity
    self.pushToStart = pushToStart
  }

  /// Pushes per hour; 0 for no limit.
  func limit(of kind: BudgetKind, _ rules: GatewayRules) -> Int {
    switch kind {
    case .background: background ?? rules.backgroundBudget
    case .liveActivity: liveActivity ?? rules.liveActivityBudget
    case .pushToStart: pushToStart ?? rules.pushToStartBudget
    }
  }
}

extension GatewayRules {
  /// Whether any device may drop pushes.
  @inline(__always)
  public var hasBudgets: Bool { backgroundBudget | liveActivityBudget | pushToStartBudget != 0 }
}

/// The pushes that each device token has accepted within the last hour, by budget.
public struct DeviceBudgets: Sendable {
  /// Milliseconds.
  public static let interval: Int64 = 3_600_000

  private struct Place: Hashable {
    let token: [UInt8]
    let app: [UInt8]
    let kind: BudgetKind
  }

  /// The times of the pushes accepted within the last hour, oldest first: of the devices asked about most recently, and
  /// of those before them.
  private var recent: [Place: [Int64]] = [:]
  private var older: [Place: [Int64]] = [:]
  /// The number of devices in either; the older ones are forgotten when there are as many recent ones.
  private static let capacity = 50_000

  public init() {}

  /// Whether the device accepts a push that arrives at `now` (ms).
  public mutating func takes(
    token: [UInt8], app: [UInt8], _ kind: BudgetKind, _ limits: BudgetLimits?,
    _ rules: GatewayRules, now: Int64
  ) -> Bool {
    let limit = (limits ?? BudgetLimits()).limit(of: kind, rules)
    guard limit > 0 else { return true }
    let place = Place(token: token, app: app, kind: kind)
    var times = recent[place] ?? older[place] ?? []
    // A time ahead of the clock means that the clock was moved back.
    times.removeAll { $0 <= now - Self.interval || $0 > now }
    defer { keep(times, place) }
    guard times.count < limit else { return false }
    times.append(now)
    return true
  }

  private mutating func keep(_ times: [Int64], _ place: Place) {
    if recent[place] == nil, recent.count == Self.capacity {
      older = recent
      recent = [:]
    }
    recent[place] = times
  }
}
