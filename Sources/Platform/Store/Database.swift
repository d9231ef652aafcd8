// SPDX-License-Identifier: Apache-2.0

/// A connection to a database of either kind. One thread at a time.
///
/// Statements are written once, in the SQL that both understand; parameters are `?1`, `?2`, ….
enum Database {
  case sqlite(SQLiteDatabase)
  case postgres(PostgresDatabase)

  /// The function that tells where a text stands in another, from 1; 0 if it does not.
  var find: String {
    switch self {
    case .sqlite: "instr"
    case .postgres: "strpos"
    }
  }

  /// A database that exists, for questions alone: a SQLite file or, if the text is a `postgresql://` URL, a database on a
  /// server. Refuses one of another version, which might answer with what this one does not mean; a SQLite file also if it
  /// gets another version later.
  ///
  /// - Parameter isPatient: no consumer group waits for whoever asks: looking through all devices may take longer.
  init(
    reading location: String, busyTimeout: Int32, isPatient: Bool = false
  ) throws(StoreError) {
    self = try Database(
      location, isReadOnly: true, busyTimeout: busyTimeout, isPatient ? .long : .init())
    try Migrations.demandCurrent(self)
    if case .sqlite(let database) = self { database.isReader = true }
  }

  /// A SQLite file or, if the text is a `postgresql://` URL, a database on a server.
  ///
  /// - Parameters:
  ///   - isReadOnly: opens an existing database without ever writing to it.
  ///   - busyTimeout: milliseconds to wait for another writer.
  ///   - patience: how long PostgreSQL may take.
  init(
    _ location: String, isReadOnly: Bool, busyTimeout: Int32,
    _ patience: PostgresConnection.Patience = .init()
  ) throws(StoreError) {
    guard PostgresLocation.isURL(location) else {
      self = .sqlite(
        try SQLiteDatabase(path: location, isReadOnly: isReadOnly, busyTimeout: busyTimeout))
      return
    }
    self = .postgres(
      try PostgresDatabase(
        PostgresLocation(location), isReadOnly: isReadOnly, lockMilliseconds: busyTimeout,
        patience))
  }

  /// Runs statements that return nothing of interest.
  func execute(_ sql: String) throws(StoreError) {
    switch self {
    case .sqlite(let database): try database.execute(sql)
    case .postgres(let database): try database.execute(sql)
    }
  }

  func prepare(_ sql: String) throws(StoreError) -> Statement {
    switch self {
    case .sqlite(let database): .sqlite(try database.prepare(sql))
    case .postgres(let database): .postgres(try database.prepare(sql))
    }
  }

  /// Runs `body` in one exclusive write transaction: all of it happens or nothing.
  func transaction<R>(_ body: () throws(StoreError) -> R) throws(StoreError) -> R {
    switch self {
    case .sqlite(let database): try database.transaction(body)
    case .postgres(let database): try database.transaction(body)
    }
  }

  /// Lets the statements that follow in the transaction under way take as long as they do; SQLite's always may.
  func liftTimeLimit() throws(StoreError) {
    if case .postgres(let database) = self { try database.liftTimeLimit() }
  }

  /// Throws if the database takes no writes now, as far as a question can tell: with SQLite, if its file was replaced.
  func demandWritable() throws(StoreError) {
    switch self {
    case .sqlite(let database): try database.demandInPlace()
    case .postgres(let database): try database.demandWritable()
    }
  }

  /// Throws if a SQLite file was removed or replaced since it was opened.
  func demandInPlace() throws(StoreError) {
    if case .sqlite(let database) = self { try database.demandInPlace() }
  }

  /// From now on a transaction is on the disk when it returns, with all before it, or need not be.
  func setDurable(_ isDurable: Bool) throws(StoreError) {
    switch self {
    case .sqlite: try execute("PRAGMA synchronous = \(isDurable ? "FULL" : "NORMAL")")
    case .postgres(let database): database.isDurable = isDurable
    }
  }

  /// The first column of the first row.
  func integer(_ sql: String) throws(StoreError) -> Int64? {
    try prepare(sql).firstInteger()
  }

  /// The first column of the first row, as text.
  func text(_ sql: String) throws(StoreError) -> String? {
    try prepare(sql).first { $0.text(0) }
  }
}

/// A prepared statement of either kind. Reused: bind, step, and it is ready again.
enum Statement {
  case sqlite(SQLiteStatement)
  case postgres(PostgresStatement)

  func bind(_ index: Int32, _ text: String) {
    switch self {
    case .sqlite(let statement): statement.bind(index, text)
    case .postgres(let statement): statement.bind(index, text)
    }
  }

  func bind(_ index: Int32, _ number: Int64?) {
    switch self {
    case .sqlite(let statement): statement.bind(index, number)
    case .postgres(let statement): statement.bind(index, number.map { "\($0)" })
    }
  }

  /// Binds parameters in their order.
  @discardableResult
  func bindAll(from first: Int32 = 1, _ values: any BoundValue...) -> Statement {
    bindAll(from: first, values)
  }

  @discardableResult
  func bindAll(from first: Int32 = 1, _ values: [any BoundValue]) -> Statement {
    for (index, value) in values.enumerated() { value.bind(to: self, first + Int32(index)) }
    return self
  }

  /// Steps to the next row; false at the end, and the statement is ready for new values.
  func next() throws(StoreError) -> Bool {
    switch self {
    case .sqlite(let statement): try statement.next()
    case .postgres(let statement): try statement.next()
    }
  }

  /// Runs to the end.
  func run() throws(StoreError) {
    while try next() {}
  }

  /// Runs to the end: how many rows there were.
  func count() throws(StoreError) -> Int {
    var count = 0
    while try next() { count += 1 }
    return count
  }

  /// What is made of the rows, without those of which nothing is.
  func rows<Row>(_ make: (Statement) -> Row?) throws(StoreError) -> [Row] {
    var rows: [Row] = []
    while try next() {
      if let row = make(self) { rows.append(row) }
    }
    return rows
  }

  /// What is made of the first row; nil without one.
  func first<Row>(_ make: (Statement) -> Row?) throws(StoreError) -> Row? {
    defer { reset() }
    return try next() ? make(self) : nil
  }

  /// The first column of the first row.
  func firstInteger() throws(StoreError) -> Int64? { try first { $0.integer(0) } }

  /// Leaves the rows that are left.
  func reset() {
    switch self {
    case .sqlite(let statement): statement.reset()
    case .postgres(let statement): statement.reset()
    }
  }

  func integer(_ column: Int32) -> Int64? {
    switch self {
    case .sqlite(let statement): statement.integer(column)
    case .postgres(let statement): statement.integer(column)
    }
  }

  /// Empty where there is none.
  func text(_ column: Int32) -> String { optionalText(column) ?? "" }

  func optionalText(_ column: Int32) -> String? {
    switch self {
    case .sqlite(let statement): statement.text(column)
    case .postgres(let statement): statement.text(column)
    }
  }
}

/// The value of a statement's parameter.
protocol BoundValue {
  func bind(to statement: Statement, _ index: Int32)
}

extension String: BoundValue {
  func bind(to statement: Statement, _ index: Int32) { statement.bind(index, self) }
}

extension Int64: BoundValue {
  func bind(to statement: Statement, _ index: Int32) { statement.bind(index, self) }
}

extension Int: BoundValue {
  func bind(to statement: Statement, _ index: Int32) { statement.bind(index, Int64(self)) }
}
