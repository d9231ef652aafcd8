// SPDX-License-Identifier: Apache-2.0
import Delivery
import Kafka
import Pipeline
import ServiceKit

/// Membership in the group. Who owns a partition of `feedback` judges its records and speaks for its devices on
/// `invalid-tokens`; who owns one of `devices` makes dead letters of what is wrong there.
extension FeedbackWorker {
  static func plan(_ settings: FeedbackSettings, _ names: TopicNames) -> GroupPlan {
    var plan = GroupPlan(
      group: names.group(.feedback), topics: topics(settings, names),
      instanceID: settings.instanceID, rebalancePatience: 3_000, stopPatience: 10_000,
      cost: "applies what is above them again")
    plan.outputs = [names.invalidTokens]
    return plan
  }

  /// What the group reads.
  static func topics(_ settings: FeedbackSettings, _ names: TopicNames) -> [String] {
    [names.feedback, names.devices] + (settings.keepReceipts > 0 ? [names.receipts] : [])
  }

  /// Whether records come from `feedback` there: the first topic of the plan.
  func isFeedback(_ source: Source) -> Bool { source.topic == 0 }

  /// Follows the group. The batch under way gets some time to come to its end, and is forgotten otherwise.
  func followGroup(_ now: UInt64) {
    repeat {
      while let task = member.next(now: now) {
        switch task {
        case .begun(let partitions):
          counters.set(.partitionsAssigned, partitions.count)
          owned = Set(partitions.filter { $0.topic == names.feedback }.map(\.partition))
          ended = []
          startRounds()
        case .drain: break
        case .abandon:
          dropBatch()
          member.drained(now: now)
        case .released:
          counters.set(.partitionsAssigned, 0)
          owned = []
        }
      }
    } while finishDrain(now)
  }

  private func finishDrain(_ now: UInt64) -> Bool {
    guard member.isDraining else { return false }
    // Nobody waits for a database that is still being made.
    if case .verifying = batch.phase, tables.isCatchingUp { dropBatch() }
    guard batch.isIdle else { return false }
    member.drained(now: now)
    return true
  }
}
