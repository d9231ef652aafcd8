// SPDX-License-Identifier: Apache-2.0

package import Pipeline

/// Says when the records of one partition of a retry topic go out again: each a tier's delay after it was
/// written, and what failed together spread over some time, so that it does not come back together.
///
/// A tier is first in, first out, so records cannot be due at random times of their own. Instead there are
/// random gaps between them, on average the tier's spread divided by what waits: a fault's thousand records
/// come back evenly over the spread, a single one nearly at once.
///
/// When a record was written is what its writer's clock said, or anything at all: anyone may have written it, and
/// clocks are set. So no record waits longer for it than the tier's delay from when it is read, and what
/// is due is told in monotonic time, which no step of the clock moves.
package struct RetryPacing: Sendable {
  /// How far behind a loop may be with what is due before the pace begins anew, in milliseconds.
  private static let slack: Int64 = 100

  /// Over how many milliseconds the records that wait are spread: a fifth of the tier's delay, 10 s at most.
  package let spread: Int64
  private let delay: Int64
  /// When the next record may go, in monotonic microseconds.
  private var nextAt: Int64 = 0
  /// The last record: when it was written (time of day), and when it was due without its gap (monotonic).
  private var last: (written: Int64, due: Int64)?

  package init(_ tier: RetryTier) {
    delay = tier.delay
    spread = min(tier.delay / 5, 10_000)
  }

  /// When a record goes, in monotonic milliseconds.
  ///
  /// - Parameters:
  ///   - written: the record's timestamp, in milliseconds since the epoch; any value is possible.
  ///   - waiting: records that wait behind it in its partition.
  ///   - wall: the time of day, as `written`.
  ///   - now: monotonic milliseconds.
  ///   - random: any 64 random bits.
  package mutating func release(
    written: Int64, waiting: Int, wall: Int64, now: UInt64, random: UInt64
  ) -> UInt64 {
    let due = due(written, wall: wall, now: Int64(now))
    last = (written, due)
    let earliest = max(nextAt, due * 1_000)
    // The mean gap for a line of this length; a record alone waits up to a quarter of the spread.
    let mean = spread * 1_000 / Int64(max(8, waiting + 1))
    let gap = Int64(random % UInt64(2 * mean + 1))
    nextAt = earliest + gap
    return UInt64(max(0, nextAt / 1_000))
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
