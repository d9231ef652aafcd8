// SPDX-License-Identifier: Apache-2.0
import Delivery
import EventLoop
import Glibc
import Kafka
import Pipeline
import Records
import ServiceKit
import Store

/// The feedback service's one thread. It works in batches, each a pass through the same steps: take records of
/// both topics, apply them to the database in one transaction, publish what follows, wait until Kafka has it,
/// and only then let the offsets be committed.
///
/// While the database or Kafka does not take a batch nothing further is consumed and nothing is skipped.
final class FeedbackWorker {
  private static let turnMilliseconds: Int32 = 100
  private static let stopDrainMilliseconds: UInt64 = 10_000
  /// What a rebalance waits for answers at most: the whole group stands still meanwhile.
  static let rebalanceDrainMilliseconds: UInt64 = 3_000

  let settings: FeedbackSettings
  let log: Logger
  let wakeup = Wakeup()
  let names: TopicNames
  let consumer: KafkaGroupConsumer
  let context: ServiceContext
  private let counters = Counters<FeedbackCounter>()
  private let producer: KafkaProducer
  private let invalidTokens: KafkaTopic
  private let deadLetters: KafkaTopic
  private let reader: JobReader
  private let desk: HygieneDesk

  var queues: [KafkaQueue] = []
  var offsets = OffsetBook()
  var commits: GroupCommits
  private var watch: ProducerWatch
  var alarm: RetentionAlarm
  private var records: KafkaBatch
  private var batch = FeedbackBatch()
  private var deliveries: [Delivery] = []
  private var backoff = Backoff(base: 100, cap: 5_000)
  /// On the embedded broker: the table that must not overflow.
  private var gate: BacklogGate?
  private var isFullReported = false

  init(
    _ settings: FeedbackSettings, _ context: ServiceContext, _ names: TopicNames,
    _ store: TokenStore, kafka: KafkaConfiguration, partitions: Int
  ) throws {
    self.settings = settings
    self.context = context
    self.names = names
    log = context.log
    commits = GroupCommits(context, interval: settings.commitIntervalMilliseconds)
    watch = ProducerWatch(context)
    alarm = try RetentionAlarm(context, kafka, wakeup: wakeup)
    reader = JobReader(names)
    desk = HygieneDesk(store, clockSkew: settings.clockSkew)
    records = KafkaBatch(capacity: settings.batchSize)
    producer = try KafkaProducer(kafka, wakeup: wakeup)
    invalidTokens = try producer.topic(known: names.invalidTokens)
    deadLetters = try producer.topic(known: names.deadLetters)
    gate = kafka.isEmbeddedBroker ? BacklogGate(partitions: partitions, mode: .table) : nil
    consumer = try KafkaGroupConsumer(
      kafka, group: names.group(.feedback), topics: [names.feedback, names.devices],
      instanceID: settings.instanceID, wakeup: wakeup)
    context.counters.add(counters)
  }

  /// Runs until a stop is requested; then finishes the batch under way.
  func run() throws {
    let poller = try Poller(capacity: 4)
    try poller.add(wakeup.fd, token: 0, .readable)
    context.signals.subscribe(wakeup)
    defer {
      for queue in queues { queue.close() }
    }
    var ready: [ReadyEvent] = []
    while !context.signals.isStopping {
      let hasMore = try turn()
      poller.wait(timeoutMilliseconds: hasMore ? 0 : Self.turnMilliseconds, into: &ready)
      wakeup.clear()
    }
    try finishBatch(within: Self.stopDrainMilliseconds)
    release(lost: false)
    consumer.close(timeoutMilliseconds: context.signals.isHurrying ? 1_000 : 10_000)
    producer.close()
    alarm.close()
  }

  /// - Returns: true when there is more to do at once.
  private func turn() throws -> Bool {
    while let event = consumer.nextEvent(timeoutMilliseconds: 0) { try take(event) }
    alarm.turn(consumer)
    try takeDeliveries()
    let hasMore = batch.isIdle && takeRecords()
    try advance()
    let now = MonotonicClock.milliseconds()
    watch.turn(producer, now: now)
    commits.turn(consumer, now: now) { offsets.due }
    return hasMore
  }

  // MARK: Steps of a batch

