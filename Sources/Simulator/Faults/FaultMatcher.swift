// SPDX-License-Identifier: Apache-2.0
package import APNS

/// When a rule applies. Every condition that is given must hold.
///
/// An event is compared with the filters first. What passes them is counted, and `nth`, `every`,
/// `fromCount` and `untilCount` look at that count; then `probability` draws, and `times` bounds how
/// often the rule fires.
package struct FaultMatcher: Sendable, Equatable {
  // Filters of any event.
  package var environment: Environment?
  /// The address connected to, without the port.
  package var address: String?
  /// The nth connection that was accepted after the rule was added, from 1.
  package var connection: UInt64?
  /// Milliseconds since the rule was added.
  package var fromTime: UInt64?
  package var untilTime: UInt64?

  // Filters of requests.
  /// A whole device token or the beginning of one, in lower-case digits.
  package var token: [UInt8]?
  package var isTokenPrefix = false
  /// The exact topic.
  package var topic: [UInt8]?
  /// The bundle id: the topic with any of Apple's suffixes or none.
  package var app: [UInt8]?
  package var pushType: PushType?
  /// The status that the gateway gives by itself.
  package var status: UInt16?
  /// The stream's id is this or higher.
  package var streamID: Int32?
  /// The header list is larger than this.
  package var headerListSize: Int?

  // Conditions on what came before.
  /// Milliseconds of silence, at the stage `idle`.
  package var idle: UInt64?
  /// The connection has collected so many errors (4xx and 5xx other than 410).
  package var errors: Int?
  /// For how many errors a `BadDeviceToken` counts; 1 or more.
  package var badTokenWeight = 1
  /// More requests than this came for one device token within `tokenWindow`.
  package var tokenRate: Int?
  /// Milliseconds.
  package var tokenWindow: UInt64 = 1_000
  /// More connections than this came within a minute.
  package var connectsPerMinute: Int?

  // Counts and chance.
  package var nth: UInt64?
  package var every: UInt64?
  package var fromCount: UInt64?
  package var untilCount: UInt64?
  /// 0 to 1.
  package var probability = 1.0
  package var times: UInt64?

  package init() {}

  /// A condition here looks at a request.
  package var needsRequest: Bool {
    token != nil || topic != nil || app != nil || pushType != nil || status != nil
      || streamID != nil || headerListSize != nil || errors != nil || tokenRate != nil
  }

  /// How far an event is from the beginning of its rule: the moment at which it was added.
  struct Distance {
    var milliseconds: UInt64
    /// The number of the event's connection among those since then, from 1; 0 for an older one.
    var connections: UInt64
  }

  /// Whether the filters let an event pass that is so far from its rule's beginning.
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
    return true
  }

  /// Whether the event with this number among those that passed the filters, from 1, is meant.
  func picks(_ count: UInt64) -> Bool {
    if let nth, count != nth { return false }
    if let every, every == 0 || !count.isMultiple(of: every) { return false }
    if let fromCount, count < fromCount { return false }
    if let untilCount, count > untilCount { return false }
    return true
  }
}
