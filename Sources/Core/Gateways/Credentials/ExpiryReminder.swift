// SPDX-License-Identifier: Apache-2.0
import Diagnosis

/// When an operator is told that something with a date of its own, such as a certificate, ends soon or has ended. Each
/// of the two has its own pace: that it was said yesterday that the end is near does not keep back that it has come.
public struct ExpiryReminder: Sendable, Equatable {
  public enum Notice: Sendable, Equatable {
    /// Whole days are left.
    case expiresSoon(days: Int)
    case expired
  }

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
  ///   - now: monotonic milliseconds.
  public mutating func step(expiresAt: Int64, wall: Int64, now: UInt64) -> Notice? {
    let isOver = expiresAt <= wall
    let days = CertificateBook.days(from: wall, to: expiresAt)
    let isSoon = !isOver && days < CertificateBook.warningDays
    let warning = soon.step(isFailing: isSoon, now: now)
    if over.step(isFailing: isOver, now: now) == .report { return .expired }
    return warning == .report ? .expiresSoon(days: days) : nil
  }
}
