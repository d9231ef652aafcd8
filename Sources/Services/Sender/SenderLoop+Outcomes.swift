// SPDX-License-Identifier: Apache-2.0
import APNS
import Bytes
import Delivery
import HTTP2
import Pipeline
import Records
import ServiceKit

/// Answers become outcomes.
extension SenderLoop {
  /// Takes what a connection has completed and what has happened to it.
  func heed(_ connection: GatewayConnection) {
    // Streams that crossed a falling limit came back refused: that is judged by the new limit.
    let limit = Int(connection.http.remoteMaxConcurrentStreams)
    if limit < connection.state.limit { connection.state.settings(limit: limit) }
    connection.http.takeCompleted(into: &completed)
    for exchange in completed { answered(exchange.pointee.owner, on: connection) }
    takeNotices(of: connection)
  }

  private func answered(_ slot: UInt32, on connection: GatewayConnection) {
    let push = pushes[slot]
    deadlines.remove(slot)
    push.pointee.connection = nil
    switch push.pointee.exchange.fate {
    case .answered:
      connection.lastHeard = now
      if push.pointee.exchange.status == 200 {
        if !connection.state.hasAccepted { connection.pool.addresses.succeeded(connection.address) }
        perform(connection.state.accepted(), on: connection)
        connection.pool.policy.accepted()
        finish(slot, .delivered)
      } else {
        refused(slot, push, on: connection)
      }
    case .unprocessed:
      perform(connection.state.refused(), on: connection)
      // It never reached APNs: neither a send nor an attempt.
      push.pointee.sends -= 1
      retry(slot, .unprocessed, from: connection.pool)
    case .ambiguous, .pending:
      let timedOut = push.pointee.hasTimedOut
      perform(timedOut ? connection.state.timedOut() : connection.state.reset(), on: connection)
      push.pointee.hasTimedOut = false
      retry(slot, .ambiguous, from: connection.pool)
    }
  }

  /// An answer other than 200: the decision table says what it means for push, connection and credential.
  private func refused(
    _ slot: UInt32, _ push: UnsafeMutablePointer<Push>, on connection: GatewayConnection
  ) {
    let answer = GatewayAnswer(
      status: push.pointee.exchange.status, body: push.pointee.exchange.responseBytes,
      parser: parser)
    let response = answer.response
    perform(
      connection.state.answered(status: response.status, connection: response.connection),
      on: connection)
    act(on: response, from: connection)
    let verdict = response.verdict(for: push.pointee.envelope.target)
    switch verdict {
    case .delivered: finish(slot, .delivered)
    case .rejected(let aboutToken):
      finish(slot, .rejected, answer: answer, feedback: aboutToken)
    default:
      retry(slot, .answered(verdict), from: connection.pool, answer: answer)
    }
  }

  /// What an answer says about the credential.
  private func act(on response: GatewayResponse, from connection: GatewayConnection) {
    let pool = connection.pool
    switch response.credential {
    case .none, .freeze: break
    case .stop:
      refuse(pool, response.reason?.name ?? "\(response.status)")
    case .refresh, .refreshIfOld:
      askForToken(pool, reason: response.reason?.name ?? "\(response.status)")
    }
  }

  /// Sends again, parks, or gives up.
  private func retry(
    _ slot: UInt32, _ cause: RetryPolicy.Cause, from pool: GatewayPool, answer: GatewayAnswer? = nil
  ) {
    let push = pushes[slot]
    // A partition that is leaving or gone: its next owner sends the record again.
    guard isFeeding, push.pointee.origin.epoch == epochOfPartitions else { return handBack(slot) }
    let decision = retryPolicy.decide(
      cause, attempts: push.pointee.attempts, now: wall, expiresAt: expiry(push))
    switch decision {
    case .now(let counts):
      counters.add(counts ? .resentAmbiguous : .resentUnprocessed)
      requeue(slot, pool)
    case .tier(let tier): park(slot, tier, answer)
    case .deadLetter: deadLetter(slot, .retriesExhausted, answer)
    case .expired: finish(slot, .expired, answer: answer)
    case .final: finish(slot, .rejected, answer: answer)
    }
  }

  /// When the notification is of no more use, in milliseconds since the epoch.
  private func expiry(_ push: UnsafeMutablePointer<Push>) -> Int64 {
    let envelope = push.pointee.envelope
    let aged = envelope.created + maxAge(envelope.lane)
    guard let expiration = envelope.expiration, expiration != 0 else { return aged }
    return min(aged, expiration * 1_000)
  }

  /// What the connection's state machine wants done.
  func perform(_ action: ConnectionStateMachine.Action, on connection: GatewayConnection) {
    switch action {
    case .nothing: break
    case .ping:
      connection.http.ping()
      connection.pingedAt = now
      markDirty(connection)
    case .close: closing.append(connection)
    }
  }
}
