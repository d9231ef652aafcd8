// SPDX-License-Identifier: Apache-2.0

/// A time in which an abnormal number of tokens of one app and environment was called bad or unregistered: the circuit
/// breaker is open, and no answer of that time makes a token invalid.
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

  /// The moment at which most of some times lie within the window before it, and how many do; nil without any.
  ///
  /// - Parameter times: milliseconds since the epoch, in any order.
  public static func peak(of times: [Int64]) -> (at: Int64, count: Int)? {
    let times = times.sorted()
    var (first, best): (Int, (at: Int64, count: Int)?) = (0, nil)
    for (index, time) in times.enumerated() {
      while time - times[first] >= window { first += 1 }
      if index - first + 1 > best?.count ?? 0 { best = (time, index - first + 1) }
    }
    return best
  }

  /// What most likely causes it, for the alarm.
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

/// How many tokens of one app and environment may be called unregistered within an hour, by what is normal for the app.
///
/// Apps lose devices all the time, and many of them at once when a campaign goes to devices that were not pushed for
/// long. A wrong gateway, proxy or writer of the feedback topic calls nearly all of them dead. So a wave is more than
/// the fixed limit, more than a fiftieth of the devices that are registered, and more than four times the busiest hour
/// of the last four weeks without the last day: what comes again a day later is normal.
public struct UnregisteredNorm: Sendable, Equatable {
  /// The part of the registered devices that may be called unregistered within an hour: one of so many.
  public static let registeredPerDeath = 50
  /// How many times the busiest hour is normal.
  public static let factor = 4
  /// How far back the busiest hour may lie, and how far at least, in milliseconds.
  public static let past: ClosedRange<Int64> = 86_400_000...2_419_200_000

  public let limit: Int

  /// - Parameters:
  ///   - floor: what is always normal.
  ///   - busiestHour: devices called unregistered in the busiest hour of `past`.
  ///   - registered: registered devices of the app and environment.
  public init(floor: Int, busiestHour: Int, registered: Int) {
    let (busy, overflows) = busiestHour.multipliedReportingOverflow(by: Self.factor)
    limit = max(floor, overflows ? .max : busy, registered / Self.registeredPerDeath)
  }
}
