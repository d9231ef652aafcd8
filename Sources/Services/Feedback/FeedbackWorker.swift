// SPDX-License-Identifier: Apache-2.0
import APNS
import Compatibility
import Delivery
import EventLoop
import JSON
import Kafka
import Pipeline
import Records
import ServiceKit
import Store

/// The feedback service's one thread. It keeps the database at what the topics say (`DeviceTables`), and works in
/// batches, each a pass through the same steps: take records, wait until the database has all that was written before,
/// judge by it, publish what follows, wait until Kafka has it, and only then let the offsets be committed.
///
/// While the database or Kafka does not take a batch nothing further is consumed and nothing is skipped. A database
/// that lacks something judges nothing.
final class FeedbackWorker {
  private static let turnMilliseconds: Int32 = 100
  /// How often all marks and suspicions are looked at, besides when something has changed.
  private static let roundMilliseconds: UInt64 = 60_000
  /// How many records are taken before their bytes and lines are counted. A record of receipts has many lines.
  private static let recordsAtOnce = 100
  private static let receiptRecordsAtOnce = 16
  /// Lines in one database transaction, besides those of the last such step.
  private static let mostLines = 4_000
  /// Bytes of records in a batch, besides those of the last such step: what follows from them is no more.
  private static let mostBytes = 1 << 20

  let settings: FeedbackSettings
  let log: Logger
  let wakeup = Wakeup()
  let names: TopicNames
  var member: GroupMember
  let context: ServiceContext
  let counters = Counters<FeedbackCounter>()
  private let heartbeat: Heartbeat
  private let producer: KafkaProducer
  private let invalidTokens: KafkaTopic
  private let deadLetters: KafkaTopic
  /// Topics in pusher's format.
  private let pusherTopics: [(topic: PusherTopic, handle: KafkaTopic)]
  private let reader: JobReader
  private let invalidator: TokenInvalidator
  let tables: DeviceTables
  private let feedbackPartitions: Int
  /// The names of what the group reads, by their places in its plan.
  private let topics: [String]

  private var watch: ProducerWatch
  /// The partitions of `feedback` that are ours, and those of them that have been read to their end.
  var owned: Set<Int32> = []
  var ended: Set<Int32> = []
  private var records: KafkaBatch
  var batch = FeedbackBatch()
  private var deliveries: [Delivery] = []
  private var patience: DatabaseRetry
  /// Walks over marks to take back and over suspicions to confirm.
  private var refuting = PagedRound()
  private var confirming = PagedRound()
  private var nextRound: UInt64 = 0
  private var upkeep: DatabaseUpkeep

  init(
    _ settings: FeedbackSettings, _ context: ServiceContext, _ names: TopicNames,
    _ store: TokenStore, _ cluster: ClusterView
  ) throws {
    let kafka = cluster.configuration
    self.settings = settings
    self.context = context
    self.names = names
    log = context.log
    heartbeat = context.status.heartbeat("worker")
    watch = ProducerWatch(context)
    reader = JobReader(names)
    invalidator = TokenInvalidator(
      store, names, clockSkew: settings.clockSkew, badTokenLimit: settings.badTokenLimit)
    tables = try DeviceTables(
      settings, context, names, store, invalidator, cluster, counters, wakeup: wakeup)
    topics = Self.topics(settings, names)
    feedbackPartitions = cluster.partitions[names.feedback] ?? 0
    patience = DatabaseRetry(context.log, counters)
    upkeep = DatabaseUpkeep(store, settings, context.log, counters)
    records = KafkaBatch(
      capacity: settings.keepReceipts > 0 ? Self.receiptRecordsAtOnce : Self.recordsAtOnce)
    producer = try KafkaProducer(kafka, wakeup: wakeup)
    invalidTokens = try producer.topic(known: names.invalidTokens)
    deadLetters = try producer.topic(known: names.deadLetters)
    let producer = producer
    pusherTopics = try settings.pusherTopics.map { ($0, try producer.topic(known: $0.name)) }
    member = try GroupMember(Self.plan(settings, names), kafka, context, wakeup: wakeup)
    context.counters.add(counters)
    try DeviceCensus.start(settings.database, context)
  }

