// SPDX-License-Identifier: Apache-2.0

/// The database's schema, step by step. A step that was released is never changed.
enum Migrations {
  static let steps: [(name: String, sql: String)] = [
    (
      "devices",
      """
      CREATE TABLE devices (
        token TEXT NOT NULL,
        app TEXT NOT NULL,
        environment TEXT NOT NULL CHECK (environment IN ('production', 'sandbox')),
        -- Times are milliseconds since the UNIX epoch; NULL: never.
        registered_at INTEGER,
        removed_at INTEGER,
        -- Dead since this time by APNs' clock, and why; NULL: not known to be dead.
        invalid_since INTEGER,
        invalid_reason TEXT,
        recorded_at INTEGER,
        -- The registration that made a dead token live again.
        revived_at INTEGER,
        -- Answers that may be our own mistake: never acted upon alone.
        suspected_at INTEGER,
        suspect_reason TEXT,
        suspicions INTEGER NOT NULL DEFAULT 0,
        PRIMARY KEY (token, app, environment)
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX devices_invalid ON devices (app, environment, invalid_since)
        WHERE invalid_since IS NOT NULL;
      """
    ),
    (
      "the registration that revives",
      """
      -- The earliest registration that proves an invalid token alive.
      ALTER TABLE devices ADD COLUMN alive_from INTEGER;
      UPDATE devices SET alive_from = invalid_since + 1 WHERE invalid_since IS NOT NULL;
      """
    ),
  ]

  /// Brings the database up to date. Refuses one that a newer program has written.
  static func apply(to database: Database, now: Int64) throws(StoreError) {
    try database.execute(
      """
      CREATE TABLE IF NOT EXISTS migrations (
        version INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at INTEGER NOT NULL) STRICT
      """)
    // Two processes that start together: the second waits here and finds the work done.
    try database.transaction { () throws(StoreError) in
      let version = try database.integer("SELECT max(version) FROM migrations") ?? 0
      guard version <= Int64(steps.count) else {
        throw StoreError(
          code: 1, attempt: "cannot use the database",
          message:
            "its schema has version \(version), this program knows \(steps.count); run a newer"
            + " program")
      }
      for (index, step) in steps.enumerated() where Int64(index) >= version {
        try database.execute(step.sql)
        let insert = try database.prepare("INSERT INTO migrations VALUES (?, ?, ?)")
        insert.bind(1, Int64(index + 1))
        insert.bind(2, step.name)
        insert.bind(3, now)
        try insert.run()
      }
    }
  }
}
