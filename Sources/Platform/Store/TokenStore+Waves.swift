// SPDX-License-Identifier: Apache-2.0
public import Contract

/// Waves of answers that call tokens invalid, and what became of them. They are on no topic: each database has those that
/// its processes heard.
extension TokenStore {
  public func waves(
    _ app: String, _ environment: Environment
  ) throws(StoreError) -> [BadTokenWave] {
    try waves.select.bindAll(app, environment.description).rows { $0.wave(from: 0) }
  }

  /// Begins a wave, or moves its end.
  public func put(
    _ app: String, _ environment: Environment, _ wave: BadTokenWave
  ) throws(StoreError) {
    try waves.upsert.bindAll(app, environment.description, wave.from, wave.until).run()
  }

  /// Decides the undecided waves of an app.
  ///
  /// - Parameters:
  ///   - from: the beginning of the only one that is meant; nil for all.
  ///   - actor: who decides, for the list of waves.
  /// - Returns: how many there were.
  @discardableResult
  public func decide(
    _ app: String, _ environment: Environment, from: Int64? = nil,
    _ decision: BadTokenWave.Decision, by actor: String
  ) throws(StoreError) -> Int {
    let decide = waves.decide
    decide.bindAll(app, environment.description)
    decide.bind(3, from)
    return try decide.bindAll(from: 4, decision.verdict.rawValue, decision.at, actor).count()
  }

  /// The number of devices of an app that were called invalid after a time and until another, counted up to `limit`: those
  /// that are, and those that a wave holds back.
  public func deathCount(
    _ app: String, _ environment: Environment, after time: Int64, until: Int64, limit: Int
  ) throws(StoreError) -> Int {
    try count(waves.invalidations, app, environment, after: time, until: until, limit: limit)
  }

  /// The same with devices that have registered since: never less than `deathCount`, and of each row a tenth of the work,
  /// for the index has all that is looked at.
  public func markCount(
    _ app: String, _ environment: Environment, after time: Int64, until: Int64, limit: Int
  ) throws(StoreError) -> Int {
    try count(waves.marks, app, environment, after: time, until: until, limit: limit)
  }

  private func count(
    _ count: Statement, _ app: String, _ environment: Environment, after time: Int64,
    until: Int64, limit: Int
  ) throws(StoreError) -> Int {
    let found = try count.bindAll(app, environment.description, time, until, limit).firstInteger()
    return min(limit, Int(found ?? 0))
  }

  /// The norm of an app, for `UnregisteredNorm`: how many devices were called unregistered in the busiest hour and on
  /// the busiest day between two times, without what waves hold or held. Looks at all rows of that time.
  public func unregisteredNorm(
    _ app: String, _ environment: Environment, between times: ClosedRange<Int64>
  ) throws(StoreError) -> (busiestHour: Int, busiestDay: Int) {
    func busiest(_ span: Int64) throws(StoreError) -> Int {
      let norm = waves.norm.bindAll(
        app, environment.description, times.lowerBound, times.upperBound, span)
      return Int(try norm.firstInteger() ?? 0)
    }
    return (try busiest(BadTokenWave.window), try busiest(BadTokenWave.day))
  }

  /// Devices that were called invalid in waves that hold their answers and ended after a time, at most `limit`.
  public func invalidationsInWaves(endedAfter time: Int64, limit: Int) throws(StoreError)
    -> [ListedToken]
  {
    try waves.deathsIn.bindAll(time, limit).rows { row in
      row.identity.map {
        ListedToken(
          device: $0, since: row.time(3) ?? 0, reason: row.text(4), recordedAt: row.time(5) ?? 0,
          details: .none)
      }
    }
  }

  /// Devices that waves held back which were released after a time, at most `limit`: those that are not invalid by now
  /// and have not registered since.
  public func releasedDevices(
    after time: Int64, limit: Int
  ) throws(StoreError) -> [(device: DeviceKey, suspicion: Suspicion)] {
    try waves.released.bindAll(time, limit).suspicions()
  }

  /// Signs of life of a wave's devices and of all of its app. Looks at all rows of the app.
  public func evidence(_ wave: HeldWave) throws(StoreError) -> WaveEvidence {
    try waves.evidence.read(wave)
  }

