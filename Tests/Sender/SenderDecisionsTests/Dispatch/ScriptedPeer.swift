// SPDX-License-Identifier: Apache-2.0
import Contract

/// A push as a gateway of a `ScriptedLoop` gets it.
struct ScriptedRequest: Sendable {
  /// The push, by the number under which it was produced.
  let push: Int
  let app: String
  let device: UInt64
  let environment: Environment
  /// The address, from 0, and the connection, from 1 in the order of the connects.
  let address: Int
  let connection: Int
  /// The place of the request on its connection, from 1.
  let stream: Int
  /// Monotonic milliseconds.
  let at: UInt64
  /// The provider token that the request carries; nil with a certificate.
  let token: [UInt8]?
}

/// A gateway's reaction to a push.
enum ScriptedReply: Sendable {
  /// An answer after so many milliseconds, which asks to wait for so many seconds.
  case answer(GatewayResponse, after: UInt64, retryAfter: UInt32)
  /// No answer until the test gives one.
  case hold
  /// Nothing of the request leaves, because the connection's window is shut; it is given up unprocessed.
  case unwritten
  /// RST_STREAM with REFUSED_STREAM, or with another code.
  case refusedStream, reset
  /// GOAWAY that covers the streams up to `last`. Those are answered as they would be without it; this one, if it is
  /// among them, with 200.
  case goAway(last: Int, Reason? = nil)
  /// The socket breaks.
  case broken
  /// Nothing is heard on the connection from now on.
  case silence

  static let accepted = accepted(after: 20)

  static func accepted(after: UInt64) -> ScriptedReply {
    .answer(GatewayResponse(status: 200), after: after, retryAfter: 0)
  }

  static func reason(
    _ reason: Reason, after: UInt64 = 20, retryAfter: UInt32 = 0
  ) -> ScriptedReply {
    .answer(
      GatewayResponse(status: reason.rule.status, reason: reason), after: after,
      retryAfter: retryAfter)
  }
}

/// One address of a gateway: each closure is asked once, when the connect begins or the request arrives.
struct ScriptedGateway {
  /// What becomes of a connect at a time, in monotonic milliseconds.
  var connect: (_ now: UInt64) -> ConnectDeed = { _ in .served }
  /// Streams that it allows on a connection.
  var streams = 1_000
  var reply: (ScriptedRequest) -> ScriptedReply = { _ in .accepted }
}

/// A connection of a `ScriptedLoop`, with what the gateway has not answered yet.
struct ScriptedSocket {
  struct Stream {
    let slot: UInt32
    let number: Int
    var reply: ScriptedReply
    let at: UInt64

    /// Whether the gateway reacts to it now.
    func isDue(_ now: UInt64) -> Bool {
      switch reply {
      case .answer(_, let after, _): now - at >= after
      case .hold, .unwritten: false
      case .refusedStream, .reset, .goAway, .broken, .silence: true
      }
    }
  }

  /// What comes from the gateway without being an answer.
  enum Notice {
    case limit(Int)
    case goAway(last: Int, Reason?)
    case broken
  }

  let number: Int
  let address: Int
  let startedAt: UInt64
  let deed: ConnectDeed
  var isReached = false
  var isMade = false
  var isUp = false
  var isSilent = false
  /// Streams that the gateway allows, and that it had when its loop was last told.
  var limit = 1
  var token: [UInt8]?
  var streams: [Stream] = []
  var opened = 0
  var notices: [Notice] = []

  func place(of slot: UInt32) -> Int? { streams.firstIndex { $0.slot == slot } }
}
