// SPDX-License-Identifier: Apache-2.0
import Delivery
import EventLoop
import Kafka
import Pipeline
import ServiceKit

/// Membership in the group: taking partitions over, giving them back, commits.
extension IngestLoop {
  func take(_ event: GroupEvent) {
    switch event {
    case .assigned(let partitions): assign(partitions)
    case .revoked(let partitions, let lost):
      context.log.info("partitions revoked", ["count": "\(partitions.count)", "lost": "\(lost)"])
      release(lost: lost, drainMilliseconds: Self.rebalanceDrainMilliseconds)
      do throws(KafkaError) {
        try consumer.unassign()
      } catch {
        failure = ServiceFailure("\(error)")
      }
    case .offsetsCommitted(let results, let error):
      for result in commits.answered(results, error) { committed(result) }
    case .error(let error): context.log.warning("Kafka reported an error", ["error": "\(error)"])
    case .fatal(let error): failure = ServiceFailure("\(error)")
    }
  }

  /// - Parameter remade: partitions whose log is another one than was read: they are begun at their first record,
  ///   whatever is committed.
  private func assign(_ partitions: [TopicPartition], remade: Set<TopicPartition> = []) {
    epoch += 1
    let highest = partitions.map(\.partition).max() ?? -1
    ledgers = Array(repeating: nil, count: Int(highest) + 1)
    queues = partitions.map { consumer.openQueue($0, wakeup: wakeup) }
    do throws(KafkaError) {
      // librdkafka looks the committed offsets up; a ledger begins with its partition's first record.
      try consumer.assign(
        partitions.map {
          PartitionStart($0, offset: remade.contains($0) ? PartitionStart.firstRecord : nil)
        })
    } catch {
      failure = ServiceFailure("\(error)")
    }
    alarm.assigned(partitions.filter { !remade.contains($0) })
    context.log.info("partitions assigned", ["count": "\(partitions.count)"])
    noteAssignment(partitions.count)
    context.reportReady()
  }

  private func noteAssignment(_ count: Int) {
    counters.set(.partitionsAssigned, count)
    context.status.set("partitions", obstacle: count == 0 ? "has no partitions" : nil)
  }

  /// Asks about partitions whose offsets did not come as they should. If the log of one is not the one that was
  /// read, everything is given back and begun again without the group noticing: nothing of the old log may
  /// complete anything in the new one.
  func followLogs() {
    let remade = Set(alarm.turn(consumer)).intersection(doubted.keys)
    guard !remade.isEmpty else { return }
    context.log.error(
      "log truncated or topic recreated; reading from its start",
      ["partitions": remade.map { "\($0)" }.joined(separator: " ")])
    let partitions = queues.flatMap(\.partitions)
    for partition in remade { ledgers[Int(partition.partition)] = nil }
    release(lost: false, drainMilliseconds: Self.rebalanceDrainMilliseconds)
    do throws(KafkaError) {
      try consumer.unassign()
    } catch {
      failure = ServiceFailure("\(error)")
      return
    }
    assign(partitions, remade: remade)
  }

  /// Takes nothing more, waits for what was taken, commits it and forgets the rest: the partitions' next
  /// owner reads it again, and the same requests make the same notifications.
  func release(lost: Bool, drainMilliseconds: Int64) {
    guard !queues.isEmpty else { return }
    dropBatch()
    for queue in queues { queue.close() }
    queues = []
    noteAssignment(0)
    alarm.released()
    doubted = [:]
    sendReceipts()
    if !lost { drain(drainMilliseconds) }
    // The embedded broker takes none during a rebalance.
    if !lost {
      commits.last(
        consumer, commitRequests(), cost: "makes what is above them again, with the same ids")
    }
    counters.add(.handedBack, requests.count)
    epoch += 1
    ledgers = []
    commits.restart()
  }

  private func drain(_ milliseconds: Int64) {
    let deadline = MonotonicClock.milliseconds() + UInt64(milliseconds)
    while requests.count > 0 && failure == nil && MonotonicClock.milliseconds() < deadline
      && !context.signals.isHurrying
    {
      if !receipts.isEmpty { sendReceipts() }
      _ = producer.flush(timeoutMilliseconds: 10)
      takeDeliveries()
    }
  }

  private func dropBatch() {
    // The offset of the request in the middle of which it stopped must not be completed by what was made.
    if case .none = work {} else { requests.abandon(slot) }
    batch.release()
    position = 0
    work = .none
  }

  // MARK: Commits

  func commitRequests() -> [CommitRequest] {
    ledgers.indices.compactMap { index in
      guard let ledger = ledgers[index], ledger.isDirty else { return nil }
      let partition = TopicPartition(topic: names.requests, partition: Int32(index))
      return CommitRequest(partition, offset: ledger.committable)
    }
  }

  private func committed(_ result: CommitResult) {
    guard ledgers.indices.contains(Int(result.partition.partition)) else { return }
    ledgers[Int(result.partition.partition)]?.markCommitted(result.offset)
  }
}
