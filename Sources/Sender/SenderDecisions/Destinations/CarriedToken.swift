// SPDX-License-Identifier: Apache-2.0

internal import Contract

/// The provider token that one connection carries. Tokens only go forward, and no connection sees two of them within 20
/// minutes.
struct CarriedToken: Sendable {
  /// A connection may change its token only this often, in milliseconds: APNs' 20 minutes, and one more for a clock that
  /// is set forward meanwhile.
  private static let shortestUse: Int64 = 21 * 60 * 1_000

  /// nil while none was chosen.
  private(set) var stamp: ProviderTokenStamp?
  /// True if a push went out with it.
  private var isUsed = false
  /// When one first did, in milliseconds since the epoch: APNs counts from there.
  private var usedSince: Int64 = 0

  /// A push goes out with it.
  mutating func goesOut(now: Int64) {
    guard !isUsed else { return }
    isUsed = true
    usedSince = now
  }

  /// Chooses the token for the next push, at a time in milliseconds since the epoch.
  mutating func choose(
    _ newest: ProviderTokenStamp, now: Int64
  ) -> ConnectionStateMachine.TokenChoice {
    guard let stamp else {
      // Nothing to lose: a connection that has not sent anything yet waits for a usable token.
      return newest.isUsable(now: now) ? change(to: newest) : .none
    }
    if newest > stamp, newest.isUsable(now: now),
      !isUsed || now - usedSince >= Self.shortestUse
    {
      return change(to: newest)
    }
    return stamp.isUsable(now: now) ? .current : .none
  }

  private mutating func change(
    to newest: ProviderTokenStamp
  ) -> ConnectionStateMachine.TokenChoice {
    stamp = newest
    isUsed = false
    return .newest
  }
}
