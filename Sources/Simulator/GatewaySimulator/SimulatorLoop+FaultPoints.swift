// SPDX-License-Identifier: Apache-2.0
import Contract
import Crypto
import EventLoop
import GatewayModel
import HTTP2

/// The plan for a new connection.
struct ConnectionPlan {
  let id: UInt64
  var tls: TLSContext
  /// The first SETTINGS.
  var settings: SessionSettings
  /// Whether the connection is closed at once…
  var isRefused = false
  /// …with a TCP reset.
  var isReset = false
  /// The faults applied to it; nil if there are none.
  var faults: ConnectionFaults?
  /// The rules' decisions to apply once the connection exists.
  var decisions: [FaultDecision] = []
}

/// The actions that follow a response that is being written.
struct AnswerSequel {
  /// The stream to reset with RST_STREAM, and the code.
  var reset: (stream: Int32, code: UInt32)?
  /// The event for rules at the stage `answer`.
  var event: FaultEvent?

  var isPending: Bool { reset != nil || event != nil }
}

/// The stages at which rules can change the usual course. The loop asks once at each; without rules the result is "as
/// usual". The fast profile asks at none of them.
extension SimulatorLoop {
  /// A client has connected; nothing was read from the connection yet.
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

  /// A planned connection with faults now exists.
  func connectionOpened(_ connection: GatewayConnection, _ plan: ConnectionPlan) {
    connection.faults = plan.faults
    for decision in plan.decisions { open(connection, decision) }
  }

  /// TLS is established; the first SETTINGS are queued and leave with the next flush.
  func connectionReady(_ connection: GatewayConnection) {
    guard shared.faults.concerns(.ready) else { return }
    for decision in shared.faults.decide(event(.ready, connection)) { apply(decision, connection) }
  }

  /// A request is complete and was judged; `plan` is its response and time.
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
      // The whole request arrived at once: the response is the same, but no longer early.
      return plan.replace(by: .refused(Refusal(.payloadTooLarge)))
    }
    guard shared.faults.concerns(.request) else { return }
    var event = event(.request, connection)
    event.request = describe(request, push, plan.verdict)
    for decision in shared.faults.decide(event) { change(&plan, decision, request, connection) }
    // Without an answer there is none to be shaped, cut off or lost.
    if plan.verdict.outcome.status > 0 { request.pointee.form = plan.form.encoded }
  }

  /// The response is due; returns false if it must not be written (the request was handled here).
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
      event.request = describe(request, on: connection)
      sequel.event = event
    }
    return request.pointee.form == 0 || begin(request, connection)
  }

  /// The response was handed to its stream, and `sequel` holds what follows.
  func answerWritten(on connection: GatewayConnection) {
    let sequel = sequel
    self.sequel = AnswerSequel()
    if let reset = sequel.reset {
      connection.http.faulty?.sendRawReset(reset.stream, code: reset.code)
    }
    guard let event = sequel.event else { return }
    for decision in shared.faults.decide(event) {
      // Responses are written before the connection breaks.
      connection.http.flush()
      apply(decision, connection)
    }
  }

  /// Called about ten times per second for every connection while `needsTicks`.
  func tick(_ connection: GatewayConnection) {
    endFaults(connection)
    guard shared.faults.concerns(.idle) else { return }
    if connection.faults == nil { connection.faults = ConnectionFaults(now: now) }
    guard connection.isReady, connection.http.openStreams == 0, connection.faults?.closesAt == nil
    else { return }
    for decision in shared.faults.decide(event(.idle, connection)) { apply(decision, connection) }
  }

  /// Whether `tick` must be called: from the first fault on, because its effects may have to be undone.
  var needsTicks: Bool { knownFaults != 0 }
}
