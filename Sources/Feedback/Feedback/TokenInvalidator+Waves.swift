// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Records
import Store

/// Waves of answers that call tokens bad or invalid: what they hold back, and what becomes of it.
extension TokenInvalidator {
  /// Marks that are published or taken back at once.
  private static let atOnce = 10_000

  /// Holds the marks of a wave back: each is a suspicion until the wave is decided, or an answer in a quiet hour
  /// decides about its token.
  func hold(
    _ rows: DeviceRows, _ tally: inout Tally, _ alarms: inout [BadTokenAlarm]
  ) throws(StoreError) {
    for (origin, marks) in byOrigin(tally.marks.marks.filter { !$0.mark.isRemoval }, rows) {
      let times = marks.map(\.mark.recordedAt)
      for span in [BadTokenWave.window, BadTokenWave.day] {
        if let alarm = try watch(origin, invalidations: times, within: span) {
          alarms.append(alarm)
        }
      }
      let waves = try store.waves(origin.app, origin.environment)
      guard !waves.isEmpty else { continue }
      for (place, mark) in marks where waves.contains(where: { $0.holds(mark.recordedAt) }) {
        tally.held.insert(place)
        let device = rows.device(place)
        let known = try store.suspicion(device)
        guard let suspicion = Suspicion.held(mark, known: known) else { continue }
        try store.put(device, suspicion)
        tally.add(.held)
      }
    }
  }

  private func byOrigin(
    _ marks: [(device: Int, mark: DeviceState.Mark)], _ rows: DeviceRows
  ) -> [AppOrigin: [(device: Int, mark: DeviceState.Mark)]] {
    guard let first = marks.first.map({ rows.device($0.device) }) else { return [:] }
    // Most batches are about one app.
    if marks.allSatisfy({ rows.device($0.device).isOfSameApp(as: first) }) {
      return [AppOrigin(first): marks]
    }
    return Dictionary(grouping: marks) { AppOrigin(rows.device($0.device)) }
  }

  /// Looks whether an abnormal number of an app's tokens is called invalid.
  ///
  /// - Parameter times: when the batch's answers did so.
  private func watch(
    _ origin: AppOrigin, invalidations times: [Int64], within span: Int64
  ) throws(StoreError) -> BadTokenAlarm? {
    guard let peak = BadTokenWave.peak(of: times, within: span) else { return nil }
    let place = InvalidationCounts.Key(
      origin: origin, span: span, hour: peak.at / BadTokenWave.window)
    guard invalidationCounts.isDue(place, adding: times.count) else { return nil }
    func devices(upTo limit: Int) throws(StoreError) -> Int {
      // No count is needed where even the bound is below.
      let bound =
        try peak.count
        + store.markCount(
          origin.app, origin.environment, after: peak.at - span, until: peak.at, limit: limit)
      if bound < limit { return bound }
      return try peak.count
        + store.deathCount(
          origin.app, origin.environment, after: peak.at - span, until: peak.at, limit: limit)
    }
    // The norm takes a look at all rows.
    let first = try devices(upTo: badTokenLimit + 1)
    guard first > badTokenLimit else {
      invalidationCounts.note(place, left: badTokenLimit - first)
      return nil
    }
    let norm = try norms.norm(origin, at: peak.at, floor: badTokenLimit, store)
    let limit = span == BadTokenWave.day ? norm.day : norm.hour
    let count = try devices(upTo: limit == .max ? limit : limit + 1)
    let alarm = try begin(origin, devices: count, limit: limit, at: peak.at, within: span)
    // A wave that begins is gone if the transaction fails, and the next attempt has to count again. Of one that goes on,
    // nothing but its end is moved.
    if alarm == nil { invalidationCounts.note(place, left: count > limit ? .max : limit - count) }
    return alarm
  }

  /// Looks whether an abnormal number of an app's tokens is called bad.
  func watch(_ origin: AppOrigin, at time: Int64) throws(StoreError) -> BadTokenAlarm? {
    var devices = 0
    // The hour before and the hour after: of a backlog, what came later may be judged already.
    for end in [time, time + BadTokenWave.window - 1] {
      let count = try store.suspectCount(
        origin.app, origin.environment, after: end - BadTokenWave.window, until: end,
        limit: badTokenLimit + 1)
      devices = max(devices, count)
    }
    return try begin(
      origin, devices: devices, limit: badTokenLimit, at: time, within: BadTokenWave.window)
  }

