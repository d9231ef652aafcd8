// SPDX-License-Identifier: Apache-2.0
import CPostgres
import Glibc

/// Owns one connection to a PostgreSQL server. One thread at a time.
///
/// A connection that broke is rebuilt at the next transaction, or at the next statement outside of one; prepared
/// statements follow by themselves. What was under way fails as temporary, and the server has done all of it or nothing.
final class PostgresDatabase {
  /// All of ours is in a schema of this name, so that a database may be shared with other programs.
  static let schema = "martlet"

  private let raw: OpaquePointer
  let location: PostgresLocation
  private let isReadOnly: Bool
  private let lockMilliseconds: Int32
  /// Counts connections: a statement was prepared on one of them.
  private(set) var generation = 0
  private var statementCount = 0
  private var isInTransaction = false
  /// False: a transaction may return before it is on the server's disk.
  var isDurable = true

  /// - Parameters:
  ///   - isReadOnly: never writes; also a standby will do.
  ///   - lockMilliseconds: how long a statement waits for another writer.
  init(
    _ location: PostgresLocation, isReadOnly: Bool, lockMilliseconds: Int32
  ) throws(StoreError) {
    self.location = location
    self.isReadOnly = isReadOnly
    self.lockMilliseconds = lockMilliseconds
    raw = Self.connect(location, isReadOnly: isReadOnly)
    PQsetNoticeProcessor(raw, { _, _ in }, nil)
    try prepareSession()
  }

  deinit { PQfinish(raw) }

  /// Later values win: an operator's own are in the URL, which comes last.
  private static func connect(
    _ location: PostgresLocation, isReadOnly: Bool
  ) -> OpaquePointer {
    let parameters = [
      ("connect_timeout", "5"), ("tcp_user_timeout", "15000"), ("keepalives_idle", "10"),
      ("keepalives_interval", "5"), ("fallback_application_name", "martlet"),
      ("target_session_attrs", isReadOnly ? "any" : "read-write"), ("dbname", location.url),
      ("client_encoding", "UTF8"),
    ]
    return withCStrings(parameters.map(\.0)) { names in
      withCStrings(parameters.map(\.1)) { values in
        // The pass phrase of an encrypted key comes from the URL (sslpassword); nobody is asked on the terminal.
        PQsetSSLKeyPassHook_OpenSSL(PQdefaultSSLKeyPassHook_OpenSSL)
        // Memory only: a server that does not answer leaves a connection that says so.
        guard let connection = PQconnectdbParams(names, values, 1) else {
          preconditionFailure("out of memory")
        }
        return connection
      }
    }
  }

  private func prepareSession() throws(StoreError) {
    guard PQstatus(raw) == CONNECTION_OK else {
      throw StoreError(connection: raw, "cannot connect to the database \(location)")
    }
    generation += 1
    isInTransaction = false
    let access = isReadOnly ? "on" : "off"
    try send(
      """
      SET search_path TO \(Self.schema), pg_catalog; SET default_transaction_read_only TO \(access);
      SET lock_timeout TO \(lockMilliseconds); SET statement_timeout TO 60000;
      SET idle_in_transaction_session_timeout TO 60000
      """)
  }

  /// Connects again if the connection broke.
  private func restore() throws(StoreError) {
    guard PQstatus(raw) != CONNECTION_OK, !isInTransaction else { return }
    PQreset(raw)
    try prepareSession()
  }

  private func send(_ sql: String) throws(StoreError) {
    let result = PQexec(raw, sql)
    defer { PQclear(result) }
    try check(result, "the database refused \(sql.prefix(60))")
  }

  private func check(_ result: OpaquePointer?, _ attempt: String) throws(StoreError) {
    switch PQresultStatus(result) {
    case PGRES_COMMAND_OK, PGRES_TUPLES_OK: return
    default: throw StoreError(connection: raw, result: result, "\(attempt) (\(location))")
    }
  }

  // MARK: Statements

  var isConnected: Bool { PQstatus(raw) == CONNECTION_OK }

  /// Runs statements that return nothing of interest.
  func execute(_ sql: String) throws(StoreError) {
    try restore()
    try send(sql)
  }

