// SPDX-License-Identifier: Apache-2.0
import Compatibility
import Delivery
import Kafka
import Pipeline
import ServiceKit

/// Membership in the group: what is done with the requests at hand when partitions are given back.
extension IngestLoop {
  static func plan(_ settings: IngestSettings, _ names: TopicNames) -> GroupPlan {
    var plan = GroupPlan(
      group: names.group(.ingest), topics: [names.requests] + settings.pusherTopics.map(\.name),
      instanceID: settings.instanceID,
      rebalancePatience: rebalanceDrainMilliseconds,
      stopPatience: UInt64(settings.drainTimeoutMilliseconds),
      cost: "makes what is above them again, with the same ids")
    plan.outputs = names.notifications
    return plan
  }

  /// Follows the group. What was taken and is not acknowledged when the time is up is made again by the
  /// partitions' next owner: the same requests make the same notifications.
  func followGroup(_ now: UInt64) {
    failure = failure ?? member.failure
    if failure != nil { member.fail(now: now) }
    repeat {
      while let task = member.next(now: now) {
        switch task {
        case .begun(let partitions): counters.set(.partitionsAssigned, partitions.count)
        case .released: counters.set(.partitionsAssigned, 0)
        case .drain:
          dropBatch()
          sendReceipts()
        case .abandon:
          counters.add(.handedBack, requests.count)
          member.drained(now: now)
        }
      }
    } while finishDrain(now)
    failure = failure ?? member.failure
  }

  private func finishDrain(_ now: UInt64) -> Bool {
    guard member.isDraining, requests.count == 0 else { return false }
    member.drained(now: now)
    return true
  }

  private func dropBatch() {
    // The offset of the request in the middle of which it stopped must not be completed by what was made.
    if work != nil { requests.abandon(slot) }
    batch.release()
    position = 0
    work = nil
  }
}
