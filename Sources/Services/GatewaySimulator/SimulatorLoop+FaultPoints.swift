// SPDX-License-Identifier: Apache-2.0
import EventLoop
import HTTP2
import TLS

/// How a new connection will be served.
struct ConnectionPlan {
  var tls: TLSContext
  /// The first SETTINGS.
  var settings: SessionSettings
  /// The connection is closed at once.
  var isRefused = false
}

/// The moments at which something else than the usual may happen. In each the loop asks once; as long
/// as nothing was planned the answer is "as usual". None of them is asked by the fast profile.
extension SimulatorLoop {
  /// A client has connected; nothing was read from it yet.
  func connectionAccepted(
    _ plan: inout ConnectionPlan, from peer: SocketAddress?, _ role: ListenerRole
  ) {}

  /// TLS is up; the first SETTINGS are queued and go out with the next flush.
  func connectionReady(_ connection: GatewayConnection) {}

  /// A request is complete and was judged; `plan` is what will be answered and when.
  func requestJudged(
    _ request: UnsafeMutablePointer<ServerRequest>, _ push: PushFields,
    on connection: GatewayConnection, _ plan: inout AnswerPlan
  ) {}

  /// The answer is due; false when it is not to be written (the request was dealt with here).
  func answerDue(
    _ request: UnsafeMutablePointer<ServerRequest>, on connection: GatewayConnection
  ) -> Bool { true }

  /// About ten times a second for every connection while `needsTicks`.
  func tick(_ connection: GatewayConnection) {}

  /// Whether `tick` is to be called.
  var needsTicks: Bool { false }
}
