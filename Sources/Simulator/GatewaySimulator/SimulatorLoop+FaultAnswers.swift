// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import GatewayModel
import HTTP2
import ServiceKit

/// Carries out what the rules decided about a request.
extension SimulatorLoop {
  /// Whether the client was told with GOAWAY that this stream is not processed, or the connection is silent.
  func isDisowned(
    _ request: UnsafeMutablePointer<ServerRequest>, _ connection: GatewayConnection
  ) -> Bool {
    guard let faults = connection.faults else { return false }
    if let last = faults.lastStreamID, request.pointee.streamID > last { return true }
    return faults.isSilent
  }

  /// Describes a request that was just judged, for the rules.
  func describe(
    _ request: UnsafeMutablePointer<ServerRequest>, _ push: PushFields,
    _ verdict: AnswerPlan.Verdict
  ) -> FaultRequest {
    var described = describe(request, push)
    switch verdict {
    case .accepted, .silence: described.status = 200
    case .refused(let refusal):
      described.status = UInt16(refusal.reason.rule.status)
      described.isBadDeviceToken = refusal.reason == .badDeviceToken
    case .custom(let answer): described.status = answer.status
    case .reset: described.status = 0
    }
    return described
  }

  /// Describes a request whose response is already planned.
  func describe(
    _ request: UnsafeMutablePointer<ServerRequest>, on connection: GatewayConnection
  ) -> FaultRequest {
    var described = describe(request, fields(of: request, on: connection))
    described.status = status(request.pointee.verdict)
    described.isBadDeviceToken =
      Reason(rawValue: UInt8(truncatingIfNeeded: request.pointee.verdict) &- 1) == .badDeviceToken
    return described
  }

  private func describe(
    _ request: UnsafeMutablePointer<ServerRequest>, _ push: PushFields
  ) -> FaultRequest {
    var described = FaultRequest(
      token: (push.deviceToken ?? UnsafeRawBufferPointer(start: nil, count: 0)).map { byte in
        byte >= UInt8(ascii: "A") && byte <= UInt8(ascii: "F") ? byte | 0x20 : byte
      },
      topic: Array(push.topic ?? UnsafeRawBufferPointer(start: nil, count: 0)),
      pushType: push.pushType?.pushType(in: known.rules.pushTypes),
      streamID: request.pointee.streamID, headerListSize: request.pointee.headerListSize)
    described.indexed = Self.indexed(request)
    return described
  }

  /// The sensitive fields that the client added to the HPACK dynamic table.
  private static func indexed(_ request: UnsafeMutablePointer<ServerRequest>) -> IndexedFields {
    var fields: IndexedFields = []
    for index in 0..<request.pointee.keptFields where !request.pointee.isNeverIndexed(index) {
      let name = request.pointee.name(index)
      if name.spells("authorization") { fields.insert(.authorization) }
      if name.spells(":path") { fields.insert(.path) }
    }
    return fields
  }

  private func status(_ verdict: UInt32) -> UInt16 {
    switch verdict & 0xFF {
    case EncodedVerdict.accepted: 200
    case EncodedVerdict.custom: customAnswers.status(EncodedVerdict.argument(of: verdict))
    case EncodedVerdict.reset, EncodedVerdict.silence: 0
    default:
      Reason(rawValue: UInt8(truncatingIfNeeded: verdict) &- 1).map { UInt16($0.rule.status) } ?? 0
    }
  }

  /// Changes the planned response to a request.
  func change(
    _ plan: inout AnswerPlan, _ decision: FaultDecision,
    _ request: UnsafeMutablePointer<ServerRequest>, _ connection: GatewayConnection
  ) {
    switch decision.action {
    case .answer(let answer): plan.replace(by: verdict(answer, request, connection))
    case .silence(.answers): plan.replace(by: .silence)
    case .resets: plan.replace(by: .reset(UInt32(truncatingIfNeeded: decision.value)))
    case .ending(let ending, _):
      plan.form.ending = ending
      plan.form.code = UInt32(truncatingIfNeeded: decision.value)
    case .delay: plan.delay += decision.value
    case .shape(let shape):
      for form in shape { plan.form.add(form) }
      plan.delay += decision.value
    default:
      apply(decision, connection, stream: request.pointee.streamID)
      // The request that broke the connection is not processed either.
      if connection.http.isClosed || isDisowned(request, connection) {
        plan.isReplaced = false
        plan.replace(by: .reset(HTTP2ErrorCode.refusedStream))
      }
    }
  }

