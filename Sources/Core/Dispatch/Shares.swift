// SPDX-License-Identifier: Apache-2.0

internal import Delivery

/// What each destination may hold of the loop's slots, and which one stops the intake.
struct Shares: Sendable {
  private(set) var fairness: Fairness
  /// The destination that stops the intake until it holds less.
  private var blockedBy: Int32?
  /// Destinations that pushes may be for.
  private var known = 0
  private(set) var isKnownStale = true

  /// - Parameter slots: of the loop.
  init(slots: Int) { fairness = Fairness(slots: slots) }

  /// One destination holds as much as it may: nothing is taken.
  var isBlocked: Bool { blockedBy != nil }

  /// Pools or credentials came or went: destinations are to be counted anew.
  mutating func destinationsChanged() { isKnownStale = true }

  /// Destinations that pushes may be for, counted anew.
  mutating func counted(_ known: Int) {
    self.known = known
    isKnownStale = false
  }

  /// A turn's intake begins: who is stuck, and whether the one that stopped the intake still does.
  mutating func turn(free: Int, canDivert: Bool, now: UInt64) {
    fairness.turn(known: known, canDivert: canDivert, now: now)
    if let destination = blockedBy, fairness.decide(Int(destination), free: free) != .wait {
      blockedBy = nil
    }
  }

  mutating func block(by destination: Int32) { blockedBy = destination }
  mutating func took(_ destination: Int32) { fairness.took(Int(destination)) }
  mutating func released(_ destination: Int32) { fairness.released(Int(destination)) }
  mutating func answered(_ destination: Int32) { fairness.answered(Int(destination)) }
}
