// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Kafka
import Records
import ServiceKit

/// Sends the canaries' requests and reads all receipts for theirs, on one thread.
final class CanaryLoop {
  private let settings: CanaryCommand.Settings
  private let context: ServiceContext
  private let telemetry: CanaryTelemetry
  private let loop: ServiceLoop
  /// The producer, with each request's id as tag.
  private let producer: TaggedProducer<String>
  private let topic: KafkaTopic
  private let tail: KafkaTail
  private var batch = KafkaBatch(capacity: 500)
  private let parser = JSONParser()
  private var watches: [CanaryWatch]
  /// The common prefix of this process's ids, which differs from other processes' and earlier ones'.
  private let idStart: String
  private let idBytes: [UInt8]
  private var count: UInt = 0

  init(
    _ settings: CanaryCommand.Settings, _ configuration: KafkaConfiguration,
    _ context: ServiceContext
  ) throws {
    self.settings = settings
    self.context = context
    telemetry = CanaryTelemetry(settings.canaries)
    context.counters.add(metrics: telemetry)
    loop = try ServiceLoop("canary", context)
    let wakeup = loop.wakeup
    producer = try TaggedProducer(configuration, wakeup: wakeup)
    topic = try producer.topic(settings.cluster.names.requests)
    tail = try KafkaTail(
      configuration, topic: settings.cluster.names.receipts, from: .end, wakeup: wakeup)
    let now = MonotonicClock.milliseconds()
    watches = settings.canaries.map { canary in
      CanaryWatch(
        interval: UInt64(canary.intervalMilliseconds),
        timeout: UInt64(settings.timeoutMilliseconds), now: now)
    }
    let own = String(UInt64.random(in: .min ... .max), radix: 16)
    idStart = CanarySpecification.idPrefix + own + ":"
    idBytes = Array(idStart.utf8)
  }

  /// Runs until a stop is requested; pending pushes are abandoned.
  func run() {
    defer {
      batch.release()
      tail.close()
      producer.close()
    }
    while !context.signals.isStopping {
      let now = loop.beat()
      readAcknowledgements()
      tail.followPartitions()
      readReceipts()
      for index in watches.indices {
        let id = watches[index].pendingID
        if let result = watches[index].timePassed(now: now) { ended(index, result, id: id) }
        if watches[index].isDue(now: now) { send(index, now: now) }
      }
      // At least every second, for the heartbeat and the producer's retries.
      let next = min(watches.map(\.nextMoment).min() ?? now, now + 1_000)
      _ = loop.wait(Int32(next - min(next, now)))
    }
  }

  private func send(_ index: Int, now: UInt64) {
    count += 1
    let id = idStart + "\(count)"
    let wall = WallClock.milliseconds()
    let canary = settings.canaries[index]
    watches[index].sent(id, now: now, wall: wall)
    // Requests must not pile up while Kafka accepts none.
    guard producer.outstanding < watches.count else { return }
    let request = canary.request(id: id, wall: wall, timeout: settings.timeoutMilliseconds)
    do throws(KafkaError) {
      _ = try producer.produce(topic, key: Array(canary.key.utf8), value: request, as: id)
    } catch {
      context.log(OperatorLog.requestRefused, ["error": "\(error)"])
    }
  }

  private func readAcknowledgements() {
    for answer in producer.drainAnswers() where answer.refused == nil {
      if let index = watches.firstIndex(where: { $0.pendingID == answer.tag }) {
        watches[index].acknowledged()
      }
    }
  }

  /// Receipts of applications are skipped by a byte search.
  private func readReceipts() {
    while tail.poll(into: &batch, timeoutMilliseconds: 0) > 0 {
      for index in 0..<batch.count where batch[index].value.holds(idBytes) {
        Receipt.forEachLine(in: batch[index].value) { line in
          guard line.holds(idBytes), let receipt = try? Receipt(line, parser: parser) else {
            return
          }
          enter(receipt)
        }
      }
      batch.release()
    }
  }

  private func enter(_ receipt: Receipt) {
    guard let id = receipt.id, let index = watches.firstIndex(where: { $0.pendingID == id }) else {
      return
    }
    let result = watches[index].receipt(
      id, receipt.outcome, reason: receipt.reason, created: receipt.created, at: receipt.at,
      now: MonotonicClock.milliseconds(), wall: WallClock.milliseconds())
    if let result { ended(index, result, id: id, reason: receipt.reason) }
  }

  private func ended(
    _ index: Int, _ result: CanaryWatch.Result, id: String?, reason: String? = nil
  ) {
    telemetry.ended(index, result, wall: WallClock.milliseconds())
    let labels = settings.canaries[index].labels
    switch result {
    case .success(let stages):
      context.log(
        OperatorLog.canaryDelivered,
        [
          "app": labels[0], "environment": labels[1], "target": labels[2],
          "milliseconds": "\(stages.total)",
        ])
    case .failure(let failure):
      context.log(
        OperatorLog.canaryFailed,
        [
          "app": labels[0], "environment": labels[1], "target": labels[2], "id": id ?? "",
          "result": failure.rawValue, "reason": reason ?? "",
        ])
    }
  }
}
