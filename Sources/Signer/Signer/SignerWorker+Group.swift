// SPDX-License-Identifier: Apache-2.0
import ConsumerGroup
import Contract
import EventLoop
import Kafka
import ServiceKit
import SignerDecisions

/// Membership in the group: the owner of the requests' partition 0 mints, the others stand by.
extension SignerWorker {
  static func plan(_ settings: SignerSettings, _ names: TopicNames) -> GroupPlan {
    var plan = GroupPlan(
      group: names.group(.signer), topics: [names.tokenRequests], instanceID: settings.instanceID,
      commitInterval: Int64(turnMilliseconds), rebalancePatience: 500, stopPatience: 5_000,
      cost: "reads them again, which changes nothing")
    // A request that is gone comes again from a sender that needs it.
    plan.watchesLosses = false
    plan.needsPartitions = false
    return plan
  }

  func followGroup(_ now: UInt64) {
    while let task = member.next(now: now, isIdle: producer.outstanding == 0) {
      switch task {
      case .begun(let partitions): begin(partitions)
      case .drain: stopMinting()
      case .abandon: withdrawOutstanding()
      case .unassigned: break
      }
    }
  }

  private func begin(_ partitions: [TopicPartition]) {
    guard partitions.contains(where: { $0.partition == 0 }) else {
      return log(SignerLog.standingBy)
    }
    // A table of its own for each ownership: caught up means up to the end that the topic has now.
    readTableAnew()
    issuer.machine.begin(now: MonotonicClock.milliseconds())
    counters.set(.owner, 1)
    log(SignerLog.minting)
  }

  private func stopMinting() {
    issuer.machine.stop()
    table?.close()
    table = nil
    counters.set(.owner, 0)
  }

  /// What Kafka has not acknowledged must not reach the topic behind the next owner's records: a withdrawal would take
  /// a credential away that has a token again.
  private func withdrawOutstanding() {
    drainDeliveries(MonotonicClock.milliseconds())
    let withdrawn = producer.abandon()
    guard !withdrawn.isEmpty else { return }
    for sent in withdrawn { notStored(sent) }
    log(SignerLog.recordsWithdrawn, ["count": "\(withdrawn.count)"])
  }
}
