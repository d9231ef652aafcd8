// SPDX-License-Identifier: Apache-2.0
public import Contract

/// A notification that a device has received.
public struct Delivery: Sendable, Equatable {
  public let id: SpelledID
  public let token: [UInt8]
  public let app: [UInt8]
  public let collapseID: [UInt8]?
  public let type: PushType?
  public let priority: UInt8
  /// The times at which the gateway and the device received it, in ms.
  public let receivedAt: Int64
  public let deliveredAt: Int64
  public let body: [UInt8]?
  /// The exceeded budget because of which the device dropped it.
  public let overBudget: BudgetKind?

  public init(
    id: SpelledID, token: [UInt8], app: [UInt8], collapseID: [UInt8]?, type: PushType?,
    priority: UInt8, receivedAt: Int64, deliveredAt: Int64, body: [UInt8]?,
    overBudget: BudgetKind? = nil
  ) {
    self.overBudget = overBudget
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

  public init(_ push: AcceptedPush, deliveredAt: Int64, overBudget: BudgetKind? = nil) {
    self.init(
      id: push.id, token: push.token, app: push.app, collapseID: push.collapseID, type: push.type,
      priority: push.priority, receivedAt: push.receivedAt, deliveredAt: deliveredAt,
      body: push.body, overBudget: overBudget)
  }
}

/// The parts of a body that decide whether a device shows it.
public struct BodyFacts: Sendable, Equatable {
  public enum ActivityEvent: String, Sendable { case start, update, end }

  /// Whether it only wakes the app.
  public var isSilent = false
  public var event: ActivityEvent?
  /// The timestamp that orders updates of a Live Activity, in seconds.
  public var timestamp: Int64?

  public init(isSilent: Bool = false, event: ActivityEvent? = nil, timestamp: Int64? = nil) {
    self.isSilent = isSilent
    self.event = event
    self.timestamp = timestamp
  }
}

/// The reason why a device does not show a notification that it received.
public enum HiddenReason: Sendable, Equatable {
  case overBudget(BudgetKind)
  /// The same notification was received before.
  case duplicate
  /// A later notification with the same collapse id replaced it.
  case replaced
  /// Its type or body has nothing to show; what the app does with it is up to the app.
  case showsNothing
  /// The Live Activity had ended, by a push or by its lifetime.
  case activityEnded
  /// The Live Activity already shows a state with a later timestamp.
  case olderState

  public var name: String {
    switch self {
    case .overBudget(let kind): kind.name
    case .duplicate: "duplicate"
    case .replaced: "replaced"
    case .showsNothing: "shows-nothing"
    case .activityEnded: "activity-ended"
    case .olderState: "older-state"
    }
  }
}

/// The notifications that the users of all devices would have seen.
public enum DeliveryView {
  /// One delivery and what the user sees of it.
  public struct Line: Sendable, Equatable {
    public let delivery: Delivery
    /// A later notification with the same collapse id replaced it.
    public let isReplaced: Bool
    /// The same notification was received before.
    public let isDuplicate: Bool
    /// The reason why it is not shown; nil if the device shows it.
    public let hidden: HiddenReason?
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

  /// The Live Activity of one token.
  private struct Activity {
    var began: Int64
    var hasEnded = false
    var newest = Int64.min
  }

  /// Sorts deliveries by time and determines what is left on the screen.
  ///
  /// - Parameters:
  ///   - activityLifetime: Milliseconds after which a Live Activity ends by itself; 0 for never.
  ///   - facts: Parses a body.
  public static func lines(
    _ deliveries: [Delivery], activityLifetime: Int64 = 0,
    facts: (Delivery) -> BodyFacts = { _ in BodyFacts() }
  ) -> [Line] {
    let ordered = deliveries.enumerated().sorted {
      ($0.element.deliveredAt, $0.offset) < ($1.element.deliveredAt, $1.offset)
    }.map(\.element)
    var seen: Set<Sight> = []
    let isNew = ordered.map { delivery in
      seen.insert(Sight(token: delivery.token, id: delivery.id.id)).inserted
    }
    var activities: [[UInt8]: Activity] = [:]
    let reasons = ordered.enumerated().map { index, delivery -> HiddenReason? in
      if let kind = delivery.overBudget { return .overBudget(kind) }
      return isNew[index] ? hidden(delivery, facts, &activities, activityLifetime) : .duplicate
    }
    // A notification that is not shown replaces nothing.
    var newest: [Key: Int] = [:]
    for (index, delivery) in ordered.enumerated() where reasons[index] == nil {
      if let place = place(of: delivery) { newest[place] = index }
    }
    return ordered.enumerated().map { index, delivery in
      let isReplaced = place(of: delivery).flatMap { newest[$0] }.map { $0 > index } ?? false
      return Line(
        delivery: delivery, isReplaced: isReplaced, isDuplicate: !isNew[index],
        hidden: reasons[index] ?? (isReplaced ? .replaced : nil))
    }
  }

  /// Returns the reason why a device does not show a new notification; nil if it does until another replaces it.
  private static func hidden(
    _ delivery: Delivery, _ facts: (Delivery) -> BodyFacts, _ activities: inout [[UInt8]: Activity],
    _ lifetime: Int64
  ) -> HiddenReason? {
    switch delivery.type {
    case .background, .location, .complication, .fileprovider, .mdm, .widgets, .controls:
      .showsNothing
    case .alert, nil: facts(delivery).isSilent ? .showsNothing : nil
    case .liveactivity: update(&activities, delivery, facts(delivery), lifetime)
    case .voip, .pushtotalk, .nowplaying, .custom: nil
    }
  }

  /// Applies a push to the Live Activity of its token, unless that has ended or shows a later state.
  private static func update(
    _ activities: inout [[UInt8]: Activity], _ delivery: Delivery, _ facts: BodyFacts,
    _ lifetime: Int64
  ) -> HiddenReason? {
    var activity = activities[delivery.token] ?? Activity(began: delivery.deliveredAt)
    if facts.event == .start { activity = Activity(began: delivery.deliveredAt) }
    defer { activities[delivery.token] = activity }
    let isOver = lifetime > 0 && delivery.deliveredAt - activity.began >= lifetime
    if activity.hasEnded || isOver { return .activityEnded }
    if let timestamp = facts.timestamp {
      if timestamp < activity.newest { return .olderState }
      activity.newest = timestamp
    }
    activity.hasEnded = facts.event == .end
    return nil
  }

  private static func place(of delivery: Delivery) -> Key? {
    delivery.collapseID.map { Key(token: delivery.token, app: delivery.app, collapseID: $0) }
  }
}
