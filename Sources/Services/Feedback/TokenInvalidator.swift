// SPDX-License-Identifier: Apache-2.0
import APNS
import Delivery
import EventLoop
import JSON
import Kafka
import Pipeline
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
    /// nil: a tombstone, the token lives again.
    let record: InvalidTokenRecord?
  }

  /// What became of a batch.
  struct Outcome {
    var publications: [Publication] = []
    var counts: [(counter: FeedbackCounter, count: Int)] = []
    var alarms: [BadTokenAlarm] = []
  }

  /// Marks that are taken back at once after a wave began.
  private static let withdrawnAtOnce = 10_000

  let store: TokenStore
  /// The name of the topic, made once.
  private let devices: String
  private let reader: JobReader
  private let parser = JSONParser()
  private let clockSkew: Int64
  private let badTokenLimit: Int
  private let norms = UnregisteredNorms()
  /// By topic: what a crash in a judgement blames.
  private let hands: [String: RecordInHand]

  init(_ store: TokenStore, _ names: TopicNames, clockSkew: Int64, badTokenLimit: Int) {
    self.store = store
    devices = names.devices
    let topics = [names.feedback, names.devices, names.receipts]
    hands = Dictionary(uniqueKeysWithValues: topics.map { ($0, RecordInHand(topic: $0)) })
    reader = JobReader(names)
    self.clockSkew = clockSkew
    self.badTokenLimit = badTokenLimit
  }

  // MARK: What the topics say

  /// Applies a record of `devices` or `invalid-tokens` to the row of its device. One that says nothing usable changes
  /// nothing: on `devices` its partition's owner makes a dead letter of it.
  ///
  /// - Parameter device: what the record's key names.
  /// - Returns: whether the topic now has a mark that a registration refutes.
  func follow(
    _ topic: String, _ device: DeviceKey, _ record: KafkaRecord, _ rows: inout DeviceRows
  ) -> Bool {
    follow(
      topic, device, key: record.key, value: record.value, timestamp: record.timestamp, &rows)
  }

  func follow(
    _ topic: String, _ device: DeviceKey, key: UnsafeRawBufferPointer,
    value: UnsafeRawBufferPointer, timestamp: Int64, _ rows: inout DeviceRows
  ) -> Bool {
    let now = WallClock.milliseconds()
    let identity = device.identity
    var state = rows[identity]
    if topic == devices {
      switch reader.content(topic, key: key, value: value, timestamp: timestamp, now: now) {
      case .device(let record): state.apply(record.presence, record.details)
      case .nothing: state.apply(DeviceState.Presence?.none)
      case .feedback, .deadLetter, .receipts: return false
      }
    } else if value.baseAddress == nil {
      state.apply(DeviceState.Mark?.none)
    } else {
      guard let record = try? InvalidTokenRecord(value, parser: parser), record.device == device
      else { return false }
      state.apply(
        record.mark.bounded(by: OutsideTime.received(recordTime: timestamp, now: now)))
    }
    rows[identity] = state
    return state.isMarkObsolete
  }

  // MARK: Judgements

  /// Judges a batch by the database, which has to be complete, in the caller's transaction.
  func judge(_ jobs: [Job]) throws(StoreError) -> Outcome {
    var tally = Tally(clockSkew: clockSkew)
    let rows = try store.rows(of: Set(jobs.compactMap(\.judged)))
    defer { RecordInHand.drop() }
    for job in jobs {
      hands[job.partition.topic]?.take(
        partition: job.partition.partition, offset: job.offset, timestamp: job.writtenAt)
      switch job.content {
      case .feedback(let record): try judge(record, rows, &tally)
      case .device, .nothing: tally.add(.devices)
      case .deadLetter: tally.add(.deadLettered)
      case .receipts(let receipts, let unusable):
        try store.keep(receipts)
        tally.add(.receiptsKept, receipts.count)
        tally.add(.receiptsUnusable, unusable)
      }
    }
    var alarms: [BadTokenAlarm] = []
    for (origin, time) in tally.suspects {
      if let alarm = try watch(origin, at: time) { alarms.append(alarm) }
    }
    try hold(&tally, &alarms)
    var outcome = tally.outcome
    outcome.alarms = alarms
    return outcome
  }

  // MARK: Waves of answers that call tokens dead

  /// Holds the marks of a wave back: each is a suspicion, and the next such answer about its token decides.
  private func hold(_ tally: inout Tally, _ alarms: inout [BadTokenAlarm]) throws(StoreError) {
    let answered = tally.marks.marks.filter { !tally.imported.contains($0.device) }
    let origins = Dictionary(grouping: answered) { AppOrigin($0.device) }
    for (origin, marks) in origins {
      if let alarm = try watch(origin, deaths: marks.map(\.mark.recordedAt)) {
        alarms.append(alarm)
      }
      let waves = try store.waves(origin.app, origin.environment)
      for (device, mark) in marks where waves.contains(where: { $0.covers(mark.recordedAt) }) {
        tally.held.insert(device)
        let known = try store.suspicion(device.identity)
        guard let suspicion = Suspicion.held(mark, known: known) else { continue }
        try store.put(device.identity, suspicion)
        tally.add(.held)
      }
    }
  }

  /// Looks whether an abnormal number of an app's tokens is called dead.
  ///
  /// - Parameter times: when the batch's answers did so.
  private func watch(_ origin: AppOrigin, deaths times: [Int64]) throws(StoreError)
    -> BadTokenAlarm?
  {
    guard let peak = BadTokenWave.peak(of: times) else { return nil }
    func devices(upTo limit: Int) throws(StoreError) -> Int {
      try peak.count
        + store.deathCount(
          origin.app, origin.environment, after: peak.at - BadTokenWave.window, until: peak.at,
          limit: limit)
    }
    guard try devices(upTo: badTokenLimit + 1) > badTokenLimit else { return nil }
    let limit = try norms.limit(origin, at: peak.at, floor: badTokenLimit, store)
    let count = try devices(upTo: limit == .max ? limit : limit + 1)
    return try begin(origin, devices: count, limit: limit, at: peak.at)
  }

  private func judge(
    _ record: FeedbackRecord, _ rows: DeviceRows, _ tally: inout Tally
  ) throws(StoreError) {
    tally.add(.feedback)
    let device = record.device
    let state = tally.marks.state(device) ?? rows[device.identity]
    var answer = TokenAnswer(
      status: record.status, reason: record.reason, timestamp: record.timestamp,
      sentAt: record.sentAt, at: record.at)
    answer.isJudged = record.isImported
    switch tally.marks.judge(answer, device, state) {
    case .invalidate:
      tally.add(.invalidated)
      if record.isImported { tally.imported.insert(device) }
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
    let identity = record.device.identity
    let suspicion = Suspicion.cast(
      at: record.at, sentAt: record.sentAt, reason: record.reason,
      known: try store.suspicion(identity), registeredAt: state.registeredAt,
      waves: try store.waves(identity.app, identity.environment))
    guard let suspicion else { return }
    try store.put(identity, suspicion)
    let origin = AppOrigin(record.device)
    tally.suspects[origin] = max(tally.suspects[origin] ?? .min, record.at)
  }

  /// Looks whether an abnormal number of an app's tokens is called bad.
  private func watch(_ origin: AppOrigin, at time: Int64) throws(StoreError) -> BadTokenAlarm? {
    let devices = try store.suspectCount(
      origin.app, origin.environment, after: time - BadTokenWave.window, limit: badTokenLimit + 1)
    return try begin(origin, devices: devices, limit: badTokenLimit, at: time)
  }

  /// Begins a wave or goes on with it, if the number of devices is not normal.
  private func begin(
    _ origin: AppOrigin, devices: Int, limit: Int, at time: Int64
  ) throws(StoreError) -> BadTokenAlarm? {
    let newest = try store.waves(origin.app, origin.environment).last
    guard
      let wave = BadTokenWave.after(devices: devices, limit: limit, at: time, newest: newest)
    else { return nil }
    try store.put(origin.app, origin.environment, wave)
    guard wave.from != newest?.from else { return nil }
    let summary = try store.suspectSummary(
      origin.app, origin.environment, after: time - BadTokenWave.window)
    return BadTokenAlarm(origin: origin, limit: limit, summary: summary)
  }

  /// Takes the marks of open waves back: they were published before it was known that there is a wave. In the caller's
  /// transaction.
  ///
  /// - Parameters:
  ///   - now: milliseconds since the epoch.
  ///   - isMine: whether this process speaks for the device.
  func withdraw(
    now: Int64, _ outcome: inout Outcome, isMine: (DeviceKey) -> Bool
  ) throws(StoreError) {
    let said = Set(outcome.publications.map(\.device))
    let dead = try store.deathsInWaves(openAt: now, limit: Self.withdrawnAtOnce)
    for token in dead where isMine(token.device.key) && !said.contains(token.device.key) {
      let mark = DeviceState.Mark(
        since: token.since, aliveFrom: token.since, reason: token.reason,
        recordedAt: token.recordedAt)
      if let held = Suspicion.held(mark, known: try store.suspicion(token.device)) {
        try store.put(token.device, held)
      }
      outcome.publications.append(Publication(device: token.device.key, record: nil))
      outcome.counts.append((.withdrawn, 1))
    }
  }

  /// Takes marks back that a registration refutes, a page of them, in the caller's transaction.
  ///
  /// - Parameter isMine: whether this process speaks for the device.
  func refute(
    after device: DeviceIdentity?, limit: Int, _ outcome: inout Outcome,
    isMine: (DeviceKey) -> Bool
  ) throws(StoreError) -> DeviceIdentity? {
    let page = try store.refutedMarks(after: device, limit: limit)
    let said = Set(outcome.publications.map(\.device))
    for device in page.map(\.key) where isMine(device) && !said.contains(device) {
      outcome.publications.append(Publication(device: device, record: nil))
      outcome.counts.append((.revived, 1))
    }
    return page.count == limit ? page.last : nil
  }

  /// Declares tokens dead that were called bad again, a page of them, in the caller's transaction.
  ///
  /// - Parameters:
  ///   - now: all answers until then are judged, milliseconds since the epoch.
  ///   - isMine: whether this process speaks for the device.
  func confirm(
    after device: DeviceIdentity?, limit: Int, now: Int64, _ outcome: inout Outcome,
    isMine: (DeviceKey) -> Bool
  ) throws(StoreError) -> DeviceIdentity? {
    let page = try store.repeatedSuspicions(after: device, limit: limit)
    let said = Set(outcome.publications.map(\.device))
    for (identity, suspicion) in page where isMine(identity.key) && !said.contains(identity.key) {
      let state = try store.device(identity)
      let isConfirmed = suspicion.isConfirmed(
        now: now, registeredAt: state.registeredAt,
        waves: try store.waves(identity.app, identity.environment))
      let mark = DeviceState.Mark(
        since: suspicion.lastSentAt,
        aliveFrom: TokenInvalidation.earliestRevival(timestamp: nil, sentAt: suspicion.lastSentAt),
        reason: suspicion.reason, recordedAt: suspicion.lastAt)
      guard isConfirmed, state.needs(mark) else { continue }
      outcome.publications.append(
        Publication(device: identity.key, record: InvalidTokenRecord(identity.key, mark)))
      outcome.counts.append((.confirmed, 1))
    }
    return page.count == limit ? page.last?.device : nil
  }
}

