// SPDX-License-Identifier: Apache-2.0

package import Pipeline

/// Spreads the retries of one partition of a retry topic over some time, so that what failed together does not
/// come back together.
///
/// A tier is first in, first out, so records cannot be due at random times of their own. Instead there are
/// random gaps between them, on average the tier's spread divided by what waits: a fault's thousand records
/// come back evenly over the spread, a single one nearly at once. Times are milliseconds since the epoch.
package struct RetryPacing: Sendable {
  /// Over how many milliseconds the records that wait are spread: a fifth of the tier's delay, 10 s at most.
  package let spread: Int64
  /// When the next record may go, in microseconds.
  private var nextAt: Int64 = 0

  package init(_ tier: RetryTier) {
    spread = min(tier.delay / 5, 10_000)
  }

  /// When a record goes that is due at `due`.
  ///
  /// - Parameters:
  ///   - waiting: records that wait behind it in its partition.
  ///   - random: any 64 random bits.
  package mutating func release(due: Int64, waiting: Int, now: Int64, random: UInt64) -> Int64 {
    // Records that are overdue anyway (after a stop) are paced from now on, not from when they were due.
    let earliest = max(nextAt, max(due, now - 100) * 1_000)
    // The mean gap for a line of this length; a record alone waits up to a quarter of the spread.
    let mean = spread * 1_000 / Int64(max(8, waiting + 1))
    let gap = Int64(random % UInt64(2 * mean + 1))
    nextAt = earliest + gap
    return nextAt / 1_000
  }
}
