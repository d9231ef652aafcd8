// SPDX-License-Identifier: Apache-2.0

internal import Contract

/// What a push ends in here: a receipt, a dead letter, a retry topic, or its lane.
extension Workload {
  /// Ends a push with a receipt.
  ///
  /// - Parameter answer: that decided, if it is another than APNs' 200.
  mutating func finish(
    _ slot: UInt32, _ outcome: Outcome, _ cause: ReceiptCause?, _ answer: GatewayResponse? = nil
  ) {
    turn.count(outcome.counter)
    turn.append(.receipt(slot: slot, outcome, cause, answer, pushes.ending(slot)))
    leave(slot)
  }

  /// Ends a push that is of no more use.
  mutating func expire(_ slot: UInt32, _ answer: GatewayResponse? = nil) {
    let cause: ReceiptCause = pushes[slot].expiresAt <= turn.wall ? .expiration : .age
    finish(slot, .expired, cause, answer)
  }

  /// Ends a push that cannot be delivered.
  mutating func deadLetter(
    _ slot: UInt32, _ reason: DeadLetterReason, _ cause: ReceiptCause,
    _ answer: GatewayResponse? = nil
  ) {
    turn.count(.deadLettered)
    turn.append(.deadLetter(slot: slot, reason, cause, answer))
    leave(slot)
  }

  /// Moves a push to a retry topic.
  mutating func park(_ slot: UInt32, _ tier: RetryTier, _ reason: ParkReason) {
    if case .failure = reason { turn.count(.retried) } else { turn.count(.diverted) }
    if reason == .pace || reason == .devicePace { turn.count(.pacedAside) }
    leaveLane(slot, counts: true)
    let reason = pushes[slot].parkReason(reason, for: tier.delay, wall: turn.wall)
    turn.append(.park(slot: slot, tier, reason))
    leave(slot)
  }

  /// Moves a push to a retry topic, unsent, to look at it again later. No attempt is counted.
  mutating func divert(_ slot: UInt32, _ reason: ParkReason) {
    park(slot, Fairness.tier(age: turn.wall - pushes[slot].created), reason)
  }

  /// Gives a push, whose retry is due, back to its lane.
  mutating func giveToLane(_ slot: UInt32, from tier: RetryTier?) {
    turn.count(.returned)
    turn.append(.returnToLane(slot: slot, from: tier))
    leave(slot)
  }
}
