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
    touch(connection.pool)
    let limit = Int(connection.http.remoteMaxConcurrentStreams)
    if limit < connection.state.limit { connection.state.settings(limit: limit) }
    connection.http.takeCompleted(into: &completed)
    for exchange in completed { answered(exchange.pointee.owner, on: connection) }
    takeNotices(of: connection)
  }

  private func answered(_ slot: UInt32, on connection: GatewayConnection) {
    let push = pushes[slot]
    let pool = connection.pool
    deadlines.remove(slot)
    push.pointee.connection = nil
    let timedOut = push.pointee.life.state == .timedOut
    let fate = push.pointee.exchange.fate
    // One that never reached APNs is neither a send nor an attempt.
    push.pointee.life.close(isUnprocessed: fate == .unprocessed)
    pool.waiting.ended(push.pointee.life.sendClass)
    switch fate {
    case .answered:
      connection.lastHeard = now
      pool.lastAnswer = now
      noteAnswer(push)
      if push.pointee.exchange.status == 200 {
        if !connection.state.hasAccepted {
          pool.addresses.succeeded(connection.address)
          pool.waiting.health.connectionAccepted(app: appHash(push))
        }
        pool.accepted &+= 1
        perform(connection.state.accepted(), on: connection)
        pool.waiting.health.served(sentAt: push.pointee.sentAt)
        if pool.waiting.health.hasRefusedApps { pool.waiting.health.served(app: appHash(push)) }
        fairness.answered(Int(pool.destination))
        finish(slot, .delivered)
      } else {
        refused(slot, push, on: connection)
      }
    case .unprocessed:
      perform(connection.state.refused(), on: connection)
      noteFailure(of: connection)
      retry(slot, .unprocessed, from: connection)
    case .ambiguous, .pending:
      perform(timedOut ? connection.state.timedOut() : connection.state.reset(), on: connection)
      // Nobody had an answer for as long as this push waited: all of the gateway is silent.
      let isSilent = timedOut && pool.lastAnswer + deadlines.timeout <= now
      noteFailure(of: connection, isSilent: isSilent)
      retry(slot, .ambiguous, from: connection)
    }
  }

  /// A connection failed some of its requests: one failure of the destination for each moment, however many
  /// requests were open, because its sisters may be well. A lost connection is noted when it is gone.
  private func noteFailure(of connection: GatewayConnection, isSilent: Bool = false) {
    guard connection.failedAt != now, !connection.http.isClosed else { return }
    connection.failedAt = now
    connection.pool.waiting.health.failed(isSilent: isSilent, now: now, random: random.next())
  }

  /// An answer other than 200: the decision table says what it means for push, connection and credential.
  private func refused(
    _ slot: UInt32, _ push: UnsafeMutablePointer<Push>, on connection: GatewayConnection
  ) {
    let answer = GatewayAnswer(
      status: push.pointee.exchange.status, body: push.pointee.exchange.responseBytes,
      parser: parser)
    let response = answer.response
    connection.pool.refused &+= 1
    telemetry.refused(response.reason, push.pointee.envelope.environment)
    let reaction = judge(response, push, on: connection)
    if reaction.isServed { fairness.answered(Int(connection.pool.destination)) }
    perform(
      connection.state.answered(status: response.status, connection: reaction.connection),
      on: connection)
    act(on: response, reaction, push, from: connection)
    let verdict = response.verdict(for: push.pointee.envelope.target)
    switch verdict {
    case .delivered: finish(slot, .delivered)
    case .rejected(let aboutToken):
      finish(slot, .rejected, answer: answer, feedback: aboutToken)
    default:
      retry(slot, .answered(verdict), from: connection, answer: answer)
    }
  }

  /// What an answer is evidence about.
  private func judge(
    _ response: GatewayResponse, _ push: UnsafeMutablePointer<Push>,
    on connection: GatewayConnection
  ) -> DestinationHealth.Reaction {
    let pool = connection.pool
    return pool.waiting.health.answered(
      response, app: appHash(push),
      on: .init(
        hasAccepted: connection.state.hasAccepted, startedAt: connection.startedAt,
        hasNewestToken: connection.authorization === pool.authorization),
      sentAt: push.pointee.sentAt, retryAfter: UInt64(push.pointee.exchange.retryAfter) * 1_000,
      now: now, random: random.next())
  }

  /// What an answer asks of the signer and the operator.
  private func act(
    on response: GatewayResponse, _ reaction: DestinationHealth.Reaction,
    _ push: UnsafeMutablePointer<Push>, from connection: GatewayConnection
  ) {
    let reason = response.reason?.name ?? "\(response.status)"
    switch response.credential {
    case .refresh, .refreshIfOld: askForToken(connection.pool, reason: reason)
    case .stop:
      // Only the signer can tell whether the token is the one that it has signed.
      if connection.pool.authentication == .providerToken {
        askForToken(connection.pool, reason: reason)
      }
    case .none, .freeze: break
    }
    guard reaction.isNewRefusal else { return }
    let isApp = response.credential == .stop
    let app =
      isApp ? String(decoding: push.pointee.field(push.pointee.envelope.app), as: UTF8.self) : nil
    noteRefusal(connection.pool, app: app, reason)
  }

  /// Sends again, keeps, parks, or gives up.
  private func retry(
    _ slot: UInt32, _ cause: RetryPolicy.Cause, from connection: GatewayConnection,
    answer: GatewayAnswer? = nil
  ) {
    let push = pushes[slot]
    let pool = connection.pool
    // A partition that is leaving or gone: its next owner sends the record again.
    guard isFeeding, push.pointee.origin.epoch == epochOfPartitions else { return handBack(slot) }
    if cause != .unprocessed {
      push.pointee.failedOn = UnsafeRawPointer(Unmanaged.passUnretained(connection).toOpaque())
      push.pointee.failedAddress = connection.address
      push.pointee.failedAt = now
      if push.pointee.life.sends == 1 { push.pointee.failingSince = wall }
    }
    if !isExpired(push),
      pool.waiting.health.keeps(
        push.pointee.life, failingSince: push.pointee.failingSince, cause)
    {
      return keep(slot, cause, in: pool)
    }
    switch decide(push, cause, connection) {
    case .now(let counts):
      counters.add(counts ? .resentAmbiguous : .resentUnprocessed)
      requeue(slot, pool, isLast: cause.isOfApp)
    case .tier(let tier):
      if case .answered(.retryLater(.soon)) = cause {
        throttle(slot, milliseconds: tier.delay)
      }
      park(slot, tier, answer)
    case .deadLetter: deadLetter(slot, .retriesExhausted, answer)
    case .expired: finish(slot, .expired, answer: answer)
    case .final: finish(slot, .rejected, answer: answer)
    }
  }

  private func decide(
    _ push: UnsafeMutablePointer<Push>, _ cause: RetryPolicy.Cause,
    _ connection: GatewayConnection
  ) -> RetryPolicy.Decision {
    let pool = connection.pool
    let attempts = push.pointee.life.countedAttempts
    let expiresAt = expiry(push)
    let isAnswered = push.pointee.exchange.fate == .answered
    let asked = isAnswered ? Int64(push.pointee.exchange.retryAfter) * 1_000 : 0
    let retryAfter = min(asked, Int64(OutageWatch.longestPause))
    let isAlone = pool.waiting.health.works(since: push.pointee.failingSince)
    let wasParked = push.pointee.life.earlier > 0
    let isFault = cause == .answered(.retryLater(.quarterHour))
    let isFirstFault = isFault && !push.pointee.hasMetFault
    if isFault { push.pointee.hasMetFault = true }
    let decision = retryPolicy.decide(
      cause, attempts: attempts, now: wall, expiresAt: expiresAt, retryAfter: retryAfter,
      isAlone: isAlone, wasParked: wasParked, isFirstFault: isFirstFault)
    guard decision == .now(counts: true) else { return decision }
    // A lost connection takes its open streams with it once, and connects are paced: that is no storm.
    if connection.http.isClosed { return decision }
    if pool.waiting.budget.spend(now: now) { return decision }
    counters.add(.retriesOverBudget)
    return retryPolicy.decide(
      cause, attempts: attempts, now: wall, expiresAt: expiresAt, retryAfter: retryAfter,
      promptly: false, isAlone: isAlone, wasParked: wasParked, isFirstFault: isFirstFault)
  }

  /// The whole destination fails: the push waits for its recovery, and the attempt is not held against it.
  private func keep(_ slot: UInt32, _ cause: RetryPolicy.Cause, in pool: GatewayPool) {
    counters.add(.keptInOutage)
    let push = pushes[slot]
    if cause != .unprocessed { push.pointee.life.spare() }
    if pool.isRetired { return route(slot) }
    push.pointee.life.wait()
    // Behind the others: if it is this push that fails, another one finds out that the destination works.
    pool.waiting.append(slot, push.pointee.life.sendClass)
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

extension RetryPolicy.Cause {
  /// Refused for its app or its credential: if it is this push alone, another one finds out that they are served.
  fileprivate var isOfApp: Bool {
    if case .answered(.credentialRefused) = self { return true }
    return false
  }
}
