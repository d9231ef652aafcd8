// SPDX-License-Identifier: Apache-2.0
import CSQLite

/// The database's schema, step by step. A step that was released is never changed.
enum Migrations {
  static let steps: [(name: String, sql: String)] = [
    (
      "0.1.0",
      """
      PRAGMA application_id = \(applicationID);
      -- A row is what push.devices and push.invalid-tokens say of a device, and nothing else.
      CREATE TABLE devices (
        -- A BLOB, or the TEXT of what is no token: see PackedToken.
        token ANY NOT NULL,
        app TEXT NOT NULL,
        environment TEXT NOT NULL CHECK (environment IN ('production', 'sandbox')),
        -- The newest of both, or none. Times are milliseconds since the UNIX epoch.
        registered_at INTEGER,
        removed_at INTEGER,
        -- The mark on push.invalid-tokens; refuted by a registration at alive_from or later.
        invalid_since INTEGER,
        invalid_reason TEXT,
        recorded_at INTEGER,
        alive_from INTEGER,
        -- What the newest registration said besides.
        push_type TEXT,
        user_name TEXT,
        locale TEXT,
        app_version TEXT,
        bundle TEXT,
        -- Earlier facts, as DeviceHistory writes them; NULL: none but those of the row.
        history TEXT,
        model TEXT,
        time_zone TEXT,
        -- Words with a blank between them.
        tags TEXT,
        -- What a token of type liveactivity updates.
        activity TEXT,
        -- Which reading of the topics from their first records on the row is of: that of completeness, or an older one,
        -- whose rows go when all has been read.
        generation INTEGER NOT NULL DEFAULT 1,
        PRIMARY KEY (token, app, environment)
      ) STRICT, WITHOUT ROWID;
      -- DeviceIndexes has its indexes.
      -- The first condition is that of the index devices_dead. Every mark has the time.
      CREATE VIEW dead_tokens AS
        SELECT token, app, environment, invalid_since, invalid_reason, recorded_at, push_type,
          user_name, locale, app_version, bundle, model, time_zone, tags, activity
        FROM devices
        WHERE recorded_at IS NOT NULL AND invalid_since IS NOT NULL
          AND ifnull(registered_at < alive_from, 1);
      CREATE TABLE device_counts (
        state TEXT PRIMARY KEY CHECK (state IN ('registered', 'removed', 'invalid')),
        count INTEGER NOT NULL
      ) STRICT, WITHOUT ROWID;
      INSERT INTO device_counts VALUES ('invalid', 0), ('registered', 0), ('removed', 0);
      -- The last record applied of each partition; it also tells one log from another.
      CREATE TABLE changelog (
        topic TEXT NOT NULL,
        partition INTEGER NOT NULL,
        last_offset INTEGER NOT NULL,
        timestamp INTEGER NOT NULL,
        key_hash INTEGER NOT NULL,
        PRIMARY KEY (topic, partition)
      ) STRICT, WITHOUT ROWID;
      CREATE TABLE completeness (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        generation INTEGER NOT NULL,
        -- Until when the positions reflect the topics without a gap: when the rows were last complete, or reading them anew
        -- began.
        followed_at INTEGER NOT NULL,
        -- When the rows had all of the topics; NULL while they lack some of it.
        complete_at INTEGER,
        has_old_rows INTEGER NOT NULL,
        -- Offsets that were read since reading began, and how many there were then.
        done INTEGER NOT NULL,
        total INTEGER NOT NULL
      ) STRICT;
      -- Answers that a token is bad, since the newest registration.
      CREATE TABLE suspicions (
        token ANY NOT NULL,
        app TEXT NOT NULL,
        environment TEXT NOT NULL CHECK (environment IN ('production', 'sandbox')),
        first_at INTEGER NOT NULL,
        last_at INTEGER NOT NULL,
        last_sent_at INTEGER NOT NULL,
        count INTEGER NOT NULL,
        reason TEXT NOT NULL,
        -- Whether the last answer would have proved the token dead, had it not come in a wave.
        held INTEGER NOT NULL DEFAULT 0,
        PRIMARY KEY (token, app, environment)
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX suspicions_recent ON suspicions (app, environment, last_at);
      CREATE INDEX suspicions_repeated ON suspicions (token, app, environment)
        WHERE last_at > first_at;
      CREATE INDEX suspicions_held ON suspicions (app, environment, last_at) WHERE held = 1;
      -- Times in which an abnormal number of tokens was called bad.
      CREATE TABLE waves (
        app TEXT NOT NULL,
        environment TEXT NOT NULL CHECK (environment IN ('production', 'sandbox')),
        from_time INTEGER NOT NULL,
        until_time INTEGER NOT NULL,
        -- 'released': its answers count; 'rejected': they never do; NULL: they wait.
        verdict TEXT CHECK (verdict IN ('released', 'rejected')),
        decided_at INTEGER,
        decided_by TEXT,
        PRIMARY KEY (app, environment, from_time)
      ) STRICT, WITHOUT ROWID;
      -- Devices that were forgotten, and whose receipts are still to be removed.
      CREATE TABLE forgotten_devices (
        token TEXT NOT NULL,
        app TEXT NOT NULL,
        forgotten_at INTEGER NOT NULL,
        PRIMARY KEY (token, app)
      ) STRICT, WITHOUT ROWID;
      -- Outcomes of notifications, where they are kept: lines of push.receipts.
      CREATE TABLE receipts (
        at INTEGER NOT NULL,
        partition INTEGER NOT NULL,
        record_offset INTEGER NOT NULL,
        line INTEGER NOT NULL,
        app TEXT NOT NULL,
        request_id TEXT,
        apns_id TEXT,
        receipt TEXT NOT NULL,
        PRIMARY KEY (at, partition, record_offset, line)
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX receipts_request ON receipts (request_id) WHERE request_id IS NOT NULL;
      CREATE INDEX receipts_apns ON receipts (apns_id) WHERE apns_id IS NOT NULL;
      -- Since when they are kept, and for how many milliseconds each; no row: they are not.
      CREATE TABLE receipt_keeping (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        since INTEGER NOT NULL,
        retention INTEGER NOT NULL
      ) STRICT;
      -- What push.schedule has: requests with their time, and cancellations. Filled by martlet-scheduler.
      CREATE TABLE schedule (
        partition INTEGER NOT NULL,
        key TEXT NOT NULL,
        record_offset INTEGER NOT NULL,
        due INTEGER NOT NULL,
        at INTEGER NOT NULL,
        cancelled INTEGER NOT NULL,
        value TEXT NOT NULL,
        PRIMARY KEY (partition, key)
      ) STRICT;
      CREATE INDEX schedule_due ON schedule (partition, due, key);
      -- The next offset of each partition that is not in it; is_complete is 0 while the partition is read anew.
      CREATE TABLE schedule_positions (
        partition INTEGER PRIMARY KEY,
        next_offset INTEGER NOT NULL,
        is_complete INTEGER NOT NULL DEFAULT 1
      ) STRICT;
      """
    )
  ]

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