  /// Waves that nobody has decided and that hold answers.
  public func undecidedWaves() throws(StoreError) -> [HeldWave] {
    try waves.list.read().filter { $0.wave.decision == nil && $0.held > 0 }
  }
}

extension TokenStoreReader {
  public func waves() throws(StoreError) -> [HeldWave] {
    try WaveStatements.List(database).read()
  }

  public func evidence(_ wave: HeldWave) throws(StoreError) -> WaveEvidence {
    try WaveStatements.Evidence(database).read(wave)
  }
}

public struct HeldWave: Equatable, Sendable {
  public let app: String
  public let environment: Environment
  public let wave: BadTokenWave
  /// The person who has decided it; empty if nobody has.
  public let decidedBy: String
  /// Devices that are neither invalid nor registered since.
  public let held: Int
}

struct WaveStatements {
  let select: Statement
  let upsert: Statement
  let decide: Statement
  let invalidations: Statement
  let marks: Statement
  let norm: Statement
  let deathsIn: Statement
  let released: Statement
  let evidence: Evidence
  let list: List

  /// A suspicion `s` that waits in the wave `w` for a decision, its device `d`.
  static let waiting = """
    JOIN suspicions AS s ON s.app = w.app AND s.environment = w.environment
      AND s.last_at >= w.from_time AND s.last_at <= w.until_time AND s.held = 1
    LEFT JOIN devices AS d ON d.token = s.token AND d.app = s.app AND d.environment = s.environment
    """
  /// The condition that a device is neither invalid nor registered again since.
  static let isOpen = """
    (d.token IS NULL OR (d.invalid_since IS NULL
      AND (d.registered_at IS NULL OR d.registered_at < s.last_sent_at)))
    """

  /// Answered by the indexes alone.
  static let marksSQL = """
    SELECT (SELECT count(*) FROM (SELECT 1 FROM devices
        WHERE app = ?1 AND environment = ?2 AND recorded_at > ?3 AND recorded_at <= ?4
        LIMIT ?5) AS marked)
      + (SELECT count(*) FROM (SELECT 1 FROM suspicions
        WHERE app = ?1 AND environment = ?2 AND last_at > ?3 AND last_at <= ?4 AND held = 1
        LIMIT ?5) AS held)
    """

  init(_ database: Database) throws(StoreError) {
    select = try database.prepare(
      """
      SELECT from_time, until_time, verdict, decided_at FROM waves
      WHERE app = ?1 AND environment = ?2 ORDER BY from_time
      """)
    upsert = try database.prepare(
      """
      INSERT INTO waves (app, environment, from_time, until_time) VALUES (?1, ?2, ?3, ?4)
      ON CONFLICT (app, environment, from_time) DO UPDATE SET until_time = excluded.until_time
      """)
    decide = try database.prepare(
      """
      UPDATE waves SET verdict = ?4, decided_at = ?5, decided_by = ?6
      WHERE app = ?1 AND environment = ?2 AND verdict IS NULL AND from_time = coalesce(?3, from_time)
      RETURNING 1
      """)
    invalidations = try database.prepare(
      """
      SELECT (SELECT count(*) FROM (SELECT 1 FROM dead_tokens
          WHERE app = ?1 AND environment = ?2 AND recorded_at > ?3 AND recorded_at <= ?4
          LIMIT ?5) AS invalid)
        + (SELECT count(*) FROM (SELECT 1 FROM suspicions AS s
          WHERE app = ?1 AND environment = ?2 AND last_at > ?3 AND last_at <= ?4 AND held = 1
            AND NOT EXISTS (SELECT 1 FROM dead_tokens AS d WHERE d.token = s.token
              AND d.app = s.app AND d.environment = s.environment
              AND d.recorded_at > ?3 AND d.recorded_at <= ?4)
          LIMIT ?5) AS held)
      """)
    marks = try database.prepare(Self.marksSQL)
    norm = try database.prepare(
      """
      SELECT max(found) FROM (SELECT count(*) AS found FROM dead_tokens AS d
        WHERE app = ?1 AND environment = ?2 AND recorded_at > ?3 AND recorded_at <= ?4
          AND NOT EXISTS (SELECT 1 FROM waves AS w WHERE w.app = d.app
            AND w.environment = d.environment AND d.recorded_at >= w.from_time
            AND d.recorded_at <= w.until_time AND coalesce(w.verdict, '') != 'released')
        GROUP BY recorded_at / ?5) AS spans
      """)
    deathsIn = try database.prepare(
      """
      SELECT d.token, d.app, d.environment, d.invalid_since, d.invalid_reason, d.recorded_at
      FROM waves AS w JOIN dead_tokens AS d ON d.app = w.app AND d.environment = w.environment
        AND d.recorded_at >= w.from_time AND d.recorded_at <= w.until_time
      WHERE w.until_time >= ?1 AND coalesce(w.verdict, '') != 'released' LIMIT ?2
      """)
    released = try database.prepare(
      """
      SELECT s.token, s.app, s.environment, s.first_at, s.last_at, s.last_sent_at, s.count, s.reason,
        s.held
      FROM waves AS w \(Self.waiting)
      WHERE w.verdict = 'released' AND w.decided_at > ?1 AND \(Self.isOpen) LIMIT ?2
      """)
    evidence = try Evidence(database)
    list = try List(database)
  }

