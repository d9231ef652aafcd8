// SPDX-License-Identifier: Apache-2.0
import ConsumerGroup
import Contract
import EventLoop
import IngestDecisions
import Kafka
import Records
import ServiceKit

/// What ingest writes: notifications, dead letters and receipts, and the requests that they complete when Kafka has
/// them.
///
/// Owner: the ingest loop.
final class IngestOutput {
  private static let mostCredit = 16 << 10
  /// At this many records that wait to become dead letters, or shorter ones, nothing further is written.
  private static let mostOversized = 64
  /// How often a topic that was missing is looked for.
  private static let lookMilliseconds: UInt64 = 10_000

  /// The topics that ingest writes, as the producer knows them.
  struct Topics {
    /// By the lane's place.
    let lanes: [KafkaTopic]
    let receipts: KafkaTopic
    let deadLetters: KafkaTopic
    let schedule: KafkaTopic

    init(_ producer: KafkaProducer, _ names: TopicNames) throws(KafkaError) {
      lanes = try names.notifications.map { name throws(KafkaError) in
        try producer.topic(known: name)
      }
      receipts = try producer.topic(known: names.receipts)
      deadLetters = try producer.topic(known: names.deadLetters)
      schedule = try producer.topic(known: names.schedule)
    }
  }

  let settings: IngestSettings
  let context: ServiceContext
  let counters: Counters<IngestMetrics>
  let producer: KafkaProducer
  let topics: Topics
  /// The names of the topics that requests come from, for the names of notifications.
  let requestTopics: [[UInt8]]
  /// What was taken and is not complete.
  var machine: IngestMachine
  var receipts = ReceiptBatch()
  /// What a topic did not take because of its size.
  var oversized: [OversizedRecord] = []
  /// Reads what of that was a request for the schedule.
  lazy var refusedReader = RequestReader(types: settings.pushTypes, lanes: settings.lanes)
  /// The max.message.bytes of such topics, as far as the cluster says, and until when that is believed: operators raise
  /// it.
  var sizeLimits: [String: (limit: String?, until: UInt64)] = [:]
  /// Bytes of what requests become that may be written before it is asked again whether there is room.
  private var credit = 0
  private var watch: ProducerWatch
  private var settled: [Int] = []
  /// Whether the topic of the schedule exists, and when it is looked for again.
  private var scheduleExists: Bool
  private var nextLook: UInt64 = 0
  /// Why the service has to give up.
  var failure: ServiceFailure?

  init(
    _ settings: IngestSettings, _ context: ServiceContext, _ counters: Counters<IngestMetrics>,
    _ names: TopicNames, _ producer: KafkaProducer
  ) throws(KafkaError) {
    self.settings = settings
    self.context = context
    self.counters = counters
    self.producer = producer
    topics = try Topics(producer, names)
    requestTopics = settings.requestTopics(names).map { Array($0.utf8) }
    machine = IngestMachine(capacity: settings.maxInFlight)
    watch = ProducerWatch(context)
    scheduleExists = settings.hasSchedule
  }

  // MARK: Turn

  /// Takes what Kafka acknowledged, and writes what it did not take as it was.
  func beginTurn(_ member: inout GroupMember) {
    drainDeliveries(&member)
    writeOversized()
    // Acknowledgements and readers have moved since the last turn.
    credit = 0
  }

  /// Sends what should not wait, and reports what Kafka does not take.
  ///
  /// - Parameter isBusy: the next turn follows at once.
  func endTurn(now: UInt64, isBusy: Bool) {
    if !isBusy || receipts.isDue(now) { sendReceipts() }
    if !isBusy { producer.sendPromptly() }
    watch.turn(producer, now: now)
  }

  private func drainDeliveries(_ member: inout GroupMember) {
    for delivery in producer.drainDeliveries() {
      if let error = delivery.refused {
        takeBack(delivery, error)
        if failure != nil { return }
        continue
      }
      let tag = RecordTag(delivery.tag)
      switch tag.kind {
      case .ofRequest: member.complete(machine.settle(tag.slot))
      case .receipts:
        settled.removeAll(keepingCapacity: true)
        receipts.acknowledged(tag.slot, into: &settled)
        for slot in settled { member.complete(machine.settle(slot)) }
      }
    }
  }

