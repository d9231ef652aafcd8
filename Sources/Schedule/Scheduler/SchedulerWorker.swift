// SPDX-License-Identifier: Apache-2.0
import ConsumerGroup
import Contract
import EventLoop
import Kafka
import Records
import ScheduleDecisions
import ServiceKit
import Store

/// The scheduler's single thread. It keeps the database in step with `push.schedule`, and performs the actions of
/// `ScheduleMachine`.
///
/// A record's offset is completed once the database has it. While the database does not answer, no records are read,
/// and the entries in memory are still released.
final class SchedulerWorker {
  typealias Machine = ScheduleMachine

  /// The tag of a record in flight to Kafka.
  enum Tag {
    /// The request of an entry; `reach` if it is to users.
    case request(slot: Int, round: Int, reach: RecipientResolver.Reach?)
    case tombstone(slot: Int, round: Int)
    /// The dead letter of a request; its tombstone follows.
    indirect case buried(slot: Int, round: Int, OutgoingLetter)
    /// The state of an activity; its request follows.
    indirect case activity(
      slot: Int, round: Int, ScheduledRequest, [UInt8], reach: RecipientResolver.Reach)
    /// The last state of an activity, for an update token that was registered late.
    case late
    case restored(Source, epoch: UInt32, Int64)
    /// An entry of a partition, rewritten to a recreated topic.
    indirect case again(Int32, ExactText, round: Int)
    indirect case deadLetter(ScheduleRepair, epoch: UInt32, OutgoingLetter)
    indirect case campaign(CampaignRunner.Tag)
  }

  /// The topics that are written, and those that campaigns may use for device tokens.
  struct Topics {
    let requests: KafkaTopic
    let schedule: KafkaTopic
    let deadLetters: KafkaTopic
    let scheduleName: String
    /// What the database has of the schedule's records.
    let stored: StoredInHand
    let audiences: AudienceTopics
  }

  private static let turnMilliseconds: Int32 = 50
  /// From this many records and actions in a turn on, the next ones are batched: a turn, and a request to Kafka for
  /// each partition, cost as much as some tens of them.
  private static let busy = 20
  private static let restMilliseconds: UInt32 = 25
  private static let recordsAtOnce = 1_000
  static let actionsATurn = 2_000
  private static let countPeriod: UInt64 = 30_000
  static let databasePause: UInt64 = 500
  /// How long the database may fail while a partition is taken over.
  private static let takeoverPatience: UInt64 = 20_000

  let context: ServiceContext
  let store: ScheduleStore
  let loop: ServiceLoop
  var member: GroupMember
  let counters = Counters<SchedulerMetrics>()
  let lateness = LatencyCells(SchedulerMetrics.lateness, [[]])
  let kafka: KafkaConfiguration
  let producer: TaggedProducer<Tag>
  let topics: Topics
  let watermarks: WatermarkReader
  var machine: Machine
  var people: RecipientResolver
  var records: KafkaBatch
  var batch = ScheduleBatch()
  /// Records to be rewritten, and dead letters of unreadable records, each with the repair that follows it.
  var owed:
    (repairs: [ScheduleRepair], letters: [(repair: ScheduleRepair, letter: OutgoingLetter)]) = (
      [], []
    )
  let campaigns: CampaignRunner
  /// Holders of API keys whose requests end.
  var ended: (holders: [ExactText: Int64], revision: Int) { campaigns.ended }
  var sweep = HolderSweep()
  /// The position that this process has written to the database for each partition: another value there means another
  /// owner.
  var positions: [Int32: Int64] = [:]
  /// Counts assignments: an acknowledgement from an earlier one concerns no slot.
  private(set) var round = 0
  private var databaseNotBefore: UInt64 = 0
  private var nextCount: UInt64 = 0
  var upkeep = ScheduleUpkeep()
  var failure: ServiceFailure?

