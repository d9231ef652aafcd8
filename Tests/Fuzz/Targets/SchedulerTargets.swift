// SPDX-License-Identifier: Apache-2.0
import ConsumerGroup
import Contract
import Records
import ScheduleDecisions
import Store

@testable import OperatorCommand
@testable import Scheduler

extension FuzzTarget {
  /// `push.schedule`, `push.controls`, `push.receipts` and the places of `push.audiences`, as the scheduler, the HTTP API
  /// and `martlet campaign` work on them: nothing traps, and what the scheduler writes can be read again.
  static func schedulerRecords() -> FuzzTarget {
    FuzzTarget("scheduler-records") { bytes in
      let scheduler = HostileSchedule(bytes)
      while !scheduler.script.isAtEnd { scheduler.turn() }
      return scheduler.problem
    }
  }
}

/// One partition of the schedule without Kafka and a database: the shipped readers, rules and machines.
private final class HostileSchedule {
  var script: HostileRecord
  private(set) var problem: String?
  private static let campaign = CampaignKey(name: "c", app: "a", environment: .production)!
  private let topics = AudienceTopics(TopicNames())
  private let figures = CampaignFigures()
  private var rows: [ExactText: ScheduledEntry] = [:]
  private var machine = ScheduleMachine(capacity: 8, bytes: 1 << 20, page: 4)
  private var campaigns: [CampaignKey: Campaign] = [:]
  private var tallies: CampaignReceipts.Tallies = [:]
  private var counted = DedupWindow(capacity: 8)
  private var offset: Int64 = 0
  private var now = HostileRecord.now

  /// A campaign as `CampaignRunner` has it.
  private struct Campaign {
    var record: CampaignRecord
    var machine: CampaignMachine
    var meter: CampaignMeter
    var control: (control: CampaignControl, at: Int64)?

    init(_ record: CampaignRecord) {
      self.record = record
      machine = CampaignMachine(record.plan, record.progress, pageSize: 1_000)
      meter = CampaignMeter(outcomes: record.ended)
    }
  }

  init(_ bytes: UnsafeRawBufferPointer) {
    script = HostileRecord(bytes)
    machine.begin([0])
  }

  func turn() {
    // The time of day may be set at any time.
    now += script.pick([1, 50, 1_000, 60_000, 86_400_000, -86_400_000])
    switch script.byte() % 8 {
    case 0, 1: read(key: "a:production:1", request())
    case 2: read(key: "a:production:1", "C1\t\(script.number())\tann\n")
    case 3: read(key: "a:production:\tu\tv", activity())
    case 4: control()
    case 5: receipt()
    default: read(key: "\(Self.campaign)", campaign())
    }
    schedule()
    for key in Array(campaigns.keys) { run(key) }
    figures.show(campaigns.values.map(\.record), now: now)
    _ = figures.samples
  }

  private func request() -> String {
    let users = script.pick(["", "\tliveactivity\tupdate\tv\tu", "\talert\t\t\tu"])
    return
      "S1\t\(script.number())\t\(script.number())\t\(script.pick(["", script.number()]))\t\(users)\n"
      + #"{"app":"a","id":"1","token":"\#(HostileRecord.token)","payload":{"aps":{}}}"#
  }

  private func activity() -> String { "A1\t\(script.number())\t\(script.number())\tupdate\t\t\n{}" }