/// An app in an environment: what a wave of bad tokens is about.
struct AppOrigin: Hashable {
  let app: String
  let environment: Environment
}

extension AppOrigin {
  init(_ device: DeviceKey) { self.init(app: device.app, environment: device.environment) }
}

/// What is normal for each app: looked up once an hour, for it takes a look at all rows.
private final class UnregisteredNorms {
  private static let most = 1_000
  private var known: [AppOrigin: (hour: Int64, limit: Int)] = [:]

  func limit(
    _ origin: AppOrigin, at time: Int64, floor: Int, _ store: TokenStore
  ) throws(StoreError) -> Int {
    let hour = time / BadTokenWave.window
    if let known = known[origin], known.hour == hour { return known.limit }
    let past = UnregisteredNorm.past
    let found = try store.unregisteredNorm(
      origin.app, origin.environment,
      between: max(0, time - past.upperBound)...max(0, time - past.lowerBound))
    let norm = UnregisteredNorm(
      floor: floor, busiestHour: found.busiestHour, registered: found.registered)
    if known.count >= Self.most { known = [:] }
    known[origin] = (hour, norm.limit)
    return norm.limit
  }
}

/// An abnormal number of tokens was called bad.
struct BadTokenAlarm {
  let origin: AppOrigin
  let limit: Int
  let summary: (reason: String, foreign: Int)

