// SPDX-License-Identifier: Apache-2.0

internal import ConsumerGroup

extension PushStates {
  /// The unsent push whose place a new one of its identity takes: of those that it supersedes the first in line behind which
  /// nothing stands that it does not supersede. Without one, what it supersedes ends when its turn comes.
  ///
  /// - Parameter others: the newest before it, by their urgency; `NewestStates.none` for none.
  func placeToTake(by slot: UInt32, of others: InlineArray<4, UInt32>) -> UInt32? {
    let state = self[slot].state
    var last: Int64 = -1
    for urgency in others.indices where others[urgency] != NewestStates.none {
      if !isReplaced(others[urgency], by: state) {
        last = max(last, self[others[urgency]].state.place)
      }
    }
    var first: UInt32?
    for urgency in others.indices where others[urgency] != NewestStates.none {
      let other = others[urgency]
      let place = self[other].state.place
      guard place > last, isReplaced(other, by: state) else { continue }
      if place < first.map({ self[$0].state.place }) ?? .max { first = other }
    }
    return first
  }

  private func isReplaced(_ slot: UInt32, by newer: StateFacts) -> Bool {
    newer.urgency.covers(self[slot].state.urgency) && self[slot].state.position <= newer.position
      && self[slot].isReplaceable
  }
}
