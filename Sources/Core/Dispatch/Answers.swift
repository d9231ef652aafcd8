// SPDX-License-Identifier: Apache-2.0

package import APNS
internal import Delivery
internal import Pipeline
import Random

/// Streams end: answers become outcomes, and what failed is sent again, kept, parked or given up.
extension Dispatcher {
  // MARK: Events

  /// APNs answered a push with 200.
  package mutating func accepted(_ slot: UInt32) {
    let number = endStream(slot)
    let pool = heard(number)
    if !pools.connections[number].machine.hasAccepted {
      pools[pool].health.connectionAccepted(
        app: pushes[slot].app, at: pools.connections[number].address)
    }
    perform(pools.connections[number].machine.accepted(), on: number)
    pools[pool].health.served(app: pushes[slot].app, sentAt: pushes[slot].sentAt)
    shares.answered(Pool.destination(pool))
    devices.lives(pushes[slot], now: now)
    finish(slot, .delivered)
  }

  /// APNs answered a push with anything else: the decision table says what it means for push, connection and
  /// credential.
  ///
  /// - Parameter retryAfter: seconds that the answer asked to wait; 0 if it did not.
  package mutating func refused(
    _ slot: UInt32, _ response: GatewayResponse, retryAfter: UInt32
  ) {
    let number = endStream(slot)
    let pool = heard(number)
    let reaction = judge(slot, response, UInt64(retryAfter) * 1_000, on: number)
    if reaction.isServed { shares.answered(Pool.destination(pool)) }
    perform(
      pools.connections[number].machine.answered(
        status: response.status, connection: reaction.connection), on: number)
    report(response, isNewRefusal: reaction.isNewRefusal, slot, pool)
    let verdict = response.verdict(for: pushes[slot].target)
    switch verdict {
    case .delivered: finish(slot, .delivered, isAnswered: true)
    case .rejected(aboutToken: true):
      if response.status == 410 { devices.died(pushes[slot], now: now) }
      rejectToken(slot)
    case .rejected(aboutToken: false): finish(slot, .rejected, isAnswered: true)
    default:
      retry(
        slot, Failure(cause: .answered(verdict), retryAfter: Int64(retryAfter) * 1_000), on: number)
    }
  }

  /// A push's stream ended without an answer.
  ///
  /// - Parameters:
  ///   - isUnprocessed: APNs has certainly not processed it.
  ///   - isLost: the connection has ended, and the stream with it.
  package mutating func unanswered(_ slot: UInt32, isUnprocessed: Bool, isLost: Bool) {
    let timedOut = pushes[slot].life.state == .timedOut
    let number = endStream(slot, isUnprocessed: isUnprocessed)
    let pool = pools.connections[number].pool
    if isUnprocessed {
      perform(pools.connections[number].machine.refused(), on: number)
    } else {
      perform(
        timedOut
          ? pools.connections[number].machine.timedOut()
          : pools.connections[number].machine.reset(),
        on: number)
    }
    // Nobody had an answer for as long as this push waited: all of the gateway is silent.
    let isSilent =
      !isUnprocessed && timedOut && pools[pool].health.heardAt + pushes.timeout <= now
    if !isLost { noteFailure(of: number, isSilent: isSilent) }
    retry(
      slot, Failure(cause: isUnprocessed ? .unprocessed : .ambiguous, isLost: isLost), on: number)
  }

  // MARK: What it is evidence about

  /// A stream of the connection has ended.
  private mutating func endStream(_ slot: UInt32, isUnprocessed: Bool = false) -> Int32 {
    let number = pushes.close(slot, isUnprocessed: isUnprocessed)
    pools[pools.connections[number].pool].queue.ended(pushes[slot].life.sendClass)
    return number
  }

  private mutating func heard(_ number: Int32) -> Int32 {
    let pool = pools.connections[number].pool
    pools.connections[number].lastHeard = now
    pools[pool].health.heard(now: now)
    return pool
  }

  /// A connection failed some of its requests: one failure of the destination for each moment, however many
  /// requests were open, because its sisters may be well. A lost connection is noted when it is gone.
  private mutating func noteFailure(of number: Int32, isSilent: Bool) {
    guard pools.connections[number].failedAt != now else { return }
    pools.connections[number].failedAt = now
    pools[pools.connections[number].pool].health.failed(
      isSilent: isSilent, now: now, random: random.next())
  }

  private mutating func judge(
    _ slot: UInt32, _ response: GatewayResponse, _ retryAfter: UInt64, on number: Int32
  ) -> DestinationHealth.Reaction {
    let connection = pools.connections[number]
    return pools[connection.pool].health.answered(
      response, app: pushes[slot].app,
      on: .init(
        hasAccepted: connection.machine.hasAccepted, startedAt: connection.startedAt,
        hasNewestToken: pools[connection.pool].token == nil
          ? connection.token == 0 : connection.token == pools[connection.pool].tokenNumber),
      sentAt: pushes[slot].sentAt, retryAfter: retryAfter, now: now, random: random.next())
  }

