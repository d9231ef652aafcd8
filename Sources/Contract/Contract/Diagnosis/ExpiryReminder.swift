// SPDX-License-Identifier: Apache-2.0

/// When an operator is told that something with a date of its own, such as a certificate, ends soon or has ended. Each
/// of the two has its own pace: that it was said yesterday that the end is near does not keep back that it has come.
public struct ExpiryReminder: Sendable, Equatable {
  public enum Notice: Sendable, Equatable {
    /// Whole days are left.
    case expiresSoon(days: Int)
    case expired
  }

  /// Days before the end from which on it is worth a warning.
  public static let warningDays = 30
  /// Between two warnings, in milliseconds.
  public static let warningInterval: UInt64 = 86_400_000
  /// Between two errors, in milliseconds.
  public static let errorInterval: UInt64 = 3_600_000

  private var soon = ProblemReminder(quiet: 0, interval: warningInterval)
  private var over = ProblemReminder(quiet: 0, interval: errorInterval)

  public init() {}

  /// - Parameters:
  ///   - expiresAt: its end, in seconds since the epoch.
  ///   - wall: now, likewise.
  public mutating func step(expiresAt: Int64, wall: Int64, now: UInt64) -> Notice? {
    let isOver = expiresAt <= wall
    let days = Self.days(from: wall, to: expiresAt)
    let isSoon = !isOver && days < Self.warningDays
    let warning = soon.step(isFailing: isSoon, now: now)
    if over.step(isFailing: isOver, now: now) == .report { return .expired }
    return warning == .report ? .expiresSoon(days: days) : nil
  }

  /// The time since something expired, in words: in days from the first whole one on, else in hours or minutes.
  /// Both times in seconds.
  public static func age(from end: Int64, to now: Int64) -> String {
    let seconds = max(0, now - end)
    let (count, unit) =
      seconds >= 86_400
      ? (seconds / 86_400, "day")
      : seconds >= 3_600 ? (seconds / 3_600, "hour") : (seconds / 60, "minute")
    return count == 0 ? "less than a minute" : "\(count) \(unit)\(count == 1 ? "" : "s")"
  }

  /// Whole days from one time to another, rounded down; both in seconds.
  public static func days(from now: Int64, to end: Int64) -> Int {
    let seconds = end - now
    return Int(seconds >= 0 ? seconds / 86_400 : (seconds - 86_399) / 86_400)
  }
}
