// SPDX-License-Identifier: Apache-2.0
import ConsumerGroup
import Contract
import EventLoop
import Glibc
import Kafka
import Records
import SenderDecisions
import ServiceKit
import Synchronization

/// Reads the `apns-id`s of the records before the place where a lane's partitions go on, so that repeats of them
/// are recognised by their new owner.
///
/// It runs on a thread of its own with a Kafka client of its own, beside the rebalance and the first fetch: the
/// group does not wait for it. A partition is not fed before its window is whole or its time is up; what comes
/// later still counts from then on. There is one thread and one client at any time, and it reads few partitions at
/// a time, however many assignments follow each other and however many partitions they have.
final class WindowRebuild: Sendable {
  typealias Want = WindowReading<TopicPartition>.Want

  /// The windows of an assignment, and whom they go to.
  private struct Order {
    var wants: [Want]
    var epoch: UInt32
    var owners: [TopicPartition: Mailbox<LoopMessage>]
    var version: Int
  }

  private struct Orders {
    /// What is to be read next; nil when there is nothing.
    var next: Order?
    var isRunning = false
  }

  private let kafka: KafkaConfiguration
  private let capacity: Int
  private let log: Logger
  private let orders = Mutex(Orders())
  /// A partition of which nothing comes for so long does not keep others waiting: four are read at a time.
  private static let patienceMilliseconds: UInt64 = 10_000
  /// Counts orders: work on an earlier one stops.
  private let version = Atomic(0)

  /// - Parameter window: ids of each partition's window.
  init(_ kafka: KafkaConfiguration, window: Int, log: Logger) {
    self.kafka = kafka
    capacity = window
    self.log = log
  }

  /// Reads these from now on, and nothing else: the partitions of an earlier assignment are given back.
  ///
  /// - Parameter owners: the loops that get the partitions.
  func read(
    _ wants: [Want], epoch: UInt32, for owners: [TopicPartition: Mailbox<LoopMessage>]
  ) throws {
    let mustStart = orders.withLock { orders in
      let version = version.add(1, ordering: .releasing).newValue
      orders.next =
        wants.isEmpty ? nil : Order(wants: wants, epoch: epoch, owners: owners, version: version)
      if orders.isRunning || wants.isEmpty { return false }
      orders.isRunning = true
      return true
    }
    guard mustStart else { return }
    let thread = try LoopThread(name: "dedup-window") { [self] in
      while let order = drainOrder() { work(on: order) }
    }
    thread.detach()
  }

  /// The partitions are given back: stop soon.
  func cancel() {
    orders.withLock { orders in
      orders.next = nil
      version.add(1, ordering: .releasing)
    }
  }

  /// Reads nothing more, and waits until no thread has a Kafka client any more: 3 s at most.
  func end() {
    cancel()
    let deadline = MonotonicClock.milliseconds() + 3_000
    while orders.withLock({ $0.isRunning }), MonotonicClock.milliseconds() < deadline {
      usleep(1_000)
    }
  }

  private func drainOrder() -> Order? {
    orders.withLock { orders in
      defer { orders.next = nil }
      if orders.next == nil { orders.isRunning = false }
      return orders.next
    }
  }

  private func work(on order: Order) {
    let begin = MonotonicClock.milliseconds()
    var reading = WindowReading(order.wants, capacity: capacity)
    while !reading.isComplete, isCurrent(order) {
      do throws(KafkaError) {
        try read(&reading, order)
      } catch {
        // No broker answers, or that of some partitions does not. Their loops go on when their time is up, say so and
        // count it.
        usleep(500_000)
        reading.begin()
      }
    }
    guard reading.isComplete else { return }
    log(
      SenderLog.windowsRebuilt,
      [
        "partitions": "\(order.wants.count)",
        "milliseconds": "\(MonotonicClock.milliseconds() - begin)",
      ])
  }

  private func isCurrent(_ order: Order) -> Bool {
    version.load(ordering: .acquiring) == order.version
  }

  /// Reads every window that can be read. A partition without a leader keeps none of the others.
  ///
  /// Throws when some could not be read.
  private func read(
    _ reading: inout WindowReading<TopicPartition>, _ order: Order
  ) throws(KafkaError) {
    let stretches = try OffsetRangeReader(kafka)
    defer { stretches.close() }
    var places: [OffsetRangeReader.PartitionKey: TopicPartition] = [:]
    var batch = KafkaBatch(capacity: 1_000)
    var reader = EnvelopeReader(types: .any, lanes: .any)
    var failure: KafkaError?
    while !reading.isDone, isCurrent(order) {
      while let next = reading.next() {
        do throws(KafkaError) {
          let place = try stretches.read(next.partition, next.offsets, timeoutMilliseconds: 2_000)
          places[place] = next.partition
          reading.begins(next.partition, inLogEndingAt: stretches.logEnd(place))
        } catch {
          reading.failed(next.partition)
          failure = error
          break
        }
      }
      stretches.poll(into: &batch, timeoutMilliseconds: 50)
      for index in 0..<batch.count {
        let record = batch[index]
        guard let partition = places[stretches.place(of: record)] else { continue }
        if record.value.first == FreedID.mark, let freed = FreedID(record.value) {
          reading.free(freed.dedupKey, at: record.offset, of: partition)
          continue
        }
        // What could not be sent has taken no id. Of which type it is does not matter here.
        guard let envelope = try? record.envelope(&reader)
        else { continue }
        let state =
          envelope.hasStateKey
          ? StateFacts(
            envelope, key: record.key, value: record.value, in: record.partition) : .none
        reading.take(
          .init(
            envelope.dedupKey, identity: state.identity == 0 ? 0 : state.tracked,
            position: state.position, push: state.push,
            payload: PushFacts.hash(payload: envelope, record.value),
            end: state.isFinal ? state.end : 0),
          at: record.offset, of: partition)
      }
      batch.release()
      for place in stretches.drainFinished() {
        guard let partition = places[place] else { continue }
        handOver(reading.finished(partition), of: partition, order)
      }
      for place in stretches.drainSilent(forMilliseconds: Self.patienceMilliseconds) {
        guard let partition = places[place] else { continue }
        reading.failed(partition)
        failure = .invalid("nothing came of \(partition)")
      }
    }
    if let failure { throw failure }
  }

  private func handOver(
    _ known: (ids: DedupWindow, isWhole: Bool)?, of partition: TopicPartition, _ order: Order
  ) {
    guard let (ids, isWhole) = known else { return }
    order.owners[partition]?.post(.window(partition, epoch: order.epoch, ids, isWhole: isWhole))
  }
}
