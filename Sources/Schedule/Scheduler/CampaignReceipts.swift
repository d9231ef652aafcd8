// SPDX-License-Identifier: Apache-2.0
import ConsumerGroup
import Contract
import EventLoop
import Glibc
import Kafka
import Records
import ServiceKit
import Synchronization

/// Counts the receipts of campaigns by outcome, on a thread of its own: from the time of each campaign on, so that a
/// process that takes one over counts what the previous owner did.
///
/// A campaign that is added starts at its own time: the receipts between that and the current position are read
/// separately, and the counts of other campaigns are kept.
final class CampaignReceipts: Sendable {
  /// What is counted for a campaign.
  struct Subject: Equatable, Sendable {
    /// Milliseconds since the epoch.
    let since: Int64
    let limits: CampaignLimits

    init(_ record: CampaignRecord) {
      since = record.plan.startAt
      limits = record.plan.limits
    }
  }

  struct Tally: Equatable, Sendable {
    var outcomes = CampaignCounts()
    var evidence = CampaignEvidence()
    /// Whether everything is counted that was on the topic when the counting began.
    var isCaughtUp = false
  }

  typealias Subjects = [CampaignKey: Subject]
  typealias Tallies = [CampaignKey: Tally]

  /// The number of pushes whose outcomes are remembered, for all campaigns, in at most 8 MiB: a sender that takes over
  /// sends again what was sent since the last commit.
  static let remembered = 1 << 18

  private enum Message: Sendable {
    /// Count these campaigns and no others from now on.
    case follow(Subjects)
    case stop
  }

  private let messages = Mailbox<Message>(wakeup: Wakeup())
  private let tallies = Mutex<Tallies>([:])
  private let hasEnded = Atomic(false)
  /// The number of records that were removed before they could be read: what they say is in no count.
  let missed = Atomic(0)
  /// Whether retention may have removed receipts of a campaign before they were looked for.
  let beginLate = Atomic(false)

  private init() {}

  /// Starts the thread.
  ///
  /// - Parameter partitions: how many the topic has, as far as is known; it may grow.
  static func start(
    _ kafka: KafkaConfiguration, _ topic: String, _ log: Logger,
    partitions: @escaping @Sendable () -> Int
  ) throws(SystemError) -> CampaignReceipts {
    let shared = CampaignReceipts()
    let poller = try Poller(capacity: 1)
    try poller.add(shared.messages.wakeup.fd, token: 0, .readable)
    let thread = try LoopThread(name: "receipts") {
      Session(kafka, topic, log, shared, partitions).run(poller)
      shared.hasEnded.store(true, ordering: .releasing)
    }
    thread.detach()
    return shared
  }

  func follow(_ campaigns: Subjects) { messages.post(.follow(campaigns)) }

  /// The current counts.
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
    private let partitions: @Sendable () -> Int
    /// When partitions that were added are looked for, in monotonic milliseconds, and the pause until the next time.
    private var widensAt: UInt64 = 0
    private static let wideningPause: UInt64 = 10_000
    private var followed: Subjects = [:]
    /// The campaigns counted at the current position; the others join once the past is read.
    private var present: Subjects = [:]
    private var reading: ReceiptReading?
    /// The past of the campaigns that were added, up to the position at that time.
    private var past: (reading: ReceiptReading, campaigns: Subjects)?
    /// The newest outcomes that were counted.
    private var counted = DedupWindow(capacity: CampaignReceipts.remembered)
    private var batch = KafkaBatch(capacity: 1_000)
    private var hasFailed = false

    init(
      _ kafka: KafkaConfiguration, _ topic: String, _ log: Logger, _ shared: CampaignReceipts,
      _ partitions: @escaping @Sendable () -> Int
    ) {
      (self.kafka, self.topic, self.log, self.shared) = (kafka, topic, log, shared)
      self.partitions = partitions
    }

    func run(_ poller: Poller) {
      var ready: [ReadyEvent] = []
      while true {
        // With campaigns, it waits for receipts instead.
        let timeout: Int32 = followed.isEmpty ? 600_000 : hasFailed ? 1_000 : 0
        poller.wait(timeoutMilliseconds: timeout, into: &ready)
        shared.messages.wakeup.clear()
        for message in shared.messages.drain() {
          guard case .follow(let wanted) = message else {
            close()
            return
          }
          follow(wanted)
        }
        if !followed.isEmpty { read() }
      }
    }

    private func close() {
      reading?.close()
      past?.reading.close()
      (reading, past, present) = (nil, nil, [:])
    }

    private func follow(_ wanted: Subjects) {
      if wanted.isEmpty { close() }
      func isKept(_ key: CampaignKey) -> Bool { wanted[key] == followed[key] }
      shared.tallies.withLock { $0 = $0.filter { isKept($0.key) } }
      present = present.filter { isKept($0.key) }
      if let open = past {
        let left = open.campaigns.filter { isKept($0.key) }
        past = left.isEmpty ? nil : (open.reading, left)
        if left.isEmpty { open.reading.close() }
      }
      // A campaign that comes back is counted anew.
      if !followed.keys.allSatisfy(isKept) {
        counted = DedupWindow(capacity: CampaignReceipts.remembered)
      }
      followed = wanted
    }

