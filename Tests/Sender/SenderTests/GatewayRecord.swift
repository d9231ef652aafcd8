// SPDX-License-Identifier: Apache-2.0

/// What a scripted gateway has seen and done.
struct GatewayRecord: Sendable {
  /// A push as it came in.
  struct Request: Sendable, Equatable {
    var connection: Int
    var stream: Int32
    var id: String
    /// The device token.
    var token: String
    var topic: String
    var authorization: String?
    /// Monotonic milliseconds of its arrival.
    var at: UInt64
    /// When it was answered, and how; 0 while it was not.
    var answeredAt: UInt64 = 0
    var status = 0
  }

  /// In the order of arrival.
  var requests: [Request] = []
  var connections = 0
  var open = 0
  /// The connections that have ended.
  var ended: Set<Int> = []
  /// Connections that ended because the client broke HTTP/2, with what nghttp2 says.
  var violations: [String] = []
  /// The most streams that were open at once on one connection.
  var mostOpen = 0
  var handshakesResumed = 0
  var goAwaysByClient = 0
}

/// What a scripted gateway does with a push.
enum GatewayReply: Sendable {
  case answer(Answer)
  /// No answer, until the connection ends or `answerHeld`.
  case hold
  case reset(UInt32)

  /// An answer, and after how long.
  struct Answer: Sendable {
    var status = 200
    var body = ""
    var milliseconds: UInt64 = 0
    /// The value of `retry-after`; empty for no such header.
    var retryAfter = ""
    /// The value of `apns-id`: nil for that of the request, empty for no such header.
    var identifier: String?
    /// The value of `apns-request-id`; empty for no such header.
    var requestIdentifier = ""
    /// The value of `date`; empty for no such header.
    var date = ""
  }

  /// An answer that something else gives than APNs: without an id.
  static func foreign(_ status: Int, _ body: String = "") -> GatewayReply {
    .answer(Answer(status: status, body: body, identifier: ""))
  }

  static func answer(_ status: Int, _ body: String = "") -> GatewayReply {
    .answer(Answer(status: status, body: body))
  }

  static func accepted(after milliseconds: UInt64 = 0) -> GatewayReply {
    .answer(Answer(milliseconds: milliseconds))
  }

  static func refused(
    _ status: Int, _ reason: String, after milliseconds: UInt64 = 0, retryAfter: UInt32 = 0,
    identifier: String? = nil
  ) -> GatewayReply {
    .answer(
      Answer(
        status: status, body: #"{"reason":"\#(reason)"}"#, milliseconds: milliseconds,
        retryAfter: retryAfter == 0 ? "" : "\(retryAfter)", identifier: identifier))
  }
}
