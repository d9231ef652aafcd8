// SPDX-License-Identifier: Apache-2.0
import Bytes
import Compatibility
import Delivery
import EventLoop
import Kafka
import Pipeline
import Records
import ServiceKit

/// The one thread of ingest: membership in the group, requests, notifications, commits.
///
/// A turn takes what Kafka acknowledged, follows the group and the table of dead tokens, works on the batch of
/// requests at hand, and commits. It takes a further batch only when the last one is done, and stops in the
/// middle of a request when Kafka has no room or the readers are behind: what waits, waits in Kafka.
final class IngestLoop {
  /// What a rebalance waits for acknowledgements at most: the whole group stands still meanwhile.
  static let rebalanceDrainMilliseconds: UInt64 = 3_000
  /// The longest sleep: repeats of failed deliveries, and wakeups that a queue may owe.
  static let turnMilliseconds: Int32 = 100
  static let batchCapacity = 256
  private static let lookMilliseconds: UInt64 = 1_000
  private static let batchesATurn = 4
  private static let mostCredit = 16 << 10

  let settings: IngestSettings
  let context: ServiceContext
  let names: TopicNames
  let counters = Counters<IngestCounter>()
  private let heartbeat: Heartbeat
  let wakeup = Wakeup()
  let producer: KafkaProducer
  var member: GroupMember
  let invalidTokens: InvalidTokens
  let topics: OutputTopics
  /// The names of the topics that requests come from, for the names of notifications.
  let requestTopics: [[UInt8]]
  let pusher: PusherTranslator
  private let poller: Poller

  // The batch at hand.
  var batch = KafkaBatch(capacity: IngestLoop.batchCapacity)
  var position = 0
  /// When it was taken, in milliseconds since the epoch.
  var takenAt: Int64 = 0
  /// What is made of the record at `position`; nil before it was looked at.
  var work: FanOut?
  let reader: RequestReader
  var request = PushRequest()
  /// The `traceparent` of the request at hand, in its record; empty without one.
  var traceParent = UnsafeRawBufferPointer(start: nil, count: 0)
  /// The keyed fields that a refused request carries to its receipt.
  var refusedFields = ByteBuffer()
  /// Why the request at hand is refused, if it is.
  var refusal = RequestError(nil, .empty)
  var slot = 0
  var encoder = EnvelopeEncoder()
  var naming = NotificationNaming()
  let tokenText = UnsafeMutablePointer<UInt8>.allocate(capacity: 512)

  // What was taken and is not complete.
  var requests: RequestTable
  var receipts = ReceiptBatch()
  /// What a topic did not take because of its size.
  var oversized: [OversizedRecord] = []
  /// The max.message.bytes of such topics, as far as the cluster says.
  var sizeLimits: [String: String?] = [:]
  /// Bytes of notifications that may be written before it is asked again whether there is room.
  var credit = 0
  private var watch: ProducerWatch
  private var nextLook: UInt64 = 0
  private var deliveries: [Delivery] = []
  private var settled: [Int] = []
  /// Why the service has to give up.
  var failure: ServiceFailure?

  /// The topics that ingest writes, as the producer knows them.
  struct OutputTopics {
    let transactional: KafkaTopic
    let bulk: KafkaTopic
    let receipts: KafkaTopic
    let deadLetters: KafkaTopic

    init(_ producer: KafkaProducer, _ names: TopicNames) throws(KafkaError) {
      transactional = try producer.topic(known: names.notifications)
      bulk = try producer.topic(known: names.notificationsBulk)
      receipts = try producer.topic(known: names.receipts)
      deadLetters = try producer.topic(known: names.deadLetters)
    }
  }

  /// Reads the table of dead tokens, and joins the group.
  init(
    _ settings: IngestSettings, _ context: ServiceContext, _ names: TopicNames,
    _ cluster: ClusterView
  ) throws(ServiceFailure) {
    self.settings = settings
    self.context = context
    self.names = names
    reader = RequestReader(types: settings.pushTypes)
    heartbeat = context.status.heartbeat("loop")
    let requestNames = [names.requests] + settings.pusherTopics.map(\.name)
    requestTopics = requestNames.map { Array($0.utf8) }
    pusher = PusherTranslator(environment: settings.pusherEnvironment)
    requests = RequestTable(capacity: settings.maxInFlight)
    watch = ProducerWatch(context)
    do {
      var kafka = cluster.configuration
      kafka.dividePrefetch(among: cluster.partitions(of: requestNames), records: 48_000)
      kafka.preferLinger(milliseconds: KafkaDefaults.lingerOfIngest)
      poller = try Poller(capacity: 4)
      try poller.add(wakeup.fd, token: 0, .readable)
      producer = try KafkaProducer(kafka, wakeup: wakeup)
      topics = try OutputTopics(producer, names)
      invalidTokens = try InvalidTokens(
        kafka, topic: names.invalidTokens, partitions: cluster.partitions[names.invalidTokens] ?? 0,
        limit: settings.maxInvalidTokens, wakeup: wakeup)
      Self.catchUp(invalidTokens, context, heartbeat)
      member = try GroupMember(Self.plan(settings, names), kafka, context, wakeup: wakeup)
    } catch {
      throw ServiceFailure("cannot start on Kafka: \(error)")
    }
  }

