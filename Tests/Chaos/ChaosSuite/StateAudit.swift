// SPDX-License-Identifier: Apache-2.0
import APNS
import LabCommand

/// The pushes with a key of a run, of which each device token has one: in the order of the lanes, and as the gateway
/// accepted them.
struct StateAudit {
  private struct State {
    /// The place of its first record among those of its lane's partition.
    let place: Int
    let token: String
  }

  private var states: [NotificationID: State] = [:]
  /// What the gateway accepted, in its order.
  private var accepted: [NotificationID] = []
  private var superseded: Set<NotificationID> = []

  var count: Int { states.count }
  var supersededCount: Int { superseded.count }

  /// A record with a key lies on a lane.
  mutating func produced(_ id: NotificationID, token: String) {
    if states[id] == nil { states[id] = State(place: states.count, token: token) }
  }

  mutating func accepted(_ id: NotificationID) {
    accepted.append(id)
  }

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

  /// The newest states of devices that were superseded nevertheless.
  var lost: [NotificationID] {
    var newest: [String: (place: Int, id: NotificationID)] = [:]
    for (id, state) in states where state.place > newest[state.token]?.place ?? -1 {
      newest[state.token] = (state.place, id)
    }
    return newest.values.map(\.id).filter { superseded.contains($0) }
  }
}
