// SPDX-License-Identifier: Apache-2.0

/// Bounds frames that make work and move nothing: PING, SETTINGS, RST_STREAM, empty DATA, frames for streams that are
/// closed, interim answers and what this client does not know. A peer may send a burst of them, and some for each answer and each second;
/// one that sends more ends with ENHANCE_YOUR_CALM (RFC 9113 §10.5).
struct NoiseBudget {
  static let burst = 2_000
  static let perSecond = 20
  static let perAnswer = 4

  private var left = Self.burst
  private var second: UInt64 = 0

  /// Counts an answer.
  @inline(__always)
  mutating func answered() {
    if left < Self.burst { left += Self.perAnswer }
  }

  /// Counts a request that was given up after it was written: its answer may be on the way, in as many frames.
  mutating func gaveUp() { left += Self.perAnswer }

  /// Takes note of the time, in milliseconds.
  @inline(__always)
  mutating func time(_ now: UInt64) {
    let now = now / 1_000
    guard now > second else { return }
    let passed = Int(min(now - second, UInt64(Self.burst)))
    if second != 0, left < Self.burst { left = min(left + passed * Self.perSecond, Self.burst) }
    second = now
  }

  mutating func spend(_ what: @autoclosure () -> String) throws(ConnectionError) {
    left -= 1
    guard left >= 0 else { throw ConnectionError(.enhanceYourCalm, "too many \(what())") }
  }
}
