// SPDX-License-Identifier: Apache-2.0
internal import CRdKafka
internal import Contract
public import EventLoop

/// The records of one partition that wait for one loop.
///
/// They wait inside librdkafka, which stops fetching when its limits are reached, so to apply backpressure, do not take
/// records. Owned by one thread at a time (hence unchecked: the control thread hands it over once, before it assigns
/// the partitions).
///
/// The wakeup is edge-triggered: it is signalled once when the queue becomes non-empty. So take until 0 is returned
/// before sleeping. A caller that stops earlier must poll again. Loops also check their queues on a timer (100 ms).
public final class KafkaQueue: @unchecked Sendable {
  /// The partition whose records arrive here.
  public let partition: TopicPartition
  /// True if `close()` has been called.
  public private(set) var isClosed = false
  private let queue: OpaquePointer
  private let wakeup: Wakeup
  /// The signals to send instead of the wakeup, once set.
  private var signals: SourceSignals?
  private let fetching: FetchWakeup?
  private var refill: RefillMark?

  init(
    _ partition: TopicPartition, queue: OpaquePointer, _ wakeup: Wakeup, fetching: FetchWakeup?
  ) {
    self.partition = partition
    self.queue = queue
    self.wakeup = wakeup
    self.fetching = fetching
    refill = fetching?.makeMark()
    KafkaClient.enableWakeup(of: queue, wakeup)
  }

  deinit {
    precondition(isClosed, "a Kafka queue must be closed before its consumer lets go of it")
  }

  /// Makes the queue signal `signals` with this number instead of the wakeup. Call it on the owner's thread and then
  /// take from the queue once: records that already wait send no signal.
  public func signal(_ signals: SourceSignals, as number: UInt32) {
    precondition(!isClosed, "signals wanted of a closed Kafka queue")
    self.signals = signals
    var number = number
    rd_kafka_queue_io_event_enable(queue, signals.input, &number, MemoryLayout<UInt32>.size)
  }

  /// Appends up to `limit` waiting records (and messages about the partition) to the batch and returns their number;
  /// never waits. Returning 0 arms the wakeup, if there was room for a record.
  public func take(into batch: inout KafkaBatch, upTo limit: Int) -> Int {
    precondition(!isClosed, "records taken from a closed Kafka queue")
    let room = min(limit, batch.capacity - batch.count)
    guard room > 0 else { return 0 }
    let taken = batch.fill(from: queue, limit: room, timeout: 0)
    let hasRoom = refill?.take(
      records: taken, through: taken > 0 ? batch.records[batch.count - 1].offset : nil,
      bytes: batch.bytes(ofLast: taken), isEmpty: taken < room)
    if hasRoom == true { fetching?.wake() }
    return taken
  }

  /// Stops the wakeups and drops the queued records (they were never taken, so the partition's next owner reads them
  /// again).
  ///
  /// Call it on the owner's thread before the control thread unassigns: taking records while the assignment changes
  /// loses records in librdkafka 2.0.2 (#4208), and the wakeup belongs to the partition's inner queue, where the last
  /// writer wins.
  public func close() {
    guard !isClosed else { return }
    isClosed = true
    rd_kafka_queue_io_event_enable(queue, -1, nil, 0)
    rd_kafka_queue_destroy(queue)
  }
}
