// SPDX-License-Identifier: Apache-2.0
import Contract
import GatewayModel
import HTTP2
import ServiceKit

extension SimulatorLoop {
  /// Sends the responses that are due.
  func answerDueRequests() {
    var next = wheel.due(by: now)
    while let request = next {
      next = request.pointee.link
      answer(request)
    }
  }

  func answer(_ request: UnsafeMutablePointer<ServerRequest>) {
    let slot = Int(request.pointee.connectionToken - Self.firstConnectionToken)
    guard request.pointee.isAlive, let connection = connections[slot] else {
      abandon(request)
      return
    }
    touch(connection)
    if settings.isFast {
      shared.counters.add(.accepted)
      answers.acceptConstantly(request, pool)
      return
    }
    guard answerDue(request, on: connection) else { return }
    write(request, connection)
    if sequel.isPending { answerWritten(on: connection) }
  }

  /// Writes the planned response and updates the connection's model.
  private func write(
    _ request: UnsafeMutablePointer<ServerRequest>, _ connection: GatewayConnection
  ) {
    let verdict = request.pointee.verdict
    let argument = EncodedVerdict.argument(of: verdict)
    let isChannel = verdict & EncodedVerdict.channelMark != 0
    noteAnswers()
    let isSettingsFirst = known.rules.settingsOrder == .before
    switch verdict & 0xFF {
    case EncodedVerdict.accepted:
      shared.counters.add(.accepted)
      if isSettingsFirst { advise(connection, nil) }
      answers.accept(
        request, isSandbox: connection.role.environment == .sandbox, isChannel: isChannel, pool)
      if !isSettingsFirst { advise(connection, nil) }
    case EncodedVerdict.custom:
      guard let answer = customAnswers.take(argument) else { return }
      if let reason = answer.reason { shared.reasons.add(reason) }
      shared.counters.add(isChannel && answer.status < 300 ? .accepted : .custom)
      answers.custom(request, answer, pool)
      switch answer.status {
      case ..<300: advise(connection, nil)
      case 410: advise(connection, .unregistered)
      case 400...: advise(connection, answer.reason ?? .internalServerError)
      default: break
      }
    case EncodedVerdict.reset:
      shared.counters.add(.reset)
      HTTP2ServerConnection.drop(request, code: argument, pool: pool)
    case EncodedVerdict.silence:
      shared.counters.add(.silent)
      HTTP2ServerConnection.leaveUnanswered(request, pool: pool)
    default:
      guard let reason = Reason(rawValue: UInt8(truncatingIfNeeded: verdict) &- 1) else { return }
      shared.reasons.add(reason)
      shared.counters.add(reason.rule.status == 410 ? .unregistered : .rejected)
      if isSettingsFirst { advise(connection, reason) }
      answers.refuse(request, reason, bodyCount: Int(argument), isChannel: isChannel, pool)
      if !isSettingsFirst { advise(connection, reason) }
    }
  }

  /// Sets the form of the following responses without copying the rules.
  func noteAnswers() {
    answers.note(known.rules.datedAnswers, known.rules.contentType, now: wallNow)
  }

  /// Releases a request whose client or connection is gone.
  func abandon(_ request: UnsafeMutablePointer<ServerRequest>) {
    shared.counters.add(.abandoned)
    forgetCustomAnswer(request.pointee.verdict)
    HTTP2ServerConnection.drop(request, code: HTTP2ErrorCode.cancel, pool: pool)
  }

  /// Releases what a plan had stored.
  func forgetCustomAnswer(_ verdict: UInt32) {
    guard verdict & 0xFF == EncodedVerdict.custom else { return }
    _ = customAnswers.take(EncodedVerdict.argument(of: verdict))
  }

  /// Updates the connection's model with a response.
  func advise(_ connection: GatewayConnection, _ reason: Reason?) {
    // The usual case avoids a copy of the rules.
    if reason == nil, connection.model?.isSettled(known.rules.maxConcurrentStreams) ?? true {
      return
    }
    guard
      let step = connection.model?.answered(
        reason, isAuthenticated: connection.isAuthenticated, known.rules, now: wallNow)
    else { return }
    if let limit = step.limit {
      connection.announce(limit)
    }
    if let reason = step.end { end(connection, reason) }
  }
}
