// SPDX-License-Identifier: Apache-2.0
import Bytes
import Contract
import EventLoop
import Glibc
import Kafka
import Records
import ServiceKit
import Synchronization

/// Counts the receipts of campaigns by outcome, on a thread of its own: from the time of each on, so that a process that
/// takes a campaign over counts what the one before it did.
final class CampaignReceipts: Sendable {
  typealias Counts = [String: [String: Int]]

  /// Campaigns with the times from which their receipts are counted, in milliseconds since the epoch.
  private let followed = Mutex<[String: Int64]>([:])
  private let counts = Mutex<Counts>([:])
  private let isEnding = Atomic(false)
  private let hasEnded = Atomic(false)

  private init() {}

  /// Starts the thread.
  static func start(
    _ kafka: KafkaConfiguration, _ topic: String, _ log: Logger
  ) throws(SystemError) -> CampaignReceipts {
    let shared = CampaignReceipts()
    let thread = try LoopThread(name: "receipts") { shared.run(kafka, topic, log) }
    thread.detach()
    return shared
  }

  /// Counts these and no others from now on.
  func follow(_ campaigns: [String: Int64]) { followed.withLock { $0 = campaigns } }

  /// What was counted until now.
  var current: Counts { counts.withLock { $0 } }

  func close() {
    isEnding.store(true, ordering: .releasing)
    let deadline = MonotonicClock.milliseconds() + 1_000
    while !hasEnded.load(ordering: .acquiring), MonotonicClock.milliseconds() < deadline {
      usleep(1_000)
    }
  }

  // MARK: The thread

  private func run(_ kafka: KafkaConfiguration, _ topic: String, _ log: Logger) {
    var tail: KafkaTail?
    var known: [String: Int64] = [:]
    var batch = KafkaBatch(capacity: 1_000)
    var isReported = false
    while !isEnding.load(ordering: .acquiring) {
      let wanted = followed.withLock { $0 }
      if wanted != known {
        // A further one begins at its own time: all are counted again.
        if wanted.contains(where: { known[$0.key] != $0.value }) || wanted.isEmpty {
          tail?.close()
          tail = nil
        }
        counts.withLock { $0 = tail == nil ? [:] : $0.filter { wanted[$0.key] != nil } }
        known = wanted
      }
      guard let since = known.values.min() else {
        usleep(100_000)
        continue
      }
      if tail == nil {
        do throws(KafkaError) {
          tail = try Self.open(kafka, topic, since: since)
          isReported = false
        } catch {
          if !isReported { log.warning("cannot read receipts; retrying", ["error": "\(error)"]) }
          isReported = true
          usleep(1_000_000)
        }
      }
      guard let open = tail else { continue }
      _ = open.poll(into: &batch, timeoutMilliseconds: 100)
      var found: Counts = [:]
      for index in 0..<batch.count { Self.count(batch[index].value, known, &found) }
      batch.release()
      guard !found.isEmpty else { continue }
      counts.withLock { counts in
        for (name, outcomes) in found {
          counts[name, default: [:]].merge(outcomes) { $0 + $1 }
        }
      }
    }
    tail?.close()
    hasEnded.store(true, ordering: .releasing)
  }

  private static func open(
    _ kafka: KafkaConfiguration, _ topic: String, since: Int64
  ) throws(KafkaError) -> KafkaTail {
    let admin = try KafkaAdmin(kafka)
    defer { admin.close() }
    let count = try admin.partitionCounts(timeoutMilliseconds: 10_000)[topic] ?? 0
    let all = (0..<Int32(count)).map { TopicPartition(topic: topic, partition: $0) }
    let offsets = try admin.offsets(all, at: since, timeoutMilliseconds: 10_000)
    var starts: [Int32: Int64] = [:]
    for (place, offset) in zip(all, offsets) { starts[place.partition] = offset }
    return try KafkaTail(kafka, topic: topic, from: .offsets(starts))
  }

  private static let id = Array(#""id":"\#(CampaignRecord.prefix)"#.utf8)

  /// Counts the lines of a record that are receipts of these campaigns. They are looked at as senders and ingest write
  /// them: the outcome first, then the ids.
  static func count(
    _ record: UnsafeRawBufferPointer, _ campaigns: [String: Int64], _ counts: inout Counts
  ) {
    guard record.holds(id) else { return }
    Receipt.forEachLine(in: record) { line in
      let start = #"{"outcome":""#
      guard line.starts(with: start.utf8), let place = line.offset(of: id) else { return }
      let name = text(line, from: place + id.count)
      guard campaigns[name] != nil else { return }
      counts[name, default: [:]][text(line, from: start.utf8.count), default: 0] += 1
    }
  }

  private static func text(_ line: UnsafeRawBufferPointer, from start: Int) -> String {
    String(decoding: line[start...].prefix { $0 != UInt8(ascii: "\"") }, as: UTF8.self)
  }
}
