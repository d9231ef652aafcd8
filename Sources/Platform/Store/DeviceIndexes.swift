// SPDX-License-Identifier: Apache-2.0

/// The indexes of the table of devices besides that of its key. A table that is filled from nothing has none until it is
/// full: rows whose tokens are in no order would write a page of each index for every row, and leave the pages half empty.
/// Nothing is looked up in the table meanwhile.
enum DeviceIndexes {
  private struct Index {
    let name: String
    /// The columns and the condition.
    let form: String
  }

  private static let common = [
    Index(
      name: "devices_refuted", form: "(token, app, environment) WHERE registered_at >= alive_from"),
    // A condition on recorded_at implies this one, so that such queries need not look at the rows.
    Index(
      name: "devices_dead",
      form: "(app, recorded_at, token, environment) WHERE recorded_at IS NOT NULL"),
    Index(name: "devices_activity", form: "(registered_at) WHERE activity IS NOT NULL"),
  ]

  /// An index of SQLite has the key's columns in any case. One of PostgreSQL is smaller without them: it sorts the few rows
  /// of a user.
  private static func ofUsers(_ database: Database) -> Index {
    let columns =
      switch database {
      case .sqlite: "user_name, app, environment, registered_at, token"
      case .postgres: "user_name, app, registered_at"
      }
    return Index(name: "devices_person", form: "(\(columns)) WHERE user_name IS NOT NULL")
  }

  private static func all(of database: Database) -> [Index] { common + [ofUsers(database)] }

  /// Removes them from a table without rows.
  static func drop(from database: Database) throws(StoreError) {
    let names = all(of: database).map(\.name)
    try database.execute(names.map { "DROP INDEX IF EXISTS \($0)" }.joined(separator: "; "))
  }

  /// Makes one that is missing, in the caller's transaction. That may take minutes for a hundred million devices.
  ///
  /// - Returns: false if none was missing.
  static func makeNext(in database: Database) throws(StoreError) -> Bool {
    let known = try names(in: database)
    let missing = all(of: database).filter { !known.contains($0.name) }
    guard let next = missing.first else { return false }
    if case .postgres = database {
      try database.execute("SET LOCAL statement_timeout TO 0")
      // Its pages, which were filled in no order, get full.
      if missing.count == all(of: database).count {
        try database.execute("REINDEX INDEX devices_pkey")
      }
    }
    try database.execute("CREATE INDEX \(next.name) ON devices \(next.form)")
    return true
  }

  private static func names(in database: Database) throws(StoreError) -> Set<String> {
    let question =
      switch database {
      case .sqlite: "SELECT name FROM sqlite_schema WHERE type = 'index' AND tbl_name = 'devices'"
      case .postgres:
        """
        SELECT indexname FROM pg_catalog.pg_indexes
        WHERE schemaname = '\(PostgresDatabase.schema)' AND tablename = 'devices'
        """
      }
    let statement = try database.prepare(question)
    var names: Set<String> = []
    while try statement.next() { names.insert(statement.text(0)) }
    return names
  }
}
