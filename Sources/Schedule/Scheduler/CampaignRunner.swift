// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Identity
import JSON
import Kafka
import Records
import Schedule
import ScheduleDecisions
import ServiceKit
import Store

/// The campaigns of this process's partitions: performs the actions of their machines. Owned by the scheduler's thread.
final class CampaignRunner {
  /// The tag of a campaign's record in flight.
  struct Tag {
    enum Kind {
      case request(page: Int)
      case progress
      /// The pace of its requests.
      case pace
      /// The record on `push.controls` for the campaign's pushes, or its removal.
      case control
      case end
    }

    let asker: AudienceWorker.Asker
    let kind: Kind
  }

  /// One campaign.
  private final class Run {
    let number: Int
    let partition: Int32
    var record: CampaignRecord
    var machine: CampaignMachine
    /// The identity of the current record.
    var identity: Int64
    /// Pages that were read and that Kafka does not have yet.
    var pages: [Int: AudiencePage] = [:]
    /// The waves by local time, as far as known.
    var waves: [CampaignWave] = []
    /// When the counts were last written.
    var countedAt: Int64 = 0
    /// The last note logged.
    var toldNote: String?
    /// The revision of `push.controls` last seen, and the state for which the note was made.
    var seen = 0
    var notedFor: (total: Int?, hasSetPace: Bool) = (nil, false)
    /// The record is being removed: nothing more is reported.
    var isForgotten = false
    /// A record on `push.controls` is in flight; it is read back from the topic.
    var isControlled = false
    var meter: CampaignMeter

    init(_ number: Int, _ partition: Int32, _ record: CampaignRecord, identity: Int64) {
      (self.number, self.partition, self.record) = (number, partition, record)
      self.identity = identity
      meter = CampaignMeter(outcomes: record.ended)
      machine = CampaignMachine(record.plan, record.progress, pageSize: CampaignRunner.pageSize)
    }

    var asker: AudienceWorker.Asker {
      .init(campaign: record.key, run: number, startedAt: record.at)
    }
  }

  /// Threads and clients that only campaigns need.
  private struct Tools {
    let audiences: AudienceWorker
    let receipts: CampaignReceipts
  }

  /// Devices per page; a page is one request.
  static let pageSize = RequestRules.maximumTokens
  /// The interval between saved counts, in milliseconds.
  private static let countPeriod: Int64 = 5_000

  private let context: ServiceContext
  private let inHand: StoredInHand
  private let counters: Counters<SchedulerMetrics>
  private let producer: TaggedProducer<SchedulerWorker.Tag>
  private let requests: KafkaTopic
  private let schedule: KafkaTopic
  private let controlsTopic: KafkaTopic
  private let openControls: () throws -> FollowedTopic
  private let openTools: () throws -> Tools
  /// Read from the first turn on: removed API keys end requests, too.
  private var controls: FollowedTopic?
  /// Created for the first campaign.
  private var tools: Tools?
  private let figures = CampaignFigures()
  private var nextShown: Int64 = 0
  private var controlRecords = CampaignControls()
  private var runs: [CampaignKey: Run] = [:]
  private var lastRun = 0
  private var followed: CampaignReceipts.Subjects = [:]
  private var isDraining = false
  private var hasFailedQuestion = false
  /// Campaigns whose topic of device tokens could not be read.
  private var withoutTopic: Set<CampaignKey> = []
  /// The reason why the service must stop.
  private(set) var failure: ServiceFailure?

  init(
    _ devices: String, _ audienceTopics: AudienceTopics, _ context: ServiceContext,
    _ counters: Counters<SchedulerMetrics>,
    _ names: TopicNames, _ cluster: ClusterView, _ producer: TaggedProducer<SchedulerWorker.Tag>,
    wakeup: Wakeup
  ) throws {
    self.context = context
    inHand = StoredInHand(names.schedule, context)
    self.counters = counters
    self.producer = producer
    requests = try producer.topic(names.campaignRequests)
    schedule = try producer.topic(names.schedule)
    controlsTopic = try producer.topic(names.controls)
    openTools = {
      Tools(
        audiences: try AudienceWorker(
          devices, audienceTopics, cluster.configuration, wakeup: wakeup),
        receipts: try CampaignReceipts.start(cluster.configuration, names.receipts, context.log))
    }
    openControls = { try FollowedTopic(names.controls, cluster, wakeup: wakeup) }
    context.counters.add(metrics: figures)
  }

