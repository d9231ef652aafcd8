// SPDX-License-Identifier: Apache-2.0

import ConsumerGroup

/// What a push is among those with its device, app and key.
enum StateVerdict: Equatable {
  /// The same push is under way: two owners of a partition have moved it on.
  case repeated
  /// A newer one was taken.
  case superseded
  /// None that is known is newer than this place of the log.
  ///
  /// - Parameter isUnknown: of what is forgotten something newer may have been sent.
  case newest(at: Int64, isUnknown: Bool)
}

/// What becomes of a push of a lane with a key whose record is due.
enum StateStep {
  case goesOn
  /// The same push is under way.
  case repeated
  /// A newer one was taken, or it has taken the place of the older one, which is in its slot now.
  case superseded
}

extension PartitionState {
  /// Where a push stands among those with its device, app and key: it may be superseded, or take the place of an older
  /// one.
  mutating func settle(
    _ slot: UInt32, _ pushes: inout PushStates, _ order: borrowing DeviceOrder, isOrdered: Bool,
    _ turn: inout Turn
  ) -> StateStep {
    pushes[slot].settlePosition()
    if pushes[slot].state.isFresh {
      beginFresh(pushes[slot].state, in: slot)
      return .goesOn
    }
    let others = underWay(like: pushes[slot].state)
    let last = others[Int(pushes[slot].state.urgency.rawValue)]
    let before = last == NewestStates.none ? nil : pushes[last].state
    let verdict = begin(pushes[slot].state, in: slot, underWay: before)
    guard case .newest(let position, let isUnknown) = verdict else {
      if verdict == .repeated { return .repeated }
      return pushes[slot].state.isFinal ? .goesOn : .superseded
    }
    pushes[slot].settlePosition(at: position)
    if isUnknown { turn.count(.returnedUnknown) }
    // Where order is kept for each device and others of it are behind the older one, that ends when its turn comes.
    guard let older = pushes.placeToTake(by: slot, of: others) else { return .goesOn }
    if isOrdered, !order.isLast(older) { return .goesOn }
    // It takes the place of the older one, or under a steady flow of states none would ever come to the head of a line.
    pushes.exchange(older, slot, now: turn.now)
    moveState(pushes[older].state, inPlaceOf: pushes[slot].state, to: older)
    turn.append(.exchange(slot: older, with: slot))
    return .superseded
  }
}
