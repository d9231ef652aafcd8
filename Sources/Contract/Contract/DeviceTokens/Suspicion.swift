// SPDX-License-Identifier: Apache-2.0

/// Answers that report a bad token: either it is bad, or our configuration is wrong.
///
/// One such answer proves nothing. Two that are at least a day apart do, if both came while such answers were rare for
/// the app and environment. Otherwise they are a wave: a circuit breaker opens, the cause is taken to be ours (sandbox
/// tokens sent to production, a wrong topic), and no answer of the wave counts.
///
/// Only `BadDeviceToken` can be confirmed; a token that does not match its topic is a configuration mistake.
public struct Suspicion: Equatable, Sendable {
  /// The times of the first and the last answer that count, in milliseconds since the epoch.
  public var firstAt: Int64
  public var lastAt: Int64
  /// When the last of these pushes was sent.
  public var lastSentAt: Int64
  public var count: Int64
  /// APNs' reason in the last answer.
  public var reason: String
  /// True if the last answer would have proved the token invalid outside a wave.
  public var isHeld: Bool

  public init(
    firstAt: Int64, lastAt: Int64, lastSentAt: Int64, count: Int64, reason: String,
    isHeld: Bool = false
  ) {
    self.isHeld = isHeld
    self.firstAt = firstAt
    self.lastAt = lastAt
    self.lastSentAt = lastSentAt
    self.count = count
    self.reason = reason
  }

  /// The least time between two answers that confirm each other, in milliseconds.
  public static let confirmingInterval: Int64 = 24 * 3_600_000
  /// How long an answer waits for another one that confirms it, in milliseconds.
  public static let memory: Int64 = 365 * 86_400_000

  /// The suspicion after another answer. Answers from before a registration, or from a wave, no longer count.
  ///
  /// - Parameters:
  ///   - known: the suspicion so far.
  ///   - registeredAt: the device's newest registration.
  ///   - waves: the waves of its app and environment.
  /// - Returns: nil when the answer raises no suspicion: it is already known, or older than the registration.
  public static func cast(
    at time: Int64, sentAt: Int64, reason: String, known: Suspicion?, registeredAt: Int64?,
    waves: [BadTokenWave]
  ) -> Suspicion? {
    if let registeredAt, registeredAt >= time { return nil }
    let new = Suspicion(firstAt: time, lastAt: time, lastSentAt: sentAt, count: 1, reason: reason)
    guard let known else { return new }
    guard known.lastAt < time else { return nil }
    guard known.firstAt > registeredAt ?? .min, known.reason == reason,
      !waves.contains(where: { $0.holds(known.firstAt) })
    else { return new }
    return Suspicion(
      firstAt: known.firstAt, lastAt: time, lastSentAt: max(sentAt, known.lastSentAt),
      count: known.count + 1, reason: reason)
  }

  /// The suspicion after an answer that would have proved the token invalid outside a wave; nil when the answer is
  /// already known.
  public static func held(_ mark: DeviceState.Mark, known: Suspicion?) -> Suspicion? {
    let new = Suspicion(
      firstAt: mark.recordedAt, lastAt: mark.recordedAt, lastSentAt: mark.since, count: 1,
      reason: mark.reason, isHeld: true)
    guard let known, known.reason == mark.reason else { return new }
    guard known.lastAt < mark.recordedAt else { return nil }
    return Suspicion(
      firstAt: known.firstAt, lastAt: mark.recordedAt,
      lastSentAt: max(mark.since, known.lastSentAt), count: known.count + 1, reason: mark.reason,
      isHeld: true)
  }

  /// The mark to publish when the last answer is believed after all.
  public var mark: DeviceState.Mark {
    DeviceState.Mark(
      since: lastSentAt,
      aliveFrom: TokenInvalidation.earliestRevival(timestamp: nil, sentAt: lastSentAt),
      reason: reason, recordedAt: lastAt)
  }

  /// True if the token is now proved invalid.
  ///
  /// - Parameters:
  ///   - now: the time up to which all answers are known, in milliseconds since the epoch.
  ///   - waves: the waves of the device's app and environment.
  public func isConfirmed(now: Int64, registeredAt: Int64?, waves: [BadTokenWave]) -> Bool {
    // Whether the last answer belongs to a wave is known only later.
    reason == "BadDeviceToken" && lastAt - firstAt >= Self.confirmingInterval
      && now - lastAt >= BadTokenWave.window && (registeredAt ?? .min) < firstAt
      && !waves.contains { $0.holds(firstAt) || $0.holds(lastAt) }
  }
}