    private func read() {
      do throws(KafkaError) {
        try begin()
        hasFailed = false
      } catch {
        if !hasFailed { log(SchedulerLog.receiptsNotRead, ["error": "\(error)"]) }
        hasFailed = true
        return
      }
      var tallies = shared.current
      var missed = 0
      if let open = past {
        missed += open.reading.poll(into: &batch, timeoutMilliseconds: 0) { record in
          CampaignReceipts.count(record, open.campaigns, &tallies, &counted)
        }
        if open.reading.isDone {
          open.reading.close()
          past = nil
        }
      }
      // While the past is being read, do not wait for new receipts.
      let pause: Int32 = past == nil ? 100 : 10
      if let reading {
        missed += reading.poll(into: &batch, timeoutMilliseconds: pause) { record in
          CampaignReceipts.count(record, present, &tallies, &counted)
        }
      }
      noteCaughtUp(&tallies)
      shared.tallies.withLock { $0 = tallies }
      guard missed > 0 else { return }
      shared.missed.add(missed, ordering: .relaxed)
      log(SchedulerLog.receiptsMissed, ["records": "\(missed)"])
    }

    private func noteCaughtUp(_ tallies: inout Tallies) {
      let open = present.keys.filter {
        past?.campaigns[$0] == nil && tallies[$0]?.isCaughtUp != true
      }
      guard !open.isEmpty, reading?.hasReadPast == true else { return }
      for campaign in open { tallies[campaign, default: Tally()].isCaughtUp = true }
    }

    /// Opens what is missing: the reading from the first campaign's time on, that of partitions that were added, then the
    /// past of campaigns that were added.
    private func begin() throws(KafkaError) {
      guard let open = try widened() else {
        reading = try startReading(followed)
        present = followed
        return
      }
      let added = followed.filter { present[$0.key] == nil }
      guard past == nil, !added.isEmpty else { return }
      past = (try startReading(added, until: open.positions), added)
      present.merge(added) { _, new in new }
    }

    /// The reading, with the partitions that have been added to the topic; nil if there is none.
    private func widened() throws(KafkaError) -> ReceiptReading? {
      let now = MonotonicClock.milliseconds()
      guard let open = reading, partitions() > open.partitions, now >= widensAt else {
        return reading
      }
      // The broker that is asked may not know them yet.
      widensAt = now + Self.wideningPause
      let wider = try ReceiptReading(kafka, topic, continuing: open)
      open.close()
      reading = wider
      return wider
    }

    /// The receipts since the first of these campaigns began.
    private func startReading(
      _ campaigns: Subjects, until ends: [Int32: Int64]? = nil
    ) throws(KafkaError) -> ReceiptReading {
      let since = campaigns.values.map(\.since).min() ?? 0
      let opened = try ReceiptReading(kafka, topic, since: since, until: ends)
      if opened.mayLack(since: since, now: WallClock.milliseconds()) {
        shared.beginLate.store(true, ordering: .relaxed)
        log(
          SchedulerLog.receiptsBeginLate,
          ["topic": topic, "remedy": "a retention.ms that is longer than campaigns take"])
      }
      return opened
    }
  }

  /// Counts the receipts of these campaigns in a record, and the others of their apps where a campaign is compared with
  /// them.
  ///
  /// - Parameter counted: the outcomes that were counted before.
  static func count(
    _ record: UnsafeRawBufferPointer, _ campaigns: Subjects, _ tallies: inout Tallies,
    _ counted: inout DedupWindow
  ) {
    let compared = campaigns.filter { $0.value.limits.unregisteredTimes != nil }
    guard !compared.isEmpty || ReceiptGlance.mayBeOfCampaign(record) else { return }
    Receipt.forEachLine(in: record) { line in
      guard let receipt = ReceiptGlance(line) else { return }
      let key = receipt.campaign
      if let key, let subject = campaigns[key], counted.isFirst(receipt) {
        tallies[key, default: Tally()].add(receipt, line, subject.limits)
      }
      for (other, _) in compared
      where other != key && receipt.isOf(other.app, "\(other.environment)") {
        tallies[other, default: Tally()].evidence.others.add(receipt)
      }
    }
  }
}

/// The receipts of all partitions from a time on. Owned by one thread.
private final class ReceiptReading {
  private let tail: KafkaTail
  /// The next offset of each partition.
  private(set) var positions: [Int32: Int64]
  /// The end offsets of the reading; nil if it has no end.
  private let ends: [Int32: Int64]?
  /// The age at which records are removed, if it begins with the first one kept of a partition that had others.
  private let retention: Int64?