  init(
    _ settings: SchedulerSettings, _ context: ServiceContext, _ names: TopicNames,
    _ store: ScheduleStore, _ cluster: ClusterView
  ) throws {
    self.context = context
    self.store = store
    var kafka = cluster.configuration
    kafka.preferLinger(milliseconds: KafkaDefaults.lingerOfScheduler)
    kafka.preferRecordsOfAnySize()
    self.kafka = kafka
    loop = try ServiceLoop("worker", context)
    let wakeup = loop.wakeup
    producer = try TaggedProducer(kafka, wakeup: wakeup, watch: ProducerWatch(context))
    topics = Topics(
      requests: try producer.topic(names.requests), schedule: try producer.topic(names.schedule),
      deadLetters: try producer.topic(names.deadLetters), scheduleName: names.schedule,
      stored: StoredInHand(names.schedule, context), audiences: settings.audienceTopics)
    watermarks = try WatermarkReader(kafka, context, wakeup: wakeup)
    machine = Machine(
      capacity: settings.maxLoaded, bytes: settings.maxLoadedBytes, page: Self.recordsAtOnce)
    people = RecipientResolver(
      settings.devices, onePerModel: Set(settings.onePerModel.map(\.exact)), context, counters)
    records = KafkaBatch(capacity: Self.recordsAtOnce)
    let (counters, producer) = (counters, producer)
    campaigns = try CampaignRunner(
      settings.devices, settings.audienceTopics, context, counters, names, cluster, producer,
      wakeup: wakeup)
    let plan = GroupPlan(
      group: names.group(.scheduler), topics: [names.schedule], instanceID: settings.instanceID,
      rebalancePatience: 3_000, stopPatience: 10_000,
      cost: "reads what is above them into the database again")
    member = try GroupMember(plan, kafka, context, wakeup: wakeup)
    context.counters.add(counters)
    context.counters.add(metrics: lateness)
  }

  /// Runs until a stop is requested; then waits for Kafka's acknowledgements.
  func run() throws {
    var timeout: Int32 = 0
    while !member.hasLeft { timeout = turn(now: loop.wait(timeout)) }
    producer.close()
    watermarks.close()
    campaigns.close()
    if let failure = failure ?? member.failure { throw failure }
  }

  /// - Returns: how long to sleep.
  private func turn(now: UInt64) -> Int32 {
    drainAnswers()
    if let ends = watermarks.drainAnswer() {
      machine.answered(
        Dictionary(uniqueKeysWithValues: ends.map { ($0.key.partition, $0.value.high) }))
    }
    followGroup(now)
    if member.hasLeft { return 0 }
    let read = readRecords(now)
    let acted = act(now)
    loadCampaigns(now)
    var hasActed = acted == Self.actionsATurn
    if failure == nil {
      let wall = WallClock.milliseconds()
      hasActed = campaigns.turn(now: wall) { machine.isCaughtUp($0) } || hasActed
      failure = failure ?? campaigns.failure
    }
    hasActed = endRequestsOfRemovedKeys(now) || hasActed
    let hasWaited = counters[.databaseFailing] > 0 && ServiceLoop.isLong(now)
    let hasLooked = !hasWaited && sendToUsers(now)
    if !hasWaited { sendToLateTokens(now) }
    producer.lookAfter(now: now)
    showFigures(now)
    guard read < records.capacity, !hasActed, !hasLooked else { return 0 }
    producer.sendPromptly()
    guard read + acted < Self.busy else {
      loop.rest(Self.restMilliseconds)
      return 0
    }
    return Self.turnMilliseconds
  }

  private func showFigures(_ now: UInt64) {
    let wall = WallClock.milliseconds()
    counters.set(.loaded, machine.count)
    counters.set(.lateMilliseconds, Int(machine.lateness(now: wall)))
    guard !ServiceLoop.isLong(now) else { return }
    people.lookAtState(now: now)
    lookAfterDatabase(now)
    guard now >= nextCount, now >= databaseNotBefore else { return }
    nextCount = now + Self.countPeriod
    withDatabase(now) { () throws(StoreError) in
      counters.set(.entries, try store.count(machine.owned))
    }
  }

  // MARK: The group

  private func followGroup(_ now: UInt64) {
    if failure != nil { member.fail() }
    while let task = member.next(
      now: now, isIdle: machine.isIdle && batch.isEmpty && campaigns.isIdle && upkeep.isIdle,
      startsOver: { self.startsOver($0, $1) })
    {
      switch task {
      case .begun(let partitions):
        counters.set(.partitionsAssigned, partitions.count)
        round += 1
        upkeep.begin(partitions.map(\.partition))
        owed = ([], [])
        _ = people.removeAll()
        machine.begin(partitions.map(\.partition))
        campaigns.removeAll()
        nextCount = 0
      case .drain:
        batch = ScheduleBatch()
        for slot in people.removeAll() { machine.postponed(slot) }
        machine.drain()
        campaigns.drain()
      case .abandon, .unassigned:
        counters.set(.partitionsAssigned, 0)
        producer.abandon()
        (upkeep.copies, upkeep.unloaded) = (0, [])
        batch = ScheduleBatch()
        _ = people.removeAll()
        machine.removeAll()
        campaigns.removeAll()
      }
    }
  }

