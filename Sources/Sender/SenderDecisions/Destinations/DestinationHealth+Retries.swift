// SPDX-License-Identifier: Apache-2.0

internal import Contract

/// What becomes of a push that failed.
extension DestinationHealth {
  /// A push that got no final answer.
  struct FailedPush: Sendable {
    var life: PushLife
    var cause: RetryPolicy.Cause
    /// The retry topic that it came from; nil from a lane.
    var cameFrom: RetryTier?
    /// When it first failed, in monotonic milliseconds.
    var failingSince: UInt64
    /// When it is of no more use, in milliseconds since the epoch; `.max` for never.
    var expiresAt: Int64
    /// Milliseconds that the answer asked to wait, 0 if it did not.
    var retryAfter: Int64
    /// A server's fault was answered before in this stay.
    var hasMetFault: Bool
    /// Its connection has ended.
    var isLost: Bool
    /// It was refused for its credential, by this address or by all: it waits for one that is accepted.
    var isOfCredential: Bool
  }

  /// The next step of a push that failed.
  struct Retry: Sendable {
    var decision: RetryPolicy.Decision
    /// It would have gone out again at once if the retry budget were not used up.
    var isOverBudget = false
  }

  /// Decides the next step of a push that just failed; charges the retry budget if it goes out again at once.
  ///
  /// - Parameter wall: milliseconds since the epoch.
  mutating func retry(_ push: FailedPush, now: UInt64, wall: Int64) -> Retry {
    var failure = RetryPolicy.Failure(
      push.cause, attempts: push.life.countedAttempts, now: wall)
    failure.expiresAt = push.expiresAt
    failure.retryAfter = min(push.retryAfter, Int64(OutageWatch.longestPause))
    failure.isOfDestination = push.isOfCredential || isToBlame(for: push)
    failure.isAlone = watch.works(since: push.failingSince)
    failure.cameFrom = push.cameFrom
    failure.isFirstFault = push.cause.isFault && !push.hasMetFault
    let decision = retries.decide(failure)
    guard decision == .now(counts: true) else { return Retry(decision: decision) }
    // A lost connection takes its open streams with it once, and connects are paced: that is no storm.
    if push.isLost || budget.spend(now: now) { return Retry(decision: decision) }
    return Retry(decision: retries.decide(failure, promptly: false), isOverBudget: true)
  }

  /// True if it failed with the destination: then it is kept, and its attempt is not counted.
  private func isToBlame(for push: FailedPush) -> Bool {
    let (life, since) = (push.life, push.failingSince)
    return switch push.cause {
    case .unprocessed, .ambiguous, .answered(.retryLater(.fault)):
      watch.keeps(life, failingSince: since)
    case .answered(.retryElsewhere), .answered(.refreshToken), .answered(.foreign):
      watch.keeps(life, failingSince: since)
        || (breaker.refusals > 0
          && (life.spared < OutageWatch.mostSpared || !watch.works(since: since)))
    case .answered: false
    }
  }
}
