// SPDX-License-Identifier: Apache-2.0
import ConsumerGroup
import Contract
import EventLoop
import FeedbackDecisions
import Kafka
import Records
import ServiceKit
import Store

/// The feedback service's one thread. It keeps the database at what the topics say (`DeviceTables`), and works in
/// batches: `FeedbackMachine` says what is done with them and when, this shell does it.
///
/// While the database or Kafka does not take a batch nothing further is consumed and nothing is skipped. A database
/// that lacks something judges nothing.
final class FeedbackWorker {
  private static let turnMilliseconds: Int32 = 100
  /// How many records are taken before their bytes and lines are counted. A record of receipts has many lines.
  private static let recordsAtOnce = 100
  private static let receiptRecordsAtOnce = 16
  /// So many names of zones that do not exist are in the log.
  private static let zonesToldAtMost = 20

  private let settings: FeedbackSettings
  private let context: ServiceContext
  private let names: TopicNames
  private let loop: ServiceLoop
  private var member: GroupMember
  private let counters = Counters<FeedbackMetrics>()
  private let output: FeedbackOutput
  private let reader: JobReader
  private let invalidator: TokenInvalidator
  private let tables: DeviceTables
  private let feedbackPartitions: Int
  private var machine: FeedbackMachine<DeviceKey>
  private var records: KafkaBatch
  // The batch that the machine speaks of: where its records stand, what they say until they are judged, and what follows
  // from it.
  private var taken: [(source: Source, offset: Int64)] = []
  private var jobs: [Job] = []
  private var outgoing = OutgoingRecords()
  private var patience: DatabaseRetry
  private var upkeep: DatabaseUpkeep
  /// When the turn began, in monotonic milliseconds.
  private var turnBegan: UInt64 = 0
  private var zones = ZoneNames()
  /// Names of zones that do not exist and that the log has.
  private var zonesTold = 0

  init(
    _ settings: FeedbackSettings, _ context: ServiceContext, _ names: TopicNames,
    _ store: TokenStore, _ cluster: ClusterView
  ) throws {
    let kafka = cluster.configuration
    self.settings = settings
    self.context = context
    self.names = names
    loop = try ServiceLoop("worker", context)
    let wakeup = loop.wakeup
    reader = JobReader(names)
    invalidator = TokenInvalidator(
      store, names, clockSkew: settings.clockSkew, badTokenLimit: settings.badTokenLimit)
    tables = try DeviceTables(
      settings, context, names, store, invalidator, cluster, counters, wakeup: wakeup)
    feedbackPartitions = cluster.partitions[names.feedback] ?? 0
    patience = DatabaseRetry(context, counters)
    upkeep = DatabaseUpkeep(store, settings, context, counters)
    let atOnce = settings.keepReceipts > 0 ? Self.receiptRecordsAtOnce : Self.recordsAtOnce
    records = KafkaBatch(capacity: atOnce)
    machine = FeedbackMachine(records: settings.batchSize, atOnce: atOnce)
    output = try FeedbackOutput(KafkaProducer(kafka, wakeup: wakeup), ProducerWatch(context), names)
    member = try GroupMember(Self.plan(settings, names), kafka, context, wakeup: wakeup)
    context.counters.add(counters)
    try DeviceCountReporter.start(settings.database, context)
  }

  private static func plan(_ settings: FeedbackSettings, _ names: TopicNames) -> GroupPlan {
    var plan = GroupPlan(
      group: names.group(.feedback), topics: topics(settings, names),
      instanceID: settings.instanceID, rebalancePatience: 3_000, stopPatience: 10_000,
      cost: "applies what is above them again")
    plan.outputs = [names.invalidTokens]
    return plan
  }

  /// What the group reads.
  static func topics(_ settings: FeedbackSettings, _ names: TopicNames) -> [String] {
    [names.feedback, names.devices] + (settings.keepReceipts > 0 ? [names.receipts] : [])
  }

  /// Runs until a stop is requested; then finishes the batch under way.
  func run() throws {
    var timeout: Int32 = 0
    while !member.hasLeft {
      timeout = try turn(now: loop.wait(timeout))
    }
    output.close()
    tables.close()
    if let failure = member.failure { throw failure }
  }

