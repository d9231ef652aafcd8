// SPDX-License-Identifier: Apache-2.0

internal import APNS
internal import Delivery
internal import Pipeline

/// A stream that has ended: of which push, on which connection of which pool. Its answer becomes an outcome; a push that
/// failed is sent again, kept, parked or given up.
struct EndedStream {
  private let slot: UInt32
  private let number: Int32
  private let pool: Int32

  /// - Parameter isUnprocessed: APNs has certainly not processed the push.
  init(
    _ slot: UInt32, isUnprocessed: Bool = false, _ pools: inout Pools, _ work: inout Workload
  ) {
    self.slot = slot
    number = work.pushes.close(slot, isUnprocessed: isUnprocessed)
    pool = pools.connections[number].pool
    pools[pool].queue.ended(work.pushes[slot].life.sendClass)
  }

  // MARK: Events

  /// APNs answered with 200.
  func accepted(_ pools: inout Pools, _ work: inout Workload, _ turn: inout Turn) {
    pools[pool].health.noteActivity(now: turn.now)
    if !pools.connections[number].machine.hasAccepted {
      pools[pool].health.connectionAccepted(
        app: work.pushes[slot].app, at: pools.connections[number].address)
    }
    pools.connections.accepted(number, &turn)
    pools[pool].health.served(app: work.pushes[slot].app, sentAt: work.pushes[slot].sentAt)
    work.shares.answered(Pool.destination(pool))
    work.devices.accepted(work.pushes[slot], now: turn.now)
    if work.pushes[slot].setback.findsOut { foundOut(work.pushes[slot].setback, &pools, &turn) }
    work.finish(slot, .delivered, nil, &turn)
  }

  /// A push was accepted that had been refused elsewhere: if that was with the same token, the address was at fault.
  private func foundOut(
    _ setback: PushState.Setback, _ pools: inout Pools, _ turn: inout Turn
  ) {
    let connection = pools.connections[number]
    guard let address = setback.address, address != connection.address,
      setback.refusedToken == connection.token
    else { return }
    pools.leave(address, of: pool, &turn)
    turn.append(.reportRefusingAddress(pool: pool, slot: slot))
  }

  /// It was answered with anything else: the decision table says what it means for push, connection and credential.
  ///
  /// - Parameter retryAfter: milliseconds that the answer asked to wait; 0 if it did not.
  func refused(
    _ response: GatewayResponse, retryAfter: UInt64, _ destinations: inout Destinations,
    _ work: inout Workload, _ turn: inout Turn
  ) {
    destinations.pools[pool].health.noteActivity(now: turn.now)
    let reaction = judge(response, retryAfter, &destinations.pools, work.pushes[slot], &turn)
    if reaction.isServed { work.shares.answered(Pool.destination(pool)) }
    destinations.pools.connections.answered(
      number, status: response.isForeign ? 0 : response.status, reaction.connection, &turn)
    report(response, reaction, &destinations.pools, &turn)
    if response.isForeign { noteForeign(&destinations.pools, &turn) }
    let verdict = response.verdict(for: work.pushes[slot].target)
    switch verdict {
    case .delivered: work.finish(slot, .delivered, nil, isAnswered: true, &turn)
    case .rejected(aboutToken: true):
      if response.isAboutDeadToken { work.devices.invalidated(work.pushes[slot], now: turn.now) }
      work.rejectToken(slot, &turn)
    case .rejected(aboutToken: false): work.finish(slot, .rejected, nil, isAnswered: true, &turn)
    default:
      let failure = Failure(
        cause: .answered(verdict), retryAfter: Int64(retryAfter),
        isLost: response.isForeign && destinations.pools.connections[number].machine.isAbandoned,
        isOfAddress: reaction.isOfAddress)
      retry(failure, &destinations, &work, &turn)
    }
  }

