// SPDX-License-Identifier: Apache-2.0
internal import CRdKafka
internal import Contract
public import EventLoop

/// Records of one partition that wait for one loop.
///
/// They wait inside librdkafka, which stops fetching when enough are here: holding records back is
/// not taking them. Owned by one thread at a time (hence unchecked: it is handed over once, by the
/// control thread, before that thread assigns the partitions).
///
/// The wakeup is edge-triggered: it is signalled once when the queue turns non-empty. So take until
/// 0 comes back before sleeping; who stops earlier must come back by itself, and a loop looks at its
/// queues on a timer as well (100 ms).
public final class KafkaQueue: @unchecked Sendable {
  /// The partition whose records arrive here.
  public let partition: TopicPartition
  /// True if `close()` has been called.
  public private(set) var isClosed = false
  private let queue: OpaquePointer
  private let wakeup: Wakeup
  /// The signals that are sent instead, once there are any.
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
    var one: UInt64 = 1
    rd_kafka_queue_io_event_enable(queue, wakeup.fd, &one, MemoryLayout<UInt64>.size)
  }

  deinit {
    precondition(isClosed, "a Kafka queue must be closed before its consumer lets go of it")
  }

  /// Has the queue signal `signals` with this number from now on, instead of the wakeup. On the owner's thread,
  /// who takes from the queue afterwards without having been told to: what waits already signals nothing.
  public func signal(_ signals: SourceSignals, as number: UInt32) {
    precondition(!isClosed, "signals wanted of a closed Kafka queue")
    self.signals = signals
    var number = number
    rd_kafka_queue_io_event_enable(
      queue, signals.input, &number, MemoryLayout<UInt32>.size)
  }

  /// Appends up to `limit` waiting records (and messages about the partition) to the batch and
  /// returns how many; never waits. 0 arms the wakeup, if there was room for a record.
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

  /// Lets go of the partitions: stops the wakeups and forgets what waits (it was never taken, so it
  /// is read again by the partition's next owner).
  ///
  /// Must happen, on the owner's thread, before the control thread unassigns: taking in parallel
  /// with a change of the assignment loses records in librdkafka 2.0.2 (#4208), and the wakeup
  /// belongs to the partition's inner queue, where the last writer wins.
  public func close() {
    guard !isClosed else { return }
    isClosed = true
    rd_kafka_queue_io_event_enable(queue, -1, nil, 0)
    rd_kafka_queue_destroy(queue)
  }
}