  /// - Returns: how long to sleep, in milliseconds.
  private func turn(now: UInt64) throws -> Int32 {
    turnBegan = now
    try drainAnswers()
    followGroup(now)
    if member.hasLeft { return 0 }
    let isReading = try tables.turn(isPublishing: machine.isPublishing)
    if tables.hasErased { upkeep.hasForgotten(now: now) }
    tables.hasErased = false
    let hasTaken = readRecords()
    let wasIdle = machine.isIdle
    while let action = machine.next(
      now: now, isVerified: tables.isComplete, outstanding: output.outstanding)
    {
      guard try perform(action) else { break }
    }
    let isRemoving = try !hasWaited && upkeep.turn(now: MonotonicClock.milliseconds())
    output.lookAfter(now: MonotonicClock.milliseconds())
    counters.set(.backlogMilliseconds, machine.age(now: WallClock.milliseconds()))
    // What became idle in this turn need not wait for the next event: records may have come while a batch was under way.
    if isReading || isRemoving || (machine.isIdle && (member.isDraining || !wasIdle)) { return 0 }
    if let end = machine.growsUntil, machine.hasRoom {
      return Int32(clamping: min(max(end, now + 1) - now, UInt64(Self.turnMilliseconds)))
    }
    return hasTaken ? 0 : Self.turnMilliseconds
  }

  private var hasWaited: Bool {
    counters[.databaseFailing] > 0 && ServiceLoop.isLong(turnBegan)
  }

  // MARK: The group

  /// Who owns a partition of `feedback` judges its records and speaks for its devices on `invalid-tokens`; who owns one
  /// of `devices` makes dead letters of what is wrong there. The batch under way gets some time to come to its end, and
  /// is forgotten otherwise.
  private func followGroup(_ now: UInt64) {
    while let task = member.next(now: now, isIdle: machine.isIdle) {
      switch task {
      case .begun(let partitions):
        counters.set(.partitionsAssigned, partitions.count)
        machine.begin(
          Set(partitions.filter { $0.topic == names.feedback }.map(\.partition)), now: now)
      case .drain: if machine.drain(isRebuilding: tables.isCatchingUp) { drop() }
      case .abandon: drop()
      case .unassigned:
        counters.set(.partitionsAssigned, 0)
        machine.unassigned()
      }
    }
  }

  /// Drops the batch; the partitions' next owner reads its records again. What of it Kafka has not
  /// acknowledged must not reach the topic behind the next owner's records.
  private func drop() {
    let count = output.abandon()
    if count > 0 { context.log(FeedbackLog.recordsWithdrawn, ["count": "\(count)"]) }
    machine.drop()
    forget()
  }

  private func forget() {
    taken.removeAll(keepingCapacity: true)
    jobs = []
    outgoing = OutgoingRecords()
  }

  // MARK: Records

  /// - Returns: true when there were records. A batch that has some and grows waits for the next ones.
  private func readRecords() -> Bool {
    guard machine.isIdle else { return false }
    machine.takes(now: WallClock.milliseconds())
    if tables.hasRefutedMarks { machine.marksAreRefuted() }
    tables.hasRefutedMarks = false
    var hasTaken = false
    while machine.hasRoom, member.take(into: &records, upTo: records.capacity) > 0 {
      for index in 0..<records.count { receive(records[index]) }
      records.release()
      hasTaken = true
    }
    return hasTaken
  }

  private func receive(_ record: KafkaRecord) {
    let source = member.source(record)
    // The first topic of the plan.
    let isAnswer = source.topic == 0
    if record.isEndOfPartition {
      if isAnswer { machine.reachedEnd(of: source.partition) }
      return member.ended(source, at: record.offset)
    }
    if let error = record.error {
      return context.report(error, as: FeedbackLog.recordsNotRead)
    }
    if isAnswer { machine.reads(source.partition) }
    let admission = member.admit(source, record)
    guard admission != .known else { return }
    let topic = member.topic(source)
    let job = admission == .new ? reader.job(record, topic) : reader.job(ofDeadly: record, topic)
    var lines = 0
    if case .receipts(let receipts, _) = job.content { lines = receipts.count }
    if case .device(let device) = job.content { checkZone(device) }
    machine.took(
      timestamp: OutsideTime.known(recordTime: record.timestamp),
      bytes: record.key.count + record.value.count, lines: lines)
    taken.append((source, record.offset))
    jobs.append(job)
  }