  deinit { tokenText.deallocate() }

  /// Requests taken before the table is read would notify dead tokens: worth a wait, not an outage.
  private static func catchUp(
    _ invalidTokens: InvalidTokens, _ context: ServiceContext, _ heartbeat: Heartbeat
  ) {
    let deadline = MonotonicClock.milliseconds() + 30_000
    while !invalidTokens.isCaughtUp && !context.signals.isStopping {
      heartbeat.beat(MonotonicClock.milliseconds())
      invalidTokens.follow(timeoutMilliseconds: 20)
      if MonotonicClock.milliseconds() >= deadline {
        context.log.warning("invalid tokens not read yet; starting without them")
        return
      }
    }
  }

  /// Works until a stop is requested, then finishes what was taken, commits it and leaves the group.
  func run() throws(ServiceFailure) {
    context.counters.add(counters)
    context.signals.subscribe(wakeup)
    var ready: [ReadyEvent] = []
    var timeout: Int32 = 0
    while !member.hasLeft {
      poller.wait(timeoutMilliseconds: timeout, into: &ready)
      wakeup.clear()
      heartbeat.beat(MonotonicClock.milliseconds())
      timeout = turn()
    }
    _ = producer.flush(timeoutMilliseconds: failure == nil ? 1_000 : 0)
    producer.close()
    invalidTokens.close()
    if let failure { throw failure }
  }

  /// One turn; returns how long to sleep after it.
  private func turn() -> Int32 {
    takeDeliveries()
    writeOversized()
    invalidTokens.follow()
    let now = MonotonicClock.milliseconds()
    followGroup(now)
    let state = takeRequests()
    if state != .busy || receipts.isDue(now) { sendReceipts() }
    if state != .busy { producer.sendPromptly() }
    watch.turn(producer, now: now)
    noteBacklog(now)
    counters.set(.invalidTokens, invalidTokens.count)
    switch state {
    case .busy: return 0
    case .idle: return receipts.isEmpty ? Self.turnMilliseconds : 1
    case .blocked:
      counters.add(.blocked)
      return Self.turnMilliseconds
    }
  }

  /// The age of the oldest request once a second: it takes a look at all of them.
  private func noteBacklog(_ now: UInt64) {
    counters.set(.inFlight, requests.count)
    guard now >= nextLook else { return }
    nextLook = now + Self.lookMilliseconds
    let age = requests.oldest.map { max(0, WallClock.milliseconds() - $0) } ?? 0
    counters.set(.backlogMilliseconds, Int(age))
  }

  private enum Intake {
    case idle
    case busy
    case blocked
  }

  private func takeRequests() -> Intake {
    guard member.isAssigned else { return .idle }
    // Acknowledgements and readers have moved since the last turn.
    credit = 0
    for _ in 0..<Self.batchesATurn {
      guard workOnBatch() else { return failure == nil ? .blocked : .idle }
      if member.take(into: &batch, upTo: Self.batchCapacity) == 0 { return .idle }
      takenAt = WallClock.milliseconds()
    }
    return .busy
  }

  /// Whether a further notification may be written now. What changes the answer from one notification to the next is
  /// how many bytes wait: it is asked again after some of them.
  func mayProduce() -> Bool {
    if credit > 0 { return true }
    let room = settings.maxInFlightBytes - producer.outstandingBytes
    guard room > 0 else { return false }
    credit = min(room, Self.mostCredit)
    return true
  }

  // MARK: Acknowledgements

  func takeDeliveries() {
    deliveries.removeAll(keepingCapacity: true)
    producer.drainDeliveries(into: &deliveries)
    for delivery in deliveries {
      if let error = delivery.refused {
        takeBack(delivery, error)
        if failure != nil { return }
        continue
      }
      let tag = RecordTag(delivery.tag)
      switch tag.kind {
      case .ofRequest: settle(tag.slot)
      case .receipts:
        settled.removeAll(keepingCapacity: true)
        receipts.acknowledged(tag.slot, into: &settled)
        for slot in settled { settle(slot) }
      }
    }
  }

  /// One of a request's records is acknowledged; after the last one its offset is complete.
  func settle(_ slot: Int) {
    guard let entry = requests.settle(slot) else { return }
    member.completed(
      Source(topic: Int(entry.topic), partition: entry.partition), epoch: entry.epoch, entry.offset)
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
