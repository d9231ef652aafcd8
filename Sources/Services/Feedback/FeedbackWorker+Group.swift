// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Kafka
import Pipeline
import ServiceKit

/// Membership in the group. Who owns a partition of `feedback` judges its records and speaks for its devices on
/// `invalid-tokens`; who owns one of `devices` makes dead letters of what is wrong there.
extension FeedbackWorker {
  func take(_ event: GroupEvent) throws {
    switch event {
    case .assigned(let partitions): try begin(partitions)
    case .revoked(_, let lost):
      if lost { dropBatch() } else { try finishBatch(within: Self.rebalanceDrainMilliseconds) }
      release(lost: lost)
      try consumer.unassign()
    case .offsetsCommitted(let results, let error):
      offsets.answered(commits.answered(results, error))
    case .error(let error): log.warning("Kafka reported an error", ["error": "\(error)"])
    case .fatal(let error): throw error
    }
  }

  private func begin(_ partitions: [TopicPartition]) throws(KafkaError) {
    for partition in partitions {
      queues.append(consumer.openQueue(partition, wakeup: wakeup))
      offsets.begin(partition)
    }
    // librdkafka looks the committed offsets up, as often as the coordinator needs to be asked.
    try consumer.assign(partitions.map { PartitionStart($0, offset: nil) })
    commits.restart()
    alarm.assigned(partitions)
    owned = Set(partitions.filter { $0.topic == names.feedback }.map(\.partition))
    ended = []
    startRounds()
    log.info("partitions assigned", ["count": "\(partitions.count)"])
    noteAssignment(partitions.count)
    context.reportReady()
  }

  private func noteAssignment(_ count: Int) {
    counters.set(.partitionsAssigned, count)
    context.status.set("partitions", obstacle: count == 0 ? "has no partitions" : nil)
  }

  /// Commits what is done and lets go of all partitions; `lost`: they belong to others already.
  func release(lost: Bool) {
    if !lost { commits.last(consumer, offsets.due, cost: "applies what is above them again") }
    offsets.removeAll()
    alarm.released()
    for queue in queues { queue.close() }
    queues = []
    owned = []
    noteAssignment(0)
  }
}
