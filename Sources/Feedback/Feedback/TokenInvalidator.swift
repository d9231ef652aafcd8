// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Kafka
import Records
import Store

/// Applies what the topics say to the database, and judges answers of APNs by it.
///
/// A judgement changes no row: it is published, and the row follows when the record comes back from the topic. So the
/// database never knows of a mark that others do not, and the same answers judged again publish nothing new.
struct TokenInvalidator {
  /// What is to be said about one device on `invalid-tokens`.
  struct Publication: Equatable {
    let device: DeviceKey
    /// nil: a tombstone, the token is valid again.
    let record: InvalidTokenRecord?
    /// What was requested before is not sent any more.
    var release: DeviceRelease?
  }

  /// What became of a batch.
  struct Outcome {
    var publications: [Publication] = []
    var counts: [(counter: FeedbackMetrics, count: Int)] = []
    var alarms: [BadTokenAlarm] = []
    /// Waves that the evidence has released.
    var believed: [(wave: HeldWave, evidence: WaveEvidence)] = []
  }

  let store: TokenStore
  /// The name of the topic, made once.
  private let devices: String
  private let reader: JobReader
  private let parser = JSONParser()
  private let clockSkew: Int64
  let badTokenLimit: Int
  let norms = UnregisteredNorms()
  let invalidationCounts = InvalidationCounts()
  let waveClock = WaveClock()
  let releaseClock = ReleaseClock()
  /// What a crash in a judgement blames.
  private let hands: RecordsInHand

  init(_ store: TokenStore, _ names: TopicNames, clockSkew: Int64, badTokenLimit: Int) {
    self.store = store
    devices = names.devices
    hands = RecordsInHand(names)
    reader = JobReader(names)
    self.clockSkew = clockSkew
    self.badTokenLimit = badTokenLimit
  }

  // MARK: What the topics say

  /// Applies a record of `devices` or `invalid-tokens` to the row of its device. One that says nothing usable changes
  /// nothing: on `devices` its partition's owner makes a dead letter of it.
  ///
  /// - Parameters:
  ///   - place: that of the device that the record's key names.
  ///   - timestamp: the record's, milliseconds since the epoch; −1 for none.
  ///   - now: milliseconds since the epoch.
  /// - Returns: whether the topic now has a mark that a registration refutes.
  func follow(
    _ topic: String, at place: Int, key: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer,
    timestamp: Int64, now: Int64, _ rows: inout DeviceRows
  ) -> Bool {
    guard rows.device(place).canBeKept else { return false }
    var state = rows[place]
    if topic == devices {
      switch reader.content(topic, key: key, value: value, timestamp: timestamp, now: now) {
      case .device(let record): state.apply(record.presence, record.details)
      case .forgotten: state.apply(DeviceState.Presence?.none)
      case .feedback, .deadLetter, .receipts: return false
      }
    } else if value.baseAddress == nil {
      state.apply(DeviceState.Mark?.none)
    } else {
      guard let record = InvalidTokenRecord(of: rows.device(place), value, parser: parser) else {
        return false
      }
      state.apply(record.mark.bounded(by: OutsideTime.received(recordTime: timestamp, now: now)))
    }
    rows[place] = state
    return state.isMarkObsolete
  }

  /// True if a record erases its device. Each database then forgets what it alone has of the device, whoever owns the
  /// partition: suspicions and receipts are on no table topic (`TokenStore.forget`).
  func erases(_ topic: String, _ device: DeviceKey, _ value: UnsafeRawBufferPointer) -> Bool {
    topic == devices && value.baseAddress == nil && device.canBeKept
  }

  // MARK: Judgements