  /// - Returns: true when there were records.
  private func takeRecords() -> Bool {
    guard isRoomInTable else { return false }
    for queue in queues where records.count < settings.batchSize {
      _ = queue.take(into: &records, upTo: settings.batchSize - records.count)
    }
    // Not always the same partition first.
    if queues.count > 1 { queues.append(queues.removeFirst()) }
    for index in 0..<records.count {
      if let error = records[index].error {
        log.warning("reading", ["error": "\(error)"])
      } else {
        let job = reader.job(records[index])
        if let gap = offsets.received(job.partition, job.offset) {
          alarm.jumped(job.partition, gap)
        }
        batch.jobs.append(job)
      }
    }
    records.release()
    guard !batch.jobs.isEmpty else { return false }
    batch.phase = .applying(notBefore: 0)
    return true
  }

  private var isRoomInTable: Bool {
    guard let gate, !gate.isOpen else { return true }
    if !isFullReported {
      isFullReported = true
      log.error(
        "\(names.invalidTokens) is full: the embedded broker would drop dead tokens in silence, so no more"
          + " is consumed; start the pipeline anew or use a real cluster")
    }
    return false
  }

  /// Moves the batch as far as it goes now.
  private func advance() throws {
    if case .applying(let notBefore) = batch.phase, MonotonicClock.milliseconds() >= notBefore {
      try applyBatch()
    }
    if case .publishing(let next) = batch.phase { try publish(from: next) }
    if case .publishing(let next) = batch.phase, next == batch.outgoing.count, batch.awaiting == 0 {
      for job in batch.jobs { offsets.completed(job.partition, job.offset) }
      batch.removeAll()
    }
  }

  private func applyBatch() throws {
    let now = WallClock.milliseconds()
    let outcome: HygieneDesk.Outcome
    do throws(StoreError) {
      outcome = try desk.apply(batch.jobs, now: now)
    } catch {
      return try holdBatch(error)
    }
    if backoff.failures > 0 { log.info("the database takes records again") }
    backoff.succeeded()
    for (counter, count) in outcome.counts { counters.add(counter, count) }
    for publication in outcome.publications {
      batch.outgoing.append(
        OutgoingRecord(
          topic: invalidTokens, key: publication.device.bytes, value: publication.record?.value,
          headers: [], isDeadLetter: false))
    }
    for job in batch.jobs {
      guard case .deadLetter(let letter) = job.content else { continue }
      batch.outgoing.append(
        OutgoingRecord(
          topic: deadLetters, key: letter.key, value: letter.value,
          headers: letter.headers(origin: job, at: now), isDeadLetter: true))
    }
    batch.phase = .publishing(next: 0)
  }

  /// The database does not take the batch: try again later, or give up when time won't help.
  private func holdBatch(_ error: StoreError) throws(ServiceFailure) {
    guard error.isTemporary else { throw ServiceFailure("\(error)") }
    counters.add(.databaseRetries)
    if backoff.failures % 20 == 0 {
      log.warning("the database takes nothing now; trying again", ["error": "\(error)"])
    }
    let wait = backoff.failed(random: UInt64.random(in: .min ... .max))
    batch.phase = .applying(notBefore: MonotonicClock.milliseconds() + wait)
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
      if let error = delivery.refused { throw ServiceFailure("\(error)") }
      batch.awaiting -= 1
      if record.isDeadLetter { continue }
      counters.add(.published)
      if delivery.offset >= 0 {
        gate?.acknowledged(
          Int(delivery.partition), offset: delivery.offset, bytes: record.bytes)
      }
    }
    deliveries.removeAll(keepingCapacity: true)
  }

  /// Forgets the batch; its records are read again by whoever owns them next.
  func dropBatch() { batch.removeAll() }

  /// Gives the batch under way some time to come to its end, and forgets it otherwise.
  func finishBatch(within milliseconds: UInt64) throws {
    let deadline = MonotonicClock.milliseconds() + milliseconds
    while !batch.isIdle && MonotonicClock.milliseconds() < deadline && !context.signals.isHurrying {
      try advance()
      if batch.isIdle { return }
      _ = producer.flush(timeoutMilliseconds: 20)
      try takeDeliveries()
      usleep(1_000)
    }
    dropBatch()
  }
}
