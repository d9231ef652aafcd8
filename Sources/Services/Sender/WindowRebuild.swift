// SPDX-License-Identifier: Apache-2.0
import APNS
import Delivery
import EventLoop
import Kafka
import Pipeline
import Synchronization

/// Reads the `apns-id`s of the records before the place where a lane's partitions go on, so that repeats of them
/// are recognised by their new owner.
///
/// It runs on a thread of its own with a Kafka client of its own, beside the rebalance and the first fetch: the
/// group does not wait for it. A partition is not fed before its window is in place or its time is up.
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
  /// - Parameters:
  ///   - window: ids of each partition's window: its last records that are read.
  ///   - deadline: monotonic milliseconds; the loops go on then without what is not read.
  static func start(
    _ wants: [Want], _ kafka: KafkaConfiguration, window: Int, deadline: UInt64
  ) throws -> WindowRebuild {
    let rebuild = WindowRebuild()
    let thread = try LoopThread(name: "dedup-window") {
      rebuild.run(wants, kafka, window: window, deadline: deadline)
      rebuild.ended.store(true, ordering: .releasing)
    }
    thread.detach()
    return rebuild
  }

  /// The partitions are given back: stop soon.
  func cancel() { cancelled.store(true, ordering: .releasing) }

  private func mayGoOn(_ deadline: UInt64) -> Bool {
    !cancelled.load(ordering: .acquiring) && MonotonicClock.milliseconds() < deadline
  }

  private func run(
    _ wants: [Want], _ kafka: KafkaConfiguration, window: Int, deadline: UInt64
  ) {
    guard let topic = wants.first?.partition.topic else { return }
    var open = Dictionary(
      uniqueKeysWithValues: wants.map { ($0.partition.partition, Tail($0, window)) })
    do throws(KafkaError) {
      let stretches = try KafkaStretches(kafka, topic: topic, timeoutMilliseconds: 2_000)
      defer { stretches.close() }
      for want in wants where mayGoOn(deadline) {
        try stretches.read(
          want.partition.partition, max(0, want.next - Int64(window))..<want.next,
          timeoutMilliseconds: 2_000)
      }
      var batch = KafkaBatch(capacity: 1_000)
      while !stretches.isDone, mayGoOn(deadline) {
        stretches.poll(into: &batch, timeoutMilliseconds: 50)
        for index in 0..<batch.count { open[batch[index].partition]?.take(batch[index]) }
        batch.release()
        for partition in stretches.takeFinished() {
          open.removeValue(forKey: partition)?.handOver()
        }
      }
    } catch {
      // No broker answers: the loops go on when the time is up, say so and count it.
      return
    }
  }
}

/// One partition's window while it is filled.
private struct Tail {
  private let want: WindowRebuild.Want
  private var window: DedupWindow

  init(_ want: WindowRebuild.Want, _ capacity: Int) {
    self.want = want
    window = DedupWindow(capacity: capacity)
  }

  /// What is no notification has no id.
  mutating func take(_ record: KafkaRecord) {
    guard let envelope = try? Envelope.parse(record.value.bindMemory(to: UInt8.self).span) else {
      return
    }
    _ = window.insert(envelope.takenID)
  }

  func handOver() {
    want.loop.post(.window(want.partition, epoch: want.epoch, window))
  }
}