  /// Judges a batch by the database, which has to be complete, in the caller's transaction.
  func judge(_ jobs: [Job]) throws(StoreError) -> Outcome {
    var tally = Tally(clockSkew: clockSkew)
    // Another process may have read all of the topics anew since this one last wrote rows.
    try store.followGeneration()
    // What is published about them comes back.
    let rows = try store.rows(of: jobs.compactMap(\.judged), remembering: true)
    var places = rows.asked.makeIterator()
    var kept: [KeptReceipt] = []
    let now = WallClock.milliseconds()
    defer { RecordInHand.drop() }
    for job in jobs {
      hands.take(job)
      switch job.content {
      case .feedback(let record): try judge(record, at: places.next()!, rows, &tally)
      case .device(let record):
        tally.add(.devices)
        let place = places.next()!
        tally.marks.release(
          by: record.presence, received: job.received(now: now), place, rows[place])
      case .forgotten(let device):
        tally.add(.forgotten)
        guard let device else { break }
        try store.forget(device, at: now, tombstone: job.received(now: now))
        let place = places.next()!
        tally.marks.forget(received: job.received(now: now), place, rows[place])
      case .deadLetter: tally.add(.deadLettered)
      case .receipts(let receipts, let unusable):
        kept += receipts
        tally.add(.receiptsKept, receipts.count)
        tally.add(.receiptsUnusable, unusable)
      }
    }
    try store.keep(kept)
    var alarms: [BadTokenAlarm] = []
    for (origin, time) in tally.suspects {
      if let alarm = try watch(origin, at: time) { alarms.append(alarm) }
    }
    try hold(rows, &tally, &alarms)
    var outcome = tally.outcome(rows)
    outcome.alarms = alarms
    return outcome
  }

  private func judge(
    _ record: FeedbackRecord, at place: Int, _ rows: DeviceRows, _ tally: inout Tally
  ) throws(StoreError) {
    tally.add(.feedback)
    let state = rows[place]
    var answer = TokenAnswer(
      status: record.status, reason: record.reason, timestamp: record.timestamp,
      sentAt: record.sentAt, at: record.at)
    answer.isJudged = record.isImported
    switch tally.marks.judge(answer, place, state) {
    case .invalidate:
      tally.add(.invalidated)
    case .keep:
      tally.add(.kept)
    case .suspect:
      tally.add(.suspected)
      try suspect(record, state, &tally)
    }
  }

  private func suspect(
    _ record: FeedbackRecord, _ state: DeviceState, _ tally: inout Tally
  ) throws(StoreError) {
    let device = record.device
    let suspicion = Suspicion.cast(
      at: record.at, sentAt: record.sentAt, reason: record.reason,
      known: try store.suspicion(device), registeredAt: state.registeredAt,
      waves: try store.waves(device.app, device.environment))
    guard let suspicion else { return }
    try store.put(device, suspicion)
    let origin = AppOrigin(device)
    tally.suspects[origin] = max(tally.suspects[origin] ?? .min, record.at)
  }

  /// Takes marks back that a registration refutes, a page of them, in the caller's transaction.
  ///
  /// - Parameter isOwned: whether this process speaks for the device.
  func refute(
    after device: DeviceKey?, limit: Int, _ outcome: inout Outcome, isOwned: (DeviceKey) -> Bool
  ) throws(StoreError) -> DeviceKey? {
    let page = try store.refutedMarks(after: device, limit: limit)
    let said = Set(outcome.publications.map(\.device))
    for device in page where isOwned(device) && !said.contains(device) {
      outcome.publications.append(Publication(device: device, record: nil))
      outcome.counts.append((.revived, 1))
    }
    return page.count == limit ? page.last : nil
  }

