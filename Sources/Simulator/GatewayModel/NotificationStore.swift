// SPDX-License-Identifier: Apache-2.0
public import Contract

/// The parts of an accepted push that are needed to store and show it.
public struct AcceptedPush: Sendable, Equatable {
  public let id: SpelledID
  /// Lower-case hexadecimal digits.
  public let token: [UInt8]
  /// The topic without the push type's suffix: the bundle id.
  public let app: [UInt8]
  public let collapseID: [UInt8]?
  public let type: PushType?
  /// 10, 5 or 1.
  public let priority: UInt8
  /// Seconds since the epoch; nil if absent; 0 for immediate delivery only.
  public let expiration: Int64?
  public let body: [UInt8]
  /// Milliseconds since the epoch.
  public let receivedAt: Int64

  public init(
    id: SpelledID, token: [UInt8], app: [UInt8], collapseID: [UInt8]? = nil,
    type: PushType? = nil, priority: UInt8 = 10, expiration: Int64? = nil, body: [UInt8] = [],
    receivedAt: Int64
  ) {
    self.id = id
    self.token = token
    self.app = app
    self.collapseID = collapseID
    self.type = type
    self.priority = priority
    self.expiration = expiration
    self.body = body
    self.receivedAt = receivedAt
  }
}

/// The outcome of an accepted push.
public enum PushFate: Sendable, Equatable {
  /// The device received it at once.
  case delivered
  /// It is stored until the device can be reached.
  case stored
  /// The device was unreachable, and the push was not to be stored.
  case discarded
  /// The device received and dropped it: its hourly budget was used up.
  case overBudget(BudgetKind)

  public var name: String {
    switch self {
    case .delivered: "delivered"
    case .stored: "stored"
    case .discarded: "discarded"
    case .overBudget: "over_budget"
    }
  }
}

/// An accepted push that has not reached its device.
public struct UndeliveredPush: Sendable, Equatable {
  public enum Reason: String, Sendable {
    /// It is still stored for the device.
    case waiting
    /// The device was unreachable, and the push was not to be stored.
    case notStored = "not-stored"
    /// Another push replaced it while it was stored, or was kept instead of it.
    case overwritten
    /// It was stored until its expiration.
    case expired
    /// The app was removed from the device.
    case appRemoved = "app-removed"
  }

  public let push: AcceptedPush
  public let reason: Reason

  public init(_ push: AcceptedPush, _ reason: Reason) {
    self.push = push
    self.reason = reason
  }
}

/// Store and forward: for every device and app the gateway stores one undelivered notification, usually the newest, or
/// one per collapse id (Apple, "Sending notification requests to APNs").
public struct NotificationStore: Sendable {
  private struct Slot: Hashable, Sendable {
    let app: [UInt8]
    /// The collapse id; nil if one notification is stored for all of them.
    let collapseID: [UInt8]?
  }

  private struct Kept: Sendable {
    let push: AcceptedPush
    /// Milliseconds since the epoch.
    let until: Int64
    /// The order of storing: two pushes can arrive within one millisecond.
    let order: Int
  }

  private var arrivals = 0

  /// By token: a device that comes online must not cost a look at all others.
  private var kept: [[UInt8]: [Slot: Kept]] = [:]
  /// The number of stored notifications.
  public private(set) var count = 0
  /// The number of stored notifications that a newer one replaced.
  public private(set) var overwritten = 0
  /// The number of stored notifications that expired.
  public private(set) var expired = 0
  private let limit: Int
  /// The newest pushes that will not be delivered.
  private var lost: [UndeliveredPush] = []
  /// The number kept: at twice as many the older half is dropped.
  private static let lostLimit = 10_000

  /// The longest time that a notification is stored, in ms: 30 days.
  public static let longest: Int64 = 30 * 86_400_000

  /// - Parameter limit: The maximum number of stored notifications; further ones are discarded.
  public init(limit: Int = 1_000_000) { self.limit = limit }

