// SPDX-License-Identifier: Apache-2.0

/// Answers that a token is bad: the token may be, or our own configuration.
///
/// One such answer proves nothing. Two that are a day apart do, if both came while such answers were rare for the
/// app and environment. More than that is a wave: a circuit breaker opens, the cause is ours (sandbox tokens sent to
/// production, a wrong topic), and nothing of the wave counts.
///
/// Only `BadDeviceToken` can be confirmed; that a token is not for its topic is a mistake of configuration.
public struct Suspicion: Equatable, Sendable {
  /// The first and the last answer that count, milliseconds since the epoch.
  public var firstAt: Int64
  public var lastAt: Int64
  /// When the last of these pushes was sent.
  public var lastSentAt: Int64
  public var count: Int64
  /// APNs' reason in the last answer.
  public var reason: String

  public init(firstAt: Int64, lastAt: Int64, lastSentAt: Int64, count: Int64, reason: String) {
    self.firstAt = firstAt
    self.lastAt = lastAt
    self.lastSentAt = lastSentAt
    self.count = count
    self.reason = reason
  }

  /// How far apart two answers are that confirm each other, in milliseconds.
  public static let confirmingInterval: Int64 = 24 * 3_600_000

  /// The suspicion after another answer. Answers from before a registration, or from a wave, no longer count.
  ///
  /// - Parameters:
  ///   - known: the suspicion so far.
  ///   - registeredAt: the device's newest registration.
  ///   - waves: of its app and environment.
  /// - Returns: nil when the answer casts none: it is one we know, or older than the registration.
  public static func cast(
    at time: Int64, sentAt: Int64, reason: String, known: Suspicion?, registeredAt: Int64?,
    waves: [BadTokenWave]
  ) -> Suspicion? {
    if let registeredAt, registeredAt >= time { return nil }
    let new = Suspicion(firstAt: time, lastAt: time, lastSentAt: sentAt, count: 1, reason: reason)
    guard let known else { return new }
    guard known.lastAt < time else { return nil }
    guard known.firstAt > registeredAt ?? .min, known.reason == reason,
      !waves.contains(where: { $0.covers(known.firstAt) })
    else { return new }
    return Suspicion(
      firstAt: known.firstAt, lastAt: time, lastSentAt: max(sentAt, known.lastSentAt),
      count: known.count + 1, reason: reason)
  }

  /// Whether the token is dead by now.
  ///
  /// - Parameters:
  ///   - now: all answers until then are known, milliseconds since the epoch.
  ///   - waves: of the device's app and environment.
  public func isConfirmed(now: Int64, registeredAt: Int64?, waves: [BadTokenWave]) -> Bool {
    // Whether the last answer belongs to a wave shows a while later.
    reason == "BadDeviceToken" && lastAt - firstAt >= Self.confirmingInterval
      && now - lastAt >= BadTokenWave.window && (registeredAt ?? .min) < firstAt
      && !waves.contains { $0.covers(firstAt) || $0.covers(lastAt) }
  }
}

/// A time in which an abnormal number of tokens of one app and environment was called bad: the circuit breaker is
/// open, and no answer of that time counts.
public struct BadTokenWave: Equatable, Sendable {
  /// Milliseconds since the epoch.
  public let from: Int64
  public private(set) var until: Int64

  /// The rate is taken over so many milliseconds, and the breaker stays open for as long after the last excess.
  public static let window: Int64 = 3_600_000

  public init(from: Int64, until: Int64) {
    self.from = from
    self.until = until
  }

  /// Whether the breaker was open then.
  public func covers(_ time: Int64) -> Bool { from <= time && time <= until }

  /// What the rate at a time makes of the newest wave.
  ///
  /// - Parameters:
  ///   - devices: how many devices were called bad in the window before `time`.
  ///   - limit: how many of them are normal.
  ///   - newest: the newest wave of the app and environment.
  /// - Returns: the wave that goes on or begins; nil when the rate is normal.
  public static func after(
    devices: Int, limit: Int, at time: Int64, newest: BadTokenWave?
  ) -> BadTokenWave? {
    guard devices > limit else { return nil }
    guard var wave = newest, wave.covers(time) else {
      return BadTokenWave(from: time - window, until: time + window)
    }
    wave.until = max(wave.until, time + window)
    return wave
  }

  /// What most likely causes it, for the alarm.
  ///
  /// - Parameters:
  ///   - reason: the reason that most of the answers have.
  ///   - environment: where the pushes were sent, `production` or `sandbox`.
  ///   - foreign: how many of the devices are registered for the other environment.
  public static func likelyCause(reason: String, environment: String, foreign: Int) -> String {
    guard reason == "BadDeviceToken" else {
      return "the tokens belong to another app: the app or topic of the requests is wrong, or the"
        + " registrations mix two apps"
    }
    let other = environment == "production" ? "sandbox" : "production"
    let evidence = foreign > 0 ? " (\(foreign) of them are registered for \(other))" : ""
    return
      "\(other) tokens sent to \(environment)\(evidence): requests name the wrong environment, or a"
      + " development build registers as \(environment)"
  }
}
