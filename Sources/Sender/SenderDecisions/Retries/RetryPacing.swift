// SPDX-License-Identifier: Apache-2.0

public import Contract

/// Says when the records of one partition of a retry topic go out again: each a tier's delay after it was
/// written, and what failed together not all at once.
///
/// A tier is first in, first out, so records cannot be due at random times of their own. Instead there are random
/// gaps between those that are due together, and the gaps become shorter: the n-th follows the one before after
/// 1/(100 + n) seconds on average. So N due records of a partition go out within ln(1 + N/100) seconds or so, 2.4 s for a
/// thousand and 9.2 s for a million: slow enough to find out with few whether the destination is well, and soon as
/// fast as the sender takes them. A single one is hardly delayed. Nobody has to know how many wait.
///
/// While the line is empty, or the sender is what is slow, n falls by its own size each second. So a steady
/// stream of retries goes at its own pace, and a wave after a pause begins slowly again.
///
/// When a record was written is what its writer's clock said, or anything at all: anyone may have written it, and
/// clocks are set. So no record waits longer for it than the tier's delay from when it is read, and what
/// is due is told in monotonic time, which no step of the clock moves.
public struct RetryPacing: Sendable {
  /// The most that a loop may be behind with what is due before the pace starts again, in milliseconds.
  private static let slack: Int64 = 100
  /// Records each second with which a wave begins.
  public static let first: Int64 = 100
  /// Records each second beyond which there are no gaps worth the name.
  private static let fastest: Int64 = 1_000_000

  private let delay: Int64
  /// When the next record may go, in monotonic microseconds.
  private var nextAt: Int64 = 0
  /// Records of this wave so far: n.
  private var wave: Int64 = 0
  /// The last record: when it was written (time of day), and when it was due without its gap (monotonic).
  private var last: (written: Int64, due: Int64)?

  public init(_ tier: RetryTier) { delay = tier.delay }

  /// When a record goes, in monotonic milliseconds.
  ///
  /// - Parameters:
  ///   - written: the record's timestamp, in milliseconds since the epoch; any value is possible.
  ///   - wall: the time of day, as `written`.
  ///   - now: monotonic milliseconds.
  ///   - random: any 64 random bits.
  public mutating func pace(
    written: Int64, wall: Int64, now: UInt64, random: UInt64
  ) -> UInt64 {
    let due = due(written, wall: wall, now: Int64(now))
    last = (written, due)
    let pause = due * 1_000 - nextAt
    if pause > 0 {
      wave -= pause >= 1_000_000 ? wave : wave * pause / 1_000_000
      nextAt = due * 1_000
    }
    let at = nextAt
    let mean = 1_000_000 / (Self.first + wave)
    nextAt += Int64(random % UInt64(2 * mean + 1))
    wave = min(wave + 1, Self.fastest)
    return UInt64(max(0, at / 1_000))
  }

  private func due(_ written: Int64, wall: Int64, now: Int64) -> Int64 {
    if written <= wall {
      // Records that are overdue anyway (after a stop) are paced from now on, not from when they were due.
      let isOverdue = written < wall - delay - Self.slack
      return now + (isOverdue ? -Self.slack : delay - (wall - written))
    }
    // From the future: a clock was set back, or lies. What was written soon after another such record is due
    // soon after it.
    guard let last else { return now + delay }
    let (apart, overflows) = written.subtractingReportingOverflow(last.written)
    guard !overflows, apart < delay else { return now + delay }
    return min(now + delay, last.due + max(0, apart))
  }
}