  /// Begins a wave or goes on with it, if the number of devices is not normal.
  private func begin(
    _ origin: AppOrigin, devices: Int, limit: Int, at time: Int64, within span: Int64
  ) throws(StoreError) -> BadTokenAlarm? {
    let waves = try store.waves(origin.app, origin.environment)
    // Of a backlog the partitions are read at different speeds: there may be later waves.
    let newest = waves.last { $0.covers(time) } ?? waves.last { $0.from <= time }
    guard
      let wave = BadTokenWave.after(
        devices: devices, limit: limit, at: time, within: span, newest: newest,
        next: waves.first { $0.from > time }?.from)
    else { return nil }
    try store.put(origin.app, origin.environment, wave)
    guard wave.from != newest?.from else { return nil }
    let summary = try store.suspectSummary(
      origin.app, origin.environment, after: time - span, until: time + BadTokenWave.window)
    return BadTokenAlarm(
      origin: origin, limit: limit, span: span == BadTokenWave.day ? "a day" : "an hour",
      summary: summary)
  }

  /// Takes the marks of waves back: they were published before it was known that there is a wave. In the caller's
  /// transaction.
  ///
  /// - Parameters:
  ///   - now: milliseconds since the epoch.
  ///   - isOwned: whether this process speaks for the device.
  func withdraw(
    now: Int64, _ outcome: inout Outcome, isOwned: (DeviceKey) -> Bool
  ) throws(StoreError) {
    let said = Set(outcome.publications.map(\.device))
    // The wave of answers that came late, of imports, and of what waited on the topic while nothing read it, may be over
    // when it begins. `martlet topics create` has the topic keep answers for a week.
    let invalid = try store.invalidationsInWaves(
      endedAfter: now - 7 * BadTokenWave.day, limit: Self.atOnce)
    for token in invalid where isOwned(token.device) && !said.contains(token.device) {
      let mark = DeviceState.Mark(
        since: token.since, aliveFrom: token.since, reason: token.reason,
        recordedAt: token.recordedAt)
      if let held = Suspicion.held(mark, known: try store.suspicion(token.device)) {
        try store.put(token.device, held)
      }
      outcome.publications.append(Publication(device: token.device, record: nil))
      outcome.counts.append((.withdrawn, 1))
    }
  }

  /// Publishes the marks of waves that were released. In the caller's transaction; what is not all published by now is
  /// found again.
  func release(
    now: Int64, _ outcome: inout Outcome, isOwned: (DeviceKey) -> Bool
  ) throws(StoreError) {
    let said = Set(outcome.publications.map(\.device))
    let released = try store.releasedDevices(
      after: releaseClock.start(now: now), limit: Self.atOnce)
    if released.count < Self.atOnce { releaseClock.noteLook(at: now) }
    for (identity, suspicion) in released where isOwned(identity) && !said.contains(identity) {
      outcome.publications.append(
        Publication(device: identity, record: InvalidTokenRecord(identity, suspicion.mark)))
      outcome.counts.append((.released, 1))
    }
  }

  /// Releases the next wave that is looked at if its devices show no life beside the app's others, in the caller's
  /// transaction.
  ///
  /// - Returns: the wave, for the log.
  func believe(now: Int64) throws(StoreError) -> [(wave: HeldWave, evidence: WaveEvidence)] {
    let wave = try waveClock.wave(at: now) { () throws(StoreError) in
      try store.undecidedWaves().filter { now - $0.wave.from >= WaveEvidence.leastAge }
    }
    guard let wave else { return [] }
    let evidence = try store.evidence(wave)
    guard evidence.isBelieved(age: now - wave.wave.from) else { return [] }
    let decided = try store.decide(
      wave.app, wave.environment, from: wave.wave.from, .init(.released, at: now),
      by: "martlet-feedback")
    return decided > 0 ? [(wave, evidence)] : []
  }
}

/// When the evidence about waves is looked at again: once an hour, and one wave in a transaction. Each takes a look at
/// all rows of its app, and others write the database, too.
final class WaveClock {
  private var next = Int64.min
  private var waiting: [HeldWave] = []

