// SPDX-License-Identifier: Apache-2.0
public import APNS

/// When a rule applies. Every condition that is given must hold.
///
/// An event is compared with the filters first. What passes them is counted, and `nth`, `every`,
/// `fromCount` and `untilCount` look at that count; then `probability` draws, and `times` bounds how
/// often the rule fires.
public struct FaultMatcher: Sendable, Equatable {
  // Filters of any event.
  public var environment: Environment?
  /// The address connected to, without the port.
  public var address: String?
  /// The nth connection that was accepted after the rule was added, from 1.
  public var connection: UInt64?
  /// Milliseconds since the rule was added.
  public var fromTime: UInt64?
  public var untilTime: UInt64?

  // Filters of requests.
  /// A whole device token or the beginning of one, in lower-case digits.
  public var token: [UInt8]?
  public var isTokenPrefix = false
  /// The exact topic.
  public var topic: [UInt8]?
  /// The bundle id: the topic with any of Apple's suffixes or none.
  public var app: [UInt8]?
  public var pushType: PushType?
  /// The status that the gateway gives by itself.
  public var status: UInt16?
  /// The stream's id is this or higher.
  public var streamID: Int32?
  /// The header list is larger than this.
  public var headerListSize: Int?
  /// This header field was not sent as a never-indexed literal.
  public var indexed: IndexedFields = []

  // Conditions on what came before.
  /// Milliseconds of silence, at the stage `idle`.
  public var idle: UInt64?
  /// The connection has collected so many errors (4xx and 5xx other than 410).
  public var errors: Int?
  /// For how many errors a `BadDeviceToken` counts; 1 or more.
  public var badTokenWeight = 1
  /// More requests than this came for one device token within `tokenWindow`.
  public var tokenRate: Int?
  /// Milliseconds.
  public var tokenWindow: UInt64 = 1_000
  /// More connections than this came within a minute.
  public var connectsPerMinute: Int?

  // Counts and chance.
  public var nth: UInt64?
  public var every: UInt64?
  public var fromCount: UInt64?
  public var untilCount: UInt64?
  /// 0 to 1.
  public var probability = 1.0
  public var times: UInt64?

  public init() {}

  /// A condition here looks at a request.
  public var needsRequest: Bool {
    token != nil || topic != nil || app != nil || pushType != nil || status != nil
      || streamID != nil || headerListSize != nil || !indexed.isEmpty || errors != nil
      || tokenRate != nil
  }

  /// The distance of an event from the beginning of its rule: the moment at which it was added.
  struct Distance {
    var milliseconds: UInt64
    /// The number of the event's connection among those since then, from 1; 0 for an older one.
    var connections: UInt64
  }

  /// True if the filters let an event pass at this distance from its rule's beginning.
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

  /// True if the event with this number among those that passed the filters, from 1, is meant.
  func picks(_ count: UInt64) -> Bool {
    if let nth, count != nth { return false }
    if let every, every == 0 || !count.isMultiple(of: every) { return false }
    if let fromCount, count < fromCount { return false }
    if let untilCount, count > untilCount { return false }
    return true
  }
}