  /// It ended without an answer.
  ///
  /// - Parameters:
  ///   - isUnprocessed: APNs has certainly not processed the push.
  ///   - timedOut: we have given it up.
  ///   - isLost: the connection has ended, and the stream with it.
  func unanswered(
    isUnprocessed: Bool, timedOut: Bool, isLost: Bool, _ destinations: inout Destinations,
    _ work: inout Workload, _ turn: inout Turn
  ) {
    destinations.pools.connections.unanswered(
      number, isUnprocessed: isUnprocessed, timedOut: timedOut, &turn)
    // Nobody had an answer for as long as this push waited: all of the gateway is silent.
    let isSilent =
      !isUnprocessed && timedOut
      && destinations.pools[pool].health.lastActivity + work.pushes.timeout <= turn.now
    if !isLost { noteFailure(isSilent: isSilent, &destinations.pools, &turn) }
    let failure = Failure(cause: isUnprocessed ? .unprocessed : .ambiguous, isLost: isLost)
    retry(failure, &destinations, &work, &turn)
  }

  // MARK: What it is evidence about

  /// A connection failed some of its requests: one failure of the destination for each moment, however many
  /// requests were open, because its sisters may be well. A lost connection is noted when it is gone.
  private func noteFailure(isSilent: Bool, _ pools: inout Pools, _ turn: inout Turn) {
    guard pools.connections[number].noteFailure(now: turn.now) else { return }
    pools[pool].health.failed(isSilent: isSilent, now: turn.now, random: turn.chance())
  }

  private func judge(
    _ response: GatewayResponse, _ retryAfter: UInt64, _ pools: inout Pools,
    _ push: borrowing PushState, _ turn: inout Turn
  ) -> DestinationHealth.Reaction {
    let connection = pools.connections[number]
    let findsOut = push.setback.findsOut
    return pools[pool].health.answered(
      response, app: push.app,
      on: .init(
        at: connection.address,
        isAgain: findsOut,
        hasAccepted: connection.machine.hasAccepted, startedAt: connection.startedAt,
        hasNewestToken: pools[pool].token == nil
          ? connection.token == 0 : connection.token == pools[pool].tokenNumber),
      sentAt: push.sentAt, retryAfter: retryAfter, now: turn.now, random: turn.chance())
  }

  /// Something on the way to APNs has answered. Where that was all, or comes again and again, the connection is left, and
  /// its address with it.
  private func noteForeign(_ pools: inout Pools, _ turn: inout Turn) {
    turn.count(.foreignAnswers)
    if pools.connections[number].machine.isAbandoned {
      pools.putAddressAside(of: number, &turn)
    }
    if pools[pool].health.reportsForeignAnswer(now: turn.now) {
      turn.append(.reportForeignAnswer(connection: number))
    }
  }

  /// What an answer asks of the signer and the operator.
  private func report(
    _ response: GatewayResponse, _ reaction: DestinationHealth.Reaction, _ pools: inout Pools,
    _ turn: inout Turn
  ) {
    if reaction.isOfAddress, reaction.connection != .keep {
      pools.putAddressAside(of: number, &turn)
    }
    let asks =
      switch response.credential {
      case .refresh, .refreshIfOld: true
      // Only the signer can tell whether the token is the one that it has signed.
      case .stop: pools[pool].authentication == .providerToken && !reaction.isOfAddress
      case .none, .freeze: false
      }
    if asks, pools[pool].health.asksForToken(now: turn.now) { turn.requestToken(pool) }
    guard reaction.isNewRefusal else { return }
    turn.count(.credentialRefusals)
    turn.append(.reportRefusal(pool: pool, app: response.credential == .stop ? slot : nil))
  }

  // MARK: What becomes of a push that failed

  /// How a push failed.
  private struct Failure {
    var cause: RetryPolicy.Cause
    /// Milliseconds that the answer asked to wait.
    var retryAfter: Int64 = 0
    /// Its connection has ended, or is left for this.
    var isLost = false
    /// An address refused the credential that another one may accept.
    var isOfAddress = false

