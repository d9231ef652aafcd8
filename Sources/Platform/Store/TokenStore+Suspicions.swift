// SPDX-License-Identifier: Apache-2.0
public import Contract

/// Answers that may be our own mistake. They are on no topic: each process keeps those that it heard.
extension TokenStore {
  public func suspicion(_ identity: DeviceKey) throws(StoreError) -> Suspicion? {
    suspicions.select.bind(identity)
    return try suspicions.select.first { $0.suspicion(from: 0) }
  }

  public func put(_ identity: DeviceKey, _ suspicion: Suspicion) throws(StoreError) {
    suspicions.upsert.bind(identity)
    try suspicions.upsert.bindAll(
      from: 4, suspicion.firstAt, suspicion.lastAt, suspicion.lastSentAt, suspicion.count,
      suspicion.reason, Int64(suspicion.isHeld ? 1 : 0)
    ).run()
  }

  /// Devices that were called bad more than once, at most `limit`, in the order of token, app and environment: the
  /// first ones, or those that follow `device`.
  public func repeatedSuspicions(
    after device: DeviceKey?, limit: Int
  ) throws(StoreError) -> [(device: DeviceKey, suspicion: Suspicion)] {
    suspicions.repeated.bind(after: device)
    return try suspicions.repeated.bindAll(from: 4, limit).suspicions()
  }

  /// The number of devices of an app that were called bad after a time and until another, counted up to `limit`.
  public func suspectCount(
    _ app: String, _ environment: Environment, after time: Int64, until: Int64, limit: Int
  ) throws(StoreError) -> Int {
    let count = suspicions.count.bindAll(app, environment.description, time, until, limit)
    return Int(try count.firstInteger() ?? 0)
  }

  /// The reason that most answers after a time and until another had, and how many of their devices are registered for
  /// the other environment.
  public func suspectSummary(
    _ app: String, _ environment: Environment, after time: Int64, until: Int64
  ) throws(StoreError) -> (reason: String, foreign: Int) {
    let summary = suspicions.summary.bindAll(app, environment.description, time, until)
    let found = try summary.first { (reason: $0.text(0), foreign: Int($0.integer(1) ?? 0)) }
    return found ?? (reason: "", foreign: 0)
  }

  /// Removes suspicions whose last answer came before a time, at most `limit`, in the caller's transaction; not those of a
  /// wave that nobody has decided, or that was decided since. Looks at all rows.
  public func removeSuspicions(before time: Int64, limit: Int) throws(StoreError) -> Int {
    let remove = try database.prepare(
      """
      DELETE FROM suspicions WHERE (token, app, environment) IN (
        SELECT s.token, s.app, s.environment FROM suspicions AS s
        WHERE s.last_at < ?1 AND NOT (s.held = 1 AND EXISTS (SELECT 1 FROM waves AS w
          WHERE w.app = s.app AND w.environment = s.environment AND w.from_time <= s.last_at
            AND w.until_time >= s.last_at AND (w.verdict IS NULL OR w.decided_at >= ?1)))
        LIMIT ?2)
      RETURNING 1
      """)
    return try remove.bindAll(time, limit).count()
  }
}

struct SuspicionStatements {
  let select: Statement
  let upsert: Statement
  let forget: Statement
  let repeated: Statement
  let count: Statement
  let summary: Statement

  init(_ database: Database) throws(StoreError) {
    select = try database.prepare(
      """
      SELECT first_at, last_at, last_sent_at, count, reason, held FROM suspicions
      WHERE token = ?1 AND app = ?2 AND environment = ?3
      """)
    upsert = try database.prepare(
      """
      INSERT INTO suspicions VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
      ON CONFLICT (token, app, environment) DO UPDATE SET first_at = excluded.first_at,
        last_at = excluded.last_at, last_sent_at = excluded.last_sent_at, count = excluded.count,
        reason = excluded.reason, held = excluded.held
      """)
    forget = try database.prepare(
      """
      DELETE FROM suspicions
      WHERE token = ?1 AND app = ?2 AND environment = ?3 AND last_at <= ?4
      """)
    repeated = try database.prepare(
      """
      SELECT token, app, environment, first_at, last_at, last_sent_at, count, reason, held FROM suspicions
      WHERE last_at > first_at AND (token, app, environment) > (?1, ?2, ?3)
      ORDER BY token, app, environment LIMIT ?4
      """)
    count = try database.prepare(
      """
      SELECT count(*) FROM (SELECT 1 FROM suspicions
        WHERE app = ?1 AND environment = ?2 AND last_at > ?3 AND last_at <= ?4 LIMIT ?5) AS found
      """)
    summary = try database.prepare(
      """
      SELECT (SELECT reason FROM suspicions
          WHERE app = ?1 AND environment = ?2 AND last_at > ?3 AND last_at <= ?4
          GROUP BY reason ORDER BY count(*) DESC LIMIT 1),
        (SELECT count(*) FROM suspicions AS s JOIN devices AS d ON d.token = s.token
          AND d.app = s.app AND d.environment != s.environment AND d.registered_at IS NOT NULL
          WHERE s.app = ?1 AND s.environment = ?2 AND s.last_at > ?3 AND s.last_at <= ?4)
      """)
  }
}

extension Statement {
  /// Devices in the first three columns, with their suspicions behind them.
  func suspicions() throws(StoreError) -> [(device: DeviceKey, suspicion: Suspicion)] {
    try rows { row in
      row.identity.map { (device: $0, suspicion: row.suspicion(from: 3)) }
    }
  }

  func suspicion(from column: Int32) -> Suspicion {
    Suspicion(
      firstAt: time(column) ?? 0, lastAt: time(column + 1) ?? 0,
      lastSentAt: time(column + 2) ?? 0, count: min(integer(column + 3) ?? 0, 1 << 32),
      reason: text(column + 4), isHeld: integer(column + 5) == 1)
  }
}
