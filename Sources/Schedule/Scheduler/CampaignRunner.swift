// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Kafka
import Records
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

  /// Threads and clients that only campaigns need.
  private struct Tools {
    let audiences: AudienceWorker
    let receipts: CampaignReceipts
  }

  private let context: ServiceContext
  private let inHand: StoredInHand
  private let counters: Counters<SchedulerMetrics>
  private let writer: CampaignWriter
  private let openControls: () throws -> FollowedTopic
  private let openTools: () throws -> Tools
  /// Read from the first turn on: removed API keys end requests, too.
  private var controls: FollowedTopic?
  /// Created for the first campaign.
  private var tools: Tools?
  private let figures = CampaignFigures()
  private var nextShown: Int64 = 0
  private var controlRecords: CampaignControls
  private var runs: [CampaignKey: CampaignRun] = [:]
  private var lastRun = 0
  private var followed: CampaignReceipts.Subjects = [:]
  private var isDraining = false
  private var notices: CampaignNotices
  /// The client or thread that could not be created.
  private var openFailure: ServiceFailure?

  init(
    _ devices: String, _ audienceTopics: AudienceTopics, _ context: ServiceContext,
    _ counters: Counters<SchedulerMetrics>,
    _ names: TopicNames, _ cluster: ClusterView, _ producer: TaggedProducer<SchedulerWorker.Tag>,
    wakeup: Wakeup
  ) throws {
    self.context = context
    inHand = StoredInHand(names.schedule, context)
    self.counters = counters
    writer = try CampaignWriter(producer, names)
    notices = CampaignNotices(context.log)
    controlRecords = CampaignControls(names.lanes)
    openTools = {
      Tools(
        audiences: try AudienceWorker(
          devices, audienceTopics, cluster.configuration, wakeup: wakeup),
        receipts: try CampaignReceipts.start(
          cluster.configuration, names.receipts, context.log
        ) { context.group.partitionCount(of: names.receipts) })
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

  /// The reason why the service must stop.
  var failure: ServiceFailure? { openFailure ?? writer.failure }

  /// Whether nothing is in flight to Kafka.
  var isIdle: Bool { runs.values.allSatisfy { $0.machine.isIdle } }

  // MARK: The group

  /// No partitions are assigned.
  func removeAll() {
    runs = [:]
    notices.forgetTopics()
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
    let run = CampaignRun(lastRun, partition, record, identity: entry.row.identity)
    if isDraining { run.machine.drain() }
    runs[key] = run
  }

  /// The database no longer has the campaign.
  func removed(key: ExactText) {
    if !runs.isEmpty, let key = CampaignKey(key.text) { runs[key] = nil }
  }

  // MARK: Turn

  /// - Parameters:
  ///   - now: milliseconds since the epoch.
  ///   - isCaughtUp: whether a partition has been read to its end since it was assigned.
  /// - Returns: whether there is more to do at once.
  func turn(now: Int64, isCaughtUp: (Int32) -> Bool) -> Bool {
    do { controls = try controls ?? openControls() } catch {
      openFailure = openFailure ?? ServiceFailure("\(error)")
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
      run.follow(controlRecords)
      run.measure(tally, now: now)
      let evidence = run.evidence(tally)
      while let action = run.machine.next(now: now, evidence) {
        hasActed = true
        guard perform(action, run, tools, tally.outcomes, now) else { return false }
      }
      if !run.pages.isEmpty { run.pages = run.pages.filter { run.machine.isOpen(page: $0.key) } }
      guard control(run, now) else { return false }
      if !isDraining { run.keepCounts(tally.outcomes, now: now) }
    }
    counters.set(.campaigns, runs.values.count { !$0.machine.progress.state.isOver })
    return hasActed
  }

  /// Makes senders end the pushes of a stopped or cancelled campaign, removes the control of an earlier campaign of the
  /// same name, and writes one again that stands before such a removal.
  ///
  /// - Returns: false when the producer's queue is full.
  private func control(_ run: CampaignRun, _ now: Int64) -> Bool {
    guard !isDraining, !run.isControlled, !run.isForgotten else { return true }
    let asked = controlRecords.control(of: run.record)
    if let asked, controlRecords.isOvertaken(run.record.key) {
      let isCancelled = asked.cancelledBy != nil
      let author = run.record.author(
        now: now, by: asked.cancelledBy ?? "\(SchedulerService.name)",
        reason: "written again behind the removal of an earlier campaign's control")
      let member = JSONObject.Member(
        key: isCancelled ? "cancelled" : "paused", value: .bool(isCancelled || asked.isPaused))
      return writer.control(ControlRecord.value(member, by: author), of: run)
    }
    let progress = run.machine.progress
    if progress.state == .stopped || progress.state == .cancelled, asked?.cancelledBy == nil {
      let author = run.record.author(
        now: now, by: "\(SchedulerService.name)", reason: progress.reason)
      return writer.control(
        ControlRecord.value(.init(key: "cancelled", value: .bool(true)), by: author), of: run)
    }
    guard controlRecords.isStale(for: run.record) else { return true }
    return writer.control(
      nil, [KafkaHeader(ControlRecord.beforeHeader, "\(run.record.at)")], of: run)
  }

  /// Reports the current state of each campaign on `/metrics`, once per second: the records are a few seconds behind.
  private func show(_ tallies: CampaignReceipts.Tallies, _ now: Int64) {
    guard now >= nextShown || nextShown > now + 1_000 else { return }
    nextShown = now + 1_000
    figures.show(
      runs.values.map { $0.updated($0.machine.progress, tallies[$0.record.key]?.outcomes) },
      now: now)
  }

  private func toolsIfNeeded() -> Tools? {
    if tools == nil, !runs.isEmpty {
      do { tools = try openTools() } catch {
        openFailure = openFailure ?? ServiceFailure("\(error)")
      }
    }
    return tools
  }

  private func readControls(_ controls: FollowedTopic) {
    controls.follow(
      forget: { controlRecords.forget() },
      { record in
        let key = String(decoding: record.key, as: UTF8.self)
        let isTombstone = record.value.baseAddress == nil
        let before = isTombstone ? record.header(named: ControlRecord.beforeHeader) : nil
        let run = CampaignKey(key).flatMap { runs[$0] }
        controlRecords.note(
          key, isTombstone ? nil : record.value,
          before: before.flatMap { Int64(String(decoding: $0, as: UTF8.self)) }, isOwn: run != nil)
        run?.isControlled = false
      })
  }

  private func takeAnswers(_ audiences: AudienceWorker, _ now: Int64) {
    for (asker, answer) in audiences.drainAnswers() {
      guard let run = runs[asker.campaign], run.number == asker.run else { continue }
      if case .none = answer { run.lacksTopic = true } else { run.lacksTopic = false }
      switch answer {
      case .count(let count):
        run.machine.counted(count.tokens, start: count.start)
        notices.skipped(count, run.record)
        notices.succeeded(run.record)
      case .waves(let zones):
        run.waves = zones.waves
        run.machine.found(waves: zones.waves.map(\.startAt), now: now)
        counters.add(.withoutZone, zones.devicesWithoutZone)
        ZoneNotice.tell(run.record.name, zones, context)
        notices.succeeded(run.record)
      case .devices(let page, let limit):
        if let number = run.machine.read(count: page.count, last: page.last, limit: limit, now: now)
        {
          run.pages[number] = page
        }
        notices.succeeded(run.record)
      case .none(let problem):
        run.machine.unanswered(now: now)
        notices.failed(run.record, problem)
      }
    }
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
    _ action: CampaignMachine.Action, _ run: CampaignRun, _ tools: Tools,
    _ outcomes: CampaignCounts, _ now: Int64
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
    case .save(let progress): return save(progress, run, outcomes, now)
    case .forget: return forget(run)
    }
    return true
  }

  /// Sets the pace of the campaign's requests, or removes it.
  private func setPace(_ pace: PaceRate?, _ run: CampaignRun, _ now: Int64) -> Bool {
    guard writer.pace(pace, of: run, now: now) else {
      run.machine.paceFailed()
      return false
    }
    // Later campaigns of this turn take it into account.
    controlRecords.set(run.paceSubject, pace)
    return true
  }

  /// Removes the campaign and its control, which frees its name.
  private func forget(_ run: CampaignRun) -> Bool {
    let hasControl = controlRecords.has(run.record.key) && !run.isControlled
    run.isForgotten = (!hasControl || writer.control(nil, of: run)) && writer.end(of: run)
    if !run.isForgotten { run.machine.forgetFailed() }
    return run.isForgotten
  }

  private func produce(_ number: Int, _ run: CampaignRun) -> Bool {
    guard let page = run.pages[number] else { return true }
    let isTaken = writer.request(page.tokens, page: number, of: run)
    if !isTaken { run.machine.postponed(page: number) }
    return isTaken
  }

  private func save(
    _ progress: CampaignProgress, _ run: CampaignRun, _ outcomes: CampaignCounts, _ now: Int64
  ) -> Bool {
    let old = run.record.progress.state
    run.renew(progress, outcomes, now: now)
    if progress.state != old {
      if progress.state == .stopped { counters.add(.campaignsStopped) }
      notices.entered(run.record)
    }
    if let note = progress.note, note != run.toldNote {
      run.toldNote = note
      notices.noted(note, run.record)
    }
    let isTaken = writer.progress(of: run)
    if !isTaken { run.machine.saveFailed() }
    return isTaken
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
