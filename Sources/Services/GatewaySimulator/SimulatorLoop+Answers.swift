// SPDX-License-Identifier: Apache-2.0
import APNS
import HTTP2
import ServiceKit

extension SimulatorLoop {
  /// Answers what the wheel says is due.
  func answerDueRequests() {
    var next = wheel.due(by: now)
    while let request = next {
      next = request.pointee.link
      answer(request)
    }
  }

  func answer(_ request: UnsafeMutablePointer<ServerRequest>) {
    let verdict = request.pointee.verdict
    let slot = Int(request.pointee.connectionToken - Self.firstConnectionToken)
    guard request.pointee.isAlive, let connection = connections[slot] else {
      abandon(request)
      return
    }
    touch(connection)
    if settings.isFast {
      shared.counters.add(.accepted)
      _ = answers.acceptConstantly(request, pool)
      return
    }
    guard answerDue(request, on: connection) else { return }
    let argument = verdict >> EncodedVerdict.argumentShift
    switch verdict & 0xFF {
    case EncodedVerdict.accepted:
      shared.counters.add(.accepted)
      _ = answers.accept(request, isSandbox: connection.role.environment == .sandbox, pool)
      allow(connection, connection.isAuthenticated ? settings.maxConcurrentStreams : 1)
    case EncodedVerdict.custom:
      guard let answer = customAnswers.take(argument) else { return }
      shared.counters.add(.custom)
      _ = answers.custom(request, answer, on: connection, pool)
    case EncodedVerdict.reset:
      shared.counters.add(.reset)
      HTTP2ServerConnection.drop(request, code: argument, pool: pool)
    case EncodedVerdict.silence:
      shared.counters.add(.silent)
      HTTP2ServerConnection.forsake(request, pool: pool)
    default:
      guard let reason = Reason(rawValue: UInt8(truncatingIfNeeded: verdict) &- 1) else { return }
      refuse(request, connection, reason, bodyCount: Int(argument))
    }
  }

  /// The client or its connection is gone: gives the request back.
  private func abandon(_ request: UnsafeMutablePointer<ServerRequest>) {
    shared.counters.add(.abandoned)
    if request.pointee.verdict & 0xFF == EncodedVerdict.custom {
      _ = customAnswers.take(request.pointee.verdict >> EncodedVerdict.argumentShift)
    }
    HTTP2ServerConnection.drop(request, code: HTTP2ErrorCode.cancel, pool: pool)
  }

  private func refuse(
    _ request: UnsafeMutablePointer<ServerRequest>, _ connection: GatewayConnection,
    _ reason: Reason, bodyCount: Int
  ) {
    shared.reasons.add(reason)
    let isGone = reason.rule.status == 410
    shared.counters.add(isGone ? .unregistered : .rejected)
    _ = answers.refuse(request, reason, bodyCount: bodyCount, pool)
    if settings.dropsLimit && !isGone {
      allow(connection, 1)
    } else if connection.isAuthenticated, !connection.isReduced {
      allow(connection, settings.maxConcurrentStreams)
    }
  }

  /// Tells the client a new limit if it is one.
  private func allow(_ connection: GatewayConnection, _ limit: UInt32) {
    guard settings.primes || settings.dropsLimit, connection.limit != limit else { return }
    connection.isReduced = limit < connection.limit
    connection.limit = limit
    connection.http.updateSettings(maxConcurrentStreams: limit)
  }
}
