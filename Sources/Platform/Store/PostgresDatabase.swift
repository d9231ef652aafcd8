// SPDX-License-Identifier: Apache-2.0
import CDatabases
import Glibc

/// Owns one connection to a PostgreSQL server. One thread at a time.
///
/// A connection that broke is rebuilt at the next transaction, or at the next statement outside of one; prepared
/// statements follow by themselves. What was under way fails as temporary, and the server has done all of it or nothing.
/// What cannot have changed anything is done once more instead: a connection that nobody used for a while may be cut, and
/// only its next use shows that. Not where an answer did not come in time: whoever asks has waited long enough.
///
/// Behind a pooler such as PgBouncer each transaction may meet another backend, which then serves other programs: nothing
/// is set for the session or prepared there (`isPooled`).
final class PostgresDatabase {
  /// All of ours is in a schema of this name, so that a database may be shared with other programs.
  static let schema = "martlet"

  private let connection: PostgresConnection
  let location: PostgresLocation
  private let isReadOnly: Bool
  private let lockMilliseconds: Int32
  private let patience: PostgresConnection.Patience
  /// Counts connections: a statement was prepared on one of them.
  private(set) var generation = 0
  private var statementCount = 0
  /// The connection is to a pooler, which has told another backend than the one that answers.
  private(set) var isPooled = false
  private(set) var isInTransaction = false
  /// The statements of the transaction under way take as long as they do.
  private var isUnlimited = false
  /// False: a transaction may return before it is on the server's disk.
  var isDurable = true

  /// - Parameters:
  ///   - isReadOnly: never writes; also a standby will do.
  ///   - lockMilliseconds: how long a statement waits for another writer.
  init(
    _ location: PostgresLocation, isReadOnly: Bool, lockMilliseconds: Int32,
    _ patience: PostgresConnection.Patience = .init()
  ) throws(StoreError) {
    self.location = location
    self.isReadOnly = isReadOnly
    self.lockMilliseconds = lockMilliseconds
    self.patience = patience
    connection = PostgresConnection(location, isReadOnly: isReadOnly)
    try prepareSession()
  }

  private func prepareSession() throws(StoreError) {
    guard isConnected else {
      throw StoreError(connection: connection.raw, "cannot connect to the database \(location)")
    }
    generation += 1
    isInTransaction = false
    do throws(StoreError) {
      isPooled = try backend() != PQbackendPID(connection.raw)
      guard !isPooled else { return }
      try send(
        (isReadOnly ? ["SET default_transaction_read_only TO on"] : []) + settings("SET"),
        within: patience.backend)
    } catch {
      // Without its settings it is of no use.
      connection.giveUp()
      throw error
    }
  }

  /// The process that has answered.
  private func backend() throws(StoreError) -> Int32? {
    try row("SELECT pg_catalog.pg_backend_pid()", within: patience.backend)?[0].map {
      Int32(truncatingIfNeeded: $0)
    }
  }

  private func row(_ question: String, within limit: UInt64?) throws(StoreError) -> [Int64?]? {
    let result = ask(question, within: limit)
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
    // A pooler may have no backend for it.
    let limit = isPooled && !isInTransaction ? patience.backend : self.limit
    do throws(StoreError) {
      return try row(question, within: limit)
    } catch {
      guard connection.isCut, !isInTransaction else { throw error }
      try restore()
      return try row(question, within: limit)
    }
  }

  /// - Parameter verb: sets them for the session, or for the transaction alone.
  private func settings(_ verb: String) -> [String] {
    [
      "search_path TO \(Self.schema), pg_catalog", "lock_timeout TO \(lockMilliseconds)",
      // PackedToken reads this form alone.
      "bytea_output TO hex", "statement_timeout TO \(patience.statement)",
      "idle_in_transaction_session_timeout TO 60000",
    ].map { "\(verb) \($0)" }
  }

  /// Connects again if the connection broke.
  private func restore() throws(StoreError) {
    guard !isConnected, !isInTransaction else { return }
    connection.connectAgain()
    try prepareSession()
  }

  /// The longest silence before an answer and within it; nil: any.
  private var limit: UInt64? { isUnlimited ? nil : patience.answer }

  private func ask(_ sql: String, within limit: UInt64?) -> OpaquePointer? {
    connection.answer(within: limit) { PQsendQuery($0, sql) }
  }

  private func send(_ statements: [String], within limit: UInt64?) throws(StoreError) {
    let sql = statements.joined(separator: "; ")
    let result = ask(sql, within: limit)
    defer { PQclear(result) }
    try check(result, "the database refused \(sql.prefix(60))")
  }

  private func check(_ result: OpaquePointer?, _ attempt: String) throws(StoreError) {
    switch PQresultStatus(result) {
    case PGRES_COMMAND_OK, PGRES_TUPLES_OK: return
    default:
      let attempt = "\(attempt) (\(location))"
      if let silence = connection.silence { throw StoreError(silence: silence, attempt) }
      throw StoreError(connection: connection.raw, result: result, attempt)
    }
  }

  // MARK: Statements

