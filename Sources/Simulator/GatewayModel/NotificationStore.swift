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
public enum PushFate: UInt8, Sendable, Equatable, CaseIterable {
  /// The device had it at once.
  case delivered
  /// It waits for the device.
  case stored
  /// The device could not be reached, and it was not to be stored.
  case discarded
  /// The device had it, and dropped it: it had taken its background pushes of this hour.
  case overBudget

  public var name: String {
    switch self {
    case .delivered: "delivered"
    case .stored: "stored"
    case .discarded: "discarded"
    case .overBudget: "over_budget"
    }
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
  }

  private var kept: [Slot: Kept] = [:]
  /// Notifications that a newer one pushed out.
  public private(set) var overwritten = 0
  /// Notifications that waited too long.
  public private(set) var expired = 0
  private let limit: Int

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
    case .gone, .bad: return .discarded
    case .offline, .powerRestricted: break
    }
    guard let until = Self.end(of: push, rules), until > push.receivedAt else { return .discarded }
    let slot = Slot(
      token: push.token, app: push.app,
      collapseID: rules.storedNotifications == .perCollapseID ? push.collapseID ?? [] : nil)
    if let older = kept[slot], older.until > push.receivedAt {
      overwritten += 1
      if roll % 100 < UInt64(rules.storeKeepsOlder) { return .discarded }
    } else if kept.count >= limit {
      return .discarded
    }
    kept[slot] = Kept(push: push, until: until)
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
    expired += waiting.count { $0.until <= now }
    return waiting.filter { $0.until > now }.map(\.push).sorted { $0.receivedAt < $1.receivedAt }
  }

  /// The app is gone from the device: nothing is delivered any more.
  public mutating func drop(_ token: [UInt8]) {
    for slot in kept.keys where slot.token == token { kept[slot] = nil }
  }

  /// The pushes that wait now, oldest first.
  public func waiting(now: Int64) -> [AcceptedPush] {
    kept.values.filter { $0.until > now }.map(\.push).sorted { $0.receivedAt < $1.receivedAt }
  }
}

/// A notification that a device has received.
public struct Delivery: Sendable, Equatable {
  public let id: SpelledID
  public let token: [UInt8]
  public let app: [UInt8]
  public let collapseID: [UInt8]?
  public let type: PushType?
  public let priority: UInt8
  /// When the gateway got it and when the device did, in ms.
  public let receivedAt: Int64
  public let deliveredAt: Int64
  public let body: [UInt8]?
  /// The device dropped it: it had taken its background pushes of this hour.
  public let isOverBudget: Bool

  public init(
    id: SpelledID, token: [UInt8], app: [UInt8], collapseID: [UInt8]?, type: PushType?,
    priority: UInt8, receivedAt: Int64, deliveredAt: Int64, body: [UInt8]?,
    isOverBudget: Bool = false
  ) {
    self.isOverBudget = isOverBudget
    self.id = id
    self.token = token
    self.app = app
    self.collapseID = collapseID
    self.type = type
    self.priority = priority
    self.receivedAt = receivedAt
    self.deliveredAt = deliveredAt
    self.body = body
  }

  public init(_ push: AcceptedPush, deliveredAt: Int64, isOverBudget: Bool = false) {
    self.init(
      id: push.id, token: push.token, app: push.app, collapseID: push.collapseID, type: push.type,
      priority: push.priority, receivedAt: push.receivedAt, deliveredAt: deliveredAt,
      body: push.body, isOverBudget: isOverBudget)
  }

  /// True if a device shows something of it, or makes a sound. What the app's own types do is up to the app.
  ///
  /// - Parameter isSilent: its body only wakes the app.
  public func isShown(isSilent: Bool) -> Bool {
    switch type {
    case .background, .location, .complication, .fileprovider, .mdm, .widgets, .controls: false
    case .alert, nil: !isSilent && !isOverBudget
    case .voip, .liveactivity, .pushtotalk, .nowplaying, .custom: true
    }
  }
}

/// The notifications that the users of all devices would have seen.
public enum DeliveryView {
  /// One delivery and what the user sees of it.
  public struct Line: Sendable, Equatable {
    public let delivery: Delivery
    /// A later one with the same collapse id has taken its place.
    public let isReplaced: Bool
    /// The same notification had come before.
    public let isDuplicate: Bool
  }

  private struct Key: Hashable {
    let token: [UInt8]
    let app: [UInt8]
    let collapseID: [UInt8]
  }

  private struct Sight: Hashable {
    let token: [UInt8]
    let id: NotificationID
  }

  /// Puts deliveries into the order of their times and says what is left on the screen.
  public static func lines(_ deliveries: [Delivery]) -> [Line] {
    let ordered = deliveries.enumerated().sorted {
      ($0.element.deliveredAt, $0.offset) < ($1.element.deliveredAt, $1.offset)
    }.map(\.element)
    var newest: [Key: Int] = [:]
    for (index, delivery) in ordered.enumerated() {
      if let place = place(of: delivery) { newest[place] = index }
    }
    var seen: Set<Sight> = []
    return ordered.enumerated().map { index, delivery in
      let isNew = seen.insert(Sight(token: delivery.token, id: delivery.id.id)).inserted
      let last = place(of: delivery).flatMap { newest[$0] } ?? index
      return Line(delivery: delivery, isReplaced: last != index, isDuplicate: !isNew)
    }
  }

  private static func place(of delivery: Delivery) -> Key? {
    delivery.collapseID.map {
      Key(token: delivery.token, app: delivery.app, collapseID: $0)
    }
  }
}