  /// The wave to look at now; nil for none.
  ///
  /// - Parameter undecided: finds the waves that nobody has decided.
  func wave(
    at now: Int64, among undecided: () throws(StoreError) -> [HeldWave]
  ) throws(StoreError) -> HeldWave? {
    if waiting.isEmpty, isDue(now) { waiting = try undecided() }
    return waiting.isEmpty ? nil : waiting.removeFirst()
  }

  func isDue(_ now: Int64) -> Bool {
    // The other way round the clock was set back: the next look must not wait until it is there again.
    guard now >= next || now < next - BadTokenWave.window else { return false }
    next = now + BadTokenWave.window
    return true
  }
}

/// Since when waves may have been released whose marks are not published: an operator also decides while feedback or
/// Kafka is down.
final class ReleaseClock {
  /// When all of them were found last; nil in a process that has just begun.
  private var lookedAt: Int64?

  /// A day before the last look, for what was found then and was not published.
  func start(now: Int64) -> Int64 {
    min(lookedAt ?? now - Suspicion.memory, now) - BadTokenWave.day
  }

  func noteLook(at now: Int64) { lookedAt = now }
}

/// An app in an environment: what a wave of bad tokens is about.
struct AppOrigin: Hashable {
  private let exactApp: ExactText
  let environment: Environment
  var app: String { exactApp.text }
}

extension AppOrigin {
  init(_ device: DeviceKey) {
    self.init(exactApp: device.app.exact, environment: device.environment)
  }
}

/// How many more devices may be called invalid before they have to be counted again: counting looks at all that were, each
/// time more of them.
final class InvalidationCounts {
  /// What is counted: an app's devices in a span that ends in an hour.
  struct Key: Hashable {
    let origin: AppOrigin
    let span: Int64
    let hour: Int64
  }

  private static let most = 1_000
  /// Other processes call devices invalid, too: counted again after so many milliseconds.
  private static let patience: UInt64 = 10_000
  /// Of what is left this process may use up one part in so many unseen, so that as many processes may.
  private static let sharers = 8

  private var known: [Key: (left: Int, until: UInt64)] = [:]

  /// Whether they have to be counted now.
  func isDue(_ place: Key, adding devices: Int) -> Bool {
    guard let entry = known[place], MonotonicClock.milliseconds() < entry.until,
      entry.left >= devices
    else { return true }
    known[place]?.left -= devices
    return false
  }

  /// They were counted.
  ///
  /// - Parameter left: how many more are normal.
  func note(_ place: Key, left: Int) {
    if known.count >= Self.most { known = [:] }
    known[place] = (left / Self.sharers, MonotonicClock.milliseconds() + Self.patience)
  }
}

/// What is normal for each app: looked up once an hour, for it takes a look at all rows.
final class UnregisteredNorms {
  private static let most = 1_000
  private var known: [AppOrigin: (hour: Int64, norm: UnregisteredNorm)] = [:]

  func norm(
    _ origin: AppOrigin, at time: Int64, floor: Int, _ store: TokenStore
  ) throws(StoreError) -> UnregisteredNorm {
    let hour = time / BadTokenWave.window
    if let known = known[origin], known.hour == hour { return known.norm }
    let past = UnregisteredNorm.past
    let found = try store.unregisteredNorm(
      origin.app, origin.environment,
      between: max(0, time - past.upperBound)...max(0, time - past.lowerBound))
    let norm = UnregisteredNorm(
      floor: floor, busiestHour: found.busiestHour, busiestDay: found.busiestDay)
    if known.count >= Self.most { known = [:] }
    known[origin] = (hour, norm)
    return norm
  }
}

/// An abnormal number of tokens was called bad.
struct BadTokenAlarm {
  let origin: AppOrigin
  let limit: Int
  /// Within which time, in words.
  let span: String
  let summary: (reason: String, foreign: Int)

  var fields: KeyValuePairs<String, String> {
    [
      "app": origin.app, "environment": origin.environment.description, "reason": summary.reason,
      "devices": "more than \(limit) in \(span)",
      "likely_cause": BadTokenWave.likelyCause(
        reason: summary.reason, environment: origin.environment.description,
        foreign: summary.foreign),
      "remedy": "martlet tokens waves shows what is held, and decides with --release or --reject",
    ]
  }
}
