// SPDX-License-Identifier: Apache-2.0
import Bytes
import Contract
import EventLoop
import Glibc
import Kafka
import Records
import Schedule
import ServiceKit
import Synchronization

/// Counts the receipts of campaigns by outcome, on a thread of its own: from the time of each on, so that a process that
/// takes a campaign over counts what the one before it did.
final class CampaignReceipts: Sendable {
  /// What is counted of a campaign.
  struct Subject: Equatable, Sendable {
    /// Milliseconds since the epoch.
    let since: Int64
    let app: String
    let environment: String
    let limits: CampaignLimits

    init(_ record: CampaignRecord) {
      since = record.plan.startAt
      (app, environment) = (record.audience.app, "\(record.audience.environment)")
      limits = record.plan.limits
    }
  }

  struct Tally: Equatable, Sendable {
    var outcomes: [String: Int] = [:]
    var evidence = CampaignEvidence()
  }

  typealias Tallies = [String: Tally]

  private enum Message: Sendable {
    /// Counts these campaigns and no others from now on.
    case follow([String: Subject])
    case stop
  }

  private let messages = Mailbox<Message>(wakeup: Wakeup())
  private let tallies = Mutex<Tallies>([:])
  private let hasEnded = Atomic(false)

  private init() {}

  /// Starts the thread.
  static func start(
    _ kafka: KafkaConfiguration, _ topic: String, _ log: Logger
  ) throws(SystemError) -> CampaignReceipts {
    let shared = CampaignReceipts()
    let poller = try Poller(capacity: 1)
    try poller.add(shared.messages.wakeup.fd, token: 0, .readable)
    let thread = try LoopThread(name: "receipts") {
      Session(kafka, topic, log, shared).run(poller)
      shared.hasEnded.store(true, ordering: .releasing)
    }
    thread.detach()
    return shared
  }

  func follow(_ campaigns: [String: Subject]) { messages.post(.follow(campaigns)) }

  /// What was counted until now.
  var current: Tallies { tallies.withLock { $0 } }

  func close() {
    messages.post(.stop)
    let deadline = MonotonicClock.milliseconds() + 1_000
    while !hasEnded.load(ordering: .acquiring), MonotonicClock.milliseconds() < deadline {
      usleep(1_000)
    }
  }

  // MARK: The thread

  /// The state that the thread owns.
  private final class Session {
    private let kafka: KafkaConfiguration
    private let topic: String
    private let log: Logger
    private let shared: CampaignReceipts
    private var followed: [String: Subject] = [:]
    private var tail: KafkaTail?
    private var batch = KafkaBatch(capacity: 1_000)
    private var hasFailed = false

    init(
      _ kafka: KafkaConfiguration, _ topic: String, _ log: Logger, _ shared: CampaignReceipts
    ) {
      (self.kafka, self.topic, self.log, self.shared) = (kafka, topic, log, shared)
    }

    func run(_ poller: Poller) {
      var ready: [ReadyEvent] = []
      while true {
        // With campaigns it is receipts that are waited for.
        let timeout: Int32 = followed.isEmpty ? 600_000 : hasFailed ? 1_000 : 0
        poller.wait(timeoutMilliseconds: timeout, into: &ready)
        shared.messages.wakeup.clear()
        for message in shared.messages.drain() {
          guard case .follow(let wanted) = message else {
            tail?.close()
            return
          }
          follow(wanted)
        }
        if !followed.isEmpty { read() }
      }
    }

    private func follow(_ wanted: [String: Subject]) {
      // A further one begins at its own time: all are counted again.
      if wanted.contains(where: { followed[$0.key] != $0.value }) || wanted.isEmpty {
        tail?.close()
        tail = nil
      }
      let isNew = tail == nil
      shared.tallies.withLock { $0 = isNew ? [:] : $0.filter { wanted[$0.key] != nil } }
      followed = wanted
    }

    private func read() {
      do throws(KafkaError) {
        let open: KafkaTail
        if let tail { open = tail } else { open = try self.open() }
        tail = open
        hasFailed = false
        _ = open.poll(into: &batch, timeoutMilliseconds: 100)
      } catch {
        if !hasFailed { log.warning("cannot read receipts; retrying", ["error": "\(error)"]) }
        hasFailed = true
        return
      }
      guard batch.count > 0 else { return }
      var tallies = shared.current
      for index in 0..<batch.count {
        CampaignReceipts.count(batch[index].value, followed, &tallies)
      }
      batch.release()
      shared.tallies.withLock { $0 = tallies }
    }

    private func open() throws(KafkaError) -> KafkaTail {
      let admin = try KafkaAdmin(kafka)
      defer { admin.close() }
      let count = try admin.partitionCounts(timeoutMilliseconds: 10_000)[topic] ?? 0
      let all = (0..<Int32(count)).map { TopicPartition(topic: topic, partition: $0) }
      let since = followed.values.map(\.since).min() ?? 0
      let offsets = try admin.offsets(all, at: since, timeoutMilliseconds: 10_000)
      var starts: [Int32: Int64] = [:]
      for (place, offset) in zip(all, offsets) { starts[place.partition] = offset }
      return try KafkaTail(kafka, topic: topic, from: .offsets(starts))
    }
  }

  private static let mark = Array(#""id":"\#(CampaignRecord.prefix)"#.utf8)

  /// Counts the lines of a record that are receipts of these campaigns, and the others of their apps where a campaign is
  /// compared with them.
  static func count(
    _ record: UnsafeRawBufferPointer, _ campaigns: [String: Subject], _ tallies: inout Tallies
  ) {
    let compared = campaigns.filter { $0.value.limits.unregisteredTimes != nil }
    guard !compared.isEmpty || record.holds(mark) else { return }
    Receipt.forEachLine(in: record) { line in
      guard let receipt = ReceiptGlance(line) else { return }
      let name = line.holds(mark) ? receipt.id.flatMap(CampaignRecord.name(ofKey:)) : nil
      if let name, let subject = campaigns[name] {
        tallies[name, default: Tally()].add(receipt, subject.limits)
      }
      for (other, subject) in compared
      where other != name && receipt.isOf(subject.app, subject.environment) {
        tallies[other, default: Tally()].evidence.others.add(receipt)
      }
    }
  }
}

extension CampaignReceipts.Tally {
  fileprivate mutating func add(_ receipt: ReceiptGlance, _ limits: CampaignLimits) {
    outcomes[receipt.outcome, default: 0] += 1
    guard evidence.devices.add(receipt) else { return }
    if receipt.outcome == "\(Outcome.rejected)" { evidence.rejected += 1 }
    guard let limit = limits.slowerThan, let duration = receipt.duration else { return }
    evidence.timed += 1
    if duration > limit { evidence.slow += 1 }
  }
}

extension CampaignEvidence.Devices {
  /// - Returns: whether it is the outcome of a push.
  @discardableResult
  fileprivate mutating func add(_ receipt: ReceiptGlance) -> Bool {
    guard receipt.outcome != "\(Outcome.deduplicated)", receipt.outcome != "\(Outcome.addressed)"
    else { return false }
    outcomes += 1
    if receipt.isUnregistered { unregistered += 1 }
    return true
  }
}