  /// - Parameter sql: its parameters are `?1`, `?2`, …
  func prepare(_ sql: String) throws(StoreError) -> PostgresStatement {
    statementCount += 1
    let statement = PostgresStatement(
      "s\(statementCount)", sql.replacing("?", with: "$"), of: self)
    try statement.prepare()
    return statement
  }

  /// Has the server prepare a statement on the connection that there is now.
  func prepare(name: String, _ sql: String) throws(StoreError) {
    try restore()
    let result = PQprepare(raw, name, sql, 0, nil)
    defer { PQclear(result) }
    try check(result, "the database refused to prepare \(sql.prefix(60))")
  }

  /// Lets the server forget a statement; a connection that broke has none.
  func forget(_ name: String) {
    guard isConnected else { return }
    PQclear(PQexec(raw, "DEALLOCATE \(name)"))
  }

  /// Runs a prepared statement; the caller clears the result.
  func run(
    name: String, _ parameters: UnsafePointer<UnsafePointer<CChar>?>, _ count: Int
  ) throws(StoreError) -> OpaquePointer? {
    let result = PQexecPrepared(raw, name, Int32(count), parameters, nil, nil, 0)
    do throws(StoreError) {
      try check(result, "the database did not answer")
    } catch {
      PQclear(result)
      throw error
    }
    return result
  }

  // MARK: Transactions

  /// Runs `body` in one transaction that no other writer of ours is beside: all of it happens or nothing.
  func transaction<R>(_ body: () throws(StoreError) -> R) throws(StoreError) -> R {
    try restore()
    try send(isDurable ? "BEGIN" : "BEGIN; SET LOCAL synchronous_commit = off")
    isInTransaction = true
    defer { isInTransaction = false }
    do throws(StoreError) {
      if !isReadOnly { try send("SELECT pg_advisory_xact_lock(\(Self.writerLock))") }
      let result = try body()
      try send("COMMIT")
      return result
    } catch {
      if PQstatus(raw) == CONNECTION_OK { try? send("ROLLBACK") }
      throw error
    }
  }

  /// The advisory lock that every writer takes for the time of its transaction: "MART".
  private static let writerLock = 0x4D41_5254
}

/// A prepared statement. Reused: bind, step, and it is ready again.
final class PostgresStatement {
  private let name: String
  private let sql: String
  private let database: PostgresDatabase
  private var generation = 0
  private var parameters: [String?] = []
  private var result: OpaquePointer?
  private var row: Int32 = -1

  init(_ name: String, _ sql: String, of database: PostgresDatabase) {
    self.name = name
    self.sql = sql
    self.database = database
  }

  deinit {
    PQclear(result)
    if generation == database.generation { database.forget(name) }
  }

  func prepare() throws(StoreError) {
    try database.prepare(name: name, sql)
    generation = database.generation
  }

  func bind(_ index: Int32, _ text: String?) {
    while parameters.count < index { parameters.append(nil) }
    // No text of PostgreSQL has a NUL.
    parameters[Int(index) - 1] = text.map {
      $0.utf8.contains(0) ? $0.replacing("\0", with: "\u{FFFD}") : $0
    }
  }

  /// Steps to the next row; false at the end, and the statement is ready for new values.
  func next() throws(StoreError) -> Bool {
    if result == nil { try run() }
    row += 1
    guard row < PQntuples(result) else {
      reset()
      return false
    }
    return true
  }

  private func run() throws(StoreError) {
    if !database.isConnected || generation != database.generation { try prepare() }
    result = try withCStrings(parameters) { pointers throws(StoreError) in
      try database.run(name: name, pointers, parameters.count)
    }
    row = -1
  }

  /// Leaves the rows that are left.
  func reset() {
    PQclear(result)
    result = nil
    row = -1
  }

  func text(_ column: Int32) -> String? {
    guard PQgetisnull(result, row, column) == 0, let bytes = PQgetvalue(result, row, column) else {
      return nil
    }
    let count = Int(PQgetlength(result, row, column))
    return String(
      decoding: UnsafeRawBufferPointer(start: bytes, count: count), as: UTF8.self)
  }

  func integer(_ column: Int32) -> Int64? {
    guard PQgetisnull(result, row, column) == 0, let bytes = PQgetvalue(result, row, column) else {
      return nil
    }
    return strtoll(bytes, nil, 10)
  }
}
