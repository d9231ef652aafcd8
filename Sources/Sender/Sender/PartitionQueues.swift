// SPDX-License-Identifier: Apache-2.0
import ConsumerGroup
import EventLoop
import Kafka
import SenderDecisions

/// The Kafka queues of one loop's partitions, by the numbers that the `Dispatcher` gives them.
///
/// Owner: one sender loop.
struct PartitionQueues: ~Copyable {
  private struct AssignedQueue {
    var name: TopicPartition
    var epoch: UInt32
    var queue: KafkaQueue
  }

  private var places: [AssignedQueue] = []
  private var nextLook: UInt64 = 0
  /// Says which queues have records, by number.
  let signals = SourceSignals()

  mutating func add(_ grant: PartitionGrant, as number: Int) {
    precondition(number == places.count, "partitions are numbered in their order")
    places.append(AssignedQueue(name: grant.partition, epoch: grant.epoch, queue: grant.queue))
    grant.queue.signal(signals, as: UInt32(number))
  }

  func name(_ number: Int) -> TopicPartition { places[number].name }
  func epoch(_ number: Int) -> UInt32 { places[number].epoch }

  /// How far a partition is done, as the control thread knows it.
  func progress(_ number: Int, _ done: PartitionDone) -> PartitionProgress<TopicPartition> {
    PartitionProgress(
      name(number), epoch: epoch(number), committable: done.committable,
      completedAbove: done.completedAbove)
  }

  /// The number of a partition of an assignment; nil if it is not ours any more.
  func number(of name: TopicPartition, epoch: UInt32) -> Int? {
    places.firstIndex { $0.name == name && $0.epoch == epoch }
  }

  /// Whether all queues are to be looked at, whatever was signalled. Times in monotonic milliseconds.
  mutating func isLookDue(every interval: UInt64, now: UInt64) -> Bool {
    guard now >= nextLook else { return false }
    nextLook = now + interval
    return true
  }

  func take(from number: Int, into batch: inout KafkaBatch, upTo count: Int) -> Int {
    places[number].queue.take(into: &batch, upTo: count)
  }

  /// Nothing more is taken.
  func close() { for place in places { place.queue.close() } }

  /// The assignment is over.
  mutating func removeAll() { places.removeAll() }
}