  func close() {
    tools?.audiences.close()
    tools?.receipts.close()
    controls?.close()
  }

  /// Holders whose requests end, each with the time up to which they were written, and a revision of this set.
  var ended: (holders: [ExactText: Int64], revision: Int) {
    (controlRecords.ended, controlRecords.endedRevision)
  }

  /// Whether nothing is in flight to Kafka.
  var isIdle: Bool { runs.values.allSatisfy { $0.machine.isIdle } }

  // MARK: The group

  /// No partitions are assigned.
  func removeAll() {
    runs = [:]
    withoutTopic = []
    figures.show([], now: 0)
    isDraining = false
  }

  /// Starts nothing new.
  func drain() {
    isDraining = true
    for run in runs.values { run.machine.drain() }
  }

  // MARK: Records

  /// The database has a new record of a campaign.
  func stored(_ entry: ScheduledEntry, _ partition: Int32) {
    guard let key = CampaignKey(entry.key.text) else { return }
    let record = inHand.work(on: entry.row.identity, key: entry.key.text) {
      CampaignRecord(stored: entry.value)
    }
    guard let record else { return }
    if let run = runs[key], run.partition == partition,
      run.machine.progress.revision >= record.progress.revision
    {
      // The process's own record, read back.
      run.identity = entry.row.identity
      return
    }
    lastRun += 1
    let run = Run(lastRun, partition, record, identity: entry.row.identity)
    if isDraining { run.machine.drain() }
    runs[key] = run
  }

  /// The database no longer has the campaign.
  func removed(key: ExactText) {
    if let key = CampaignKey(key.text) { runs[key] = nil }
  }

  // MARK: Turn

  /// - Parameters:
  ///   - now: milliseconds since the epoch.
  ///   - isCaughtUp: whether a partition has been read to its end since it was assigned.
  /// - Returns: whether there is more to do at once.
  func turn(now: Int64, isCaughtUp: (Int32) -> Bool) -> Bool {
    do { controls = try controls ?? openControls() } catch {
      failure = failure ?? ServiceFailure("\(error)")
    }
    guard let controls else { return false }
    readControls(controls)
    guard let tools = toolsIfNeeded() else { return false }
    takeAnswers(tools.audiences, now)
    follow(tools.receipts, now)
    guard controls.isCaughtUp else { return false }
    let tallies = tools.receipts.current
    show(tallies, now)
    var hasActed = false
    for (key, run) in runs where isCaughtUp(run.partition) {
      inHand.take(run.identity)
      defer { inHand.drop() }
      let tally = tallies[key] ?? .init()
      follow(run)
      run.meter.note(
        addressed: run.machine.progress.addressed, outcomes: tally.evidence.devices.outcomes,
        now: now)
      let evidence = evidence(run, tally)
      while let action = run.machine.next(now: now, evidence) {
        hasActed = true
        guard perform(action, run, tools, tally.outcomes, now) else { return false }
      }
      if !run.pages.isEmpty { run.pages = run.pages.filter { run.machine.isOpen(page: $0.key) } }
      guard control(run, now) else { return false }
      keepCounts(run, tally.outcomes, now)
    }
    counters.set(.campaigns, runs.values.count { !$0.machine.progress.state.isOver })
    return hasActed
  }

  /// Passes on the campaign's control and pace. While the topic has the cancellation of an earlier campaign under the
  /// same key, senders would end the new one's pushes: the campaign waits.
  private func follow(_ run: Run) {
    let progress = run.machine.progress
    let isNoted = run.notedFor == (progress.total, progress.hasSetPace)
    guard run.seen != controlRecords.revision || !isNoted else { return }
    run.seen = controlRecords.revision
    run.notedFor = (progress.total, progress.hasSetPace)
    run.machine.control = controlRecords.verdict(on: run.record)
    if controlRecords.isStale(for: run.record) { run.machine.control.isPaused = true }
    run.machine.pace = controlRecords.pace(of: run.record)
    run.machine.maySetPace =
      run.record.pace == nil || controlRecords.maySetPace(of: run.record.key)
    if !progress.state.isOver { run.machine.tell(note(run)) }
  }