  /// All waves with what they hold.
  struct List {
    private let select: Statement

    init(_ database: Database) throws(StoreError) {
      select = try database.prepare(
        """
        SELECT w.app, w.environment, w.from_time, w.until_time, w.verdict, w.decided_at,
          coalesce(w.decided_by, ''), (SELECT count(*) FROM waves AS v
            \(WaveStatements.waiting.replacing("w.", with: "v."))
            WHERE v.app = w.app AND v.environment = w.environment AND v.from_time = w.from_time
              AND \(WaveStatements.isOpen))
        FROM waves AS w ORDER BY w.app, w.environment, w.from_time
        """)
    }

    func read() throws(StoreError) -> [HeldWave] {
      try select.rows { row in
        Environment(row.text(1)).map {
          HeldWave(
            app: row.text(0), environment: $0, wave: row.wave(from: 2), decidedBy: row.text(6),
            held: Int(row.integer(7) ?? 0))
        }
      }
    }
  }

  struct Evidence {
    private let select: Statement

    init(_ database: Database) throws(StoreError) {
      // The history of a row begins with its first registration, `r` and a time of 13 digits until the year 2286.
      let again = "d.history LIKE 'r%' AND length(d.history) >= 14"
      let first = "substr(d.history, 2, 13) <= CAST(CAST(?3 AS BIGINT) AS TEXT)"
      select = try database.prepare(
        """
        SELECT held.count, held.valid, known.count, known.valid FROM
          (SELECT count(*) AS count,
            sum(CASE WHEN d.registered_at > s.last_at THEN 1 ELSE 0 END) AS valid
            FROM suspicions AS s JOIN devices AS d
              ON d.token = s.token AND d.app = s.app AND d.environment = s.environment
            WHERE s.app = ?1 AND s.environment = ?2 AND s.last_at >= ?3 AND s.last_at <= ?4
              AND s.held = 1 AND d.registered_at IS NOT NULL) AS held,
          (SELECT count(*) AS count,
            sum(CASE WHEN d.registered_at > ?4 THEN 1 ELSE 0 END) AS valid
            FROM devices AS d WHERE d.app = ?1 AND d.environment = ?2
              AND (d.registered_at <= ?3 OR (d.registered_at > ?3 AND \(again) AND \(first))))
            AS known
        """)
    }

    func read(_ wave: HeldWave) throws(StoreError) -> WaveEvidence {
      select.bindAll(wave.app, wave.environment.description, wave.wave.from, wave.wave.until)
      let found: WaveEvidence? = try select.first { row in
        func count(_ column: Int32) -> Int { Int(row.integer(column) ?? 0) }
        return WaveEvidence(
          held: count(0), heldValid: count(1), known: count(2), knownValid: count(3))
      }
      return found ?? WaveEvidence(held: 0, heldValid: 0, known: 0, knownValid: 0)
    }
  }
}

extension Statement {
  fileprivate func wave(from column: Int32) -> BadTokenWave {
    let verdict = BadTokenWave.Verdict(rawValue: text(column + 2))
    return BadTokenWave(
      from: time(column) ?? 0, until: time(column + 1) ?? 0,
      decision: verdict.map { BadTokenWave.Decision($0, at: time(column + 3) ?? 0) })
  }
}