  /// Whether a partition must be read from its first record, because the database lacks part of it. Blocks on the
  /// database.
  ///
  /// - Parameter committed: the group's committed offset.
  private func startsOver(_ partition: TopicPartition, _ committed: Int64?) -> Bool {
    let number = partition.partition
    let deadline = MonotonicClock.milliseconds() + Self.takeoverPatience
    var attempts = 0
    // An attempt may take longer than that: one more follows.
    while failure == nil, !context.signals.isStopping,
      attempts < 2 || MonotonicClock.milliseconds() < deadline
    {
      attempts += 1
      do throws(StoreError) {
        let position = try store.position(number)
        // Asked afterwards: the former owner may still read, and a position beyond the end means another log.
        let end = logEnd(of: number)
        var isAnother = ScheduleView.isAnotherLog(position: position, end: end)
        if !isAnother, end != nil { isAnother = try hasAnotherRecord(number) }
        if isAnother {
          try renew(number, position, end)
          return true
        }
        if ScheduleView.isComplete(position: position, committed: committed) {
          positions[number] = position
          try mendTimes(number)
          return false
        }
        let entries = try store.entryCount(number)
        try store.startOver(number)
        positions[number] = 0
        if committed != nil || entries > 0 {
          counters.add(.rebuilds)
          context.log(
            SchedulerLog.databaseIncomplete,
            [
              "partition": "\(number)", "has": "\(position ?? 0)",
              "committed": committed.map { "\($0)" } ?? "none", "entries": "\(entries)",
            ])
        }
        return true
      } catch {
        reportDatabase(error)
        loop.beat()
        _ = loop.wait(Int32(Self.databasePause))
      }
    }
    if !context.signals.isStopping {
      fail("the database did not answer while partitions were taken over")
    }
    return false
  }

  /// Takes over the campaigns of new partitions from the database, now or, if that does not answer, later.
  func loadCampaigns(_ now: UInt64) {
    while let partition = upkeep.unloaded.last {
      let isRead = withDatabase(now) { () throws(StoreError) in
        for entry in try store.campaigns(partition) { campaigns.stored(entry, partition) }
      }
      guard isRead else { return }
      upkeep.unloaded.removeLast()
    }
  }

  /// After a fast clock was set right, requests that ingest handed back would wait as long as it was ahead. They get
  /// their scheduled times again; ingest hands back those that are early.
  func mendTimes(_ partition: Int32) throws(StoreError) {
    let now = WallClock.milliseconds()
    let entries = try store.handedBack(partition, after: now + SendTime.tolerance)
    guard !entries.isEmpty else { return }
    context.log(
      SchedulerLog.clockMovedBack, ["partition": "\(partition)", "requests": "\(entries.count)"])
    try store.transaction { () throws(StoreError) in
      try store.put(partition, entries.map { $0.withOwnTime(at: now) })
    }
  }

  /// Ends the process; the first reason counts.
  func fail(_ reason: String) { failure = failure ?? ServiceFailure(reason) }

  // MARK: The database

  /// Runs an operation on the database; false when it is to be retried later.
  @discardableResult
  func withDatabase(_ now: UInt64, _ body: () throws(StoreError) -> Void) -> Bool {
    guard now >= databaseNotBefore else { return false }
    do throws(StoreError) {
      try body()
    } catch {
      reportDatabase(error)
      databaseNotBefore = now + Self.databasePause
      return false
    }
    if counters[.databaseFailing] > 0 {
      counters.set(.databaseFailing, 0)
      context.status.set("database", obstacle: nil)
      context.log(SchedulerLog.databaseAnswers)
    }
    return true
  }

  private func reportDatabase(_ error: StoreError) {
    guard error.isTemporary else { return fail("\(error)") }
    counters.add(.databaseRetries)
    context.status.set("database", obstacle: "the database does not take changes: \(error)")
    if counters[.databaseFailing] == 0 {
      counters.set(.databaseFailing, 1)
      context.log(SchedulerLog.databaseSilent, ["error": "\(error)"])
    }
  }
}
