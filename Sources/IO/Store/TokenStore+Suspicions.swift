// SPDX-License-Identifier: Apache-2.0
public import APNS
public import Delivery
import Pipeline

/// Answers that may be our own mistake. They are on no topic: each process keeps those that it heard.
extension TokenStore {
  public func suspicion(_ identity: DeviceIdentity) throws(StoreError) -> Suspicion? {
    let select = suspicions.select
    select.bind(identity)
    guard try select.next() else { return nil }
    defer { select.reset() }
    return select.suspicion(from: 0)
  }

  public func put(_ identity: DeviceIdentity, _ suspicion: Suspicion) throws(StoreError) {
    let upsert = suspicions.upsert
    upsert.bind(identity)
    upsert.bind(4, suspicion.firstAt)
    upsert.bind(5, suspicion.lastAt)
    upsert.bind(6, suspicion.lastSentAt)
    upsert.bind(7, suspicion.count)
    upsert.bind(8, suspicion.reason)
    try upsert.run()
  }

  /// Devices that were called bad more than once, at most `limit`, in the order of token, app and environment: the
  /// first ones, or those that follow `device`.
  public func repeatedSuspicions(
    after device: DeviceIdentity?, limit: Int
  ) throws(StoreError) -> [(device: DeviceIdentity, suspicion: Suspicion)] {
    let select = suspicions.repeated
    select.bind(after: device)
    select.bind(4, Int64(limit))
    var found: [(device: DeviceIdentity, suspicion: Suspicion)] = []
    while try select.next() {
      if let identity = select.identity { found.append((identity, select.suspicion(from: 3))) }
    }
    return found
  }

  /// How many devices of an app were called bad after a time, counted up to `limit`.
  public func suspectCount(
    _ app: String, _ environment: Environment, after time: Int64, limit: Int
  ) throws(StoreError) -> Int {
    let count = suspicions.count
    count.bind(1, app)
    count.bind(2, environment.description)
    count.bind(3, time)
    count.bind(4, Int64(limit))
    defer { count.reset() }
    return try count.next() ? Int(count.integer(0) ?? 0) : 0
  }

  /// The reason that most answers after a time had, and how many of their devices are registered for the other
  /// environment.
  public func suspectSummary(
    _ app: String, _ environment: Environment, after time: Int64
  ) throws(StoreError) -> (reason: String, foreign: Int) {
    let summary = suspicions.summary
    summary.bind(1, app)
    summary.bind(2, environment.description)
    summary.bind(3, time)
    defer { summary.reset() }
    guard try summary.next() else { return ("", 0) }
    return (summary.text(0), Int(summary.integer(1) ?? 0))
  }

  /// The waves of an app, oldest first.
  public func waves(
    _ app: String, _ environment: Environment
  ) throws(StoreError) -> [BadTokenWave] {
    let select = suspicions.waves
    select.bind(1, app)
    select.bind(2, environment.description)
    var waves: [BadTokenWave] = []
    while try select.next() {
      waves.append(
        BadTokenWave(from: select.time(0) ?? 0, until: select.time(1) ?? 0))
    }
    return waves
  }

  /// How many devices of an app were called dead after a time and until another, counted up to `limit`.
  public func deathCount(
    _ app: String, _ environment: Environment, after time: Int64, until: Int64, limit: Int
  ) throws(StoreError) -> Int {
    let count = suspicions.deaths
    count.bind(1, app)
    count.bind(2, environment.description)
    count.bind(3, time)
    count.bind(4, until)
    count.bind(5, Int64(limit))
    defer { count.reset() }
    return try count.next() ? Int(count.integer(0) ?? 0) : 0
  }

  /// What is normal for an app, for `UnregisteredNorm`: how many devices were called unregistered in the busiest hour
  /// between two times, in waves or not, and how many are registered. Looks at all rows.
  public func unregisteredNorm(
    _ app: String, _ environment: Environment, between times: ClosedRange<Int64>
  ) throws(StoreError) -> (busiestHour: Int, registered: Int) {
    let norm = suspicions.norm
    norm.bind(1, app)
    norm.bind(2, environment.description)
    norm.bind(3, times.lowerBound)
    norm.bind(4, times.upperBound)
    defer { norm.reset() }
    guard try norm.next() else { return (0, 0) }
    return (Int(norm.integer(0) ?? 0), Int(norm.integer(1) ?? 0))
  }

  /// Devices that were called dead in waves that are open at a time, at most `limit`: not for this.
  public func deathsInWaves(openAt time: Int64, limit: Int) throws(StoreError) -> [ListedToken] {
    let select = suspicions.deathsInWaves
    select.bind(1, time)
    select.bind(2, Int64(limit))
    var tokens: [ListedToken] = []
    while try select.next() {
      guard let identity = select.identity else { continue }
      tokens.append(
        ListedToken(
          device: identity, since: select.time(3) ?? 0, reason: select.text(4),
          recordedAt: select.time(5) ?? 0, details: .none))
    }
    return tokens
  }

