// SPDX-License-Identifier: Apache-2.0

/// A time in which an abnormal number of tokens of one app and environment was called bad or unregistered: the circuit
/// breaker is open, and no answer of that time makes a token invalid until the wave is decided.
public struct BadTokenWave: Equatable, Sendable {
  public enum Verdict: String, Sendable {
    /// Its answers count as any other.
    case released
    /// Its answers never count.
    case rejected
  }

  /// The operator's decision about the wave, or that of the evidence.
  public struct Decision: Equatable, Sendable {
    public var verdict: Verdict
    /// Milliseconds since the epoch.
    public var at: Int64

    public init(_ verdict: Verdict, at: Int64) {
      self.verdict = verdict
      self.at = at
    }
  }

  /// Milliseconds since the epoch.
  public let from: Int64
  public private(set) var until: Int64
  /// nil: its answers wait.
  public var decision: Decision?

  /// The rate is taken over so many milliseconds, and the breaker stays open for as long after the last excess.
  public static let window: Int64 = 3_600_000
  /// The longer time over which the rate is taken, and for how long a decision holds for a wave that goes on, in
  /// milliseconds.
  public static let day: Int64 = 86_400_000

  public init(from: Int64, until: Int64, decision: Decision? = nil) {
    self.from = from
    self.until = until
    self.decision = decision
  }

  /// True if the breaker was open then.
  public func covers(_ time: Int64) -> Bool { from <= time && time <= until }

  /// True if an answer of that time is no evidence.
  public func holds(_ time: Int64) -> Bool { covers(time) && decision?.verdict != .released }

  /// The newest wave after the rate at a time. A decision holds for a wave that goes on, but for a day only.
  ///
  /// - Parameters:
  ///   - devices: how many devices were called bad in the span before `time`.
  ///   - limit: how many of them are normal.
  ///   - span: in milliseconds.
  ///   - newest: the newest wave of the app and environment.
  /// - Returns: the wave that goes on or begins; nil when the rate is normal.
  public static func after(
    devices: Int, limit: Int, at time: Int64, within span: Int64 = window, newest: BadTokenWave?
  ) -> BadTokenWave? {
    guard devices > limit else { return nil }
    guard var wave = newest, wave.covers(time) else {
      // What a wave has decided stays decided.
      let earliest = newest.map { $0.until < time ? $0.until + 1 : .min } ?? .min
      return BadTokenWave(from: max(time - span, earliest), until: time + window)
    }
    if let decision = wave.decision, time - decision.at > day {
      return BadTokenWave(from: time, until: time + window)
    }
    wave.until = max(wave.until, time + window)
    return wave
  }

  /// The moment at which most of some times lie within the span before it, and how many do; nil without any.
  ///
  /// - Parameter times: milliseconds since the epoch, in any order.
  public static func peak(
    of times: [Int64], within span: Int64 = window
  ) -> (at: Int64, count: Int)? {
    let times = times.sorted()
    var (first, best): (Int, (at: Int64, count: Int)?) = (0, nil)
    for (index, time) in times.enumerated() {
      while time - times[first] >= span { first += 1 }
      if index - first + 1 > best?.count ?? 0 { best = (time, index - first + 1) }
    }
    return best
  }

  /// The most likely cause, for the alarm.
  ///
  /// - Parameters:
  ///   - reason: the reason that most of the answers have.
  ///   - environment: where the pushes were sent, `production` or `sandbox`.
  ///   - foreign: how many of the devices are registered for the other environment.
  public static func likelyCause(reason: String, environment: String, foreign: Int) -> String {
    guard reason == "BadDeviceToken" || reason == "DeviceTokenNotForTopic" else {
      return
        "a campaign to devices that were not pushed for long; or the gateway, a proxy or whoever writes to the"
        + " feedback topic is wrong"
    }
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

/// The most tokens of one app and environment that may be called unregistered, by what is normal for the app: within an
/// hour and within a day.
///
/// A share of the app's devices is no norm: a fiftieth of a million devices is room for 20,000 forged answers. So a wave
/// is more than the fixed limit (a day: three times that) and more than twice the busiest hour (day) of the last four
/// weeks. That time ends a day ago, and what was in a wave that nobody has released is not part of it: a wave that
/// comes again is a wave again. A campaign to devices that were not pushed for long is one as well: its answers wait for
/// `WaveEvidence` or an operator.
public struct UnregisteredNorm: Sendable, Equatable {
  /// The multiple of the busiest hour or day that is still normal.
  public static let factor = 2
  /// The multiple of an hour's fixed limit that is always normal for a day.
  public static let floorsPerDay = 3
  /// The least and the greatest age of the busiest hour that counts, in milliseconds.
  public static let past: ClosedRange<Int64> = 86_400_000...2_419_200_000

  public let hour: Int
  public let day: Int

  /// - Parameters:
  ///   - floor: what is always normal within an hour.
  ///   - busiestHour: devices called unregistered in the busiest hour of `past`.
  ///   - busiestDay: the same of its busiest day.
  public init(floor: Int, busiestHour: Int, busiestDay: Int) {
    hour = max(floor, Self.times(busiestHour, Self.factor))
    day = max(hour, Self.times(floor, Self.floorsPerDay), Self.times(busiestDay, Self.factor))
  }

  private static func times(_ count: Int, _ factor: Int) -> Int {
    let (product, overflows) = count.multipliedReportingOverflow(by: factor)
    return overflows ? .max : product
  }
}

/// Signs of life of the devices that a wave calls invalid, beside those of the app's other devices.
///
/// Apps register at each launch. Of devices in use, as many register again as of all the others; of devices
/// that are gone, none. So a wave is believed without an operator if its devices show less than a tenth of the life that
/// was to be expected, and so much was to be expected that this is no accident. An app whose devices never register again
/// gives no evidence: its waves wait for an operator.
public struct WaveEvidence: Sendable, Equatable {
  /// Registered devices that the wave called invalid, and those of them that have registered since.
  public var held: Int
  public var heldValid: Int
  /// Devices of the app that were registered before the wave, and those of them that have registered since.
  public var known: Int
  public var knownValid: Int

  /// Registrations that have to be expected before their absence proves anything.
  public static let leastExpected = 20
  /// One of so many of the expected registrations is too little for living devices.
  public static let fewest = 10
  /// The least age of a wave that is believed, in milliseconds.
  public static let leastAge = BadTokenWave.day

  public init(held: Int, heldValid: Int, known: Int, knownValid: Int) {
    self.held = held
    self.heldValid = heldValid
    self.known = known
    self.knownValid = knownValid
  }

  /// The number of the wave's devices that would have registered again if they were in use like the others.
  public var expected: Int {
    guard known > 0 else { return 0 }
    return known.dividingFullWidth(held.multipliedFullWidth(by: min(knownValid, known))).quotient
  }

  /// True if the answers of a wave of that age are true.
  public func isBelieved(age: Int64) -> Bool {
    age >= Self.leastAge && expected >= Self.leastExpected
      && heldValid < expected / Self.fewest
  }
}