  /// Counts a registration whose zone does not exist here; the log names the first ones.
  private func checkZone(_ device: DeviceRecord) {
    guard let zone = device.details.timeZone else { return }
    let verdict = zones.look(zone)
    if case .exists = verdict { return }
    counters.add(.unknownZones)
    guard case .isNew = verdict, zonesTold < Self.zonesToldAtMost else { return }
    zonesTold += 1
    context.log(FeedbackLog.zoneUnknown, ["time_zone": zone, "app": device.device.app])
  }

  // MARK: Steps of a batch

  /// - Returns: whether a further step may follow in this turn.
  private func perform(_ action: FeedbackMachine<DeviceKey>.Action) throws -> Bool {
    switch action {
    case .verify:
      tables.want()
      return true
    case .judge: return try !hasWaited && patience.isOver && judge()
    case .publish(let first): return try publish(from: first)
    case .complete:
      for (source, offset) in taken { member.completed(source, epoch: member.epoch, offset) }
      forget()
      return false
    }
  }

  /// - Returns: false when the database has to be tried again later.
  private func judge() throws -> Bool {
    let outcome: TokenInvalidator.Outcome?
    do throws(StoreError) {
      outcome = try decide()
    } catch {
      try patience.failed(error)
      return false
    }
    patience.succeeded()
    guard let outcome else {
      // Another process has changed the file: begin with what it has.
      tables.reopen()
      if machine.outdated() { drop() }
      return true
    }
    tell(outcome)
    outgoing = output.records(outcome, jobs, now: WallClock.milliseconds())
    jobs = []
    machine.judged(following: outgoing.count)
    return true
  }

  private func tell(_ outcome: TokenInvalidator.Outcome) {
    for (counter, count) in outcome.counts {
      counters.add(counter, count)
      if counter == .forgotten, count > 0 {
        upkeep.hasForgotten(now: MonotonicClock.milliseconds())
      }
    }
    for alarm in outcome.alarms {
      counters.add(.badTokenWaves)
      context.log(FeedbackLog.badTokenWave, alarm.fields)
    }
    for (wave, evidence) in outcome.believed {
      context.log(
        FeedbackLog.waveConfirmed,
        [
          "app": wave.app, "environment": wave.environment.description, "devices": "\(wave.held)",
          "registered_again": "\(evidence.heldValid), \(evidence.expected) expected",
        ])
    }
  }

  /// What is to be said, in one transaction; nil when the database is not what was verified.
  private func decide() throws(StoreError) -> TokenInvalidator.Outcome? {
    var rounds = machine.rounds
    let limit = settings.batchSize
    let outcome = try invalidator.store.transaction {
      () throws(StoreError) -> TokenInvalidator.Outcome? in
      guard try tables.isCurrent() else { return nil }
      var outcome = try invalidator.judge(jobs)
      if rounds.refuting.isDue || !outcome.alarms.isEmpty {
        try invalidator.withdraw(now: WallClock.milliseconds(), &outcome, isOwned: isOwned)
        outcome.believed = try invalidator.believe(now: WallClock.milliseconds())
        try invalidator.release(now: WallClock.milliseconds(), &outcome, isOwned: isOwned)
      }
      if rounds.refuting.isDue {
        rounds.refuting.read(
          to: try invalidator.refute(
            after: rounds.refuting.after, limit: limit, &outcome, isOwned: isOwned))
      }
      if machine.isConfirming {
        rounds.confirming.read(
          to: try invalidator.confirm(
            after: rounds.confirming.after, limit: limit, now: machine.takenUntil, &outcome,
            isOwned: isOwned))
      }
      return outcome
    }
    machine.rounds = rounds
    return outcome
  }

  /// Whether this process speaks for a device.
  private func isOwned(_ device: DeviceKey) -> Bool {
    machine.owns(KafkaPartitioner.partition(of: device.bytes, among: feedbackPartitions))
  }

  /// - Returns: false when Kafka's client has no room for all.
  private func publish(from first: Int) throws -> Bool {
    let end = try output.produce(outgoing, from: first)
    machine.handedOver(below: end)
    return end == outgoing.count
  }

  /// What Kafka will never take (no such topic, not authorised) ends the process: the records are read again
  /// when that is mended.
  private func drainAnswers() throws {
    let answers = output.drainAnswers()
    if let problem = answers.problem { throw ServiceFailure(problem) }
    counters.add(.published, answers.published)
  }
}
