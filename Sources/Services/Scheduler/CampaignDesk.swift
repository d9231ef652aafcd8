// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Gateways
import JSON
import Kafka
import Records
import Schedule
import ServiceKit
import Store

/// The campaigns of this process's partitions: performs what the machine of each decides. Owned by the scheduler's thread.
final class CampaignDesk {
  /// A record of a campaign, until Kafka has it.
  struct Tag {
    enum Kind {
      case request(page: Int)
      case progress
      /// The pace of its requests.
      case pace
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
    /// Of the record that counts.
    var identity: Int64
    /// Pages that were read and that Kafka does not have.
    var pages: [Int: AudiencePage] = [:]
    /// With a local time, as far as they are known.
    var waves: [CampaignWave] = []
    /// When its counts were written last.
    var countedAt: Int64 = 0
    var meter: CampaignMeter

    init(_ number: Int, _ partition: Int32, _ record: CampaignRecord, identity: Int64) {
      (self.number, self.partition, self.record) = (number, partition, record)
      self.identity = identity
      meter = CampaignMeter(outcomes: record.ended)
      machine = CampaignMachine(record.plan, record.progress, pageSize: CampaignDesk.pageSize)
    }

    var asker: AudienceWorker.Asker {
      .init(name: record.name, run: number, startedAt: record.at)
    }
  }

  /// Threads and clients that only campaigns need.
  private struct Tools {
    let audiences: AudienceWorker
    let receipts: CampaignReceipts
    let controls: KafkaTable
  }

  /// Devices of a page: one request.
  static let pageSize = RequestRules.maximumTokens
  /// Receipts of a campaign that is over are counted for so long.
  private static let counted: Int64 = 86_400_000
  /// Between two records of its counts, in milliseconds.
  private static let countPeriod: Int64 = 5_000

  private let context: ServiceContext
  private let counters: Counters<SchedulerCounter>
  private let producer: TaggedProducer<SchedulerWorker.Tag>
  private let requests: KafkaTopic
  private let schedule: KafkaTopic
  private let controlsTopic: KafkaTopic
  private let openTools: () throws -> Tools
  /// Made for the first campaign.
  private var tools: Tools?
  private let figures = CampaignFigures()
  private var nextShown: Int64 = 0
  private var controlRecords: [String: (control: CampaignControl, at: Int64)] = [:]
  private var runs: [String: Run] = [:]
  private var lastRun = 0
  private var followed: [String: CampaignReceipts.Subject] = [:]
  private var isDraining = false
  private var hasFailedQuestion = false
  /// Campaigns whose topic of device tokens could not be read.
  private var withoutTopic: Set<String> = []
  /// Why the service has to give up.
  private(set) var failure: ServiceFailure?

  init(
    _ devices: String, _ context: ServiceContext, _ counters: Counters<SchedulerCounter>,
    _ names: TopicNames, _ cluster: ClusterView, _ producer: TaggedProducer<SchedulerWorker.Tag>,
    wakeup: Wakeup
  ) throws {
    self.context = context
    self.counters = counters
    self.producer = producer
    requests = try producer.topic(names.requests)
    schedule = try producer.topic(names.schedule)
    controlsTopic = try producer.topic(names.controls)
    openTools = {
      Tools(
        audiences: try AudienceWorker(devices, cluster.configuration, wakeup: wakeup),
        receipts: try CampaignReceipts.start(cluster.configuration, names.receipts, context.log),
        controls: try KafkaTable(
          cluster.configuration, topic: names.controls,
          partitions: cluster.partitions[names.controls], wakeup: wakeup))
    }
    context.counters.add(metrics: figures)
  }

  func close() {
    tools?.audiences.close()
    tools?.receipts.close()
    tools?.controls.close()
  }

  /// Whether nothing is on its way to Kafka.
  var isIdle: Bool { runs.values.allSatisfy { $0.machine.isIdle } }

  // MARK: The group

  /// Nothing is ours any more, or not yet.
  func removeAll() {
    runs = [:]
    withoutTopic = []
    figures.show([], now: 0)
    isDraining = false
  }

  /// Nothing further is begun.
  func drain() {
    isDraining = true
    for run in runs.values { run.machine.drain() }
  }

  // MARK: Records

