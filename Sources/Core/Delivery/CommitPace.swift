// SPDX-License-Identifier: Apache-2.0

/// When a member of a group commits: at an interval, and one commit at a time, so that an older one never arrives
/// after a newer one. One whose answer does not come is given up: nobody waits for it for ever.
package struct CommitPace: Sendable, Equatable {
  /// What to do about commits now.
  package enum Step: Sendable, Equatable {
    case wait
    /// It is time for the next one; `sent` says that it is under way.
    case commit
    /// As `commit`, and the last one was never answered: say so.
    case commitAfterSilence
  }

  /// How long an answer is waited for, in milliseconds.
  package static let patience: UInt64 = 10_000

  private let interval: UInt64
  private var nextAt: UInt64 = 0
  private var giveUpAt: UInt64?

  /// - Parameter interval: milliseconds between two commits.
  package init(interval: UInt64) { self.interval = interval }

  /// To be asked every turn.
  ///
  /// - Parameter now: monotonic milliseconds, as everywhere here.
  package mutating func step(now: UInt64) -> Step {
    if let giveUpAt, now < giveUpAt { return .wait }
    guard now >= nextAt else { return .wait }
    nextAt = now + interval
    defer { giveUpAt = nil }
    return giveUpAt == nil ? .commit : .commitAfterSilence
  }

  /// A commit is under way.
  package mutating func sent(now: UInt64) { giveUpAt = now + Self.patience }

  /// The answer has come, or the partitions that it was about are given back.
  package mutating func answered() { giveUpAt = nil }
}
