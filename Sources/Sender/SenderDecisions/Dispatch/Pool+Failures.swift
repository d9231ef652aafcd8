// SPDX-License-Identifier: Apache-2.0

internal import Contract

/// What becomes of a push that failed.
extension Pool {
  /// The failure of a push.
  struct Failure {
    var cause: RetryPolicy.Cause
    var answer: GatewayResponse?
    /// Milliseconds that the answer asked to wait.
    var retryAfter: Int64 = 0
    /// Its connection has ended, or is left for this.
    var isLost = false
    /// An address refused the credential that another one may accept.
    var isOfAddress = false

    /// The answer of APNs, for the outcome; nil if it was not APNs' own.
    var answerOfAPNs: GatewayResponse? {
      if case .answered(let verdict) = cause, verdict != .foreign { answer } else { nil }
    }
  }

  /// The step that is left for a push that failed.
  enum Failed {
    case nothing
    /// It goes into line again: at its head, or behind the others.
    case goesAgain(isLast: Bool)
  }

  /// Notes a failure, unless that is the push's end: true if it is.
  func ends(
    _ slot: UInt32, on index: Int32, _ failure: Failure, _ work: inout Workload
  ) -> Bool {
    // A partition that is leaving or gone: its next owner sends the record again.
    guard work.isCurrent(slot) else {
      work.handBack(slot)
      return true
    }
    if work.isSuperseded(slot) {
      work.finish(slot, .superseded, .newerState, failure.answerOfAPNs)
      return true
    }
    if failure.cause != .unprocessed {
      let now = work.turn.now
      work.tell(slot) { $0.noteFailure(on: connectionSet.connections[index], now: now) }
    }
    if failure.isOfAddress {
      work.tell(slot) { $0.noteRefusal(token: connectionSet.connections[index].token) }
    }
    return false
  }

  /// Sends a push again, keeps it, parks it, or gives it up.
  mutating func follow(
    _ retry: DestinationHealth.Retry, _ slot: UInt32, _ failure: Failure, _ work: inout Workload
  ) -> Failed {
    if retry.isOverBudget { work.turn.count(.retriesOverBudget) }
    if failure.cause.isFault, retry.decision != .keep { work.tell(slot) { $0.noteFault() } }
    throttle(slot, failure, retry.decision, &work)
    switch retry.decision {
    case .keep:
      spare(slot, failure, &work)
      // Behind the others: if it is this push that fails, another one finds out that the destination works.
      return .goesAgain(isLast: !failure.isOfAddress)
    case .pause(let tier):
      spare(slot, failure, &work)
      work.park(slot, tier, .failure(failure.answer))
    case .now(let counts):
      work.turn.count(counts ? .resentAmbiguous : .resentUnprocessed)
      return .goesAgain(isLast: false)
    case .tier(let tier): work.park(slot, tier, .failure(failure.answer))
    case .deadLetter:
      work.deadLetter(slot, .retriesExhausted, .retries, failure.answerOfAPNs)
    case .expired: work.expire(slot, failure.answerOfAPNs)
    case .final: work.finish(slot, .rejected, nil, failure.answer)
    }
    return .nothing
  }

  /// The whole destination fails, or an address of it: the attempt does not count.
  private func spare(_ slot: UInt32, _ failure: Failure, _ work: inout Workload) {
    work.turn.count(.keptInOutage)
    if failure.cause != .unprocessed { work.tell(slot) { $0.spare() } }
  }

  /// APNs throttles the device: its other pushes wait as long as this one, and no less than was asked for.
  private func throttle(
    _ slot: UInt32, _ failure: Failure, _ decision: RetryPolicy.Decision, _ work: inout Workload
  ) {
    guard failure.cause == .answered(.retryLater(.throttled)) else { return }
    var wait = min(UInt64(failure.retryAfter), OutageWatch.longestPause)
    if case .tier(let tier) = decision { wait = max(wait, UInt64(tier.delay)) }
    work.throttleDevice(of: slot, for: wait)
  }
}

extension DestinationHealth.FailedPush {
  /// A push as its destination's health sees it.
  ///
  /// - Parameter topic: the retry topic of its record; nil for a lane's.
  init(_ push: borrowing PushState, from topic: RetryTier?, _ failure: Pool.Failure) {
    self.init(
      life: push.life, cause: failure.cause, cameFrom: push.state.tier ?? topic,
      failingSince: push.lastFailure.since, expiresAt: min(push.agesAt, push.expiresAt),
      retryAfter: failure.retryAfter, hasMetFault: push.lastFailure.hasMetFault,
      isLost: failure.isLost, isOfCredential: failure.answer?.isAboutCredential == true)
  }
}
