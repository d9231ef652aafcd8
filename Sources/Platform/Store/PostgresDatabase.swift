// SPDX-License-Identifier: Apache-2.0
import CPostgres
import Glibc

/// Owns one connection to a PostgreSQL server. One thread at a time.
///
/// A connection that broke is rebuilt at the next transaction, or at the next statement outside of one; prepared
/// statements follow by themselves. What was under way fails as temporary, and the server has done all of it or nothing.
/// What cannot have changed anything is done once more instead: a connection that nobody used for a while may be cut, and
/// only its next use shows that.
///
/// Behind a pooler such as PgBouncer each transaction may meet another backend, which then serves other programs: nothing
/// is set for the session or prepared there (`isPooled`).
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
  /// The connection is to a pooler, which has told another backend than the one that answers.
  private(set) var isPooled = false
  private(set) var isInTransaction = false
  /// False: a transaction may return before it is on the server's disk.
  var isDurable = true

  /// - Parameters:
  ///   - isReadOnly: never writes; also a standby will do.
  ///   - lockMilliseconds: how long a statement waits for another writer.
  init(_ location: PostgresLocation, isReadOnly: Bool, lockMilliseconds: Int32) throws(StoreError) {
    self.location = location
    self.isReadOnly = isReadOnly
    self.lockMilliseconds = lockMilliseconds
    raw = Self.connect(location, isReadOnly: isReadOnly)
    PQsetNoticeProcessor(raw, { _, _ in }, nil)
    try prepareSession()
  }

  deinit { PQfinish(raw) }

  /// Later values win: an operator's own are in the URL, which comes last.
  private static func connect(_ location: PostgresLocation, isReadOnly: Bool) -> OpaquePointer {
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
    isPooled = try backend() != PQbackendPID(raw)
    guard !isPooled else { return }
    try send((isReadOnly ? ["SET default_transaction_read_only TO on"] : []) + settings("SET"))
  }

  /// The process that has answered.
  private func backend() throws(StoreError) -> Int32? {
    try row("SELECT pg_catalog.pg_backend_pid()")?[0].map { Int32(truncatingIfNeeded: $0) }
  }

  private func row(_ question: String) throws(StoreError) -> [Int64?]? {
    let result = PQexec(raw, question)
    defer { PQclear(result) }
    try check(result, "the database did not answer")
    guard PQntuples(result) > 0 else { return nil }
    return (0..<PQnfields(result)).map { column in
      PQgetisnull(result, 0, column) == 0 ? strtoll(PQgetvalue(result, 0, column), nil, 10) : nil
    }
  }

  /// The numbers in the first row of an answer, with one exchange; nil for none.
  ///
  /// - Parameter question: names its tables with their schema.
  func numbers(_ question: String) throws(StoreError) -> [Int64?]? {
    if !isInTransaction { try restore() }
    do throws(StoreError) {
      return try row(question)
    } catch {
      guard !isConnected, !isInTransaction else { throw error }
      try restore()
      return try row(question)
    }
  }

  /// - Parameter verb: sets them for the session, or for the transaction alone.
  private func settings(_ verb: String) -> [String] {
    [
      "search_path TO \(Self.schema), pg_catalog", "lock_timeout TO \(lockMilliseconds)",
      // PackedToken reads this form alone.
      "bytea_output TO hex", "statement_timeout TO 60000",
      "idle_in_transaction_session_timeout TO 60000",
    ].map { "\(verb) \($0)" }
  }

  /// Connects again if the connection broke.
  private func restore() throws(StoreError) {
    guard PQstatus(raw) != CONNECTION_OK, !isInTransaction else { return }
    PQreset(raw)
    try prepareSession()
  }

  private func send(_ statements: [String]) throws(StoreError) {
    try send(statements.joined(separator: "; "))
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

  func execute(_ sql: String) throws(StoreError) {
    if !isInTransaction { try restore() }
    guard isPooled, !isInTransaction else { return try send(sql) }
    try alone { () throws(StoreError) in try send(sql) }
  }

  /// Inserts rows, in the transaction under way.
  ///
  /// - Parameter table: with the columns that the lines have.
  func copy(_ lines: PostgresLines, into table: String) throws(StoreError) {
    let begun = PQexec(raw, "COPY \(table) FROM STDIN")
    defer { PQclear(begun) }
    guard PQresultStatus(begun) == PGRES_COPY_IN else {
      return try check(begun, "the database refused rows of \(table.prefix(30))")
    }
    lines.withBytes { bytes, count in
      // What the server says against it, its answer to the end has.
      let isSent = PQputCopyData(raw, bytes, count) == 1
      PQputCopyEnd(raw, isSent ? nil : "the rows could not be sent")
    }
    let result = PQgetResult(raw)
    defer {
      PQclear(result)
      while isConnected, PQresultStatus(result) != PGRES_COPY_IN, let further = PQgetResult(raw) {
        PQclear(further)
      }
    }
    try check(result, "the database refused rows of \(table.prefix(30))")
  }

  /// - Parameter sql: its parameters are `?1`, `?2`, …
  func prepare(_ sql: String) throws(StoreError) -> PostgresStatement {
    statementCount += 1
    let statement = PostgresStatement("s\(statementCount)", sql.replacing("?", with: "$"), of: self)
    try statement.prepare()
    return statement
  }

  /// Has the server prepare a statement on the connection that there is now.
  func prepare(name: String, _ sql: String) throws(StoreError) {
    try restore()
    guard !isPooled else { return }
    let result = PQprepare(raw, name, sql, 0, nil)
    defer { PQclear(result) }
    try check(result, "the database refused to prepare \(sql.prefix(60))")
  }

  /// Lets the server forget a statement; a connection that broke has none.
  func forget(_ name: String) {
    guard isConnected, !isPooled else { return }
    PQclear(PQexec(raw, "DEALLOCATE \(name)"))
  }

  /// Runs a statement; the caller clears the result.
  func run(
    _ statement: PostgresStatement, _ parameters: UnsafePointer<UnsafePointer<CChar>?>, _ count: Int
  ) throws(StoreError) -> OpaquePointer? {
    let wasConnected = isConnected
    do throws(StoreError) {
      return try attempt(statement, parameters, count)
    } catch {
      guard wasConnected, !isConnected, !isInTransaction, isReadOnly || statement.isQuestion else {
        throw error
      }
      return try attempt(statement, parameters, count)
    }
  }

  private func attempt(
    _ statement: PostgresStatement, _ parameters: UnsafePointer<UnsafePointer<CChar>?>, _ count: Int
  ) throws(StoreError) -> OpaquePointer? {
    try restore()
    try statement.prepareAgain()
    guard isPooled else {
      return try checked(PQexecPrepared(raw, statement.name, Int32(count), parameters, nil, nil, 0))
    }
    guard !isInTransaction else { return try execute(statement, parameters, count) }
    return try alone { () throws(StoreError) in try execute(statement, parameters, count) }
  }

  private func execute(
    _ statement: PostgresStatement, _ parameters: UnsafePointer<UnsafePointer<CChar>?>, _ count: Int
  ) throws(StoreError) -> OpaquePointer? {
    try checked(PQexecParams(raw, statement.sql, Int32(count), nil, parameters, nil, nil, 0))
  }

  private func checked(_ result: OpaquePointer?) throws(StoreError) -> OpaquePointer? {
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
    try alone { () throws(StoreError) in
      if !isReadOnly { try send("SELECT pg_catalog.pg_advisory_xact_lock(\(Self.writerLock))") }
      return try body()
    }
  }

  /// Runs `body` in a transaction of its own.
  private func alone<R>(_ body: () throws(StoreError) -> R) throws(StoreError) -> R {
    try restore()
    do throws(StoreError) {
      try begin()
    } catch {
      // Nothing has happened yet.
      guard !isConnected else { throw error }
      try restore()
      try begin()
    }
    isInTransaction = true
    defer { isInTransaction = false }
    do throws(StoreError) {
      let result = try body()
      try send("COMMIT")
      return result
    } catch {
      if PQstatus(raw) == CONNECTION_OK { try? send("ROLLBACK") }
      throw error
    }
  }

  /// A writer is to see what the one before it has committed, for which it waits with its first question. At the levels
  /// above, which may be the default of a database or of a user, it would see what there was before it waited.
  private func begin() throws(StoreError) {
    let begin = "BEGIN ISOLATION LEVEL READ COMMITTED"
    let durability = isDurable ? [] : ["SET LOCAL synchronous_commit = off"]
    guard isPooled else { return try send([begin] + durability) }
    let access = isReadOnly ? "READ ONLY" : "READ WRITE"
    // The backend may have any settings.
    try send(["\(begin), \(access)"] + settings("SET LOCAL") + durability)
  }

  /// Throws if the server takes no writes now.
  func demandWritable() throws(StoreError) {
    let answer = try numbers(
      "SELECT CASE WHEN pg_catalog.pg_is_in_recovery() THEN 1 ELSE 0 END,"
        + " CASE WHEN pg_catalog.current_setting('transaction_read_only') = 'on' THEN 1 ELSE 0 END")
    let isStandby = answer?[0] == 1
    // What another program has set for a pooler's connection does not count.
    guard isStandby || (answer?[1] == 1 && !isPooled) else { return }
    throw StoreError(
      sqlState: "25006", attempt: "the database takes no changes (\(location))",
      message: isStandby
        ? "its server is a standby; name the primary in the URL"
        : "its server only answers questions (default_transaction_read_only)")
  }

  /// The advisory lock that every writer takes for the time of its transaction: "MART".
  private static let writerLock = 0x4D41_5254
}

/// A prepared statement. Reused: bind, step, and it is ready again.
final class PostgresStatement {
  let name: String
  let sql: String
  /// It changes nothing.
  var isQuestion: Bool { sql.hasPrefix("SELECT") }
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

  /// Has the server prepare it if the connection is another one than it was prepared on.
  func prepareAgain() throws(StoreError) {
    if generation != database.generation { try prepare() }
  }

  private func run() throws(StoreError) {
    result = try withCStrings(parameters) { pointers throws(StoreError) in
      try database.run(self, pointers, parameters.count)
    }
    row = -1
  }

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
    return String(decoding: UnsafeRawBufferPointer(start: bytes, count: count), as: UTF8.self)
  }

  func integer(_ column: Int32) -> Int64? {
    guard PQgetisnull(result, row, column) == 0, let bytes = PQgetvalue(result, row, column) else {
      return nil
    }
    return strtoll(bytes, nil, 10)
  }
}