  /// What an answer asks of the signer and the operator.
  private mutating func report(
    _ response: GatewayResponse, isNewRefusal: Bool, _ slot: UInt32, _ pool: Int32
  ) {
    switch response.credential {
    case .refresh, .refreshIfOld: askForToken(pool)
    case .stop:
      // Only the signer can tell whether the token is the one that it has signed.
      if pools[pool].authentication == .providerToken { askForToken(pool) }
    case .none, .freeze: break
    }
    guard isNewRefusal else { return }
    counts[.credentialRefusals] += 1
    actions.append(.reportRefusal(pool: pool, app: response.credential == .stop ? slot : nil))
  }

  private mutating func askForToken(_ pool: Int32) {
    if pools[pool].health.asksForToken(now: now) { requestToken(pool) }
  }

  /// Asks the signer for a newer provider token, when the pool's health says so.
  mutating func requestToken(_ pool: Int32) {
    counts[.tokenRequests] += 1
    actions.append(.requestToken(pool: pool))
  }

  private mutating func rejectToken(_ slot: UInt32) {
    counts[.rejected] += 1
    actions.append(.feedback(slot: slot))
    leave(slot)
  }

  // MARK: What becomes of a push that failed

  /// How a push failed.
  private struct Failure {
    var cause: RetryPolicy.Cause
    /// Milliseconds that the answer asked to wait.
    var retryAfter: Int64 = 0
    /// Its connection has ended.
    var isLost = false

    var isAnswered: Bool { if case .answered = cause { true } else { false } }

    /// Refused for its app or its credential: if it is this push alone, another one finds out that they are served.
    var isOfApp: Bool { if case .answered(.credentialRefused) = cause { true } else { false } }
  }

  /// Sends again, keeps, parks, or gives up.
  private mutating func retry(_ slot: UInt32, _ failure: Failure, on number: Int32) {
    // A partition that is leaving or gone: its next owner sends the record again.
    guard isFeeding, partitions.hasNow(pushes[slot].origin) else { return handBack(slot) }
    let pool = pools.connections[number].pool
    if failure.cause != .unprocessed { noteSetback(slot, number) }
    let retry = pools[pool].health.retry(failed(slot, failure), now: now, wall: wall)
    if retry.isOverBudget { counts[.retriesOverBudget] += 1 }
    if failure.cause.isFault, retry.decision != .keep { pushes[slot].setback.hasMetFault = true }
    switch retry.decision {
    case .keep: keep(slot, failure.cause, in: pool)
    case .now(let counts):
      self.counts[counts ? .resentAmbiguous : .resentUnprocessed] += 1
      requeue(slot, pool, isLast: failure.isOfApp)
    case .tier(let tier):
      if failure.cause == .answered(.retryLater(.soon)) {
        devices.throttle(pushes[slot].device, until: now + UInt64(tier.delay))
      }
      park(slot, tier, .failure)
    case .deadLetter:
      deadLetter(slot, .retriesExhausted, .retries, isAnswered: failure.isAnswered)
    case .expired: expire(slot, isAnswered: failure.isAnswered)
    case .final: finish(slot, .rejected, isAnswered: true)
    }
  }

  private mutating func noteSetback(_ slot: UInt32, _ number: Int32) {
    pushes[slot].setback.connection = pools.connections[number].serial
    pushes[slot].setback.address = pools.connections[number].address
    pushes[slot].setback.at = now
    if pushes[slot].life.sends == 1 { pushes[slot].setback.since = wall }
  }

  private func failed(_ slot: UInt32, _ failure: Failure) -> DestinationHealth.FailedPush {
    let push = pushes[slot]
    return .init(
      push.life, failure.cause, cameFrom: partitions.tier(of: push.origin),
      failingSince: push.setback.since, expiresAt: min(push.agesAt, push.expiresAt),
      retryAfter: failure.retryAfter,
      hasMetFault: push.setback.hasMetFault, isLost: failure.isLost)
  }

  /// The whole destination fails: the push waits for its recovery, and the attempt is not held against it.
  private mutating func keep(_ slot: UInt32, _ cause: RetryPolicy.Cause, in pool: Int32) {
    counts[.keptInOutage] += 1
    if cause != .unprocessed { pushes[slot].life.spare() }
    // Behind the others: if it is this push that fails, another one finds out that the destination works.
    requeue(slot, pool, isLast: true)
  }

  /// Puts a push back in line for another try, at the head or behind the others; of a pool that is gone, with its
  /// successor.
  private mutating func requeue(_ slot: UInt32, _ pool: Int32, isLast: Bool) {
    if pools[pool].isRetired { return route(slot) }
    pushes[slot].life.wait()
    if isLast {
      pools[pool].queue.append(slot, pushes[slot].life.sendClass)
    } else {
      pools[pool].queue.prepend(slot, pushes[slot].life.sendClass)
    }
    pools.touch(pool)
  }
}