  /// The known outcomes: never fewer than the previous owner saved.
  private func evidence(_ run: Run, _ tally: CampaignReceipts.Tally) -> CampaignEvidence {
    var evidence = tally.evidence
    evidence.ended = max(evidence.ended, run.record.outcomes.total)
    return evidence
  }

  /// The note for the campaign's author: a warning, or what the campaign waits for.
  private func note(_ run: Run) -> String? {
    let (record, progress) = (run.record, run.machine.progress)
    if record.pace != nil, !progress.hasSetPace, !run.machine.maySetPace {
      return "it waits: \(PaceRoom.groupsOfAppAtMost) groups of \(record.key.app) have a pace, or"
        + " \(PaceRoom.groupsAtMost) in all; martlet pace KIND NAME none removes one"
    }
    guard let total = progress.total, let pace = run.machine.pace, pace > 0 else { return nil }
    return record.expiryNote(devices: total, perMillisecond: pace)
  }

  /// Makes senders end the pushes of a stopped or cancelled campaign, and removes the control of an earlier campaign of
  /// the same name.
  ///
  /// - Returns: false when the producer's queue is full.
  private func control(_ run: Run, _ now: Int64) -> Bool {
    guard !isDraining, !run.isControlled, !run.isForgotten else { return true }
    let asked = controlRecords.control(of: run.record)
    let progress = run.machine.progress
    if progress.state == .stopped || progress.state == .cancelled, asked?.cancelledBy == nil {
      let author = ControlRecord.Author(
        at: now, by: "\(SchedulerService.name)", reason: progress.reason)
      return write(
        control: ControlRecord.value(.init(key: "cancelled", value: .bool(true)), by: author), run)
    }
    guard controlRecords.isStale(for: run.record) else { return true }
    return write(control: nil, run)
  }

  private func write(control value: [UInt8]?, _ run: Run) -> Bool {
    run.isControlled = write(
      controlsTopic, Array("\(run.record.key)".utf8), value, [],
      Tag(asker: run.asker, kind: .control))
    return run.isControlled
  }

  /// Reports the current state of each campaign on `/metrics`, once per second: the records are a few seconds behind.
  private func show(_ tallies: CampaignReceipts.Tallies, _ now: Int64) {
    guard now >= nextShown || nextShown > now + 1_000 else { return }
    nextShown = now + 1_000
    figures.show(
      runs.values.map { run in
        var campaign = run.record
        campaign.progress = run.machine.progress
        if let outcomes = tallies[campaign.key]?.outcomes, outcomes.total >= campaign.outcomes.total
        {
          campaign.outcomes = outcomes
        }
        campaign.rates = run.meter.rates ?? campaign.rates
        return campaign
      }, now: now)
  }

  private func toolsIfNeeded() -> Tools? {
    if tools == nil, !runs.isEmpty {
      do { tools = try openTools() } catch { failure = failure ?? ServiceFailure("\(error)") }
    }
    return tools
  }

  private func readControls(_ controls: FollowedTopic) {
    controls.followEntries(
      forget: { controlRecords.forget() },
      { key, value in
        controlRecords.note(key, value)
        if let campaign = CampaignKey(key) { runs[campaign]?.isControlled = false }
      })
  }

  private func takeAnswers(_ audiences: AudienceWorker, _ now: Int64) {
    for (asker, answer) in audiences.drainAnswers() {
      guard let run = runs[asker.campaign], run.number == asker.run else { continue }
      switch answer {
      case .count(let count):
        run.machine.counted(count.tokens, start: count.start)
        if count.others > 0 { tellOthers(count, run.record) }
        succeeded(run.record)
      case .waves(let zones):
        run.waves = zones.waves
        run.machine.found(waves: zones.waves.map(\.startAt))
        counters.add(.withoutZone, zones.devicesWithoutZone)
        ZoneNotice.tell(run.record.name, zones, context)
        succeeded(run.record)
      case .devices(let page, let limit):
        if let number = run.machine.read(
          count: page.count, last: page.last, limit: limit, now: now)
        {
          run.pages[number] = page
        }
        succeeded(run.record)
      case .none(let problem):
        run.machine.unanswered(now: now)
        failed(run.record, problem)
      }
    }
  }

