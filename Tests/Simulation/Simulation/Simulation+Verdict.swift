// SPDX-License-Identifier: Apache-2.0
import Contract
import SenderDecisions

/// What must hold beyond one process: one app's failure affects no other, and in the end every push has its outcome.
extension Simulation {
  /// How long a notification may wait at most because of another app, in milliseconds. A Kafka partition is first in,
  /// first out, and a destination that answers is never passed over: behind a flood of 3,000 notifications the others wait
  /// as long as those take on few streams.
  private static func patience(_ trouble: SickApp.Trouble) -> Int64 {
    trouble == .floods ? 300_000 : 60_000
  }

  /// How long a sender may hold a push when nothing goes wrong any more: the breaker of an app or a credential may stay open
  /// for 15 minutes after the last refusal; everything else takes less.
  private static let calmPatience: UInt64 = 1_200_000

  mutating func judgeWaits() {
    if let calmSince = world.calmSince { judgeCalm(since: calmSince) } else { judgeOthers() }
  }

  /// No push waits for ever: without this, a push that is forgotten would end when it is too old.
  private mutating func judgeCalm(since: UInt64) {
    for sender in senders {
      for slot in sender.taken.keys where sender.isNotDue(slot) {
        sender.taken[slot]!.since = world.now
      }
      for push in sender.taken.values where world.now > max(since, push.since) + Self.calmPatience {
        return world.kafka.fail(
          "notification \(push.notification) waits for \((world.now - push.since) / 1_000) s, and nothing is wrong"
        )
      }
    }
  }

  /// While one app is in trouble the others' notifications go out.
  private mutating func judgeOthers() {
    guard let sick = world.sick, !world.isCalm, world.now > 1_120_000 else { return }
    for (number, state) in world.kafka.partitions.enumerated() {
      let first = max(state.base, min(state.committed ?? 0, state.end))
      for offset in first..<state.end where !state[offset].isSettled {
        let facts = state[offset].facts
        let age = world.wall - facts.created
        guard facts.app != sick.app, age > Self.patience(sick.trouble) else { continue }
        return world.kafka.fail(
          "offset \(offset) of partition \(number) waits for \(age / 1_000) s because another app \(sick.trouble)"
        )
      }
    }
  }

  /// Whether all records have what they end in, and no process has work in flight.
  var isSettled: Bool {
    guard world.kafka.pending == 0, senders.allSatisfy({ $0.taken.isEmpty && $0.outgoing.isEmpty })
    else { return false }
    return world.schedule.isSettled && ingest.allSatisfy(\.isIdle) && feedback.allSatisfy(\.isIdle)
      && isAtEnd(.ingest, world.requests.end) && isAtEnd(.feedback, world.devices.end)
  }

  /// The first records of each partition that have no outcome.
  private var unfinished: [String] {
    world.kafka.partitions.enumerated().compactMap { number, state in
      let left = (max(state.low, state.base)..<state.end).filter { !state[$0].isSettled }
      guard !left.isEmpty else { return nil }
      return
        "\(state.topicKind) partition \(number): \(left.prefix(5)), committed \(state.committed ?? -1), above it"
        + " \(state.completedAbove), read to \(state.readTo) of \(state.low)..<\(state.end)"
    }
  }

  private func isAtEnd(_ kind: GroupModel.Kind, _ end: (Int) -> Int64) -> Bool {
    world[kind].committed.enumerated().allSatisfy { ($1 ?? 0) >= end($0) }
  }

  /// What the end shows to have gone wrong, or nil.
  var verdict: String? {
    if !isSettled {
      return "it never comes to its end: \(world.kafka.pending) records are left, \(unfinished); "
        + senders.map(\.summary).joined(separator: "; ")
        + "; \(world.schedule.unfinished); ingest \(world[.ingest].committed) feedback \(world[.feedback].committed)"
    }
    for (number, state) in world.kafka.partitions.enumerated() {
      if let offset = state.unreported {
        return "offset \(offset) of partition \(number) was removed unread and not reported"
      }
    }
    if let number = world.kafka.wronglySuperseded {
      return "notification \(number) is superseded, and no newer one has its key"
    }
    return world.devices.wrong ?? wrongNotification
  }

  private var wrongNotification: String? {
    let excused = world.schedule.excused
    for (number, one) in world.kafka.notifications.enumerated() {
      if !one.hasOutcome, !one.isRemoved, !excused.contains(number) {
        return "notification \(number) is lost"
      }
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
