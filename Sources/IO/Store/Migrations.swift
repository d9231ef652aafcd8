// SPDX-License-Identifier: Apache-2.0
import CSQLite

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
    (
      "what the topics say",
      """
      PRAGMA application_id = \(applicationID);
      -- A row is what push.devices and push.invalid-tokens say of a device, and nothing else.
      CREATE TABLE topic_devices (
        token TEXT NOT NULL,
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
        PRIMARY KEY (token, app, environment)
      ) STRICT, WITHOUT ROWID;
      INSERT INTO topic_devices
        SELECT token, app, environment, iif(removed_at IS NULL, registered_at, NULL), removed_at,
          invalid_since, invalid_reason, recorded_at, alive_from
        FROM devices;
      DROP TABLE devices;
      ALTER TABLE topic_devices RENAME TO devices;
      CREATE INDEX devices_invalid ON devices (app, environment, invalid_since)
        WHERE invalid_since IS NOT NULL;
      CREATE INDEX devices_refuted ON devices (token, app, environment)
        WHERE registered_at >= alive_from;
      CREATE VIEW dead_tokens AS
        SELECT token, app, environment, invalid_since, invalid_reason, recorded_at FROM devices
        WHERE invalid_since IS NOT NULL AND ifnull(registered_at < alive_from, 1);

      -- The last record applied of each partition; it also tells one log from another.
      CREATE TABLE changelog (
        topic TEXT NOT NULL,
        partition INTEGER NOT NULL,
        last_offset INTEGER NOT NULL,
        timestamp INTEGER NOT NULL,
        key_hash INTEGER NOT NULL,
        PRIMARY KEY (topic, partition)
      ) STRICT, WITHOUT ROWID;
      -- When all of both topics had been read, or reading them anew began.
      CREATE TABLE completeness (
        id INTEGER PRIMARY KEY CHECK (id = 1), complete_at INTEGER NOT NULL) STRICT;

      -- Answers that a token is bad, since the newest registration.
      CREATE TABLE suspicions (
        token TEXT NOT NULL,
        app TEXT NOT NULL,
        environment TEXT NOT NULL CHECK (environment IN ('production', 'sandbox')),
        first_at INTEGER NOT NULL,
        last_at INTEGER NOT NULL,
        last_sent_at INTEGER NOT NULL,
        count INTEGER NOT NULL,
        reason TEXT NOT NULL,
        PRIMARY KEY (token, app, environment)
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX suspicions_recent ON suspicions (app, environment, last_at);
      CREATE INDEX suspicions_repeated ON suspicions (token, app, environment)
        WHERE last_at > first_at;
      -- Times in which an abnormal number of tokens was called bad.
      CREATE TABLE waves (
        app TEXT NOT NULL,
        environment TEXT NOT NULL CHECK (environment IN ('production', 'sandbox')),
        from_time INTEGER NOT NULL,
        until_time INTEGER NOT NULL,
        PRIMARY KEY (app, environment, from_time)
      ) STRICT, WITHOUT ROWID;
      """
    ),
    (
      "dead tokens by time",
      """
      CREATE INDEX devices_dead ON devices (app, recorded_at, token, environment)
        WHERE invalid_since IS NOT NULL;
      """
    ),
    (
      "details, history, receipts",
      """
      -- devices_dead serves the same questions.
      DROP INDEX devices_invalid;
      -- What the newest registration said besides.
      ALTER TABLE devices ADD COLUMN push_type TEXT;
      ALTER TABLE devices ADD COLUMN user_name TEXT;
      ALTER TABLE devices ADD COLUMN locale TEXT;
      ALTER TABLE devices ADD COLUMN app_version TEXT;
      ALTER TABLE devices ADD COLUMN bundle TEXT;
      -- Earlier facts, as DeviceHistory writes them; NULL: none but those of the row.
      ALTER TABLE devices ADD COLUMN history TEXT;
      DROP VIEW dead_tokens;
      CREATE VIEW dead_tokens AS
        SELECT token, app, environment, invalid_since, invalid_reason, recorded_at, push_type,
          user_name, locale, app_version, bundle
        FROM devices
        WHERE invalid_since IS NOT NULL AND ifnull(registered_at < alive_from, 1);

      -- How many devices are in each state, changed together with the rows.
      CREATE TABLE device_counts (
        state TEXT PRIMARY KEY CHECK (state IN ('registered', 'removed', 'invalid')),
        count INTEGER NOT NULL
      ) STRICT, WITHOUT ROWID;
      INSERT INTO device_counts VALUES ('invalid', (SELECT count(*) FROM dead_tokens)),
        ('registered', (SELECT count(*) FROM devices WHERE registered_at IS NOT NULL
          AND (invalid_since IS NULL OR registered_at >= alive_from))),
        ('removed', (SELECT count(*) FROM devices
          WHERE registered_at IS NULL AND invalid_since IS NULL));

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
      """
    ),
    (
      "decisions about waves",
      """
      -- 'released': its answers count; 'rejected': they never do; NULL: they wait.
      ALTER TABLE waves ADD COLUMN verdict TEXT CHECK (verdict IN ('released', 'rejected'));
      ALTER TABLE waves ADD COLUMN decided_at INTEGER;
      ALTER TABLE waves ADD COLUMN decided_by TEXT;
      -- Whether the last answer would have proved the token dead, had it not come in a wave.
      ALTER TABLE suspicions ADD COLUMN held INTEGER NOT NULL DEFAULT 0;
      CREATE INDEX suspicions_held ON suspicions (app, environment, last_at) WHERE held = 1;
      """
    ),
    (
      "users",
      """
      ALTER TABLE devices ADD COLUMN model TEXT;
      ALTER TABLE devices ADD COLUMN time_zone TEXT;
      -- Words with a blank between them.
      ALTER TABLE devices ADD COLUMN tags TEXT;
      DROP VIEW dead_tokens;
      CREATE VIEW dead_tokens AS
        SELECT token, app, environment, invalid_since, invalid_reason, recorded_at, push_type,
          user_name, locale, app_version, bundle, model, time_zone, tags
        FROM devices
        WHERE invalid_since IS NOT NULL AND ifnull(registered_at < alive_from, 1);
      CREATE INDEX devices_user ON devices (user_name, token, app, environment)
        WHERE user_name IS NOT NULL;
      -- Devices that were forgotten, and whose receipts are still to be removed.
      CREATE TABLE forgotten_devices (
        token TEXT NOT NULL,
        app TEXT NOT NULL,
        forgotten_at INTEGER NOT NULL,
        PRIMARY KEY (token, app)
      ) STRICT, WITHOUT ROWID;
      """
    ),
    (
      "the schedule",
      """
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
      -- The next offset of each partition that is not in it.
      CREATE TABLE schedule_positions (
        partition INTEGER PRIMARY KEY, next_offset INTEGER NOT NULL) STRICT;
      """
    ),
    (
      "people",
      """
      -- Serves the same questions, and those for the newest devices of a user in one app.
      DROP INDEX devices_user;
      CREATE INDEX devices_person ON devices (user_name, app, environment, registered_at, token)
        WHERE user_name IS NOT NULL;
      """
    ),
    (
      "activities",
      """
      -- What a token of type liveactivity updates.
      ALTER TABLE devices ADD COLUMN activity TEXT;
      DROP VIEW dead_tokens;
      CREATE VIEW dead_tokens AS
        SELECT token, app, environment, invalid_since, invalid_reason, recorded_at, push_type,
          user_name, locale, app_version, bundle, model, time_zone, tags, activity
        FROM devices
        WHERE invalid_since IS NOT NULL AND ifnull(registered_at < alive_from, 1);
      CREATE INDEX devices_activity ON devices (registered_at) WHERE activity IS NOT NULL;
      """
    ),
    (
      "packed tokens",
      """
      DROP VIEW dead_tokens;
      CREATE TABLE packed_devices (
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
        PRIMARY KEY (token, app, environment)
      ) STRICT, WITHOUT ROWID;
      INSERT INTO packed_devices
        SELECT packed(token), app, environment, registered_at, removed_at, invalid_since, invalid_reason,
          recorded_at, alive_from, push_type, user_name, locale, app_version, bundle, history, model,
          time_zone, tags, activity
        FROM devices;
      DROP TABLE devices;
      ALTER TABLE packed_devices RENAME TO devices;
      CREATE INDEX devices_refuted ON devices (token, app, environment)
        WHERE registered_at >= alive_from;
      -- A condition on recorded_at implies this one, so that such queries need not look at the rows.
      CREATE INDEX devices_dead ON devices (app, recorded_at, token, environment)
        WHERE recorded_at IS NOT NULL;
      CREATE INDEX devices_person ON devices (user_name, app, environment, registered_at, token)
        WHERE user_name IS NOT NULL;
      CREATE INDEX devices_activity ON devices (registered_at) WHERE activity IS NOT NULL;
      CREATE VIEW dead_tokens AS
        SELECT token, app, environment, invalid_since, invalid_reason, recorded_at, push_type,
          user_name, locale, app_version, bundle, model, time_zone, tags, activity
        FROM devices
        WHERE invalid_since IS NOT NULL AND ifnull(registered_at < alive_from, 1);

      CREATE TABLE packed_suspicions (
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
      INSERT INTO packed_suspicions
        SELECT packed(token), app, environment, first_at, last_at, last_sent_at, count, reason, held
        FROM suspicions;
      DROP TABLE suspicions;
      ALTER TABLE packed_suspicions RENAME TO suspicions;
      CREATE INDEX suspicions_recent ON suspicions (app, environment, last_at);
      CREATE INDEX suspicions_repeated ON suspicions (token, app, environment)
        WHERE last_at > first_at;
      CREATE INDEX suspicions_held ON suspicions (app, environment, last_at) WHERE held = 1;
      """
    ),
    (
      "completeness",
      """
      -- Which reading of the topics from their first records on the row is of: that of completeness, or an older one, whose
      -- rows go when all has been read.
      ALTER TABLE devices ADD COLUMN generation INTEGER NOT NULL DEFAULT 1;
      CREATE TABLE new_completeness (
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
      INSERT INTO new_completeness SELECT 1, 1, complete_at, NULL, 0, 0, 0 FROM completeness;
      DROP TABLE completeness;
      ALTER TABLE new_completeness RENAME TO completeness;
      DROP VIEW dead_tokens;
      -- The first condition is that of the index devices_dead. Every mark has the time.
      CREATE VIEW dead_tokens AS
        SELECT token, app, environment, invalid_since, invalid_reason, recorded_at, push_type,
          user_name, locale, app_version, bundle, model, time_zone, tags, activity
        FROM devices
        WHERE recorded_at IS NOT NULL AND invalid_since IS NOT NULL
          AND ifnull(registered_at < alive_from, 1);
      -- 0 while the partition is read anew.
      ALTER TABLE schedule_positions ADD COLUMN is_complete INTEGER NOT NULL DEFAULT 1;
      """
    ),
  ]

  /// The application id in the header of our SQLite files: "MART".
  static let applicationID = 0x4D41_5254

  /// Refuses a database that another program made, before anything of it is changed.
  static func refuseForeign(_ database: Database, _ path: String) throws(StoreError) {
    guard try database.integer("PRAGMA application_id") != Int64(applicationID),
      try database.integer("SELECT count(*) FROM sqlite_schema") != 0
    else { return }
    // The first versions set no id.
    let columns = try database.integer(
      "SELECT count(*) FROM pragma_table_info('migrations') WHERE name IN ('version', 'name')")
    if columns == 2,
      try database.integer(
        "SELECT count(*) FROM migrations WHERE version = 1 AND name = 'devices'") == 1
    {
      return
    }
    throw StoreError(
      code: SQLITE_ERROR, attempt: "cannot use the database \(path)",
      message: "it is a SQLite database of another program; name another file")
  }

  private static func version(_ database: Database) throws(StoreError) -> Int64 {
    try database.integer("SELECT max(version) FROM migrations") ?? 0
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
    let known: Int
    switch database {
    case .sqlite: known = steps.count
    case .postgres: known = PostgresMigrations.steps.count
    }
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
      let steps: [(name: String, sql: String)]
      var form = ""
      switch database {
      case .sqlite: (steps, form) = (Self.steps, "STRICT")
      case .postgres:
        steps = PostgresMigrations.steps
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