  private func failed(_ campaign: CampaignRecord, _ problem: String) {
    guard let topic = campaign.audience.tokenTopic else {
      if !hasFailedQuestion {
        context.log(SchedulerLog.audienceUnknown, ["error": problem])
      }
      hasFailedQuestion = true
      return
    }
    guard withoutTopic.insert(campaign.key).inserted else { return }
    context.log(
      SchedulerLog.tokenTopicNotRead,
      ["campaign": "\(campaign.key)", "topic": topic, "error": problem])
  }

  private func succeeded(_ campaign: CampaignRecord) {
    guard let topic = campaign.audience.tokenTopic else {
      if hasFailedQuestion { context.log(SchedulerLog.audienceKnown) }
      hasFailedQuestion = false
      return
    }
    guard withoutTopic.remove(campaign.key) != nil else { return }
    context.log(SchedulerLog.tokenTopicRead, ["campaign": "\(campaign.key)", "topic": topic])
  }

  private func tellOthers(_ count: TokenTopicReader.Count, _ campaign: CampaignRecord) {
    context.log(
      SchedulerLog.linesSkipped,
      ["campaign": "\(campaign.key)", "lines": "\(count.others)", "first": count.example])
  }

  /// Starts counting the receipts of campaigns that have begun.
  private func follow(_ receipts: CampaignReceipts, _ now: Int64) {
    var wanted: CampaignReceipts.Subjects = [:]
    for (key, run) in runs where run.machine.progress.state != .scheduled {
      if let ended = run.machine.progress.endedAt, now > ended + CampaignProgress.countedAfterEnd {
        continue
      }
      wanted[key] = .init(run.record)
    }
    guard wanted != followed else { return }
    followed = wanted
    receipts.follow(wanted)
  }

  // MARK: Actions

  /// - Returns: false when the producer's queue is full.
  private func perform(
    _ action: CampaignMachine.Action, _ run: Run, _ tools: Tools, _ outcomes: CampaignCounts,
    _ now: Int64
  ) -> Bool {
    switch action {
    case .setPace(let isSet): return setPace(isSet ? run.record.pace : nil, run, now)
    case .count: tools.audiences.ask(run.asker, run.record.audience, .count)
    case .findWaves:
      if let local = run.record.plan.local {
        tools.audiences.ask(run.asker, run.record.audience, .waves(local))
      }
    case .read(let token, let limit):
      let wave = run.waves.first { $0.startAt == run.machine.progress.wave }
      tools.audiences.ask(
        run.asker, run.record.audience, .devices(in: wave?.zones, after: token, limit: limit))
    case .produce(let page): return produce(page, run)
    case .save(let progress):
      let old = run.record.progress.state
      run.record.progress = progress
      if progress.state != old { tell(run) }
      if let note = progress.note, note != run.toldNote { tell(run, note) }
      return save(run, outcomes, now)
    case .forget: return forget(run)
    }
    return true
  }

  /// Sets the pace of the campaign's requests, or removes it.
  private func setPace(_ pace: PaceRate?, _ run: Run, _ now: Int64) -> Bool {
    let key = run.record.key
    let author = ControlRecord.Author(at: now, by: run.record.by, reason: "\(key)")
    let subject = PaceSubject.group(key.app, key.environment, key.name)
    let isTaken = write(
      controlsTopic, Array(subject.key.utf8),
      pace.map { ControlRecord.value($0, by: author) }, [], Tag(asker: run.asker, kind: .pace))
    if isTaken {
      // Later campaigns of this turn take it into account.
      controlRecords.set(subject, pace)
    } else {
      run.machine.paceFailed()
    }
    return isTaken
  }

