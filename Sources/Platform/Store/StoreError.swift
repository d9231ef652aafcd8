// SPDX-License-Identifier: Apache-2.0
import CDatabases

/// Why the database did not do what it was asked: what happened, the cause, and whether waiting helps.
public struct StoreError: Error, Equatable, Sendable, CustomStringConvertible {
  /// SQLite's extended result code; 0 with PostgreSQL.
  public let code: Int32
  /// PostgreSQL's SQLSTATE, empty where the connection failed; nil with SQLite.
  public let sqlState: String?
  public let attempt: String
  public let message: String
  /// It took too long, and would again: there is no use in asking once more at once.
  public private(set) var isTimeout = false

  init(code: Int32, attempt: String, message: String) {
    self.code = code
    sqlState = nil
    self.attempt = attempt
    self.message = message
  }

  init(sqlState: String, attempt: String, message: String) {
    code = 0
    self.sqlState = sqlState
    self.attempt = attempt
    self.message = message
    isTimeout = sqlState == "57014"
  }

  /// The error of a PostgreSQL connection, or of the result if there is one.
  init(connection: OpaquePointer, result: OpaquePointer? = nil, _ attempt: String) {
    let state = result.flatMap { PQresultErrorField($0, Int32(UInt8(ascii: "C"))) }
    let words = result.flatMap { PQresultErrorField($0, Int32(UInt8(ascii: "M"))) }
    let text = String(cString: words ?? PQerrorMessage(connection))
    self.init(
      sqlState: state.map { String(cString: $0) } ?? "", attempt: attempt,
      message: text.split(whereSeparator: \.isNewline).joined(separator: "; "))
  }

  /// An answer of PostgreSQL that did not come within so many milliseconds.
  init(silence: UInt64, _ attempt: String) {
    self.init(
      sqlState: "", attempt: attempt,
      message: "no answer within \(silence) ms; see what the server waits for (pg_stat_activity), "
        + "and whether a pooler has a server for us (PgBouncer: SHOW POOLS, query_wait_timeout)")
    isTimeout = true
  }

  init(_ database: OpaquePointer?, _ attempt: String) {
    sqlState = nil
    code = database.map { sqlite3_extended_errcode($0) } ?? SQLITE_NOMEM
    let file =
      database.flatMap { sqlite3_db_filename($0, "main") }.map { String(cString: $0) } ?? ""
    self.attempt = file.isEmpty || attempt.contains(file) ? attempt : "\(attempt) (\(file))"
    message = database.map { String(cString: sqlite3_errmsg($0)) } ?? "out of memory"
  }

  /// True when the same may succeed later: locked by another process, disk full, or an input/output error of
  /// the disk. False for what only a person can mend (not a database, a newer schema, a bug).
  public var isTemporary: Bool {
    if let sqlState { return Self.isTemporary(sqlState) }
    switch code & 0xFF {
    case SQLITE_BUSY, SQLITE_LOCKED, SQLITE_FULL, SQLITE_IOERR, SQLITE_NOMEM, SQLITE_CANTOPEN,
      SQLITE_READONLY, SQLITE_PROTOCOL, SQLITE_INTERRUPT:
      return true
    default: return false
    }
  }

  /// A connection that failed, a server that starts or stops or has become a standby, one without room, a conflict
  /// with another transaction, a statement or a transaction that took too long.
  private static func isTemporary(_ sqlState: String) -> Bool {
    let classes = ["08", "40", "53", "57", "58"]
    // 0A000: a standby begins no transaction that writes, and a statement was prepared for tables that changed.
    // 25P04: transaction_timeout, which PostgreSQL 17 brought and an administrator may set for a user or a database.
    return sqlState.isEmpty || ["25006", "25P03", "25P04", "55P03", "0A000"].contains(sqlState)
      || classes.contains(String(sqlState.prefix(2)))
  }

  /// Another process has what is wanted.
  var isBusy: Bool { sqlState == nil && code & 0xFF == SQLITE_BUSY }

  public var description: String {
    if let sqlState {
      return sqlState.isEmpty
        ? "\(attempt): \(message)" : "\(attempt): \(message) (SQLSTATE \(sqlState))"
    }
    let text = "\(attempt): \(message) (SQLite \(code))"
    return advice.map { "\(text); \($0)" } ?? text
  }

  /// A person's remedy.
  private var advice: String? {
    switch code & 0xFF {
    case SQLITE_FULL: "make room on the disk"
    case SQLITE_BUSY, SQLITE_LOCKED: "end the other program that writes to the database"
    case SQLITE_READONLY: "let this user write to the file and to its folder"
    case SQLITE_CANTOPEN: "correct the path, see that the folder exists, or let this user use it"
    case SQLITE_NOTADB: "name another file"
    case SQLITE_CORRUPT:
      "restore a backup, or remove the file, its -wal and its -shm: the topics fill a new one"
    case SQLITE_IOERR: "look for errors of the disk in the system's log"
    default: nil
    }
  }
}