  /// The database has this record of a campaign.
  func stored(_ entry: ScheduledEntry, _ partition: Int32) {
    guard let name = CampaignRecord.name(ofKey: entry.key) else { return }
    var text = entry.value
    let record = text.withUTF8 { bytes in
      try? CampaignRecord(UnsafeRawBufferPointer(bytes), parser: .init())
    }
    guard let record else { return }
    if let run = runs[name], run.partition == partition,
      run.machine.progress.revision >= record.progress.revision
    {
      // Ours, as it comes back.
      run.identity = entry.row.identity
      return
    }
    lastRun += 1
    let run = Run(lastRun, partition, record, identity: entry.row.identity)
    if isDraining { run.machine.drain() }
    runs[name] = run
  }

  /// The database has nothing of a campaign any more.
  func removed(key: String) {
    if let name = CampaignRecord.name(ofKey: key) { runs[name] = nil }
  }

  // MARK: Turn

  /// - Parameters:
  ///   - now: milliseconds since the epoch.
  ///   - isCaughtUp: whether all that was written to a partition before it was taken over has been read.
  /// - Returns: whether there is more to do at once.
  func turn(now: Int64, isCaughtUp: (Int32) -> Bool) -> Bool {
    guard let tools = toolsIfNeeded() else { return false }
    readControls(tools.controls)
    takeAnswers(tools.audiences, now)
    follow(tools.receipts, now)
    guard tools.controls.isCaughtUp else { return false }
    let tallies = tools.receipts.current
    show(tallies, now)
    var hasActed = false
    for (name, run) in runs where isCaughtUp(run.partition) {
      if let control = controlRecords[name] {
        // One that is older concerned another campaign of this name.
        run.machine.control = control.at >= run.record.at ? control.control : CampaignControl()
      } else {
        run.machine.control = CampaignControl()
      }
      let tally = tallies[name] ?? .init()
      run.meter.note(
        addressed: run.machine.progress.addressed, outcomes: tally.evidence.devices.outcomes,
        now: now)
      while let action = run.machine.next(now: now, tally.evidence) {
        hasActed = true
        guard perform(action, run, tools, tally.outcomes, now) else { return false }
      }
      keepCounts(run, tally.outcomes, now)
    }
    counters.set(.campaigns, runs.values.count { !$0.machine.progress.state.isOver })
    return hasActed
  }

