// SPDX-License-Identifier: Apache-2.0
import CDatabases

enum Migrations {
  /// The application id in the header of our SQLite files: "MART".
  static let applicationID = 0x4D41_5254

  /// Refuses a database that another program made, before anything of it is changed.
  static func refuseForeign(_ database: Database, _ path: String) throws(StoreError) {
    // In this order: a process that makes the tables just now gives the file the id with them.
    guard try database.integer("SELECT count(*) FROM sqlite_schema") != 0,
      try database.integer("PRAGMA application_id") != Int64(applicationID)
    else { return }
    throw StoreError(
      code: SQLITE_ERROR, attempt: "cannot use the database \(path)",
      message: "it is a SQLite database of another program; name another file")
  }

  /// Makes the schema on PostgreSQL if it is not there, and refuses one of another program. In the migrations'
  /// transaction.
  private static func prepareSchema(_ database: Database, _ location: String) throws(StoreError) {
    let schema = PostgresDatabase.schema
    let exists = try database.integer(
      "SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = '\(schema)'")
    if exists == nil { try database.execute("CREATE SCHEMA \(schema)") }
    let tables = try database.integer(
      """
      SELECT count(*) FROM pg_catalog.pg_class JOIN pg_catalog.pg_namespace AS n ON n.oid = relnamespace
      WHERE nspname = '\(schema)' AND relkind = 'r'
      """)
    guard tables != 0 else { return try demandUnicode(database, location) }
    let ours = try database.integer(
      "SELECT 1 FROM pg_catalog.pg_class WHERE oid = to_regclass('\(schema).migrations')")
    guard ours == nil else { return }
    throw StoreError(
      sqlState: "42P07", attempt: "cannot use the database \(location)",
      message: "its schema \(schema) is of another program; name another database")
  }

  /// Refuses a database that has not all characters: the first record with another one would end its writer at each
  /// start. SQL_ASCII takes all bytes.
  private static func demandUnicode(_ database: Database, _ location: String) throws(StoreError) {
    let encoding = try database.text("SELECT pg_catalog.current_setting('server_encoding')") ?? ""
    guard !["UTF8", "SQL_ASCII"].contains(encoding) else { return }
    throw StoreError(
      sqlState: "22P05", attempt: "cannot use the database \(location)",
      message: "its encoding \(encoding) lacks characters that apps use; name one that was made"
        + " with ENCODING 'UTF8' TEMPLATE template0")
  }

  /// Refuses a database of a build before the first release.
  private static func version(_ database: Database) throws(StoreError) -> Int64 {
    let first = database.dialect.first
    let older = try database.integer(
      "SELECT count(*) FROM migrations WHERE version = 1 AND name <> '\(first)'")
    guard older == 0 else {
      throw StoreError(
        code: 1, attempt: "cannot use the database",
        message:
          "a build before 0.1.0 made it; name another one, which the topics fill (docs/operations.md)"
      )
    }
    return try database.integer("SELECT max(version) FROM migrations") ?? 0
  }

  private static func tooNew(_ version: Int64, _ known: Int) -> StoreError {
    StoreError(
      code: 1, attempt: "cannot use the database",
      message:
        "its schema has version \(version), this program knows \(known); run a newer"
        + " program, or name another database, which the topics fill")
  }

  /// Throws where nobody has made the tables yet: an empty file, another database.
  private static func demandTables(_ database: Database) throws(StoreError) {
    let (tables, name) =
      switch database {
      case .sqlite(let file): ("sqlite_schema WHERE name = 'migrations'", file.path)
      case .postgres(let server):
        (
          "pg_catalog.pg_class WHERE oid = to_regclass('\(PostgresDatabase.schema).migrations')",
          "\(server.location)"
        )
      }
    guard try database.integer("SELECT count(*) FROM \(tables)") == 0 else { return }
    throw StoreError(
      code: SQLITE_ERROR, attempt: "cannot use the database \(name)",
      message: "it has no tables of Martlet; name another one, or start the service that writes it"
        + " (martlet-feedback or martlet-scheduler)")
  }

  /// Throws unless the schema is the one that this program knows.
  static func demandCurrent(_ database: Database) throws(StoreError) {
    try demandTables(database)
    let known = steps(database.dialect).count
    let version = try self.version(database)
    guard version <= Int64(known) else { throw tooNew(version, known) }
    guard version == Int64(known) else {
      throw StoreError(
        code: 1, attempt: "cannot use the database",
        message:
          "its schema has version \(version), this program knows \(known); start the service that writes it"
          + " (martlet-feedback or martlet-scheduler) in the version of this program, which brings it up to date"
      )
    }
  }

  /// Brings the database up to date. Refuses one that a newer program has written.
  ///
  /// All of it is one transaction. Two processes that start together: the second waits here and finds the work done,
  /// and at no time does it see a file with some tables and not yet our id.
  ///
  /// - Parameter location: as messages name it.
  static func apply(
    to database: Database, _ location: String, now: Int64, _ onUpdate: (Int, Int) -> Void
  ) throws(StoreError) {
    try database.transaction { () throws(StoreError) in
      let sql = database.dialect
      let steps = Self.steps(sql)
      if case .postgres = database { try prepareSchema(database, location) }
      try database.execute(
        """
        CREATE TABLE IF NOT EXISTS migrations (
          version \(sql.integer) PRIMARY KEY, name TEXT NOT NULL, applied_at \(sql.integer) NOT NULL)\(sql.table)
        """)
      let version = try self.version(database)
      guard version <= Int64(steps.count) else { throw tooNew(version, steps.count) }
      if version > 0, version < steps.count { onUpdate(Int(version), steps.count) }
      // An index of a large table takes longer than anything else may.
      if version < steps.count { try database.liftTimeLimit() }
      for (index, step) in steps.enumerated() where Int64(index) >= version {
        try database.execute(step.sql)
        let insert = try database.prepare("INSERT INTO migrations VALUES (?1, ?2, ?3)")
        try insert.bindAll(index + 1, step.name, now).run()
      }
    }
  }
}

extension Database {
  fileprivate var dialect: Migrations.Dialect {
    switch self {
    case .sqlite: .sqlite
    case .postgres: .postgres
    }
  }
}
