// SPDX-License-Identifier: Apache-2.0
import Dispatch
import Pipeline

/// What must hold beyond one process: nobody else's trouble is noticed, and in the end all is well.
extension Simulation {
  /// How long a notification may wait at most because of another app, in milliseconds.
  private static let patience: Int64 = 60_000

  /// While one app is in trouble the others' notifications go out.
  mutating func judgeOthers() {
    guard let sick = world.sick, !world.isCalm, world.now > 1_120_000 else { return }
    for (number, state) in world.kafka.partitions.enumerated() {
      let first = max(state.base, min(state.committed ?? 0, state.end))
      for offset in first..<state.end where !state[offset].isSettled {
        let facts = state[offset].facts
        let age = world.wall - facts.created
        guard facts.app != sick.app, age > Self.patience else { continue }
        return world.kafka.fail(
          "offset \(offset) of partition \(number) waits for \(age / 1_000) s because another app \(sick.trouble)"
        )
      }
    }
  }

  /// Whether all records have what they end in, and nobody has anything under way.
  var isSettled: Bool {
    guard world.kafka.pending == 0, senders.allSatisfy({ $0.held.isEmpty && $0.outgoing.isEmpty })
    else { return false }
    return ingest.allSatisfy(\.isIdle) && feedback.allSatisfy(\.isIdle)
      && isAtEnd(.ingest, world.requests.end) && isAtEnd(.feedback, world.devices.end)
  }

  private func isAtEnd(_ kind: GroupModel.Kind, _ end: (Int) -> Int64) -> Bool {
    world[kind].committed.enumerated().allSatisfy { ($1 ?? 0) >= end($0) }
  }

  /// What the end shows to have gone wrong, or nil.
  var verdict: String? {
    if !isSettled {
      return "it never comes to its end: \(world.kafka.pending) records are left; "
        + senders.map(\.summary).joined(separator: "; ")
        + "; ingest \(world[.ingest].committed) feedback \(world[.feedback].committed)"
    }
    for (number, state) in world.kafka.partitions.enumerated() {
      if let offset = state.unreported {
        return "offset \(offset) of partition \(number) was removed unread, and nobody said so"
      }
    }
    return world.devices.wrong ?? wrongNotification
  }

  private var wrongNotification: String? {
    for (number, one) in world.kafka.notifications.enumerated() {
      if !one.hasOutcome, !one.isRemoved { return "notification \(number) is lost" }
      if one.has(.delivered), one.accepted == 0 {
        return "notification \(number) is called delivered and was never accepted"
      }
      if one.accepted > 1 + one.excusable {
        return
          "notification \(number) was accepted \(one.accepted) times, and \(one.excusable) are excused"
      }
    }
    return nil
  }
}