  /// - Parameters:
  ///   - since: milliseconds since the epoch.
  ///   - until: the first offsets beyond the reading; nil for no end.
  init(
    _ kafka: KafkaConfiguration, _ topic: String, since: Int64, until: [Int32: Int64]? = nil
  ) throws(KafkaError) {
    let admin = try KafkaAdmin(kafka)
    defer { admin.close() }
    let count = try admin.topicSize(topic, timeoutMilliseconds: 10_000).partitions
    let all = (0..<Int32(count)).map { TopicPartition(topic: topic, partition: $0) }
    let offsets = try admin.offsets(all, at: since, timeoutMilliseconds: 10_000)
    positions = [:]
    for (place, offset) in zip(all, offsets) { positions[place.partition] = offset }
    ends = until
    // Asked afterwards: what is removed meanwhile is not among the offsets.
    let kept = try admin.watermarks(all, timeoutMilliseconds: 10_000)
    let beginsLate = zip(offsets, kept).contains { $1.low > 0 && $0 <= $1.low }
    retention = beginsLate ? Self.removalAge(of: topic, admin) : nil
    tail = try KafkaTail(kafka, topic: topic, from: .offsets(positions))
  }

  /// Goes on where another one is; partitions that were added begin at their first record.
  init(
    _ kafka: KafkaConfiguration, _ topic: String, continuing other: ReceiptReading
  ) throws(KafkaError) {
    (positions, ends, retention) = (other.positions, other.ends, nil)
    tail = try KafkaTail(kafka, topic: topic, from: .offsets(positions))
  }

  /// In milliseconds; Kafka's default where it is unknown, and a minute where the size of the log decides.
  private static func removalAge(of topic: String, _ admin: KafkaAdmin) -> Int64 {
    let settings = (try? admin.topicSettings([topic], timeoutMilliseconds: 5_000))?[topic]
    func number(_ name: String) -> Int64? { settings?[name].flatMap { Int64($0) } }
    if let most = number("retention.bytes"), most >= 0 { return 60_000 }
    let age = number("retention.ms") ?? 7 * 86_400_000
    return age < 0 ? .max : age
  }

  /// Whether records of its time may have been removed before it began.
  func mayLack(since time: Int64, now: Int64) -> Bool {
    retention.map { now - time >= $0 } ?? false
  }

  /// The number of partitions that are read.
  var partitions: Int { tail.partitions }

  /// Whether everything has been read: up to its own end, or that of the topic.
  var isDone: Bool {
    guard let ends else { return false }
    return tail.isCaughtUp || ends.allSatisfy { positions[$0.key] ?? $0.value >= $0.value }
  }

  /// Whether everything has been read that was on the topic when it began.
  var hasReadPast: Bool { tail.hasRead(to: tail.ends) }

  /// - Parameter body: receives the value of each record in the reading.
  /// - Returns: how many records were removed before they could be read.
  func poll(
    into batch: inout KafkaBatch, timeoutMilliseconds: Int32,
    _ body: (UnsafeRawBufferPointer) -> Void
  ) -> Int {
    let before = tail.missed
    _ = tail.poll(into: &batch, timeoutMilliseconds: timeoutMilliseconds)
    defer { batch.release() }
    for index in 0..<batch.count {
      let record = batch[index]
      positions[record.partition] = record.offset + 1
      // A partition without an end was added: whoever set the ends reads it from its first record on.
      if let ends, record.offset >= ends[record.partition] ?? 0 { continue }
      body(record.value)
    }
    return tail.missed - before
  }

  func close() { tail.close() }
}

extension DedupWindow {
  /// Remembers the outcome of a push.
  ///
  /// - Returns: false if the push had the same outcome before: it was sent twice. Each `deduplicated` is of a record.
  fileprivate mutating func isFirst(_ receipt: ReceiptGlance) -> Bool {
    let name = receipt.outcome
    guard let outcome = Outcome(name.utf8.span), outcome != .deduplicated, let id = receipt.apnsID
    else { return true }
    let payload = UInt16(outcome.rawValue)
    return insert(id, payload: payload) || self.payload(of: id) != payload
  }
}

extension CampaignReceipts.Tally {
  fileprivate mutating func add(
    _ receipt: ReceiptGlance, _ line: UnsafeRawBufferPointer, _ limits: CampaignLimits
  ) {
    outcomes.add(receipt.outcome)
    evidence.ended += 1
    if receipt.isOfRequest, evidence.refusal == nil {
      evidence.refusal = (try? Receipt(line, parser: JSONParser()))?.detail ?? ""
    }
    guard evidence.devices.add(receipt) else { return }
    if receipt.outcome == "\(Outcome.rejected)" { evidence.rejected += 1 }
    guard let limit = limits.slowerThan, let duration = receipt.duration else { return }
    evidence.timed += 1
    if duration > limit { evidence.slow += 1 }
  }
}

extension CampaignEvidence.Devices {
  /// - Returns: whether the receipt is the outcome of a push.
  @discardableResult
  fileprivate mutating func add(_ receipt: ReceiptGlance) -> Bool {
    guard receipt.outcome != "\(Outcome.deduplicated)", receipt.outcome != "\(Outcome.addressed)"
    else { return false }
    outcomes += 1
    if receipt.isUnregistered { unregistered += 1 }
    return true
  }
}
