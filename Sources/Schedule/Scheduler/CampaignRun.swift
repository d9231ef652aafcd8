// SPDX-License-Identifier: Apache-2.0
import Contract
import Records
import ScheduleDecisions
import Store

/// One campaign in the process that owns its partition: its record, its machine, and what was read for the machine.
/// Owned by the scheduler's thread. Times are milliseconds since the epoch.
final class CampaignRun {
  /// Devices per page; a page is one request.
  private static let pageSize = RequestRules.maximumTokens
  /// The interval between saved counts.
  private static let countPeriod: Int64 = 5_000

  let number: Int
  let partition: Int32
  /// The record as last handed to Kafka.
  private(set) var record: CampaignRecord
  var machine: CampaignMachine
  /// The identity of the current record.
  var identity: Int64
  /// Pages that were read and that Kafka does not have yet.
  var pages: [Int: AudiencePage] = [:]
  /// The waves by local time, as far as known.
  var waves: [CampaignWave] = []
  /// The last note logged.
  var toldNote: String?
  /// Whether its topic of device tokens could not be read when it was last asked for.
  var lacksTopic = false {
    didSet { if lacksTopic != oldValue, !machine.progress.state.isOver { machine.tell(note()) } }
  }
  /// The record is being removed: nothing more is reported.
  var isForgotten = false
  /// A record on `push.controls` is in flight; it is read back from the topic.
  var isControlled = false
  /// When the counts were last written.
  private var countedAt: Int64 = 0
  /// The revision of `push.controls` last seen, and the state for which the note was made.
  private var seen = 0
  private var notedFor: (total: Int?, hasSetPace: Bool) = (nil, false)
  private var meter: CampaignMeter

  init(_ number: Int, _ partition: Int32, _ record: CampaignRecord, identity: Int64) {
    (self.number, self.partition, self.record) = (number, partition, record)
    self.identity = identity
    meter = CampaignMeter(outcomes: record.ended)
    machine = CampaignMachine(record.plan, record.progress, pageSize: Self.pageSize)
    machine.isFixed = record.audience.tokenTopic != nil
  }

  var asker: AudienceWorker.Asker { .init(campaign: record.key, run: number, startedAt: record.at) }

  /// The subject of its pace: its requests are a group of its name.
  var paceSubject: PaceSubject { .group(record.key.app, record.key.environment, record.key.name) }

  // MARK: Controls

  /// Passes on the campaign's control and pace. While the topic has the cancellation of an earlier campaign under the
  /// same key, senders would end the new one's pushes: the campaign waits.
  func follow(_ controls: CampaignControls) {
    let progress = machine.progress
    let isNoted = notedFor == (progress.total, progress.hasSetPace)
    guard seen != controls.revision || !isNoted else { return }
    seen = controls.revision
    notedFor = (progress.total, progress.hasSetPace)
    machine.control = controls.verdict(on: record)
    if controls.isStale(for: record) { machine.control.isPaused = true }
    machine.pace = controls.pace(of: record)
    machine.maySetPace = record.pace == nil || controls.maySetPace(of: record.key)
    if !progress.state.isOver { machine.tell(note()) }
  }

  /// The note for the campaign's author: a warning, or what the campaign waits for.
  private func note() -> String? {
    let progress = machine.progress
    if lacksTopic, let topic = record.audience.tokenTopic {
      return
        "it waits: its topic \(topic) cannot be read: is it there, and may martlet-scheduler read it?"
    }
    if record.pace != nil, !progress.hasSetPace, !machine.maySetPace {
      return "it waits: \(PaceRoom.groupsOfAppAtMost) groups of \(record.key.app) have a pace, or"
        + " \(PaceRoom.groupsAtMost) in all; martlet pace KIND NAME none removes one"
    }
    guard let total = progress.total, let pace = machine.pace, pace > 0 else { return nil }
    return record.expiryNote(devices: total, perMillisecond: pace)
  }

  // MARK: Outcomes

  /// Measures its rates. Call it every turn.
  func measure(_ tally: CampaignReceipts.Tally, now: Int64) {
    meter.note(
      addressed: machine.progress.addressed, outcomes: tally.evidence.devices.outcomes, now: now)
  }

  /// The known outcomes: never fewer than the previous owner saved. Until a new owner has counted as many, nothing is
  /// judged by them: it reads one partition after the other, and the first ones are no sample.
  func evidence(_ tally: CampaignReceipts.Tally) -> CampaignEvidence {
    var evidence = tally.evidence
    if tally.outcomes.total < record.outcomes.total, !tally.isCaughtUp {
      evidence = CampaignEvidence(ended: tally.evidence.ended)
      evidence.refusal = tally.evidence.refusal
    }
    evidence.ended = max(evidence.ended, record.outcomes.total)
    // Registrations have each token once: theirs were addressed again after a crash.
    if record.audience.tokenTopic != nil { evidence.repeated = tally.outcomes[.deduplicated] }
    return evidence
  }

  /// The record with this progress and the current counts and rates. A new owner counts from the first receipt again:
  /// until it has counted as many, the saved counts hold.
  func updated(_ progress: CampaignProgress, _ outcomes: CampaignCounts?) -> CampaignRecord {
    var current = record
    current.progress = progress
    if let outcomes, outcomes.total >= record.outcomes.total { current.outcomes = outcomes }
    current.rates = meter.rates ?? record.rates
    return current
  }

  /// Brings the record up to date, to be written.
  func renew(_ progress: CampaignProgress, _ outcomes: CampaignCounts, now: Int64) {
    record = updated(progress, outcomes)
    countedAt = now
  }

  /// Has the machine save the counts if they have changed since the last record.
  func keepCounts(_ outcomes: CampaignCounts, now: Int64) {
    // The clock may have been set back since.
    guard machine.isIdle, abs(now - countedAt) >= Self.countPeriod else { return }
    if outcomes != record.outcomes && outcomes.total >= record.outcomes.total
      || !(meter.rates?.isSame(as: record.rates) ?? true)
    {
      machine.touch()
    }
  }
}