  /// Declares tokens invalid that were called bad again, a page of them, in the caller's transaction.
  ///
  /// - Parameters:
  ///   - now: all answers until then are judged, milliseconds since the epoch.
  ///   - isOwned: whether this process speaks for the device.
  func confirm(
    after device: DeviceKey?, limit: Int, now: Int64, _ outcome: inout Outcome,
    isOwned: (DeviceKey) -> Bool
  ) throws(StoreError) -> DeviceKey? {
    let page = try store.repeatedSuspicions(after: device, limit: limit)
    let said = Set(outcome.publications.map(\.device))
    for (identity, suspicion) in page where isOwned(identity) && !said.contains(identity) {
      // Most prove nothing whatever the database says, and they are looked at every minute.
      guard suspicion.isConfirmed(now: now, registeredAt: nil, waves: []) else { continue }
      let state = try store.device(identity)
      let mark = suspicion.mark
      guard state.needs(mark) else { continue }
      let waves = try store.waves(identity.app, identity.environment)
      guard suspicion.isConfirmed(now: now, registeredAt: state.registeredAt, waves: waves) else {
        continue
      }
      outcome.publications.append(
        Publication(device: identity, record: InvalidTokenRecord(identity, mark)))
      outcome.counts.append((.confirmed, 1))
    }
    return page.count == limit ? page.last?.device : nil
  }
}

/// What a batch comes to. Devices are places of its rows.
struct Tally {
  private var counts = Array(repeating: 0, count: FeedbackMetrics.allCases.count)
  /// What is to be published.
  var marks: DeviceMarks<Int>
  /// Devices whose marks a wave holds back.
  var held: Set<Int> = []
  /// The newest answer that casts a suspicion, of each app.
  var suspects: [AppOrigin: Int64] = [:]

  init(clockSkew: Int64) { marks = DeviceMarks(clockSkew: clockSkew) }

  mutating func add(_ counter: FeedbackMetrics, _ count: Int = 1) {
    counts[counter.rawValue] += count
  }

  func outcome(_ rows: DeviceRows) -> TokenInvalidator.Outcome {
    TokenInvalidator.Outcome(
      publications: marks.publications(without: held).map { place, mark, release in
        let device = rows.device(place)
        return TokenInvalidator.Publication(
          device: device, record: mark.map { InvalidTokenRecord(device, $0) }, release: release)
      },
      counts: FeedbackMetrics.allCases.map { ($0, counts[$0.rawValue]) })
  }
}

extension InvalidTokenRecord {
  init(_ device: DeviceKey, _ mark: DeviceState.Mark) {
    self.init(
      device: device, invalidSince: mark.since, reason: mark.reason, at: mark.recordedAt,
      aliveFrom: mark.aliveFrom)
  }

  var mark: DeviceState.Mark {
    DeviceState.Mark(since: invalidSince, aliveFrom: aliveFrom, reason: reason, recordedAt: at)
  }
}

extension DeviceRecord {
  var presence: DeviceState.Presence {
    switch event {
    case .registered(let time): .registered(at: time)
    case .removed(let time): .removed(at: time)
    }
  }
}

extension Job {
  /// The device that it answers for.
  fileprivate var judged: DeviceKey? {
    switch content {
    case .feedback(let record): record.device
    case .device(let record): record.device
    case .forgotten(let device): device
    case .deadLetter, .receipts: nil
    }
  }
}

/// What a crash in a judgement blames, by topic.
private struct RecordsInHand {
  private let answers: RecordInHand
  private let devices: RecordInHand
  private let receipts: RecordInHand
  private let answersTopic: String
  private let receiptsTopic: String

  init(_ names: TopicNames) {
    answers = RecordInHand(topic: names.feedback)
    devices = RecordInHand(topic: names.devices)
    receipts = RecordInHand(topic: names.receipts)
    answersTopic = names.feedback
    receiptsTopic = names.receipts
  }

  func take(_ job: Job) {
    let hand =
      switch job.content {
      case .feedback: answers
      case .device, .forgotten: devices
      case .receipts: receipts
      case .deadLetter:
        switch job.partition.topic {
        case answersTopic: answers
        case receiptsTopic: receipts
        default: devices
        }
      }
    hand.take(partition: job.partition.partition, offset: job.offset, timestamp: job.writtenAt)
  }
}
