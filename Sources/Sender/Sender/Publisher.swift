// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Kafka
import Records
import SenderDecisions
import ServiceKit

/// A loop's producer: receipts in batches, feedback, retries and dead letters, and what Kafka acknowledges of them.
///
/// Owner: one sender loop.
final class Publisher {
  /// What may wait for Kafka's acknowledgement in bytes: retries and dead letters carry whole notifications.
  static let unacknowledgedBytesAtMost = 16 << 20
  /// What no repetition changes is tried again after this, in milliseconds: until somebody changes the topic.
  private static let pauseAfterRefusal: UInt64 = 1_000
  /// A refusal is over if it was not repeated for so long after the next attempt, in milliseconds.
  private static let refusalMemory: UInt64 = 5_000

  private let producer: KafkaProducer
  private let topics: OutgoingTopics
  private var watch: ProducerWatch
  /// Monotonic milliseconds of this turn.
  @exclusivity(unchecked) private var now: UInt64 = 0
  @exclusivity(unchecked) private var receipts = ReceiptBatches()
  @exclusivity(unchecked) private var sides = SideRecords()
  private var blockedSides: [BlockedSide] = []
  /// A record was refused that cannot be made smaller: nothing is written nor taken in before (monotonic
  /// milliseconds).
  @exclusivity(unchecked) private var refusedUntil: UInt64 = 0
  private var lastRefusal: (topic: KafkaTopic, error: KafkaError)?
  /// The producer had no room for receipts: time alone makes none, an acknowledgement does and wakes the loop.
  @exclusivity(unchecked) private var isProducerFull = false

  init(_ context: ServiceContext, _ names: TopicNames, _ cluster: ClusterView, _ wakeup: Wakeup)
    throws
  {
    producer = try KafkaProducer(cluster.configuration, wakeup: wakeup)
    watch = ProducerWatch(context)
    topics = try OutgoingTopics(names, producer)
  }

  func beginTurn(now: UInt64) { self.now = now }

  /// Whether what is taken now can be written soon.
  var isOpen: Bool {
    !producer.isFull && blockedSides.isEmpty && now >= refusedUntil
      && producer.outstandingBytes < Self.unacknowledgedBytesAtMost
  }

  func close() { producer.close() }

  // MARK: Outcomes

  /// Writes a push's receipt.
  func writeReceipt(
    _ push: UnsafeMutablePointer<Push>, _ end: borrowing PushEnd, _ origin: Origin
  ) {
    push.appendReceipt(end, to: &receipts.lines)
    receipts.lineAdded(for: origin, now: now)
    if receipts.isFull { launchReceipts() }
  }

  /// Writes a record to the feedback topic, and then the receipt.
  func writeFeedback(_ record: FeedbackRecord, _ origin: Origin, receipt: [UInt8]) {
    publish(
      topics.feedback, key: record.key, value: record.value,
      SideRecord(origin: origin, receipt: receipt))
  }

  /// Writes a notification to a retry topic.
  func writeRetry(_ tier: RetryTier, key: [UInt8], value: [UInt8], _ origin: Origin) {
    publish(topics.retries[Int(tier.rawValue)], key: key, value: value, SideRecord(origin: origin))
  }

  /// Writes a notification to its lane.
  func writeToLane(_ lane: Lane, key: [UInt8], value: [UInt8], _ origin: Origin) {
    publish(topics.lanes[Int(lane.place)], key: key, value: value, SideRecord(origin: origin))
  }

  /// Writes to a lane that an id is free again, and then the receipt; without one nothing waits for that.
  func writeFreedID(
    _ lane: Lane, key: [UInt8], value: [UInt8], _ origin: Origin?, receipt: [UInt8] = []
  ) {
    publish(
      topics.lanes[Int(lane.place)], key: key, value: value,
      SideRecord(origin: origin, receipt: receipt))
  }

  /// Writes a dead letter, and then the receipt; empty: none.
  func writeDeadLetter(
    key: [UInt8], value: [UInt8], headers: [KafkaHeader], _ origin: Origin, receipt: [UInt8] = []
  ) {
    publish(
      topics.deadLetters, key: key, value: value, headers: headers,
      SideRecord(origin: origin, receipt: receipt))
  }

  // MARK: Side records

  private func publish(
    _ topic: KafkaTopic, key: [UInt8], value: [UInt8], headers: [KafkaHeader] = [],
    _ side: SideRecord
  ) {
    let blocked = BlockedSide(topic: topic, key: key, value: value, headers: headers, side: side)
    if !blockedSides.isEmpty || !produce(blocked) { blockedSides.append(blocked) }
  }

  /// - Returns: false when the record has to wait.
  private func produce(_ record: BlockedSide) -> Bool {
    guard now >= refusedUntil else { return false }
    let slot = sides.add(record.side)
    let tag = DeliveryTag.side(slot: slot).value
    let result = producer.produce(
      record.topic, key: record.key, value: record.value, headers: record.headers, tag: tag)
    switch result {
    case .queued: return true
    case .full:
      _ = sides.remove(slot)
      return false
    case .refused(let error):
      _ = sides.remove(slot)
      blockedSides.insert(afterRefusal(record, error), at: 0)
      return true
    }
  }