  /// Runs until a stop is requested; then finishes the batch under way.
  func run() throws {
    let poller = try Poller(capacity: 4)
    try poller.add(wakeup.fd, token: 0, .readable)
    context.signals.subscribe(wakeup)
    var ready: [ReadyEvent] = []
    while true {
      heartbeat.beat(MonotonicClock.milliseconds())
      let hasMore = try turn()
      if member.hasLeft { break }
      poller.wait(timeoutMilliseconds: hasMore ? 0 : Self.turnMilliseconds, into: &ready)
      wakeup.clear()
    }
    producer.close()
    tables.close()
    if let failure = member.failure { throw failure }
  }

  /// - Returns: true when there is more to do at once.
  private func turn() throws -> Bool {
    try takeDeliveries()
    followGroup(MonotonicClock.milliseconds())
    if member.hasLeft { return false }
    let isReading = try tables.turn()
    let hasMore = batch.isIdle && takeRecords()
    try advance()
    let isRemoving = try upkeep.turn(now: MonotonicClock.milliseconds())
    watch.turn(producer, now: MonotonicClock.milliseconds())
    counters.set(.backlogMilliseconds, batch.age(now: WallClock.milliseconds()))
    // What became idle in this turn need not wait for the next event.
    return hasMore || isReading || isRemoving || (member.isDraining && batch.isIdle)
  }

  // MARK: Steps of a batch

  /// Begins a batch if there is something to do.
  ///
  /// - Returns: true when there were records.
  private func takeRecords() -> Bool {
    guard !member.isDraining else { return false }
    var lines = 0
    repeat {
      guard member.take(into: &records, upTo: records.capacity) > 0 else { break }
      for index in 0..<records.count { lines += note(records[index]) }
      records.release()
    } while batch.jobs.count + records.capacity <= settings.batchSize && lines < Self.mostLines
      && batch.bytes < Self.mostBytes
    startRoundsIfDue()
    guard !batch.jobs.isEmpty || refuting.isDue || isConfirming else { return false }
    tables.want()
    batch.phase = .verifying
    return !batch.jobs.isEmpty
  }

  /// - Returns: how many receipts are in it.
  private func note(_ record: KafkaRecord) -> Int {
    let source = member.source(record)
    if record.isEndOfPartition {
      if isFeedback(source) { ended.insert(source.partition) }
      member.ended(source, at: record.offset)
    } else if let error = record.error {
      log.warning("cannot read records; retrying", ["error": "\(error)"])
    } else {
      if isFeedback(source) { ended.remove(source.partition) }
      let admission = member.admit(source, record)
      guard admission != .known else { return 0 }
      let topic = topics[source.topic]
      let job =
        admission == .new ? reader.job(record, topic) : reader.job(ofDeadly: record, topic)
      batch.append(
        job, timestamp: record.timestamp, bytes: record.key.count + record.value.count)
      if case .receipts(let receipts, _) = job.content { return receipts.count }
    }
    return 0
  }

  /// Has all marks and suspicions looked at.
  func startRounds() {
    refuting.start()
    confirming.start()
    nextRound = MonotonicClock.milliseconds() + Self.roundMilliseconds
  }

  private func startRoundsIfDue() {
    guard !owned.isEmpty else { return }
    if tables.hasRefutedMarks { refuting.start() }
    tables.hasRefutedMarks = false
    if MonotonicClock.milliseconds() >= nextRound { startRounds() }
  }

  /// A suspicion is confirmed when no wave followed it: only with all answers read can that be known.
  private var isConfirming: Bool { confirming.isDue && owned.isSubset(of: ended) }

  /// Whether this process speaks for a device.
  private func isMine(_ device: DeviceKey) -> Bool {
    owned.contains(KafkaPartitioner.partition(of: device.bytes, among: feedbackPartitions))
  }

  /// Moves the batch as far as it goes now.
  private func advance() throws {
    if case .verifying = batch.phase, tables.isComplete { batch.phase = .judging }
    if case .judging = batch.phase, patience.isOver { try judge() }
    if case .publishing(let next) = batch.phase { try publish(from: next) }
    if case .publishing(let next) = batch.phase, next == batch.outgoing.count, batch.awaiting == 0 {
      for job in batch.jobs {
        member.completed(member.source(job.partition), epoch: member.epoch, job.offset)
      }
      batch.removeAll()
    }
  }

