// SPDX-License-Identifier: Apache-2.0

/// A period in which abnormally many tokens of one app and environment were reported bad or unregistered: the circuit
/// breaker is open, and no answer of that period invalidates a token until the wave is decided.
public struct BadTokenWave: Equatable, Sendable {
  public enum Verdict: String, Sendable {
    /// Its answers count like any other.
    case released
    /// Its answers never count.
    case rejected
  }

  /// The decision about the wave, by an operator or by evidence.
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
  /// The decision; nil while its answers wait.
  public var decision: Decision?

  /// The period of the rate, in milliseconds; the breaker stays open for as long after the last excess.
  public static let window: Int64 = 3_600_000
  /// The longer period of the rate, and how long a decision holds for a wave that continues, in milliseconds.
  public static let day: Int64 = 86_400_000

  public init(from: Int64, until: Int64, decision: Decision? = nil) {
    self.from = from
    self.until = until
    self.decision = decision
  }

  /// True if the breaker was open at that time.
  public func covers(_ time: Int64) -> Bool { from <= time && time <= until }

  /// True if an answer of that time does not count as evidence.
  public func holds(_ time: Int64) -> Bool { covers(time) && decision?.verdict != .released }

  /// The newest wave, given the rate at a time. A decision holds for a wave that continues, but only for a day.
  ///
  /// - Parameters:
  ///   - devices: the devices reported bad in the span before `time`.
  ///   - limit: the number that is normal.
  ///   - span: the span in milliseconds.
  ///   - newest: the newest wave of the app and environment that covers `time`, or that began before.
  ///   - next: when the first wave after `time` begins, which may be decided otherwise; nil for none.
  /// - Returns: the wave that continues or begins; nil when the rate is normal.
  public static func after(
    devices: Int, limit: Int, at time: Int64, within span: Int64 = window, newest: BadTokenWave?,
    next: Int64? = nil
  ) -> BadTokenWave? {
    guard devices > limit else { return nil }
    let end = min(time + window, next.map { $0 - 1 } ?? .max)
    guard var wave = newest, wave.covers(time) else {
      // A decided wave keeps its decision.
      let earliest = newest.map { $0.until < time ? $0.until + 1 : .min } ?? .min
      return BadTokenWave(from: max(time - span, earliest), until: end)
    }
    if let decision = wave.decision, time - decision.at > day {
      return BadTokenWave(from: time, until: end)
    }
    wave.until = max(wave.until, end)
    return wave
  }

  /// The time with the most of these times in the span before it, and their number; nil without any.
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

/// The most tokens of one app and environment that may be reported unregistered in an hour and in a day, from what is
/// normal for the app.
///
/// A share of the app's devices is not a usable norm: 2 % of a million devices leaves room for 20,000 forged answers.
/// So a wave exceeds both the fixed limit (three times that per day) and twice the busiest hour (or day) of the last
/// four weeks. That period ends a day ago and excludes waves that nobody has released: a repeated wave is still a wave.
/// A campaign to devices not pushed for long is one, too: its answers wait for `WaveEvidence` or an operator.
public struct UnregisteredNorm: Sendable, Equatable {
  /// The multiple of the busiest hour or day that still counts as normal.
  public static let factor = 2
  /// The multiple of the hourly limit that is always normal for a day.
  public static let floorsPerDay = 3
  /// The age range in which the busiest hour and day are searched, in milliseconds.
  public static let past: ClosedRange<Int64> = 86_400_000...2_419_200_000

  public let hour: Int
  public let day: Int

  /// - Parameters:
  ///   - floor: the number that is always normal within an hour.
  ///   - busiestHour: devices reported unregistered in the busiest hour of `past`.
  ///   - busiestDay: the same for the busiest day.
  public init(floor: Int, busiestHour: Int, busiestDay: Int) {
    hour = max(floor, Self.times(busiestHour, Self.factor))
    day = max(hour, Self.times(floor, Self.floorsPerDay), Self.times(busiestDay, Self.factor))
  }

  private static func times(_ count: Int, _ factor: Int) -> Int {
    let (product, overflows) = count.multipliedReportingOverflow(by: factor)
    return overflows ? .max : product
  }
}

/// Evidence that the devices of a wave are alive, compared with the app's other devices.
///
/// Apps register at each launch, so devices in use register again at the same rate as all the others, and devices that
/// are gone never do. A wave is believed without an operator if its devices show less than a tenth of the registrations
/// expected, and the expected number is too large for chance. If an app's devices never register again, there is no
/// evidence: its waves wait for an operator.
public struct WaveEvidence: Sendable, Equatable {
  /// Registered devices that the wave reported invalid, and how many of them have registered since.
  public var held: Int
  public var heldValid: Int
  /// Devices of the app registered before the wave, and how many of them have registered since.
  public var known: Int
  public var knownValid: Int

  /// The least number of expected registrations at which their absence proves anything.
  public static let leastExpected = 20
  /// The divisor of the expected registrations below which the devices count as gone.
  public static let fewest = 10
  /// The least age of a wave that is believed, in milliseconds.
  public static let leastAge = BadTokenWave.day

  public init(held: Int, heldValid: Int, known: Int, knownValid: Int) {
    self.held = held
    self.heldValid = heldValid
    self.known = known
    self.knownValid = knownValid
  }

  /// The number of the wave's devices that would have registered again if they were used like the others.
  public var expected: Int {
    guard known > 0 else { return 0 }
    return known.dividingFullWidth(held.multipliedFullWidth(by: min(knownValid, known))).quotient
  }

  /// True if the answers of a wave of this age count as true.
  public func isBelieved(age: Int64) -> Bool {
    age >= Self.leastAge && expected >= Self.leastExpected && heldValid < expected / Self.fewest
  }
}