  var fields: KeyValuePairs<String, String> {
    [
      "app": origin.app, "environment": origin.environment.description, "reason": summary.reason,
      "devices": "more than \(limit) in an hour",
      "likely_cause": BadTokenWave.likelyCause(
        reason: summary.reason, environment: origin.environment.description,
        foreign: summary.foreign),
    ]
  }
}

/// What a batch comes to.
private struct Tally {
  private var counts = Array(repeating: 0, count: FeedbackCounter.allCases.count)
  /// Devices that this batch declares dead.
  var marks: DeviceMarks<DeviceKey>
  /// Those of them that an operator imported: they are part of no wave.
  var imported: Set<DeviceKey> = []
  /// Those of them that a wave holds back.
  var held: Set<DeviceKey> = []
  /// The newest answer that casts a suspicion, of each app.
  var suspects: [AppOrigin: Int64] = [:]

  init(clockSkew: Int64) { marks = DeviceMarks(clockSkew: clockSkew) }

  mutating func add(_ counter: FeedbackCounter, _ count: Int = 1) {
    counts[counter.rawValue] += count
  }

  var outcome: TokenInvalidator.Outcome {
    TokenInvalidator.Outcome(
      publications: marks.marks.filter { !held.contains($0.device) }.map { device, mark in
        .init(device: device, record: InvalidTokenRecord(device, mark))
      },
      counts: FeedbackCounter.allCases.map { ($0, counts[$0.rawValue]) })
  }
}

extension InvalidTokenRecord {
  init(_ device: DeviceKey, _ mark: DeviceState.Mark) {
    self.init(
      device: device, invalidSince: mark.since, reason: mark.reason, at: mark.recordedAt,
      aliveFrom: mark.aliveFrom)
  }

  var mark: DeviceState.Mark {
    DeviceState.Mark(
      since: invalidSince, aliveFrom: aliveFrom, reason: reason, recordedAt: at)
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
  fileprivate var judged: DeviceIdentity? {
    if case .feedback(let record) = content { record.device.identity } else { nil }
  }
}

extension DeviceKey {
  /// The device as the database names it.
  var identity: DeviceIdentity {
    DeviceIdentity(token: token, app: app, environment: environment)
  }
}

extension DeviceIdentity {
  /// The device as the topics name it.
  var key: DeviceKey { DeviceKey(token: token, app: app, environment: environment) }
}