  var isConnected: Bool { connection.isOpen }

  func execute(_ sql: String) throws(StoreError) {
    if !isInTransaction { try restore() }
    guard isPooled, !isInTransaction else { return try send([sql], within: limit) }
    try alone { () throws(StoreError) in try send([sql], within: limit) }
  }

  /// Inserts rows, in the transaction under way.
  ///
  /// - Parameter table: with the columns that the lines have.
  func copy(_ lines: PostgresLines, into table: String) throws(StoreError) {
    let begun = ask("COPY \(table) FROM STDIN", within: limit)
    defer { PQclear(begun) }
    guard PQresultStatus(begun) == PGRES_COPY_IN else {
      return try check(begun, "the database refused rows of \(table.prefix(30))")
    }
    let result = lines.withBytes { connection.answer(within: limit, toRows: $0) }
    defer { PQclear(result) }
    // It waits for rows still, or is gone.
    if result == nil { connection.giveUp() }
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
    let result = connection.answer(within: limit) { PQsendPrepare($0, name, sql, 0, nil) }
    defer { PQclear(result) }
    try check(result, "the database refused to prepare \(sql.prefix(60))")
  }

  /// Lets the server forget a statement; a connection that broke has none.
  func forget(_ name: String) {
    guard isConnected, !isPooled else { return }
    PQclear(ask("DEALLOCATE \(name)", within: patience.backend))
  }

  /// Runs a statement; the caller clears the result.
  func run(
    _ statement: PostgresStatement, _ parameters: UnsafePointer<UnsafePointer<CChar>?>, _ count: Int
  ) throws(StoreError) -> OpaquePointer? {
    let wasConnected = isConnected
    do throws(StoreError) {
      return try attempt(statement, parameters, count)
    } catch {
      guard wasConnected, connection.isCut, !isInTransaction, isReadOnly || statement.isQuestion
      else { throw error }
      return try attempt(statement, parameters, count)
    }
  }

  private func attempt(
    _ statement: PostgresStatement, _ parameters: UnsafePointer<UnsafePointer<CChar>?>, _ count: Int
  ) throws(StoreError) -> OpaquePointer? {
    try restore()
    try statement.prepareAgain()
    guard isPooled else {
      return try checked {
        PQsendQueryPrepared($0, statement.name, Int32(count), parameters, nil, nil, 0)
      }
    }
    guard !isInTransaction else { return try execute(statement, parameters, count) }
    return try alone { () throws(StoreError) in try execute(statement, parameters, count) }
  }

  private func execute(
    _ statement: PostgresStatement, _ parameters: UnsafePointer<UnsafePointer<CChar>?>, _ count: Int
  ) throws(StoreError) -> OpaquePointer? {
    try checked {
      PQsendQueryParams($0, statement.sql, Int32(count), nil, parameters, nil, nil, 0)
    }
  }

  private func checked(_ send: (OpaquePointer) -> Int32) throws(StoreError) -> OpaquePointer? {
    let result = connection.answer(within: limit, to: send)
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
      if !isReadOnly {
        try send(
          ["SELECT pg_catalog.pg_advisory_xact_lock(\(Self.writerLock))"], within: limit)
      }
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
      guard connection.isCut else { throw error }
      try restore()
      try begin()
    }
    isInTransaction = true
    defer { (isInTransaction, isUnlimited) = (false, false) }
    do throws(StoreError) {
      let result = try body()
      try commit()
      return result
    } catch {
      rollBack()
      throw error
    }
  }

  /// A writer is to see what the one before it has committed, for which it waits with its first question. At the levels
  /// above, which may be the default of a database or of a user, it would see what there was before it waited.
  private func begin() throws(StoreError) {
    let begin = "BEGIN ISOLATION LEVEL READ COMMITTED"
    let durability = isDurable ? [] : ["SET LOCAL synchronous_commit = off"]
    let access = isReadOnly ? "READ ONLY" : "READ WRITE"
    do throws(StoreError) {
      // The backend of a pooler may have any settings.
      try send(
        (isPooled ? ["\(begin), \(access)"] + settings("SET LOCAL") : [begin]) + durability,
        within: patience.backend)
    } catch {
      // It has begun, and failed at a setting.
      rollBack()
      throw error
    }
  }

  /// The server answers COMMIT without an error also where a statement had failed, and has done nothing then.
  private func commit() throws(StoreError) {
    let result = ask("COMMIT", within: limit)
    defer { PQclear(result) }
    let attempt = "the database refused COMMIT"
    try check(result, attempt)
    guard String(cString: PQcmdStatus(result)) == "COMMIT" else {
      throw StoreError(
        sqlState: "40000", attempt: "\(attempt) (\(location))", message: "a statement had failed")
    }
  }

  private func rollBack() {
    if isConnected { try? send(["ROLLBACK"], within: patience.backend) }
  }

  /// Lets the statements that follow in the transaction under way take as long as they do.
  func liftTimeLimit() throws(StoreError) {
    try send(["SET LOCAL statement_timeout TO 0"], within: limit)
    isUnlimited = true
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
