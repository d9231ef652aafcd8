// SPDX-License-Identifier: Apache-2.0
import APNS
import ConsumerGroup
import Contract
import EventLoop
import Glibc
import Kafka
import Records
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
  /// One partition's part of the work.
  struct Want: Sendable {
    var partition: TopicPartition
    var epoch: UInt32
    /// The ids that are known, and the offsets whose ids are to be read besides.
    var start: KeptWindows<TopicPartition>.Start
    var loop: Mailbox<LoopMessage>
  }

  private struct Orders {
    var wants: [Want] = []
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
  func read(_ wants: [Want]) throws {
    let mustStart = orders.withLock { orders in
      orders.wants = wants
      version.add(1, ordering: .releasing)
      if orders.isRunning || wants.isEmpty { return false }
      orders.isRunning = true
      return true
    }
    guard mustStart else { return }
    let thread = try LoopThread(name: "dedup-window") { [self] in
      while let (wants, version) = takeOrder() { work(on: wants, version) }
    }
    thread.detach()
  }

  /// The partitions are given back: stop soon.
  func cancel() {
    orders.withLock { orders in
      orders.wants = []
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

  private func takeOrder() -> (wants: [Want], version: Int)? {
    orders.withLock { orders in
      guard !orders.wants.isEmpty else {
        orders.isRunning = false
        return nil
      }
      defer { orders.wants = [] }
      return (orders.wants, version.load(ordering: .acquiring))
    }
  }

  private func work(on wants: [Want], _ version: Int) {
    let begin = MonotonicClock.milliseconds()
    var tails: [TopicPartition: Tail] = [:]
    for want in wants { tails[want.partition] = Tail(want, capacity) }
    while !tails.isEmpty, isCurrent(version) {
      do throws(KafkaError) {
        try read(&tails, version)
      } catch {
        // No broker answers, or that of some partitions does not. Their loops go on when their time is up, say so and
        // count it.
        usleep(500_000)
      }
    }
    guard tails.isEmpty else { return }
    log.info(
      "apns-id windows rebuilt",
      [
        "partitions": "\(wants.count)",
        "milliseconds": "\(MonotonicClock.milliseconds() - begin)",
      ])
  }

  private func isCurrent(_ version: Int) -> Bool {
    self.version.load(ordering: .acquiring) == version
  }

  /// Reads every window that can be read; what is whole leaves `tails`. A partition without a leader keeps none of the
  /// others.
  ///
  /// Throws when some could not be read.
  private func read(_ tails: inout [TopicPartition: Tail], _ version: Int) throws(KafkaError) {
    let stretches = try OffsetRangeReader(kafka)
    defer { stretches.close() }
    var plan = RebuildPlan(
      tails.values.map { .init(partition: $0.want.partition, offsets: $0.want.start.missing) })
    var places: [OffsetRangeReader.Place: TopicPartition] = [:]
    var batch = KafkaBatch(capacity: 1_000)
    var reader = EnvelopeReader(types: .any, lanes: .any)
    var failure: KafkaError?
    while !plan.isDone, isCurrent(version) {
      while let next = plan.next() {
        do throws(KafkaError) {
          let place = try stretches.read(next.partition, next.offsets, timeoutMilliseconds: 2_000)
          places[place] = next.partition
          tails[next.partition]?.begins(inLogEndingAt: stretches.logEnd(place))
        } catch {
          plan.failed(next.partition)
          failure = error
          break
        }
      }
      stretches.poll(into: &batch, timeoutMilliseconds: 50)
      for index in 0..<batch.count {
        let record = batch[index]
        guard let partition = places[stretches.place(of: record)], kafka.isDeadly?(record) != true
        else { continue }
        tails[partition]?.take(record, &reader)
      }
      batch.release()
      for place in stretches.drainFinished() {
        guard let partition = places[place] else { continue }
        let isWhole = plan.finished(partition)
        tails[partition]?.handOver(isWhole: isWhole)
        if isWhole { tails[partition] = nil }
      }
      for place in stretches.drainSilent(forMilliseconds: Self.patienceMilliseconds) {
        guard let partition = places[place] else { continue }
        plan.failed(partition)
        failure = .invalid("nothing came of \(partition)")
      }
    }
    if let failure { throw failure }
  }
}

/// One partition's window while it is filled.
private struct Tail {
  let want: WindowRebuild.Want
  private var window: RebuiltWindow
  private let capacity: Int
  /// The log is not the one that the place to go on is in: its records have not been sent.
  private var isOfAnotherLog = false

  init(_ want: WindowRebuild.Want, _ capacity: Int) {
    self.want = want
    self.capacity = capacity
    window = RebuiltWindow(
      kept: want.start.window, missing: want.start.missing, capacity: capacity)
  }

  mutating func begins(inLogEndingAt end: Int64) {
    guard !want.start.isOfLog(endingAt: end) else { return }
    isOfAnotherLog = true
    window = RebuiltWindow(kept: nil, missing: want.start.missing, capacity: capacity)
  }

  /// What could not be sent has taken no id. Of which type it is does not matter here.
  mutating func take(_ record: KafkaRecord, _ reader: inout EnvelopeReader) {
    guard !isOfAnotherLog, let envelope = try? record.envelope(&reader) else { return }
    window.insert(envelope.takenID, at: record.offset)
  }

  /// Hands over what was read so far.
  func handOver(isWhole: Bool) {
    let ids = window.window(isWhole: isWhole)
    want.loop.post(.window(want.partition, epoch: want.epoch, ids, isWhole: isWhole))
  }
}
