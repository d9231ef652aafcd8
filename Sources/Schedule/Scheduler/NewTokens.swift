// SPDX-License-Identifier: Apache-2.0
import Store

/// Recently registered update tokens of activities that may have missed the last state. Times are milliseconds since
/// the epoch.
struct NewTokens {
  /// The most tokens checked at once; the newest are preferred.
  static let most = 10_000
  /// How far back registrations are checked: they reach the database some time after they were made.
  private static let window: Int64 = 120_000
  /// The same for the first check, which covers the time when no process was running.
  private static let firstWindow: Int64 = 900_000
  /// How long a token waits for a state that was sent just before its registration.
  static let patience: Int64 = 10_000

  private var firstSeen: [ActivityToken: Int64] = [:]
  private var done: Set<ActivityToken> = []
  private var isFirst = true

  /// The time after which registrations are wanted.
  func since(_ now: Int64) -> Int64 { now - (isFirst ? Self.firstWindow : Self.window) }

  /// - Parameter found: all registrations since then.
  /// - Returns: those that are new, and when each was first seen.
  mutating func look(
    _ found: [ActivityToken], wall now: Int64
  ) -> [(token: ActivityToken, firstSeen: Int64)] {
    isFirst = false
    firstSeen = Dictionary(
      found.map { ($0, firstSeen[$0] ?? now) }, uniquingKeysWith: { first, _ in first })
    done.formIntersection(firstSeen.keys)
    return firstSeen.compactMap { token, time in
      now - time <= Self.patience && !done.contains(token) ? (token, time) : nil
    }
  }

  mutating func served(_ token: ActivityToken) { done.insert(token) }
}
