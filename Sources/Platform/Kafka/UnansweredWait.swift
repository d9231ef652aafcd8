// SPDX-License-Identifier: Apache-2.0

/// For how long the oldest of a producer's records has been without an answer, without a time for each record.
///
/// A look marks the records that wait then. While one of them still waits, the oldest record has waited at least since
/// that look; when none does, the next look marks those of its own time. So a record costs one comparison, and the wait
/// that is told is too short by no more than the one before it.
struct UnansweredWait {
  /// Between two looks at most so many milliseconds count: in what was longer nobody took the answers.
  static let longestStep: UInt64 = 1_000

  /// Marked are the records before this one.
  private var next: UInt64 = 0
  /// How many of them have no answer.
  private var count = 0
  private var wait: UInt64 = 0
  private var lookedAt: UInt64 = 0

  /// A record has its answer.
  @inline(__always)
  mutating func answered(_ sequence: UInt64) {
    if sequence < next { count -= 1 }
  }

  /// To be called with every turn that has taken the answers.
  ///
  /// - Parameters:
  ///   - next: the number that the next record gets.
  ///   - count: of the records without an answer.
  ///   - now: monotonic milliseconds.
  /// - Returns: milliseconds; 0 while none of the marked ones waits.
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