  // MARK: Notifications

  /// Whether a further notification or dead letter may be written now. What changes the answer from one to the next is how
  /// many bytes wait: it is asked again after some of them.
  func mayProduce() -> Bool {
    if credit > 0 { return true }
    let room = settings.maxInFlightBytes - producer.outstandingBytes
    guard room > 0, oversized.count < Self.mostOversized else { return false }
    credit = min(room, Self.mostCredit)
    return true
  }

  /// Hands a notification of the request at hand to Kafka; false when it has to wait.
  ///
  /// - Parameter counter: counts it; another one for a record of the schedule.
  func produce(
    _ topic: KafkaTopic, key: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer,
    as counter: IngestMetrics = .notifications
  ) -> Bool {
    let tag = RecordTag(.ofRequest, slot: machine.slot)
    switch producer.produce(topic, key: key, value: value, tag: tag.number) {
    case .queued:
      counters.add(counter)
      credit -= key.count + value.count
      machine.expect()
      return true
    case .full: return false
    case .refused(let error) where error.isOfSize:
      counters.add(counter)
      credit -= key.count + value.count
      takeBack(topic, key: key, value: value, error)
      return true
    case .refused(let error):
      failure = ServiceFailure("Kafka refuses notifications: \(error)")
      return false
    }
  }

  var scheduleName: String { producer.name(of: topics.schedule) }

  /// Whether the topic of the schedule exists: the producer would hold a record for one that does not, and every other
  /// record behind it.
  func hasSchedule() -> Bool {
    let now = MonotonicClock.milliseconds()
    if scheduleExists || now < nextLook { return scheduleExists }
    nextLook = now + Self.lookMilliseconds
    if let admin = try? KafkaAdmin(settings.kafka) {
      let name = scheduleName
      let listing = try? admin.topicListing(naming: [name], timeoutMilliseconds: 1_000)
      scheduleExists = listing?.sizes[name] != nil || listing?.hidden[name] != nil
      admin.close()
    }
    return scheduleExists
  }

  // MARK: Dead letters and receipts

  /// Hands a dead letter of the request at hand to Kafka; false when it has to wait.
  func produce(
    _ letter: DeadLetter, key: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer?
  ) -> Bool {
    let tag = RecordTag(.ofRequest, slot: machine.slot)
    let result = producer.produce(
      topics.deadLetters, key: key, value: value, headers: letter.kafkaHeaders, tag: tag.number)
    credit -= key.count + (value?.count ?? 0)
    switch result {
    case .queued:
      machine.expect()
      return true
    case .full: return false
    case .refused(let error):
      guard error.isOfSize, takeBack(letter, key: key, value: value) else {
        failure = ServiceFailure("Kafka refuses dead letters: \(error)")
        return false
      }
      return true
    }
  }

  func hasRoomForReceipt() -> Bool {
    if receipts.isFull { sendReceipts() }
    return !receipts.isFull
  }

  /// A line for the request at hand.
  func add(_ line: ReceiptLine) {
    machine.expect()
    let before = receipts.lines.count
    receipts.append(line, for: machine.slot, now: MonotonicClock.milliseconds())
    credit -= receipts.lines.count - before
  }

  /// The same for a line that is written already.
  func add(_ line: [UInt8]) {
    machine.expect()
    receipts.append(line, for: machine.slot, now: MonotonicClock.milliseconds())
  }

  /// Hands the receipts to Kafka; when it has no room they wait.
  func sendReceipts() {
    if receipts.isEmpty { return }
    let tag = RecordTag(.receipts, slot: receipts.nextPlace())
    let none = UnsafeRawBufferPointer(start: nil, count: 0)
    let result = producer.produce(
      topics.receipts, key: none, value: receipts.lines.bytes, tag: tag.number)
    switch result {
    case .queued: receipts.sent()
    case .full: break
    case .refused(let error): failure = ServiceFailure("Kafka refuses receipts: \(error)")
    }
  }
}

extension GroupMember {
  /// A request is done, if it is one: one of its records was acknowledged, and others may not be.
  mutating func complete(_ request: RequestTable.Entry?) {
    guard let request else { return }
    completed(
      Source(topic: Int(request.topic), partition: request.partition), epoch: request.epoch,
      request.offset)
  }
}
