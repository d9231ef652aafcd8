// SPDX-License-Identifier: Apache-2.0
import APNS
import CSQLite

/// The database of device tokens, as its one writer sees it: SQLite with a write-ahead log.
///
/// Every operation is idempotent and conditional on times, so records may come again and late ones change
/// nothing. A transaction is on the disk when it returns (`synchronous=FULL`): offsets of Kafka are committed
/// after it. Owned by one thread; several processes may share the file, one writes at a time.
package final class TokenStore {
  private let database: Database
  private let select: Statement
  private let upsertRegistration: Statement
  private let upsertRemoval: Statement
  private let upsertInvalid: Statement
  private let upsertSuspicion: Statement

  /// Opens the database, makes it if it is not there, and brings its schema up to date.
  ///
  /// - Parameters:
  ///   - now: milliseconds since the epoch, for the table of migrations.
  ///   - busyTimeout: milliseconds to wait for another writer.
  package init(path: String, now: Int64, busyTimeout: Int32 = 1_000) throws(StoreError) {
    let database = try Database(path: path, isReadOnly: false, busyTimeout: busyTimeout)
    let mode = try Self.setUp(database)
    guard mode == "wal" else {
      throw StoreError(
        code: SQLITE_ERROR, attempt: "cannot use the database \(path)",
        message: "its file system does not allow a write-ahead log (mode \(mode)); use a local disk"
      )
    }
    try Migrations.apply(to: database, now: now)
    select = try database.prepare(SQL.select)
    upsertRegistration = try database.prepare(SQL.registration)
    upsertRemoval = try database.prepare(SQL.removal)
    upsertInvalid = try database.prepare(SQL.invalid)
    upsertSuspicion = try database.prepare(SQL.suspicion)
    self.database = database
  }

  private static func setUp(_ database: Database) throws(StoreError) -> String {
    let pragma = try database.prepare("PRAGMA journal_mode = WAL")
    let mode = try pragma.next() ? pragma.text(0) : ""
    pragma.reset()
    try database.execute("PRAGMA synchronous = FULL")
    return mode
  }

  /// Runs the operations of `body` in one transaction: all of them happen or none.
  package func transaction<R>(_ body: () throws(StoreError) -> R) throws(StoreError) -> R {
    try database.transaction(body)
  }

  /// What is known of a device; nil when nothing is.
  package func device(_ identity: DeviceIdentity) throws(StoreError) -> StoredDevice? {
    bind(select, identity)
    guard try select.next() else { return nil }
    defer { select.reset() }
    return StoredDevice(
      registeredAt: select.integer(0), removedAt: select.integer(1),
      invalidSince: select.integer(2), invalidReason: select.text(3),
      recordedAt: select.integer(4), revivedAt: select.integer(5),
      suspectedAt: select.integer(6), suspicions: select.integer(7) ?? 0)
  }

  /// Notes a registration. The newest one counts; one that is later than the token's death makes it live
  /// again, and ends suspicions that are older.
  package func register(_ identity: DeviceIdentity, at time: Int64) throws(StoreError) {
    bind(upsertRegistration, identity)
    upsertRegistration.bind(4, time)
    try upsertRegistration.run()
  }

  /// Notes that the device's owner withdrew it.
  package func remove(_ identity: DeviceIdentity, at time: Int64) throws(StoreError) {
    bind(upsertRemoval, identity)
    upsertRemoval.bind(4, time)
    try upsertRemoval.run()
  }

  /// Notes that a token is dead since `since`, unless the device registered at `aliveFrom` or later. Of
  /// several deaths the one counts that needs the latest registration.
  package func invalidate(
    _ identity: DeviceIdentity, since: Int64, reason: String, recordedAt: Int64, aliveFrom: Int64
  ) throws(StoreError) {
    bind(upsertInvalid, identity)
    upsertInvalid.bind(4, since)
    upsertInvalid.bind(5, reason)
    upsertInvalid.bind(6, recordedAt)
    upsertInvalid.bind(7, aliveFrom)
    try upsertInvalid.run()
  }

  /// Counts a suspicion; the same one twice counts once.
  package func suspect(
    _ identity: DeviceIdentity, reason: String, at time: Int64
  ) throws(StoreError) {
    bind(upsertSuspicion, identity)
    upsertSuspicion.bind(4, time)
    upsertSuspicion.bind(5, reason)
    try upsertSuspicion.run()
  }

  /// Makes the database full at that many pages of 4 KiB: what a full disk looks like, for tests.
  package func limitPages(to pages: Int) throws(StoreError) {
    try database.execute("PRAGMA max_page_count = \(pages)")
  }

  private func bind(_ statement: Statement, _ identity: DeviceIdentity) {
    statement.bind(1, identity.token)
    statement.bind(2, identity.app)
    statement.bind(3, identity.environment.description)
  }
}

/// The statements. ?1 token, ?2 app, ?3 environment.
private enum SQL {
  static let select = """
    SELECT registered_at, removed_at, invalid_since, invalid_reason, recorded_at, revived_at,
      suspected_at, suspicions
    FROM devices WHERE token = ?1 AND app = ?2 AND environment = ?3
    """

  /// ?4 registered at. Right-hand sides see the row as it was.
  static let registration = """
    INSERT INTO devices (token, app, environment, registered_at) VALUES (?1, ?2, ?3, ?4)
    ON CONFLICT DO UPDATE SET
      registered_at = ?4,
      removed_at = iif(removed_at < ?4, NULL, removed_at),
      revived_at = iif(alive_from <= ?4, ?4, revived_at),
      invalid_reason = iif(alive_from <= ?4, NULL, invalid_reason),
      recorded_at = iif(alive_from <= ?4, NULL, recorded_at),
      invalid_since = iif(alive_from <= ?4, NULL, invalid_since),
      alive_from = iif(alive_from <= ?4, NULL, alive_from),
      suspicions = iif(suspected_at < ?4, 0, suspicions),
      suspect_reason = iif(suspected_at < ?4, NULL, suspect_reason),
      suspected_at = iif(suspected_at < ?4, NULL, suspected_at)
    WHERE registered_at IS NULL OR registered_at < ?4
    """

  /// ?4 removed at.
  static let removal = """
    INSERT INTO devices (token, app, environment, removed_at) VALUES (?1, ?2, ?3, ?4)
    ON CONFLICT DO UPDATE SET removed_at = ?4
    WHERE (registered_at IS NULL OR registered_at <= ?4) AND (removed_at IS NULL OR removed_at < ?4)
    """

  /// ?4 since, ?5 reason, ?6 recorded at, ?7 alive from.
  static let invalid = """
    INSERT INTO devices
      (token, app, environment, invalid_since, invalid_reason, recorded_at, alive_from)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
    ON CONFLICT DO UPDATE SET
      invalid_since = ?4, invalid_reason = ?5, recorded_at = ?6, alive_from = ?7
    WHERE (registered_at IS NULL OR registered_at < ?7)
      AND (invalid_since IS NULL OR (alive_from, invalid_since) < (?7, ?4))
    """

  /// ?4 at, ?5 reason.
  static let suspicion = """
    INSERT INTO devices (token, app, environment, suspected_at, suspect_reason, suspicions)
    VALUES (?1, ?2, ?3, ?4, ?5, 1)
    ON CONFLICT DO UPDATE SET
      suspected_at = ?4, suspect_reason = ?5, suspicions = suspicions + 1
    WHERE (registered_at IS NULL OR registered_at < ?4) AND (suspected_at IS NULL OR suspected_at < ?4)
    """
}
