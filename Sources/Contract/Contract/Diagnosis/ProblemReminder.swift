// SPDX-License-Identifier: Apache-2.0

/// When a problem that may resolve itself is reported to the operator: soon after it begins, repeatedly while it lasts,
/// and when it is resolved.
public struct ProblemReminder: Sendable, Equatable {
  public enum Step: Sendable, Equatable {
    case nothing
    case report
    case reportResolved
  }

  /// Before the first report, in milliseconds, unless `init` says otherwise: most problems resolve themselves within
  /// this time.
  public static let quiet: UInt64 = 1_000
  /// Between two reminders, in milliseconds, unless `init` says otherwise.
  public static let interval: UInt64 = 30_000

  private let quiet: UInt64
  private let interval: UInt64
  private var nextAt: UInt64?
  private var wasReported = false

  public init(quiet: UInt64 = Self.quiet, interval: UInt64 = Self.interval) {
    self.quiet = quiet
    self.interval = interval
  }

  /// Call it once per turn.
  public mutating func step(isFailing: Bool, now: UInt64) -> Step {
    guard isFailing else {
      defer { (nextAt, wasReported) = (nil, false) }
      return wasReported ? .reportResolved : .nothing
    }
    let due = nextAt ?? now + quiet
    nextAt = due
    guard now >= due else { return .nothing }
    nextAt = now + interval
    wasReported = true
    return .report
  }
}
