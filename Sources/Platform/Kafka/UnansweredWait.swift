// SPDX-License-Identifier: Apache-2.0

/// Measures how long the oldest record of a producer has been unacknowledged, without a timestamp per record.
///
/// A check marks all records then outstanding. While one of them is outstanding, the oldest record has waited at least
/// since that check; when none is, the next check marks those outstanding then. So a record costs one comparison, and
/// the reported wait is too short by at most the previous one.
struct UnansweredWait {
  /// At most this many milliseconds count between two checks: during a longer gap nobody drained deliveries.
  static let longestStep: UInt64 = 1_000

  /// Records before this one are marked.
  private var next: UInt64 = 0
  /// The number of marked records that are unacknowledged.
  private var count = 0
  private var wait: UInt64 = 0
  private var lookedAt: UInt64 = 0

  @inline(__always)
  mutating func answered(_ sequence: UInt64) {
    if sequence < next { count -= 1 }
  }

  /// Call it in every turn that has drained deliveries.
  ///
  /// - Parameters:
  ///   - next: the number that the next record will get.
  ///   - count: the number of unacknowledged records.
  /// - Returns: the wait in milliseconds; 0 while no marked record is outstanding.
  mutating func look(next: UInt64, count: Int, now: UInt64) -> UInt64 {
    if self.count == 0 {
      (self.next, self.count, wait) = (next, count, 0)
    } else {
      wait += min(now - min(now, lookedAt), Self.longestStep)
    }
    lookedAt = now
    return wait
  }
}
