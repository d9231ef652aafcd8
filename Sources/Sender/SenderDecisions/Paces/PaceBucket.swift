// SPDX-License-Identifier: Apache-2.0

/// A token bucket: how many pushes may go now at a rate. It begins empty, so that neither a start nor a partition that
/// changes its owner makes a burst. All times are monotonic milliseconds.
struct PaceBucket: Sendable {
  /// It holds one push and what comes in so many milliseconds: enough for a thread that wakes late, and with 1 to 4 loops
  /// less than 1 % of ten seconds at 137/s.
  static let depth: Double = 60
  /// It catches up on so many milliseconds in which its thread did not run although pushes waited: then nothing is faster
  /// than the rate. After a rest it does not.
  static let longestStall: Double = 1_000

  /// Pushes in a millisecond.
  private(set) var rate: Double = 0
  private(set) var tokens: Double = 0
  /// All were taken, and more pushes may have waited since.
  private var isExhausted = false
  /// When it was last filled, in monotonic milliseconds.
  private var at: UInt64

  init(now: UInt64) { at = now }

  private var burst: Double { 1 + rate * Self.depth }

  /// Another rate from now on, with an empty bucket.
  mutating func set(_ rate: Double, now: UInt64) {
    self.rate = rate
    tokens = 0
    isExhausted = false
    at = now
  }

  mutating func fill(now: UInt64) {
    guard now > at else { return }
    let most = isExhausted ? max(burst, rate * Self.longestStall) : burst
    tokens = min(most, tokens + rate * Double(now - at))
    at = now
    if tokens >= 1 { isExhausted = false }
  }

  /// Pushes that may go; negative when more went than there was room for.
  var room: Int { Int(tokens.rounded(.down)) }

  /// One went.
  mutating func take() {
    tokens -= 1
    if tokens < 1 { isExhausted = true }
  }

  /// One that was counted has not gone after all.
  mutating func giveBack() { tokens = min(burst, tokens + 1) }

  /// When there is room for so many, in monotonic milliseconds; nil if there is, or never will be.
  func time(of count: Int) -> UInt64? {
    let missing = Double(count) - tokens
    guard missing > 0, rate > 0, Double(count) <= burst else { return nil }
    return at + UInt64(min(missing / rate, 86_400_000).rounded(.up))
  }
}
