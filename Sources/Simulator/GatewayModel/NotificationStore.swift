// SPDX-License-Identifier: Apache-2.0
public import APNS

/// A push that was accepted, as far as storing and showing it needs.
public struct AcceptedPush: Sendable, Equatable {
  public let id: SpelledID
  /// Lower-case hexadecimal digits.
  public let token: [UInt8]
  /// The topic without its push type's suffix: the bundle id.
  public let app: [UInt8]
  public let collapseID: [UInt8]?
  public let type: PushType?
  /// 10, 5 or 1.
  public let priority: UInt8
  /// Seconds since the epoch; nil when the request gave none, 0 for "now or never".
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

/// The fate of an accepted push.
public enum PushFate: Sendable, Equatable {
  /// The device had it at once.
  case delivered
  /// It waits for the device.
  case stored
  /// The device could not be reached, and it was not to be stored.
  case discarded
  /// The device had it, and dropped it: it had taken those of this hour.
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

/// A push that was accepted and never reached its device.
public struct UndeliveredPush: Sendable, Equatable {
  public enum Reason: String, Sendable {
    /// It still waits for the device.
    case waiting
    /// The device could not be reached, and the push was not to be stored.
    case notStored = "not-stored"
    /// Another push has taken its place while it waited, or was kept in place of it.
    case overwritten
    /// It waited until its expiration.
    case expired
    /// The app was gone from the device.
    case appRemoved = "app-removed"
  }

  public let push: AcceptedPush
  public let reason: Reason

  public init(_ push: AcceptedPush, _ reason: Reason) {
    self.push = push
    self.reason = reason
  }
}

/// Store and forward: for every device and app the gateway keeps one notification that could not be
/// delivered, usually the newest, or one for each collapse id (Apple, "Sending notification requests to APNs").
public struct NotificationStore: Sendable {
  private struct Slot: Hashable, Sendable {
    let token: [UInt8]
    let app: [UInt8]
    /// nil where one is kept for all of them.
    let collapseID: [UInt8]?
  }

  private struct Kept: Sendable {
    let push: AcceptedPush
    /// Milliseconds since the epoch.
    let until: Int64
    /// Its number among those that were stored: two may have come within one millisecond.
    let order: Int
  }

  private var arrivals = 0

  private var kept: [Slot: Kept] = [:]
  /// Notifications that a newer one pushed out.
  public private(set) var overwritten = 0
  /// Notifications that waited too long.
  public private(set) var expired = 0
  private let limit: Int
  /// The newest pushes that will never be delivered.
  private var lost: [UndeliveredPush] = []
  /// Beyond twice this many the older half is forgotten.
  private static let lostLimit = 10_000

  /// The longest time that a notification is kept, in ms: 30 days.
  public static let longest: Int64 = 30 * 86_400_000

  /// - Parameter limit: So many are kept at most; further ones are discarded.
  public init(limit: Int = 1_000_000) { self.limit = limit }

  public var count: Int { kept.count }

  /// Accepts a push to a device in this state, and decides its fate.
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
      token: push.token, app: push.app,
      collapseID: rules.storedNotifications == .perCollapseID ? push.collapseID ?? [] : nil)
    if let older = kept[slot] {
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
    } else if kept.count >= limit {
      lose(push, .notStored)
      return .discarded
    }
    keep(push, until: until, at: slot)
    return .stored
  }

  /// When a push is given up, in ms; nil when it is never stored.
  public static func end(of push: AcceptedPush, _ rules: GatewayRules) -> Int64? {
    let longest = push.receivedAt + longest
    guard let expiration = push.expiration else {
      return rules.absentExpiration == .policy ? longest : nil
    }
    if expiration == 0 { return nil }
    let (milliseconds, overflow) = expiration.multipliedReportingOverflow(by: 1_000)
    return overflow ? longest : min(milliseconds, longest)
  }

  /// The device can be reached again: what it gets now, in the order of arrival.
  public mutating func release(_ token: [UInt8], now: Int64) -> [AcceptedPush] {
    var waiting: [Kept] = []
    for (slot, entry) in kept where slot.token == token {
      waiting.append(entry)
      kept[slot] = nil
    }
    for entry in waiting where entry.until <= now {
      expired += 1
      lose(entry.push, .expired)
    }
    return waiting.filter { $0.until > now }.sorted { $0.order < $1.order }.map(\.push)
  }

  /// The app is gone from the device: nothing is delivered any more.
  public mutating func drop(_ token: [UInt8]) {
    for (slot, entry) in kept where slot.token == token {
      lose(entry.push, .appRemoved)
      kept[slot] = nil
    }
  }

  /// The pushes that wait now, oldest first.
  public func waiting(now: Int64) -> [AcceptedPush] {
    kept.values.filter { $0.until > now }.sorted { $0.order < $1.order }.map(\.push)
  }

  /// The pushes that were accepted and have not reached their devices, oldest first.
  public func undelivered(now: Int64) -> [UndeliveredPush] {
    let stored = kept.values.sorted { $0.order < $1.order }.map { entry in
      UndeliveredPush(entry.push, entry.until > now ? .waiting : .expired)
    }
    return (lost + stored).sorted { $0.push.receivedAt < $1.push.receivedAt }
  }

  private mutating func keep(_ push: AcceptedPush, until: Int64, at slot: Slot) {
    kept[slot] = Kept(push: push, until: until, order: arrivals)
    arrivals += 1
  }

  private mutating func lose(_ push: AcceptedPush, _ reason: UndeliveredPush.Reason) {
    if lost.count >= 2 * Self.lostLimit { lost.removeFirst(Self.lostLimit) }
    lost.append(UndeliveredPush(push, reason))
  }
}
