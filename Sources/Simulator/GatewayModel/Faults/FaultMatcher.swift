// SPDX-License-Identifier: Apache-2.0
public import Contract

/// The conditions under which a rule applies. All that are set must hold.
///
/// An event is compared with the filters first. Events that pass are counted, and `nth`, `every`, `fromCount` and
/// `untilCount` apply to that count; then `probability` is drawn, and `times` limits how often the rule fires.
public struct FaultMatcher: Sendable, Equatable {
  // Filters for any event.
  public var environment: Environment?
  /// The address connected to, without the port.
  public var address: String?
  /// The number of a connection among those accepted after the rule was added, from 1.
  public var connection: UInt64?
  /// Milliseconds since the rule was added.
  public var fromTime: UInt64?
  public var untilTime: UInt64?

  // Filters for requests.
  /// A whole device token or a prefix of one, in lower-case digits.
  public var token: [UInt8]?
  public var isTokenPrefix = false
  /// The exact topic.
  public var topic: [UInt8]?
  /// The bundle id: the topic with or without one of Apple's suffixes.
  public var app: [UInt8]?
  public var pushType: PushType?
  /// The status that the gateway responds with by itself.
  public var status: UInt16?
  /// The minimum stream id.
  public var streamID: Int32?
  /// The size that the header list must exceed.
  public var headerListSize: Int?
  /// A header field that was not sent as a never-indexed literal.
  public var indexed: IndexedFields = []

  // Conditions on earlier events.
  /// Milliseconds without input, at the stage `idle`.
  public var idle: UInt64?
  /// The minimum number of errors on the connection (4xx and 5xx other than 410).
  public var errors: Int?
  /// The number of errors that a `BadDeviceToken` counts as; at least 1.
  public var badTokenWeight = 1
  /// The number of requests for one device token within `tokenWindow` that must be exceeded.
  public var tokenRate: Int?
  /// Milliseconds.
  public var tokenWindow: UInt64 = 1_000
  /// The number of connections within a minute that must be exceeded.
  public var connectsPerMinute: Int?

  // Counts and chance.
  public var nth: UInt64?
  public var every: UInt64?
  public var fromCount: UInt64?
  public var untilCount: UInt64?
  /// From 0 to 1.
  public var probability = 1.0
  public var times: UInt64?

  public init() {}

  /// Whether a condition depends on a request.
  public var needsRequest: Bool {
    token != nil || topic != nil || app != nil || pushType != nil || status != nil
      || streamID != nil || headerListSize != nil || !indexed.isEmpty || errors != nil
      || tokenRate != nil
  }

  /// The time and connections between the start of a rule, when it was added, and an event.
  struct Distance {
    var milliseconds: UInt64
    /// The number of the event's connection since then, from 1; 0 for an older connection.
    var connections: UInt64
  }

  /// Returns whether an event passes the filters at this distance from the rule's start.
  func passes(_ event: FaultEvent, _ distance: Distance) -> Bool {
    if let environment, environment != event.environment { return false }
    if let address, address != event.address { return false }
    if let connection, connection != distance.connections { return false }
    if let fromTime, distance.milliseconds < fromTime { return false }
    if let untilTime, distance.milliseconds >= untilTime { return false }
    if let idle, event.idle < idle { return false }
    guard needsRequest else { return true }
    guard let request = event.request else { return false }
    return passes(request)
  }

  private func passes(_ request: FaultRequest) -> Bool {
    if let token {
      let isMatch = isTokenPrefix ? request.token.starts(with: token) : request.token == token
      if !isMatch { return false }
    }
    if let topic, topic != request.topic { return false }
    if let app {
      guard request.topic.starts(with: app),
        request.topic.count == app.count || request.topic[app.count] == UInt8(ascii: ".")
      else { return false }
    }
    if let pushType, pushType != request.pushType { return false }
    if let status, status != request.status { return false }
    if let streamID, request.streamID < streamID { return false }
    if let headerListSize, request.headerListSize <= headerListSize { return false }
    if !request.indexed.isSuperset(of: indexed) { return false }
    return true
  }

  /// Returns whether the event with this number among those that passed the filters, from 1, is selected.
  func picks(_ count: UInt64) -> Bool {
    if let nth, count != nth { return false }
    if let every, every == 0 || !count.isMultiple(of: every) { return false }
    if let fromCount, count < fromCount { return false }
    if let untilCount, count > untilCount { return false }
    return true
  }
}