  /// Begins a wave, or moves its end.
  public func put(
    _ app: String, _ environment: Environment, _ wave: BadTokenWave
  ) throws(StoreError) {
    let upsert = suspicions.upsertWave
    upsert.bind(1, app)
    upsert.bind(2, environment.description)
    upsert.bind(3, wave.from)
    upsert.bind(4, wave.until)
    try upsert.run()
  }
}

/// The statements about suspicions.
struct SuspicionStatements {
  let select: Statement
  let upsert: Statement
  let repeated: Statement
  let count: Statement
  let summary: Statement
  let deaths: Statement
  let norm: Statement
  let deathsInWaves: Statement
  let waves: Statement
  let upsertWave: Statement

  init(_ database: Database) throws(StoreError) {
    select = try database.prepare(
      """
      SELECT first_at, last_at, last_sent_at, count, reason FROM suspicions
      WHERE token = ?1 AND app = ?2 AND environment = ?3
      """)
    upsert = try database.prepare(
      """
      INSERT INTO suspicions VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
      ON CONFLICT (token, app, environment) DO UPDATE SET first_at = excluded.first_at,
        last_at = excluded.last_at, last_sent_at = excluded.last_sent_at, count = excluded.count,
        reason = excluded.reason
      """)
    repeated = try database.prepare(
      """
      SELECT token, app, environment, first_at, last_at, last_sent_at, count, reason FROM suspicions
      WHERE last_at > first_at AND (token, app, environment) > (?1, ?2, ?3)
      ORDER BY token, app, environment LIMIT ?4
      """)
    count = try database.prepare(
      """
      SELECT count(*) FROM (SELECT 1 FROM suspicions
        WHERE app = ?1 AND environment = ?2 AND last_at > ?3 LIMIT ?4) AS found
      """)
    summary = try database.prepare(
      """
      SELECT (SELECT reason FROM suspicions WHERE app = ?1 AND environment = ?2 AND last_at > ?3
          GROUP BY reason ORDER BY count(*) DESC LIMIT 1),
        (SELECT count(*) FROM suspicions AS s JOIN devices AS d ON d.token = s.token
          AND d.app = s.app AND d.environment != s.environment AND d.registered_at IS NOT NULL
          WHERE s.app = ?1 AND s.environment = ?2 AND s.last_at > ?3)
      """)
    deaths = try database.prepare(
      """
      SELECT count(*) FROM (SELECT 1 FROM dead_tokens
        WHERE app = ?1 AND environment = ?2 AND recorded_at > ?3 AND recorded_at <= ?4 LIMIT ?5)
        AS found
      """)
    // Answers that a wave held back are among the suspicions.
    norm = try database.prepare(
      """
      SELECT (SELECT max(found) FROM (SELECT count(*) AS found FROM (
            SELECT recorded_at AS answered_at FROM dead_tokens
              WHERE app = ?1 AND environment = ?2 AND recorded_at > ?3 AND recorded_at <= ?4
            UNION ALL SELECT first_at AS answered_at FROM suspicions
              WHERE app = ?1 AND environment = ?2 AND first_at > ?3 AND first_at <= ?4
                AND reason NOT IN ('BadDeviceToken', 'DeviceTokenNotForTopic')) AS answers
          GROUP BY answered_at / 3600000) AS hours),
        (SELECT count(*) FROM devices
          WHERE app = ?1 AND environment = ?2 AND registered_at IS NOT NULL)
      """)
    deathsInWaves = try database.prepare(
      """
      SELECT d.token, d.app, d.environment, d.invalid_since, d.invalid_reason, d.recorded_at
      FROM waves AS w JOIN dead_tokens AS d ON d.app = w.app AND d.environment = w.environment
        AND d.recorded_at > w.from_time AND d.recorded_at <= w.until_time
      WHERE w.until_time >= ?1 AND w.from_time <= ?1 LIMIT ?2
      """)
    waves = try database.prepare(
      """
      SELECT from_time, until_time FROM waves WHERE app = ?1 AND environment = ?2
      ORDER BY from_time
      """)
    upsertWave = try database.prepare(
      """
      INSERT INTO waves VALUES (?1, ?2, ?3, ?4)
      ON CONFLICT (app, environment, from_time) DO UPDATE SET until_time = excluded.until_time
      """)
  }
}

extension Statement {
  fileprivate func suspicion(from column: Int32) -> Suspicion {
    Suspicion(
      firstAt: time(column) ?? 0, lastAt: time(column + 1) ?? 0,
      lastSentAt: time(column + 2) ?? 0, count: min(integer(column + 3) ?? 0, 1 << 32),
      reason: text(column + 4))
  }
}