  /// Removes the campaign and its control, which frees its name.
  private func forget(_ run: Run) -> Bool {
    if controlRecords.has(run.record.key), !run.isControlled, !write(control: nil, run) {
      run.machine.forgetFailed()
      return false
    }
    let header = KafkaHeader(ScheduleRecord.endsHeader, "\(run.identity)")
    let isTaken = write(
      schedule, Array("\(run.record.key)".utf8), nil, [header], Tag(asker: run.asker, kind: .end))
    run.isForgotten = isTaken
    if !isTaken { run.machine.forgetFailed() }
    return isTaken
  }

  private func tell(_ run: Run) {
    let (name, progress) = ("\(run.record.key)", run.record.progress)
    let addressed = "\(progress.addressed) of \(progress.total.map { "\($0)" } ?? "?")"
    let reason = progress.reason ?? ""
    switch progress.state {
    case .scheduled: break
    case .running:
      context.log(SchedulerLog.campaignGoesOn, ["campaign": name, "addressed": addressed])
    case .trial:
      context.log(SchedulerLog.trialAddressed, ["campaign": name, "addressed": addressed])
    case .done: context.log(SchedulerLog.campaignDone, ["campaign": name, "addressed": addressed])
    case .cancelled:
      context.log(
        SchedulerLog.campaignCancelled,
        ["campaign": name, "addressed": addressed, "reason": reason])
    case .stopped:
      counters.add(.campaignsStopped)
      context.log(
        SchedulerLog.campaignStopped, ["campaign": name, "addressed": addressed, "reason": reason])
    }
  }

  private func tell(_ run: Run, _ note: String) {
    run.toldNote = note
    context.log(SchedulerLog.campaignNotice, ["campaign": "\(run.record.key)", "note": note])
  }

  private func produce(_ number: Int, _ run: Run) -> Bool {
    guard let page = run.pages[number] else { return true }
    let isTaken = write(
      requests, nil, run.record.request(tokens: page.tokens), [],
      Tag(asker: run.asker, kind: .request(page: number)))
    if !isTaken { run.machine.postponed(page: number) }
    return isTaken
  }

  private func save(_ run: Run, _ outcomes: CampaignCounts, _ now: Int64) -> Bool {
    // A new owner counts from the first receipt again.
    if outcomes.total >= run.record.outcomes.total { run.record.outcomes = outcomes }
    run.record.rates = run.meter.rates ?? run.record.rates
    run.countedAt = now
    let isTaken = write(
      schedule, Array("\(run.record.key)".utf8), run.record.value, [],
      Tag(asker: run.asker, kind: .progress))
    if !isTaken { run.machine.saveFailed() }
    return isTaken
  }

  /// Writes the counts if they have changed since the last record.
  private func keepCounts(_ run: Run, _ outcomes: CampaignCounts, _ now: Int64) {
    guard !isDraining, run.machine.isIdle else { return }
    if now >= run.countedAt + Self.countPeriod,
      outcomes != run.record.outcomes && outcomes.total >= run.record.outcomes.total
        || !(run.meter.rates?.isSame(as: run.record.rates) ?? true)
    {
      run.machine.touch()
    }
  }

  private func write(
    _ topic: KafkaTopic, _ key: [UInt8]?, _ value: [UInt8]?, _ headers: [KafkaHeader], _ tag: Tag
  ) -> Bool {
    do throws(KafkaError) {
      return try producer.produce(
        topic, key: key, value: value, headers: headers, as: .campaign(tag))
    } catch {
      failure = failure ?? ServiceFailure("\(error)")
      return false
    }
  }

  /// Kafka has acknowledged a record.
  func acknowledged(_ tag: Tag) {
    guard let run = runs[tag.asker.campaign], run.number == tag.asker.run else { return }
    switch tag.kind {
    case .end, .control: break
    case .progress: run.machine.saved()
    case .pace: run.machine.paced(now: WallClock.milliseconds())
    case .request(let number):
      guard let page = run.pages.removeValue(forKey: number) else { return }
      counters.add(.campaignDevices, page.count)
      run.machine.produced(page: number)
    }
  }
}