  private func judge() throws {
    let outcome: TokenInvalidator.Outcome?
    do throws(StoreError) {
      outcome = try decide()
    } catch {
      return try patience.failed(error)
    }
    patience.succeeded()
    guard let outcome else {
      // Another process has changed the file: begin with what it has.
      tables.reopen()
      tables.want()
      batch.phase = .verifying
      return
    }
    for (counter, count) in outcome.counts { counters.add(counter, count) }
    for alarm in outcome.alarms {
      counters.add(.badTokenWaves)
      log.error(
        "APNs reports unusually many bad device tokens; none of them is recorded as invalid",
        alarm.fields)
    }
    for (wave, evidence) in outcome.believed {
      log.warning(
        "a wave of invalid tokens is believed: its devices do not register again",
        [
          "app": wave.app, "environment": wave.environment.description, "devices": "\(wave.held)",
          "registered_again": "\(evidence.heldAlive), \(evidence.expected) expected",
        ])
    }
    batch.outgoing = outcome.publications.map { publication in
      OutgoingRecord(
        topic: invalidTokens, key: publication.device.bytes, value: publication.record?.value,
        headers: [], kind: .invalidToken)
    }
    let now = WallClock.milliseconds()
    for job in batch.jobs {
      guard case .deadLetter(let refused) = job.content else { continue }
      batch.outgoing.append(
        OutgoingRecord(
          topic: deadLetters, key: refused.key, value: refused.value,
          headers: refused.letter(from: job.partition, job.offset, at: now).kafkaHeaders,
          kind: .deadLetter))
    }
    for topic in pusherTopics { tell(topic.topic, topic.handle) }
    batch.phase = .publishing(next: 0)
  }

  /// What APNs said about the tokens of an app, for listeners of pusher.
  private func tell(_ topic: PusherTopic, _ handle: KafkaTopic) {
    for job in batch.jobs {
      guard case .feedback(let feedback) = job.content, feedback.device.app == topic.app else {
        continue
      }
      batch.outgoing.append(
        OutgoingRecord(
          topic: handle, key: nil, value: PusherFeedback.value(feedback, game: topic.game).text,
          headers: [], kind: .foreign))
    }
  }

  /// What is to be said, in one transaction; nil when the database is not what was verified.
  private func decide() throws(StoreError) -> TokenInvalidator.Outcome? {
    var (refuting, confirming) = (self.refuting, self.confirming)
    let limit = settings.batchSize
    let outcome = try invalidator.store.transaction {
      () throws(StoreError) -> TokenInvalidator.Outcome? in
      guard try tables.isCurrent() else { return nil }
      var outcome = try invalidator.judge(batch.jobs)
      if refuting.isDue || !outcome.alarms.isEmpty {
        try invalidator.withdraw(now: WallClock.milliseconds(), &outcome, isMine: isMine)
        outcome.believed = try invalidator.believe(now: WallClock.milliseconds())
        try invalidator.release(now: WallClock.milliseconds(), &outcome, isMine: isMine)
      }
      if refuting.isDue {
        refuting.read(
          to: try invalidator.refute(after: refuting.after, limit: limit, &outcome, isMine: isMine))
      }
      if isConfirming {
        confirming.read(
          to: try invalidator.confirm(
            after: confirming.after, limit: limit, now: WallClock.milliseconds(), &outcome,
            isMine: isMine))
      }
      return outcome
    }
    (self.refuting, self.confirming) = (refuting, confirming)
    return outcome
  }

  private func publish(from first: Int) throws {
    var next = first
    produce: while next < batch.outgoing.count {
      switch batch.outgoing[next].produce(with: producer, tag: batch.tag(next)) {
      case .queued:
        batch.awaiting += 1
        next += 1
      case .full: break produce
      case .refused(let error): throw ServiceFailure("\(error)")
      }
    }
    batch.phase = .publishing(next: next)
  }

  /// What Kafka will never take (no such topic, not authorised) ends the process: the records are read again
  /// when that is mended.
  private func takeDeliveries() throws {
    producer.drainDeliveries(into: &deliveries)
    for delivery in deliveries {
      guard let record = batch.outgoing(delivery.tag) else { continue }
      if let error = delivery.refused {
        let record = producer.refusedRecord(delivery.tag)
        throw ServiceFailure(record.map { producer.describe($0, error) } ?? "\(error)")
      }
      batch.awaiting -= 1
      if record.kind == .invalidToken { counters.add(.published) }
    }
    deliveries.removeAll(keepingCapacity: true)
  }

  /// Drops the batch; the partitions' next owner reads its records again. What of it Kafka has not
  /// acknowledged must not reach the topic behind the next owner's records.
  func dropBatch() {
    let count = producer.abandon()
    if count > 0 {
      log.info("unacknowledged records withdrawn from the producer", ["count": "\(count)"])
    }
    batch.removeAll()
  }
}
