// SPDX-License-Identifier: Apache-2.0

public import Contract

/// Decides the next step of a notification that was not accepted and may be sent again.
///
/// Attempts that APNs certainly did not process (refused streams, streams above GOAWAY's last-stream-id,
/// never written ones) are free: they go to another connection at once and do not count.
public struct RetryPolicy: Sendable {
  /// Why the notification is here.
  public enum Cause: Sendable, Equatable {
    /// APNs certainly did not process it.
    case unprocessed
    /// Sent, and its fate is unknown: connection lost, deadline passed, stream reset.
    case ambiguous
    /// Answered.
    case answered(Verdict)
  }

  /// The next step of the notification.
  public enum Decision: Sendable, Equatable {
    /// In line again, to wait for the destination's recovery. The attempt is not counted.
    case keep
    /// To a retry topic, because the answer asked for a pause. The attempt is not counted.
    case pause(RetryTier)
    /// At once, on another connection. `counts`: whether this was an attempt.
    case now(counts: Bool)
    /// To a retry topic.
    case tier(RetryTier)
    /// Attempts are used up.
    case deadLetter
    /// Its time would be over before the retry is due.
    case expired
    /// The answer is final: there is nothing to retry.
    case final
  }

  /// Attempts after which a notification is dead-lettered.
  public let maximumAttempts: Int
  /// Attempts after which a notification no longer goes out again at once.
  public let promptAttempts: Int

  public init(maximumAttempts: Int = 8, promptAttempts: Int = 2) {
    precondition(maximumAttempts >= 1 && promptAttempts >= 0)
    self.maximumAttempts = maximumAttempts
    self.promptAttempts = promptAttempts
  }

  /// A push that failed, with what is known of it and of its destination.
  public struct Failure: Sendable {
    public var cause: Cause
    /// Attempts made so far, this one included.
    public var attempts: Int
    /// Milliseconds since the epoch.
    public var now: Int64
    /// When the notification is of no more use, in milliseconds since the epoch; `.max` for never. (`apns-expiration` 0
    /// is not such a time: one attempt that APNs does not store, but one that arrives.)
    public var expiresAt = Int64.max
    /// Milliseconds that the answer asked to wait, 0 if it did not. It never goes out earlier.
    public var retryAfter: Int64 = 0
    /// The destination failed or the credential was refused, not the push: it waits for the recovery, and the attempt is
    /// not counted.
    public var isOfDestination = false
    /// The destination has served another push that was sent after this one first failed. Without that it may be the
    /// beginning of an outage, and a server's fault waits for seconds first, too.
    public var isAlone = true
    /// The retry topic that it came from; nil from a lane. It climbs one step at a time from there: neither prompt
    /// retries nor attempts that failed for another cause let it skip one.
    public var cameFrom: RetryTier?
    /// No server's fault was answered before in this stay. The long wait is for what was refused on another connection,
    /// too; after lost connections a first 503 waits no longer than anything else.
    public var isFirstFault = false

    public init(_ cause: Cause, attempts: Int, now: Int64) {
      self.cause = cause
      self.attempts = attempts
      self.now = now
    }

    /// True if it would be of no more use in so many milliseconds.
    func isExpired(in time: Int64 = 0) -> Bool { expiresAt != .max && now + time >= expiresAt }
  }

  /// Decides.
  ///
  /// - Parameter promptly: false when the destination's retry budget is used up: what would go out again at once goes
  ///   to a retry topic.
  public func decide(_ failure: Failure, promptly: Bool = true) -> Decision {
    let (cause, attempts) = (failure.cause, failure.attempts)
    if failure.isOfDestination {
      if failure.retryAfter == 0 { return failure.isExpired() ? .expired : .keep }
      return livingTier(RetryTier.fitting(failure.retryAfter), failure).map { .pause($0) }
        ?? .expired
    }
    if case .answered(let verdict) = cause, verdict.isFinal { return .final }
    if failure.isExpired() { return .expired }
    if cause == .unprocessed { return .now(counts: false) }
    guard attempts < maximumAttempts else { return .deadLetter }
    let isPrompt = attempts <= promptAttempts && cause.allowsPromptRetry
    if promptly && failure.retryAfter == 0 && isPrompt { return .now(counts: true) }
    return livingTier(tier(for: failure, isPrompt: isPrompt), failure).map { .tier($0) } ?? .expired
  }

  private func tier(for failure: Failure, isPrompt: Bool) -> RetryTier {
    let cause = failure.cause
    let waitsSeconds =
      !failure.isAlone || failure.isFirstFault && (failure.cameFrom ?? .shortest) < cause.firstTier
    // A prompt retry that the budget refused is only a little late; the long wait is for what failed twice.
    let first = isPrompt || waitsSeconds ? .shortest : cause.firstTier
    var tier = max(first, RetryTier.fitting(failure.retryAfter))
    // Each step of the ladder once; then the highest one.
    let later = max(0, failure.attempts - (cause.allowsPromptRetry ? promptAttempts : 0) - 1)
    let climbed = failure.cameFrom.map { Int($0.rawValue) + 1 } ?? 0
    for _ in 0..<min(later, climbed) { tier = tier.next }
    return tier
  }

  /// The longest tier up to this one that the notification lives to see: a shorter wait beats none at all, but none is
  /// shorter than was asked for. Nil when there is none.
  private func livingTier(_ longest: RetryTier, _ failure: Failure) -> RetryTier? {
    var tier = longest
    while failure.isExpired(in: tier.delay) {
      guard let shorter = tier.previous, shorter.delay >= failure.retryAfter else { return nil }
      tier = shorter
    }
    return tier
  }
}

extension Verdict {
  fileprivate var isFinal: Bool {
    switch self {
    case .delivered, .rejected: true
    case .retryElsewhere, .refreshToken, .retryLater, .credentialRefused, .foreign: false
    }
  }
}

extension RetryPolicy.Cause {
  /// A server's fault was answered: 500 or 503.
  public var isFault: Bool { self == .answered(.retryLater(.fault)) }

  /// True when another connection may well do better at once. A throttled device would not be better off.
  fileprivate var allowsPromptRetry: Bool {
    switch self {
    case .unprocessed, .ambiguous: true
    case .answered(.retryLater(.throttled)): false
    case .answered: true
    }
  }

  fileprivate var firstTier: RetryTier {
    switch self {
    case .answered(.retryLater(let delay)): .fitting(delay.seconds * 1_000)
    case .answered, .ambiguous, .unprocessed: .shortest
    }
  }
}