  /// Shows on `/metrics`, once a second, how each campaign stands now: its record is a few seconds behind.
  private func show(_ tallies: CampaignReceipts.Tallies, _ now: Int64) {
    guard now >= nextShown || nextShown > now + 1_000 else { return }
    nextShown = now + 1_000
    figures.show(
      runs.values.map { run in
        var campaign = run.record
        campaign.progress = run.machine.progress
        if let tally = tallies[campaign.name] { campaign.outcomes = tally.outcomes }
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

  private func readControls(_ controls: KafkaTable) {
    controls.poll(
      timeoutMilliseconds: 0, forget: { controlRecords = [:] },
      { key, value in
        guard let name = CampaignRecord.name(ofKey: String(decoding: key, as: UTF8.self)) else {
          return
        }
        let control = value.flatMap { ControlRecord.campaign($0) }
        controlRecords[name] = control.map { ($0.control, $0.at) }
      })
  }

  private func takeAnswers(_ audiences: AudienceWorker, _ now: Int64) {
    for (asker, answer) in audiences.drainAnswers() {
      guard let run = runs[asker.name], run.number == asker.run else { continue }
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
        if let number = run.machine.read(count: page.count, last: page.last, limit: limit) {
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
        context.log.warning(
          "an audience cannot be looked up; campaigns wait", ["error": problem])
      }
      hasFailedQuestion = true
      return
    }
    guard withoutTopic.insert(campaign.name).inserted else { return }
    context.log.warning(
      "a topic of device tokens cannot be read; its campaign waits",
      ["campaign": campaign.name, "topic": topic, "error": problem])
  }

  private func succeeded(_ campaign: CampaignRecord) {
    guard let topic = campaign.audience.tokenTopic else {
      if hasFailedQuestion { context.log.info("audiences can be looked up again") }
      hasFailedQuestion = false
      return
    }
    guard withoutTopic.remove(campaign.name) != nil else { return }
    context.log.info(
      "a topic of device tokens can be read again", ["campaign": campaign.name, "topic": topic])
  }

  private func tellOthers(_ count: TokenTopicReader.Count, _ campaign: CampaignRecord) {
    context.log.warning(
      "a topic of device tokens has lines that are none; they are left out",
      ["campaign": campaign.name, "lines": "\(count.others)", "first": count.example])
  }

  /// Has the receipts counted of campaigns that have begun.
  private func follow(_ receipts: CampaignReceipts, _ now: Int64) {
    var wanted: [String: CampaignReceipts.Subject] = [:]
    for (name, run) in runs where run.machine.progress.state != .scheduled {
      if let ended = run.machine.progress.endedAt, now > ended + Self.counted { continue }
      wanted[name] = .init(run.record)
    }
    guard wanted != followed else { return }
    followed = wanted
    receipts.follow(wanted)
  }

  // MARK: Actions

  /// - Returns: false when Kafka's client has no room.
  private func perform(
    _ action: CampaignMachine.Action, _ run: Run, _ tools: Tools, _ outcomes: [String: Int],
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
      return save(run, outcomes, now)
    case .forget: return forget(run)
    }
    return true
  }

  /// Sets the pace of its requests, or removes it.
  private func setPace(_ pace: PaceRate?, _ run: Run, _ now: Int64) -> Bool {
    let author = ControlRecord.Author(at: now, by: run.record.by, reason: run.record.key)
    let isTaken = write(
      controlsTopic, Array(Paces.Subject.group(run.record.name).key.utf8),
      pace.map { ControlRecord.value($0, by: author) }, [], Tag(asker: run.asker, kind: .pace))
    if !isTaken { run.machine.unpaced() }
    return isTaken
  }

  private func forget(_ run: Run) -> Bool {
    let header = KafkaHeader(ScheduleRecord.endsHeader, "\(run.identity)")
    let isTaken = write(
      schedule, Array(run.record.key.utf8), nil, [header], Tag(asker: run.asker, kind: .end))
    if !isTaken { run.machine.unforgotten() }
    return isTaken
  }

  private func tell(_ run: Run) {
    let (name, progress) = (run.record.name, run.record.progress)
    let addressed = "\(progress.addressed) of \(progress.total.map { "\($0)" } ?? "?")"
    let reason = progress.reason ?? ""
    switch progress.state {
    case .scheduled: break
    case .running:
      context.log.info("a campaign goes on", ["campaign": name, "addressed": addressed])
    case .trial:
      context.log.info(
        "the first part of a campaign is addressed", ["campaign": name, "addressed": addressed])
    case .done: context.log.info("a campaign is done", ["campaign": name, "addressed": addressed])
    case .cancelled:
      context.log.warning(
        "a campaign was cancelled", ["campaign": name, "addressed": addressed, "reason": reason])
    case .stopped:
      counters.add(.campaignsStopped)
      context.log.error(
        "a campaign has stopped itself",
        ["campaign": name, "addressed": addressed, "reason": reason])
    }
  }

  private func produce(_ number: Int, _ run: Run) -> Bool {
    guard let page = run.pages[number] else { return true }
    let isTaken = write(
      requests, nil, run.record.request(tokens: page.tokens), [],
      Tag(asker: run.asker, kind: .request(page: number)))
    if !isTaken { run.machine.postponed(page: number) }
    return isTaken
  }

  private func save(_ run: Run, _ outcomes: [String: Int], _ now: Int64) -> Bool {
    run.record.outcomes = outcomes
    run.record.rates = run.meter.rates ?? run.record.rates
    run.countedAt = now
    let isTaken = write(
      schedule, Array(run.record.key.utf8), run.record.value, [],
      Tag(asker: run.asker, kind: .progress))
    if !isTaken { run.machine.unsaved() }
    return isTaken
  }

  /// Writes counts that have changed since the last record.
  private func keepCounts(_ run: Run, _ outcomes: [String: Int], _ now: Int64) {
    guard !isDraining, run.machine.isIdle else { return }
    if now >= run.countedAt + Self.countPeriod,
      !outcomes.isEmpty && outcomes != run.record.outcomes
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

  /// Kafka has a record.
  func acknowledged(_ tag: Tag) {
    guard let run = runs[tag.asker.name], run.number == tag.asker.run else { return }
    switch tag.kind {
    case .end: break
    case .progress: run.machine.saved()
    case .pace: run.machine.paced(now: WallClock.milliseconds())
    case .request(let number):
      guard let page = run.pages.removeValue(forKey: number) else { return }
      counters.add(.campaignDevices, page.count)
      run.machine.produced(page: number)
    }
  }
}
