// SPDX-License-Identifier: Apache-2.0
import Contract
import GatewayModel
import HTTP2
import Records
import ServiceKit

/// Relays to a real gateway: the client gets its responses, and both gateways are compared.
extension SimulatorLoop {
  /// Hands a judged push to the relay. The simulator's own response is only logged.
  func relay(
    _ request: UnsafeMutablePointer<ServerRequest>, _ push: PushFields,
    _ connection: GatewayConnection, _ plan: AnswerPlan, to relay: GatewayRelay
  ) {
    let isEchoed = push.identifier?.withSpan { SpelledID($0) } != nil
    var own = Self.answer(plan.verdict, known.rules, connection.role, isEchoed: isEchoed)
    own.milliseconds = Int64(clamping: plan.delay)
    request.pointee.verdict = EncodedVerdict.accepted
    let facts = ComparedRequest(
      connection: shared.world.number(ofConnection: connection.id),
      stream: request.pointee.streamID,
      type: push.pushType.map { $0.pushType(in: known.rules.pushTypes)?.description ?? "unknown" },
      priority: push.priority?.decimal, hasCollapseID: push.collapseID != nil,
      hasID: push.identifier != nil,
      expiration: push.expiration.map { $0.decimal == 0 ? "0" : "set" } ?? "absent",
      bodyBytes: request.pointee.bodyTotal,
      fields: (0..<request.pointee.keptFields).map { request.pointee.name($0).text })
    relay.take(RelayedPush(request, facts, own: own, identifier: push.identifier, now: now))
  }

  /// Passes on the responses of the real gateway.
  func turnRelay() {
    guard let relay else { return }
    for finished in relay.turn(now: now, time: wallNow) {
      let real = real(finished)
      relay.plan.log.write(
        finished.push.facts, real: real, simulator: finished.push.own, time: wallNow)
      pass(real, finished.push)
    }
  }

  private func real(_ finished: GatewayRelay.Finished) -> GatewayModel.GatewayAnswer {
    let (push, exchange) = (finished.push, finished.push.answered)
    var answer: GatewayModel.GatewayAnswer
    if exchange.status > 0 {
      answer = GatewayModel.GatewayAnswer(.answered, status: exchange.status)
      let body = try? JSONDocument(Array(exchange.responseBytes)).root
      answer.reason = body?["reason"]?.string
      answer.hasTimestamp = body?["timestamp"] != nil
      answer.identifier = exchange.hasSentID ? .echoed : exchange.hasOtherID ? .made : .missing
      answer.hasUniqueID = exchange.hasUniqueID
      answer.hasDate = exchange.hasDate
      answer.hasRetryAfter = exchange.retryAfter(now: wallNow / 1_000) > 0
      answer.bodyBytes = Int(exchange.responseTotal)
    } else if exchange.closeCode != 0 {
      answer = GatewayModel.GatewayAnswer(.reset(exchange.closeCode))
    } else {
      answer = GatewayModel.GatewayAnswer(.none(finished.failure ?? "no answer"))
    }
    answer.milliseconds = Int64(now - push.takenAt)
    return answer
  }

  /// Sends the real response to the client.
  private func pass(_ real: GatewayModel.GatewayAnswer, _ push: RelayedPush) {
    let request = push.request
    let slot = Int(request.pointee.connectionToken - Self.firstConnectionToken)
    guard request.pointee.isAlive, let connection = connections[slot] else {
      return abandon(request)
    }
    touch(connection)
    switch real.ending {
    case .answered:
      answers.custom(request, Self.copy(push, now: wallNow), pool)
      shared.counters.add(real.status == 200 ? .accepted : .rejected)
      advise(
        connection, real.status == 200 ? nil : Reason(real.reason ?? "") ?? .internalServerError)
    case .reset(let code):
      shared.counters.add(.reset)
      HTTP2ServerConnection.drop(request, code: code, pool: pool)
    case .none:
      shared.counters.add(.reset)
      let isUnread = push.answered.fate != .ambiguous
      let code = isUnread ? HTTP2ErrorCode.refusedStream : HTTP2ErrorCode.internalError
      HTTP2ServerConnection.drop(request, code: code, pool: pool)
    }
  }

  private static func copy(_ push: RelayedPush, now: Int64) -> CustomAnswer {
    let exchange = push.answered
    var headers: [(name: String, value: String)] = []
    if exchange.hasSentID, let identifier = push.identifier {
      headers.append(("apns-id", identifier.text))
    } else if exchange.hasOtherID {
      headers.append(("apns-id", text(exchange.otherID)))
    }
    if exchange.hasUniqueID { headers.append(("apns-unique-id", text(exchange.uniqueID))) }
    if exchange.hasDate { headers.append(("date", push.date)) }
    let wait = exchange.retryAfter(now: now / 1_000)
    if wait > 0 { headers.append(("retry-after", "\(wait)")) }
    return CustomAnswer(
      status: exchange.status, headers: headers, body: Array(exchange.responseBytes))
  }

  private static func text(_ id: InlineArray<36, UInt8>) -> String {
    String(decoding: (0..<36).map { id[$0] }, as: UTF8.self)
  }

  /// The simulator's own response to a push.
  static func answer(
    _ verdict: AnswerPlan.Verdict, _ rules: GatewayRules, _ role: ListenerRole, isEchoed: Bool
  ) -> GatewayModel.GatewayAnswer {
    switch verdict {
    case .accepted:
      var answer = GatewayModel.GatewayAnswer(.answered, status: 200)
      answer.identifier = isEchoed ? .echoed : .made
      answer.hasUniqueID = role.environment == .sandbox
      answer.hasDate = rules.datedAnswers == .always
      return answer
    case .refused(let refusal):
      var answer = GatewayModel.GatewayAnswer(
        .answered, status: refusal.reason.rule.status, reason: refusal.reason.name)
      answer.identifier = isEchoed ? .echoed : .made
      answer.hasDate = rules.datedAnswers != .none
      answer.hasTimestamp = refusal.timestamp != nil
      let timestamp = refusal.timestamp.map { ",\"timestamp\":\($0)" } ?? ""
      answer.bodyBytes = "{\"reason\":\"\(refusal.reason.name)\"\(timestamp)}".utf8.count
      return answer
    case .custom(let custom):
      let body = try? JSONDocument(custom.body).root
      var answer = GatewayModel.GatewayAnswer(
        .answered, status: custom.status, reason: body?["reason"]?.string)
      let names = custom.headers.map(\.name)
      answer.identifier = !names.contains("apns-id") ? .missing : isEchoed ? .echoed : .made
      answer.hasUniqueID = names.contains("apns-unique-id")
      answer.hasRetryAfter = names.contains("retry-after")
      answer.hasTimestamp = body?["timestamp"] != nil
      answer.bodyBytes = custom.body.count
      return answer
    case .reset(let code): return GatewayModel.GatewayAnswer(.reset(code))
    case .silence: return GatewayModel.GatewayAnswer(.none("the simulator keeps silent"))
    }
  }
}