  /// Accepts a push to a device in this state, and returns its outcome.
  ///
  /// - Parameter roll: A random number, for `store-keeps-older`.
  public mutating func accept(
    _ push: AcceptedPush, state: DeclaredToken.State, _ rules: GatewayRules, roll: UInt64 = 0
  ) -> PushFate {
    switch state {
    case .active: return .delivered
    case .powerRestricted where push.priority == 10: return .delivered
    case .gone, .bad:
      lose(push, .appRemoved)
      return .discarded
    case .offline, .powerRestricted: break
    }
    guard let until = Self.end(of: push, rules), until > push.receivedAt else {
      lose(push, .notStored)
      return .discarded
    }
    let slot = Slot(
      app: push.app,
      collapseID: rules.storedNotifications == .perCollapseID ? push.collapseID ?? [] : nil)
    if let older = kept[push.token]?[slot] {
      guard older.until > push.receivedAt else {
        expired += 1
        lose(older.push, .expired)
        keep(push, until: until, at: slot)
        return .stored
      }
      overwritten += 1
      if roll % 100 < UInt64(rules.storeKeepsOlder) {
        lose(push, .overwritten)
        return .discarded
      }
      lose(older.push, .overwritten)
    } else if count >= limit {
      lose(push, .notStored)
      return .discarded
    }
    keep(push, until: until, at: slot)
    return .stored
  }

  /// The expiration of a stored push, in ms; nil if it is never stored.
  public static func end(of push: AcceptedPush, _ rules: GatewayRules) -> Int64? {
    let longest = push.receivedAt + longest
    guard let expiration = push.expiration else {
      return rules.absentExpiration == .policy ? longest : nil
    }
    if expiration == 0 { return nil }
    let (milliseconds, overflow) = expiration.multipliedReportingOverflow(by: 1_000)
    return overflow ? longest : min(milliseconds, longest)
  }

  /// Returns what a device receives when it comes online, in order of arrival.
  public mutating func release(_ token: [UInt8], now: Int64) -> [AcceptedPush] {
    let waiting = take(token)
    for entry in waiting where entry.until <= now {
      expired += 1
      lose(entry.push, .expired)
    }
    return waiting.filter { $0.until > now }.sorted { $0.order < $1.order }.map(\.push)
  }

  /// Drops what is stored for a device from which the app was removed.
  public mutating func drop(_ token: [UInt8]) {
    for entry in take(token) { lose(entry.push, .appRemoved) }
  }

  private mutating func take(_ token: [UInt8]) -> [Kept] {
    let entries = kept.removeValue(forKey: token) ?? [:]
    count -= entries.count
    return Array(entries.values)
  }

  private var all: [Kept] { kept.values.flatMap { $0.values }.sorted { $0.order < $1.order } }

  /// The stored pushes, oldest first.
  public func waiting(now: Int64) -> [AcceptedPush] { all.filter { $0.until > now }.map(\.push) }

  /// The accepted pushes that have not reached their devices, oldest first.
  public func undelivered(now: Int64) -> [UndeliveredPush] {
    let stored = all.map { entry in
      UndeliveredPush(entry.push, entry.until > now ? .waiting : .expired)
    }
    return (lost + stored).sorted { $0.push.receivedAt < $1.push.receivedAt }
  }

  private mutating func keep(_ push: AcceptedPush, until: Int64, at slot: Slot) {
    let entry = Kept(push: push, until: until, order: arrivals)
    if kept[push.token, default: [:]].updateValue(entry, forKey: slot) == nil { count += 1 }
    arrivals += 1
  }

  private mutating func lose(_ push: AcceptedPush, _ reason: UndeliveredPush.Reason) {
    if lost.count >= 2 * Self.lostLimit { lost.removeFirst(Self.lostLimit) }
    lost.append(UndeliveredPush(push, reason))
  }
}