  private func campaign() -> String {
    let progress =
      #"{"state":"\#(script.pick(["running", "scheduled", "trial", "done", "stopped"]))""#
      + ["revision", "addressed", "total", "wave", "first_ended_at", "ended_at"]
      .map { script.member($0) }.joined()
      + script.pick([
        "", #","cursor":"0:\#(script.number()).\#(script.number())-\#(script.number())""#,
      ])
      + "}"
    let outcomes = ["delivered", "rejected", "deduplicated", "expired"].map { script.member($0) }
    let audience = script.pick([
      "{}", #"{"topic":"push.audiences"}"#, #"{"topic":"push.receipts"}"#,
    ])
    let stop =
      #"{"rejected_percent":\#(script.number())"# + script.member("unregistered_times")
      + script.member("slower_than_ms") + "}"
    return "M1\n"
      + #"{"campaign":"c","by":"ann","request":{"app":"a","payload":{"aps":{}}},"audience":\#(audience)"#
      + script.member("at") + script.member("send_at") + ",\"progress\":\(progress)"
      + ",\"outcomes\":{\"x\":1\(outcomes.joined())}"
      + script.pick([
        "", ",\"rates\":{\"at\":\(now)\(script.member("addressed"))\(script.member("outcomes"))}",
      ])
      + script.pick(["", ",\"stop\":\(stop)"])
      + script.pick([
        "",
        ",\"stop\":{\"rejected_percent\":1},\"first\":{\"percent\":\(script.number())\(script.member("wait_seconds"))}",
      ])
      + script.pick(["", #","pace":"\#(script.number())/s""#]) + "}"
  }

  /// A record of the schedule: what counts for its key then is what the database would have.
  private func read(key: String, _ text: String) {
    offset += 1
    let job = key.utf8Bytes { key in
      text.utf8Bytes { value in
        try? ScheduleJob(
          key, value, Source(topic: 0, partition: 0), offset, topics, now: now,
          isCaughtUp: machine.isCaughtUp(0))
      }
    }
    guard let job else { return }
    let outcome = ScheduleOutcome([job], over: rows.mapValues(\.row))
    for entry in outcome.stored {
      rows[entry.key] = entry
      machine.stored(entry.machineEntry(0), bytes: entry.bytes)
      if entry.row.isCampaign { begin(entry) }
    }
    machine.read(0, to: offset + 1)
  }

  private func begin(_ entry: ScheduledEntry) {
    guard let record = CampaignRecord(stored: entry.value) else {
      problem = "a campaign that was stored cannot be read"
      return
    }
    campaigns[record.key] = Campaign(record)
    _ = TokenTopicCursor(record.progress.cursor)?.description
    _ = CampaignStatus(record, now: now).line(start: record.startText, namesakes: [])
    _ = JSONValue.object(record.standing(now: now, isPaused: true)).text
  }

  /// What is due.
  private func schedule() {
    for _ in 0..<20 {
      guard let action = machine.next(now: now) else { return }
      switch action {
      case .ask: machine.answered([0: offset + 1])
      case .load(let partition, _, let through, let limit):
        let due = rows.values.filter { $0.row.due <= through }.sorted { $0.row.due < $1.row.due }
        machine.loaded(
          partition, due.prefix(limit).map { ($0.machineEntry(partition), $0.bytes) },
          through: through, limit: limit)
      case .release(let slot): machine.released(slot)
      case .end(let slot):
        rows[machine.entry(slot).key] = nil
        machine.ended(slot)
      }
    }
  }

  private func control() {
    let text = "{\"paused\":\(script.pick(["true", "false"]))\(script.member("at"))}"
    campaigns[Self.campaign]?.control = text.utf8Bytes { ControlRecord.campaign($0) }
  }

  private func receipt() {
    guard let campaign = campaigns[Self.campaign] else { return }
    let line =
      #"{"outcome":"\#(script.pick(["delivered", "rejected", "deduplicated"]))","id":"campaign:c","app":"a""#
      + #","environment":"production","campaign":"c""# + script.member("status")
      + script.member("created")
      + script.member("at") + "}"
    line.utf8Bytes {
      CampaignReceipts.count($0, [Self.campaign: .init(campaign.record)], &tallies, &counted)
    }
  }

  private func run(_ key: CampaignKey) {
    guard var campaign = campaigns[key] else { return }
    defer { campaigns[key] = campaign }
    if let control = campaign.control {
      campaign.machine.control = control.at >= campaign.record.at ? control.control : .init()
    }
    let evidence = tallies[key]?.evidence ?? .init()
    campaign.meter.note(
      addressed: campaign.machine.progress.addressed, outcomes: evidence.devices.outcomes, now: now)
    for _ in 0..<12 {
      guard let action = campaign.machine.next(now: now, evidence) else { return }
      switch action {
      case .setPace: campaign.machine.paced(now: now)
      case .count: campaign.machine.counted(3_000)
      case .findWaves: campaign.machine.found(waves: [now], now: now)
      case .read(_, let limit):
        _ = campaign.machine.read(count: limit, last: "t", limit: limit, now: now)
      case .produce(let page): campaign.machine.produced(page: page)
      case .save(let progress): save(progress, &campaign)
      case .forget: campaign.machine.forgetFailed()
      }
    }
  }

  /// What the scheduler writes about a campaign, it reads again.
  private func save(_ progress: CampaignProgress, _ campaign: inout Campaign) {
    campaign.record.progress = progress
    if let tally = tallies[campaign.record.key] { campaign.record.outcomes = tally.outcomes }
    campaign.record.rates = campaign.meter.rates ?? campaign.record.rates
    let value = String(decoding: campaign.record.value, as: UTF8.self)
    if CampaignRecord(stored: value)?.progress != progress {
      problem = "a campaign that was written cannot be read"
    }
    campaign.machine.saved()
  }
}
