// SPDX-License-Identifier: Apache-2.0

package import Pipeline

/// How many of a loop's slots one destination may hold, so that one that floods, or whose gateway or
/// credential is broken, leaves room for the others.
///
/// The bound moves with what is free (dynamic thresholds, Choudhury and Hahne 1998): a destination may hold
/// at most twice as many slots as are free. One greedy destination ends up with two thirds of the slots, n of
/// them that grow together leave 1/(2n + 1), and nobody needs to know how many there are. One that came first
/// holds more until its pushes end, for slots are never taken away.
///
/// A Kafka partition is first in, first out: who leaves one destination's record there keeps everybody's
/// records behind it waiting. So a destination at its bound stops the intake only for `patience`; if
/// it stays there, what comes for it beyond the bound is moved to a retry topic, unsent and without counting an
/// attempt, until it holds less than half of its bound. A destination that is alone is never
/// moved: it waits in Kafka.
package struct SlotShare: Sendable {
  /// What to do with the next record of the destination.
  package enum Decision: UInt8, Sendable {
    /// Take it.
    case take
    /// Take nothing from Kafka for the moment.
    case wait
    /// Take it, and move it to a retry topic.
    case divert
  }

  /// How long a destination at its bound may stop the intake, in milliseconds.
  package static let patience: UInt64 = 200
  /// Slots that every destination may hold.
  package static let least = 64

  private var fullSince: UInt64?
  private var isDiverting = false

  package init() {}

  /// The slots that one destination may hold when so many are free.
  @inlinable package static func bound(free: Int) -> Int { max(least, 2 * max(0, free)) }

  /// Whether a destination takes so much of what one partition may have open that the partition would soon stop for
  /// everybody: the last eighth of that is for those who hold less than four times what is left of it, so that
  /// also many that are stuck leave some.
  ///
  /// - Parameters:
  ///   - held: what the destination holds, of all partitions: a good guess for one that is nearly full.
  ///   - left: how many more records of the partition may be taken.
  ///   - most: how many of them may be open.
  @inlinable package static func crowds(held: Int, left: Int, of most: Int) -> Bool {
    left < most / 8 && held >= min(most / 4, 4 * left)
  }

  /// Decides; to be asked once a turn, before records are taken.
  ///
  /// - Parameters:
  ///   - held: slots that the destination holds.
  ///   - bound: slots that it may hold, `bound(free:)` or fewer.
  ///   - isAlone: no other destination could be kept waiting.
  ///   - canDivert: retry topics take records.
  ///   - now: monotonic milliseconds.
  package mutating func decide(
    held: Int, bound: Int, isAlone: Bool, canDivert: Bool, now: UInt64
  ) -> Decision {
    if isAlone || held < bound / 2 {
      fullSince = nil
      isDiverting = false
      return .take
    }
    if held < bound { return .take }
    guard canDivert else { return .wait }
    if isDiverting { return .divert }
    let since = fullSince ?? now
    fullSince = since
    guard now - since >= Self.patience else { return .wait }
    isDiverting = true
    return .divert
  }

  /// The retry topic for a record that is moved unsent: soon while it is young, so that a short flood
  /// costs little time; once a minute later, so that a long one costs little work.
  ///
  /// - Parameter age: milliseconds since the request was made.
  package static func tier(age: Int64) -> RetryTier { age < 60_000 ? .seconds5 : .minute1 }
}
