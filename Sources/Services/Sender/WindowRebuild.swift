// SPDX-License-Identifier: Apache-2.0
import APNS
import Delivery
import EventLoop
import Glibc
import Kafka
import Pipeline
import ServiceKit
import Synchronization

/// Reads the `apns-id`s of the records before the place where a lane's partitions go on, so that repeats of them
/// are recognised by their new owner.
///
/// It runs on a thread of its own with a Kafka client of its own, beside the rebalance and the first fetch: the
/// group does not wait for it. A partition is not fed before its window is whole or its time is up; what comes
/// later still counts from then on.
final class WindowRebuild: Sendable {
  /// One partition's part of the work.
  struct Want: Sendable {
    var partition: TopicPartition
    var epoch: UInt32
    /// The first offset that is not known to be done.
    var next: Int64
    var loop: Mailbox<LoopMessage>
  }

  private let cancelled = Atomic(false)
  private let ended = Atomic(false)

  /// Whether its thread has let go of its Kafka client.
  var hasEnded: Bool { ended.load(ordering: .acquiring) }

  /// Starts to work on partitions of one topic.
  ///
  /// - Parameter window: ids of each partition's window: its last records that are read.
  static func start(
    _ wants: [Want], _ kafka: KafkaConfiguration, window: Int, log: Logger
  ) throws -> WindowRebuild {
    let rebuild = WindowRebuild()
    let thread = try LoopThread(name: "dedup-window") {
      rebuild.run(wants.map { Tail($0, window) }, kafka, log)
      rebuild.ended.store(true, ordering: .releasing)
    }
    thread.detach()
    return rebuild
  }

  /// The partitions are given back: stop soon.
  func cancel() { cancelled.store(true, ordering: .releasing) }

  private var isCancelled: Bool { cancelled.load(ordering: .acquiring) }

  private func run(_ tails: [Tail], _ kafka: KafkaConfiguration, _ log: Logger) {
    guard let topic = tails.first?.want.partition.topic else { return }
    let begin = MonotonicClock.milliseconds()
    var open = Dictionary(uniqueKeysWithValues: tails.map { ($0.want.partition.partition, $0) })
    while !open.isEmpty, !isCancelled {
      do throws(KafkaError) {
        try read(&open, topic, kafka)
      } catch {
        // No broker answers. The loops go on when their time is up, say so and count it.
        usleep(500_000)
      }
    }
    guard open.isEmpty else { return }
    log.info(
      "the apns-ids of the records before are read",
      [
        "topic": topic, "partitions": "\(tails.count)",
        "milliseconds": "\(MonotonicClock.milliseconds() - begin)",
      ])
  }

  /// Reads one stretch of each partition after the other, the newest records first: most repeats come soon, and
  /// the time may be up before the rest is read.
  private func read(
    _ open: inout [Int32: Tail], _ topic: String, _ kafka: KafkaConfiguration
  ) throws(KafkaError) {
    let stretches = try KafkaStretches(kafka, topic: topic, timeoutMilliseconds: 2_000)
    defer { stretches.close() }
    var batch = KafkaBatch(capacity: 1_000)
    while !open.isEmpty, !isCancelled {
      for (partition, tail) in open where !isCancelled {
        try stretches.read(partition, tail.stretches[0], timeoutMilliseconds: 2_000)
      }
      while !stretches.isDone, !isCancelled {
        stretches.poll(into: &batch, timeoutMilliseconds: 50)
        for index in 0..<batch.count { open[batch[index].partition]?.take(batch[index]) }
        batch.release()
        for partition in stretches.takeFinished() {
          if open[partition]?.finishStretch() == true { open[partition] = nil }
        }
      }
    }
  }
}

/// One partition's window while it is filled.
private struct Tail {
  let want: WindowRebuild.Want
  /// What is still to be read.
  private(set) var stretches: [Range<Int64>]
  private var window: DedupWindow

  init(_ want: WindowRebuild.Want, _ capacity: Int) {
    self.want = want
    let newest = max(0, want.next - Int64(max(1, capacity / 10)))
    let oldest = max(0, want.next - Int64(capacity))
    stretches = oldest < newest ? [newest..<want.next, oldest..<newest] : [newest..<want.next]
    window = DedupWindow(capacity: capacity)
  }

  /// What could not be sent has taken no id.
  mutating func take(_ record: KafkaRecord) {
    guard let envelope = try? record.envelope() else { return }
    _ = window.insert(envelope.takenID)
  }

  /// Hands over what was read so far; true when that is all.
  mutating func finishStretch() -> Bool {
    stretches.removeFirst()
    let isWhole = stretches.isEmpty
    want.loop.post(.window(want.partition, epoch: want.epoch, window, isWhole: isWhole))
    return isWhole
  }
}
