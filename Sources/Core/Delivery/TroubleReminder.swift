// SPDX-License-Identifier: Apache-2.0

/// When an operator is told of a trouble that may pass: soon after it begins, again and again while it lasts, and
/// when it is over.
package struct TroubleReminder: Sendable, Equatable {
  package enum Step: Sendable, Equatable {
    case nothing
    case say
    case sayThatItIsOver
  }

  /// Before the first word, in milliseconds: what heals by itself is no news.
  package static let quiet: UInt64 = 1_000
  /// Between two reminders, in milliseconds.
  package static let interval: UInt64 = 30_000

  private var nextAt: UInt64?
  private var wasSaid = false

  package init() {}

  /// To be asked every turn.
  ///
  /// - Parameter now: monotonic milliseconds.
  package mutating func step(isTrouble: Bool, now: UInt64) -> Step {
    guard isTrouble else {
      defer { (nextAt, wasSaid) = (nil, false) }
      return wasSaid ? .sayThatItIsOver : .nothing
    }
    guard let nextAt else {
      self.nextAt = now + Self.quiet
      return .nothing
    }
    guard now >= nextAt else { return .nothing }
    self.nextAt = now + Self.interval
    wasSaid = true
    return .say
  }
}