  /// The steps to the schema of a database of this kind.
  private static func steps(of database: Database) -> [(name: String, sql: String)] {
    switch database {
    case .sqlite: steps
    case .postgres: PostgresMigrations.steps
    }
  }

  /// Refuses a database of a build before the first release.
  private static func version(_ database: Database) throws(StoreError) -> Int64 {
    let first = steps(of: database)[0].name
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

  /// Throws unless the schema is the one that this program knows.
  static func demandCurrent(_ database: Database) throws(StoreError) {
    let known = steps(of: database).count
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
      let steps = steps(of: database)
      var form = ""
      switch database {
      case .sqlite: form = "STRICT"
      case .postgres:
        // An index of a large table takes longer than anything else may.
        try database.execute("SET LOCAL statement_timeout TO 0")
        try PostgresMigrations.prepare(database, location)
      }
      try database.execute(
        """
        CREATE TABLE IF NOT EXISTS migrations (
          version BIGINT PRIMARY KEY, name TEXT NOT NULL, applied_at BIGINT NOT NULL) \(form)
        """.replacing("BIGINT", with: form.isEmpty ? "BIGINT" : "INTEGER"))
      let version = try self.version(database)
      guard version <= Int64(steps.count) else { throw tooNew(version, steps.count) }
      if version > 0, version < steps.count { onUpdate(Int(version), steps.count) }
      for (index, step) in steps.enumerated() where Int64(index) >= version {
        try database.execute(step.sql)
        let insert = try database.prepare("INSERT INTO migrations VALUES (?1, ?2, ?3)")
        insert.bind(1, Int64(index + 1))
        insert.bind(2, step.name)
        insert.bind(3, now)
        try insert.run()
      }
    }
  }
}
