// SPDX-License-Identifier: Apache-2.0
import Store

/// Update tokens of activities that have been registered lately: which of them may have missed the last state. Times are
/// milliseconds since the epoch.
struct NewTokens {
  /// Tokens that are looked at at once: of more the newest.
  static let most = 10_000
  /// Registrations of so long before are looked at: they come to the database some time after they were made.
  private static let window: Int64 = 120_000
  /// The same at the beginning: what came while nobody looked.
  private static let firstWindow: Int64 = 900_000
  /// For so long a token waits for the state that was sent just before it came.
  static let patience: Int64 = 10_000

  private var firstSeen: [ActivityToken: Int64] = [:]
  private var done: Set<ActivityToken> = []
  private var isFirst = true

  init() {}

  /// Registrations after this time are wanted.
  func since(_ now: Int64) -> Int64 { now - (isFirst ? Self.firstWindow : Self.window) }

  /// - Parameter found: all registrations since then.
  /// - Returns: those that are new, with when each was seen first.
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