  private func verdict(
    _ answer: FaultAnswer, _ request: UnsafeMutablePointer<ServerRequest>,
    _ connection: GatewayConnection
  ) -> AnswerPlan.Verdict {
    let isPlain = !answer.hidesID && answer.retryAfter == nil
    if isPlain, answer.status == 200, answer.body == .none { return .accepted }
    // A reason in APNs' format is counted as that reason.
    if isPlain, case .reason(let name, more: "") = answer.body, let reason = Reason(name),
      reason.rule.status == answer.status
    {
      return .refused(Refusal(reason, timestamp: answer.timestamp.time(now: wallNow)))
    }
    let body = answer.bytes(now: wallNow)
    guard !answer.isForeign else {
      return .custom(
        CustomAnswer(
          status: answer.status, headers: [(name: "content-type", value: "text/html")], body: body))
    }
    let isPush =
      connection.role.service == .device
      && PushFields(request.pointee).path(after: "/4/broadcasts/apps/") == nil
    var headers: [(name: String, value: String)] = []
    if !answer.hidesID {
      headers.append((isPush ? "apns-id" : "apns-request-id", Answers.identifier(in: request)))
    }
    if let time = answer.retryAfter { headers.append(("retry-after", time)) }
    if !body.isEmpty, known.rules.contentType == .json {
      headers.append((name: "content-type", value: "application/json"))
    }
    var custom = CustomAnswer(status: answer.status, headers: headers, body: body)
    if case .reason(let name, _) = answer.body { custom.reason = Reason(name) }
    return .custom(custom)
  }

  /// Starts a response in an unusual form; returns false if it was handled here.
  func begin(
    _ request: UnsafeMutablePointer<ServerRequest>, _ connection: GatewayConnection
  ) -> Bool {
    let form = FaultForm(request.pointee.form)
    switch form.ending {
    case .regular, .afterAnswer:
      if !form.shape.isEmpty { connection.http.faulty?.shape(request, form.shape) }
      if form.ending == .afterAnswer { sequel.reset = (request.pointee.streamID, form.code) }
      return true
    case .silence:
      shared.counters.add(.silent)
      HTTP2ServerConnection.leaveUnanswered(request, pool: pool)
    case .reset:
      shared.counters.add(.reset)
      HTTP2ServerConnection.drop(request, code: HTTP2ErrorCode.internalError, pool: pool)
    case .disconnect:
      shared.counters.add(.reset)
      connection.http.abort()
      HTTP2ServerConnection.drop(request, code: HTTP2ErrorCode.cancel, pool: pool)
    case .afterStatus:
      shared.counters.add(.reset)
      var headers = HeaderList()
      let status = status(request.pointee.verdict)
      headers.append(":status", request.pointee.keep("\(status)".utf8), .never)
      let id = Answers.identifier(in: request)
      headers.append("apns-id", request.pointee.keep(id.utf8), .never)
      connection.http.faulty?.respondPartly(request, headers, code: form.code)
    }
    forgetCustomAnswer(request.pointee.verdict)
    sequel = AnswerSequel()
    return false
  }

  /// Answers requests before their end, on connections with that fault.
  func answerEarlyRequests(_ early: inout [UnsafeMutablePointer<ServerRequest>]) {
    pool.drainEarly(into: &early)
    if !early.isEmpty { noteAnswers() }
    for request in early {
      let slot = Int(request.pointee.connectionToken - Self.firstConnectionToken)
      guard request.pointee.isAlive, let connection = connections[slot] else { continue }
      shared.counters.add(.requests)
      shared.counters.add(.rejected)
      shared.reasons.add(.payloadTooLarge)
      let push = fields(of: request, on: connection)
      let kind = Self.kind(of: push, on: connection)
      let id = identify(request, push, connection.role, kind)
      connection.requests += 1
      let refusal = Refusal(.payloadTooLarge)
      record(request, push, connection, .refused(refusal), kind, id, nil, false)
      answers.refuseEarly(request, refusal.reason, isChannel: kind != .push, on: connection)
      advise(connection, refusal.reason)
      touch(connection)
    }
  }
}