  /// Tries again what the producer had no room for, and says what Kafka does not take. Every some milliseconds.
  func upkeep() {
    retryBlockedSides()
    watch.turn(producer, now: now, refusal: refusal)
  }

  /// The records that are written again although Kafka has refused them for good; nil if there are none.
  private var refusal: ProducerTrouble? {
    guard let (topic, error) = lastRefusal, now < refusedUntil + Self.refusalMemory else {
      return nil
    }
    return ProducerTrouble(
      waiting: producer.outstanding + blockedSides.count + receipts.asideCount,
      topics: [producer.name(of: topic)], error: error)
  }

  private func retryBlockedSides() {
    guard !blockedSides.isEmpty else { return }
    var waiting = blockedSides
    blockedSides.removeAll()
    var sent = 0
    while sent < waiting.count, produce(waiting[sent]) { sent += 1 }
    waiting.removeFirst(sent)
    blockedSides += waiting
  }

  // MARK: Receipts

  /// When the batch of receipts has to go, in monotonic milliseconds; nil when that is not a matter of time.
  var nextDue: UInt64? {
    receipts.isEmpty || isProducerFull || !receipts.mayFly
      ? nil : receipts.begun + ReceiptLimits.longestAge
  }

  /// Whether there are receipts that were not sent yet.
  var hasReceipts: Bool { !receipts.isEmpty }

  /// Sends the batch of receipts if its time has come: it is old enough, or there is nothing to wait for.
  func flushReceipts(isIdle: Bool) {
    if isIdle || receipts.isDue(now: now) { launchReceipts() }
  }

  /// Ends the turn: outcomes that are alone go to Kafka at once.
  func sendPromptly() { producer.sendPromptly() }

  private func launchReceipts() {
    var hasRoom = now >= refusedUntil
    while hasRoom, let lines = receipts.nextAside {
      hasRoom = lines.withUnsafeBytes { launch($0) }
    }
    if hasRoom, !receipts.lines.isEmpty { hasRoom = launch(receipts.lines.bytes) }
    isProducerFull = !hasRoom
    if !hasRoom, receipts.isFull { receipts.putAside() }
  }

  /// - Returns: false when the batch has to wait.
  private func launch(_ lines: UnsafeRawBufferPointer) -> Bool {
    let slot = receipts.launchSlot()
    let tag = DeliveryTag.receipts(slot: slot).value
    let noKey = UnsafeRawBufferPointer(start: nil, count: 0)
    switch producer.produce(topics.receipts, key: noKey, value: lines, tag: tag) {
    case .queued:
      receipts.launched(in: slot)
      return true
    case .full: return false
    case .refused(let error):
      receipts.launched(in: slot)
      receipts.takeBack(slot, Array(lines))
      return receiptsAfterRefusal(error)
    }
  }

  // MARK: Acknowledgements

  /// Takes Kafka's acknowledgements; calls `complete` with each record whose outcome Kafka has.
  func drainDeliveries(_ complete: (Origin) -> Void) {
    let deliveries = producer.drainDeliveries()
    guard !deliveries.isEmpty else { return }
    isProducerFull = false
    for delivery in deliveries { landed(delivery, complete) }
  }

  private func landed(_ delivery: Delivery, _ complete: (Origin) -> Void) {
    if let error = delivery.refused { return takeBack(delivery.tag, error) }
    switch DeliveryTag(delivery.tag) {
    case .receipts(let slot): receipts.landed(in: slot, complete)
    case .side(let slot):
      let side = sides.remove(slot)
      guard let origin = side.origin else { return }
      if side.receipt.isEmpty { return complete(origin) }
      if !receipts.lines.isEmpty { receipts.lines.append(UInt8(ascii: "\n")) }
      receipts.lines.append(side.receipt)
      receipts.lineAdded(for: origin, now: now)
    }
  }

  /// Kafka does not take a record as it is: it is written again, smaller where that may help.
  private func takeBack(_ tag: UInt, _ error: KafkaError) {
    guard let record = producer.refusedRecord(tag) else {
      preconditionFailure("a refused record without its content")
    }
    switch DeliveryTag(tag) {
    case .receipts(let slot):
      receipts.takeBack(slot, record.value ?? [])
      _ = receiptsAfterRefusal(error)
    case .side(let slot):
      let blocked = BlockedSide(
        topic: record.topic, key: record.key ?? [], value: record.value ?? [],
        headers: record.headers, side: sides.remove(slot))
      blockedSides.append(afterRefusal(blocked, error))
    }
  }

  /// - Returns: whether the receipts may be written again at once.
  private func receiptsAfterRefusal(_ error: KafkaError) -> Bool {
    if error.isOfSize, receipts.halveNext() { return true }
    pause(after: error, of: topics.receipts)
    return false
  }

  private func afterRefusal(_ record: BlockedSide, _ error: KafkaError) -> BlockedSide {
    if error.isOfSize, record.topic == topics.deadLetters, let cut = record.cut() { return cut }
    pause(after: error, of: record.topic)
    return record
  }

  private func pause(after error: KafkaError, of topic: KafkaTopic) {
    lastRefusal = (topic, error)
    refusedUntil = now + Self.pauseAfterRefusal
  }
}
