// SPDX-License-Identifier: Apache-2.0
import Contract
import LabCommand

/// The pushes with a key of a run, one key per device token: in the order of the lanes, and as the gateway accepted
/// them.
struct StateAudit {
  private struct State {
    /// The position of its first record in its lane's partition.
    let place: Int
    let token: String
  }

  private var states: [NotificationID: State] = [:]
  /// The accepted pushes in the gateway's order.
  private var accepted: [NotificationID] = []
  private var superseded: Set<NotificationID> = []

  var count: Int { states.count }
  var supersededCount: Int { superseded.count }

  /// Records a push with a key on a lane.
  mutating func produced(_ id: NotificationID, token: String) {
    if states[id] == nil { states[id] = State(place: states.count, token: token) }
  }

  mutating func accepted(_ id: NotificationID) { accepted.append(id) }

  mutating func superseded(_ id: NotificationID) { superseded.insert(id) }

  /// Pushes that the gateway accepted after a newer one of their device.
  var overtaken: [NotificationID] {
    var newest: [String: Int] = [:]
    return accepted.filter { id in
      guard let state = states[id] else { return false }
      let last = newest[state.token] ?? -1
      newest[state.token] = max(state.place, last)
      return state.place < last
    }
  }

  /// The newest states of devices that were superseded anyway.
  var lost: [NotificationID] {
    var newest: [String: (place: Int, id: NotificationID)] = [:]
    for (id, state) in states where state.place > newest[state.token]?.place ?? -1 {
      newest[state.token] = (state.place, id)
    }
    return newest.values.map(\.id).filter { superseded.contains($0) }
  }
}
