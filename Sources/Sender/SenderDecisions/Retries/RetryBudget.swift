// SPDX-License-Identifier: Apache-2.0

/// Bounds the prompt retries of one destination to a share of what is sent to it (a token bucket), so that
/// failures do not multiply the load on a gateway that already fails.
///
/// What the budget refuses goes to a retry topic instead. Known-unprocessed pushes are not charged.
public struct RetryBudget: Sendable {
  /// Prompt retries that a destination has at its start.
  public static let initial = 32
  /// The most that can be saved up.
  public static let most = 1_000
  /// Hundredths of a retry that come with every second, for destinations that send little.
  private static let perSecond = 100

  /// Hundredths of a retry.
  var saved: Int
  /// Hundredths of a retry that each first send earns: the share in percent.
  let share: Int
  private var filledAt: UInt64?

  /// Whole retries that are left, as of the last use.
  public var left: Int { saved / 100 }

  /// - Parameter percent: prompt retries for 100 first sends.
  public init(percent: Int = 20) {
    precondition((0...1_000).contains(percent))
    share = percent
    saved = percent == 0 ? 0 : Self.initial * 100
  }

  /// A push was sent for the first time.
  public mutating func sent() {
    if saved < Self.most * 100 { saved += share }
  }

  /// True if a push may be sent again at once; charges the budget if so.
  ///
  /// - Parameter now: monotonic milliseconds.
  public mutating func spend(now: UInt64) -> Bool {
    guard share > 0 else { return false }
    if let filledAt, now > filledAt {
      let seconds = Int(min(now - filledAt, 10_000_000))
      saved = min(max(saved, Self.initial * 100), saved + seconds * Self.perSecond / 1_000)
    }
    filledAt = now
    guard saved >= 100 else { return false }
    saved -= 100
    return true
  }
}
