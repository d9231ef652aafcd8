// SPDX-License-Identifier: Apache-2.0
import APNS
import EventLoop
import Faults
import GatewayModel
import HTTP2
import HTTP2Server
import TLS

/// The treatment of a new connection.
struct ConnectionPlan {
  let id: UInt64
  var tls: TLSContext
  /// The first SETTINGS.
  var settings: SessionSettings
  /// The connection is closed at once…
  var isRefused = false
  /// …with a TCP reset.
  var isReset = false
  /// The faults applied to it; nil if nothing.
  var faults: ConnectionFaults?
  /// The decisions of the rules, for when it exists.
  var decisions: [FaultDecision] = []

  init(id: UInt64, tls: TLSContext, settings: SessionSettings) {
    self.id = id
    self.tls = tls
    self.settings = settings
  }
}

/// The events that follow an answer that is being written.
struct AnswerSequel {
  /// RST_STREAM on this stream with this code.
  var reset: (stream: Int32, code: UInt32)?
  /// Rules that look at answers are asked.
  var event: FaultEvent?

  var isPending: Bool { reset != nil || event != nil }
}

/// The moments at which something else than the usual may happen. In each the loop asks once; as long
/// as nothing was planned the answer is "as usual". None of them is asked by the fast profile.
extension SimulatorLoop {
  /// A client has connected; nothing was read from it yet.
  func connectionAccepted(
    _ plan: inout ConnectionPlan, from peer: SocketAddress?, _ listener: GatewayListener
  ) {
    guard shared.faults.isActive else { return }
    plan.faults = ConnectionFaults(now: now)
    guard shared.faults.concerns(.connection) else { return }
    let event = FaultEvent(
      .connection, time: shared.faults.time(now), environment: listener.role.environment,
      address: listener.host, connection: plan.id)
    plan.decisions = shared.faults.decide(event)
    for decision in plan.decisions { change(&plan, decision) }
  }

  /// The connection of a plan with faults exists.
  func connectionOpened(_ connection: GatewayConnection, _ plan: ConnectionPlan) {
    connection.faults = plan.faults
    for decision in plan.decisions { open(connection, decision) }
  }

  /// TLS is up; the first SETTINGS are queued and go out with the next flush.
  func connectionReady(_ connection: GatewayConnection) {
    guard shared.faults.concerns(.ready) else { return }
    for decision in shared.faults.decide(event(.ready, connection)) { apply(decision, connection) }
  }

  /// A request is complete and was judged; `plan` is what will be answered and when.
  func requestJudged(
    _ request: UnsafeMutablePointer<ServerRequest>, _ push: PushFields,
    on connection: GatewayConnection, _ plan: inout AnswerPlan
  ) {
    if connection.faults != nil {
      connection.faults?.heard = now
      if isDisowned(request, connection) {
        return plan.replace(by: .reset(HTTP2ErrorCode.refusedStream))
      }
    }
    if let limit = connection.http.faulty?.earlyAnswerLimit, request.pointee.bodyTotal > limit {
      // All of it came at once: the answer is the same, and no longer early.
      return plan.replace(by: .refused(Refusal(.payloadTooLarge)))
    }
    guard shared.faults.concerns(.request) else { return }
    var event = event(.request, connection)
    event.request = describe(request, push, plan.verdict)
    for decision in shared.faults.decide(event) { change(&plan, decision, request, connection) }
    request.pointee.form = plan.form.encoded
  }

  /// The answer is due; false when it is not to be written (the request was dealt with here).
  func answerDue(
    _ request: UnsafeMutablePointer<ServerRequest>, on connection: GatewayConnection
  ) -> Bool {
    if connection.faults != nil, isDisowned(request, connection) {
      forgetCustomAnswer(request.pointee.verdict)
      HTTP2ServerConnection.drop(request, code: HTTP2ErrorCode.refusedStream, pool: pool)
      return false
    }
    if shared.faults.concerns(.answer) {
      var event = event(.answer, connection)
      event.request = describe(request)
      sequel.event = event
    }
    return request.pointee.form == 0 || begin(request, connection)
  }

  /// The answer has been handed to its stream, and `sequel` says what follows.
  func answerWritten(on connection: GatewayConnection) {
    let sequel = sequel
    self.sequel = AnswerSequel()
    if let reset = sequel.reset {
      connection.http.faulty?.sendRawReset(reset.stream, code: reset.code)
    }
    guard let event = sequel.event else { return }
    for decision in shared.faults.decide(event) {
      // What was answered is written before the connection breaks.
      connection.http.flush()
      apply(decision, connection)
    }
  }

  /// About ten times per second for every connection while `needsTicks`.
  func tick(_ connection: GatewayConnection) {
    endFaults(connection)
    guard shared.faults.concerns(.idle) else { return }
    if connection.faults == nil { connection.faults = ConnectionFaults(now: now) }
    guard connection.isReady, connection.http.openStreams == 0,
      connection.faults?.closesAt == nil
    else { return }
    for decision in shared.faults.decide(event(.idle, connection)) {
      apply(decision, connection)
    }
  }

  /// True if `tick` is to be called: since the first fault there was, because its traces may have to be removed.
  var needsTicks: Bool { knownFaults != 0 }
}