    /// APNs has answered: the outcome says what.
    var isAnswered: Bool {
      if case .answered(let verdict) = cause { verdict != .foreign } else { false }
    }

    /// Refused for its app or its credential: if it is this push alone, another one finds out that they are served.
    var isOfApp: Bool { if case .answered(.credentialRefused) = cause { true } else { false } }
  }

  /// Sends again, keeps, parks, or gives up.
  private func retry(
    _ failure: Failure, _ destinations: inout Destinations, _ work: inout Workload,
    _ turn: inout Turn
  ) {
    // A partition that is leaving or gone: its next owner sends the record again.
    guard work.isCurrent(slot) else { return work.handBack(slot, &turn) }
    if failure.cause != .unprocessed {
      work.pushes[slot].noteFailure(
        on: destinations.pools.connections[number], now: turn.now, wall: turn.wall)
    }
    if failure.isOfAddress {
      work.pushes[slot].noteRefusal(token: destinations.pools.connections[number].token)
    }
    let retry = destinations.pools[pool].health.retry(
      failed(failure, work), now: turn.now, wall: turn.wall)
    if retry.isOverBudget { turn.count(.retriesOverBudget) }
    if failure.cause.isFault, retry.decision != .keep { work.pushes[slot].noteFault() }
    throttle(failure, retry.decision, &work, now: turn.now)
    switch retry.decision {
    case .keep: keep(failure, &destinations, &work, &turn)
    case .pause(let tier):
      spare(failure, &work, &turn)
      work.park(slot, tier, .failure, &turn)
    case .now(let counts):
      turn.count(counts ? .resentAmbiguous : .resentUnprocessed)
      destinations.requeue(slot, pool, isLast: failure.isOfApp, &work, &turn)
    case .tier(let tier): work.park(slot, tier, .failure, &turn)
    case .deadLetter:
      work.deadLetter(slot, .retriesExhausted, .retries, isAnswered: failure.isAnswered, &turn)
    case .expired: work.expire(slot, isAnswered: failure.isAnswered, &turn)
    case .final: work.finish(slot, .rejected, nil, isAnswered: true, &turn)
    }
  }

  private func failed(
    _ failure: Failure, _ work: borrowing Workload
  ) -> DestinationHealth.FailedPush {
    let push = work.pushes[slot]
    var failed = DestinationHealth.FailedPush(
      push.life, failure.cause, cameFrom: work.partitions.tier(of: push.origin),
      failingSince: push.setback.since, expiresAt: min(push.agesAt, push.expiresAt),
      retryAfter: failure.retryAfter,
      hasMetFault: push.setback.hasMetFault, isLost: failure.isLost)
    failed.isOfAddress = failure.isOfAddress
    return failed
  }

  /// APNs throttles the device: its other pushes wait as long as this one, and no less than was asked for.
  private func throttle(
    _ failure: Failure, _ decision: RetryPolicy.Decision, _ work: inout Workload, now: UInt64
  ) {
    guard failure.cause == .answered(.retryLater(.soon)) else { return }
    var wait = min(UInt64(failure.retryAfter), OutageWatch.longestPause)
    if case .tier(let tier) = decision { wait = max(wait, UInt64(tier.delay)) }
    work.devices.throttle(work.pushes[slot].device, until: now + wait)
  }

  /// The whole destination fails, or an address of it: the push waits for its recovery, or goes to another one, and the
  /// attempt does not count.
  private func keep(
    _ failure: Failure, _ destinations: inout Destinations, _ work: inout Workload,
    _ turn: inout Turn
  ) {
    spare(failure, &work, &turn)
    // Behind the others: if it is this push that fails, another one finds out that the destination works.
    destinations.requeue(slot, pool, isLast: !failure.isOfAddress, &work, &turn)
  }

  private func spare(_ failure: Failure, _ work: inout Workload, _ turn: inout Turn) {
    turn.count(.keptInOutage)
    if failure.cause != .unprocessed { work.pushes[slot].life.spare() }
  }
}
