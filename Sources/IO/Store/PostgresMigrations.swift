// SPDX-License-Identifier: Apache-2.0

/// The schema on PostgreSQL, step by step. A step that was released is never changed.
enum PostgresMigrations {
  static let steps: [(name: String, sql: String)] = [
    (
      "what the topics say",
      """
      -- Texts are compared by their bytes, as SQLite does. Times are milliseconds since the UNIX epoch.
      CREATE TABLE devices (
        token text COLLATE "C" NOT NULL,
        app text COLLATE "C" NOT NULL,
        environment text COLLATE "C" NOT NULL CHECK (environment IN ('production', 'sandbox')),
        registered_at bigint,
        removed_at bigint,
        invalid_since bigint,
        invalid_reason text,
        recorded_at bigint,
        alive_from bigint,
        PRIMARY KEY (token, app, environment)
      );
      CREATE INDEX devices_refuted ON devices (token, app, environment)
        WHERE registered_at >= alive_from;
      CREATE INDEX devices_dead ON devices (app, recorded_at, token, environment)
        WHERE invalid_since IS NOT NULL;
      CREATE VIEW dead_tokens AS
        SELECT token, app, environment, invalid_since, invalid_reason, recorded_at FROM devices
        WHERE invalid_since IS NOT NULL AND coalesce(registered_at < alive_from, true);
      CREATE TABLE changelog (
        topic text NOT NULL,
        partition bigint NOT NULL,
        last_offset bigint NOT NULL,
        timestamp bigint NOT NULL,
        key_hash bigint NOT NULL,
        PRIMARY KEY (topic, partition)
      );
      CREATE TABLE completeness (id bigint PRIMARY KEY CHECK (id = 1), complete_at bigint NOT NULL);
      CREATE TABLE suspicions (
        token text COLLATE "C" NOT NULL,
        app text COLLATE "C" NOT NULL,
        environment text COLLATE "C" NOT NULL CHECK (environment IN ('production', 'sandbox')),
        first_at bigint NOT NULL,
        last_at bigint NOT NULL,
        last_sent_at bigint NOT NULL,
        count bigint NOT NULL,
        reason text NOT NULL,
        PRIMARY KEY (token, app, environment)
      );
      CREATE INDEX suspicions_recent ON suspicions (app, environment, last_at);
      CREATE INDEX suspicions_repeated ON suspicions (token, app, environment)
        WHERE last_at > first_at;
      CREATE TABLE waves (
        app text NOT NULL,
        environment text NOT NULL CHECK (environment IN ('production', 'sandbox')),
        from_time bigint NOT NULL,
        until_time bigint NOT NULL,
        PRIMARY KEY (app, environment, from_time)
      );
      """
    ),
    (
      "details, history, receipts",
      """
      ALTER TABLE devices ADD COLUMN push_type text, ADD COLUMN user_name text,
        ADD COLUMN locale text, ADD COLUMN app_version text, ADD COLUMN bundle text,
        ADD COLUMN history text;
      DROP VIEW dead_tokens;
      CREATE VIEW dead_tokens AS
        SELECT token, app, environment, invalid_since, invalid_reason, recorded_at, push_type,
          user_name, locale, app_version, bundle
        FROM devices
        WHERE invalid_since IS NOT NULL AND coalesce(registered_at < alive_from, true);
      CREATE TABLE device_counts (
        state text PRIMARY KEY CHECK (state IN ('registered', 'removed', 'invalid')),
        count bigint NOT NULL
      );
      INSERT INTO device_counts VALUES ('invalid', (SELECT count(*) FROM dead_tokens)),
        ('registered', (SELECT count(*) FROM devices WHERE registered_at IS NOT NULL
          AND (invalid_since IS NULL OR registered_at >= alive_from))),
        ('removed', (SELECT count(*) FROM devices
          WHERE registered_at IS NULL AND invalid_since IS NULL));
      CREATE TABLE receipts (
        at bigint NOT NULL,
        partition bigint NOT NULL,
        record_offset bigint NOT NULL,
        line bigint NOT NULL,
        app text COLLATE "C" NOT NULL,
        request_id text COLLATE "C",
        apns_id text COLLATE "C",
        receipt text NOT NULL,
        PRIMARY KEY (at, partition, record_offset, line)
      );
      CREATE INDEX receipts_request ON receipts (request_id) WHERE request_id IS NOT NULL;
      CREATE INDEX receipts_apns ON receipts (apns_id) WHERE apns_id IS NOT NULL;
      CREATE TABLE receipt_keeping (
        id bigint PRIMARY KEY CHECK (id = 1), since bigint NOT NULL, retention bigint NOT NULL);
      """
    ),
    (
      "decisions about waves",
      """
      -- 'released': its answers count; 'rejected': they never do; NULL: they wait.
      ALTER TABLE waves ADD COLUMN verdict text CHECK (verdict IN ('released', 'rejected'));
      ALTER TABLE waves ADD COLUMN decided_at bigint;
      ALTER TABLE waves ADD COLUMN decided_by text;
      -- Whether the last answer would have proved the token dead, had it not come in a wave.
      ALTER TABLE suspicions ADD COLUMN held bigint NOT NULL DEFAULT 0;
      CREATE INDEX suspicions_held ON suspicions (app, environment, last_at) WHERE held = 1;
      """
    ),
    (
      "users",
      """
      ALTER TABLE devices ADD COLUMN model text;
      ALTER TABLE devices ADD COLUMN time_zone text;
      -- Words with a blank between them.
      ALTER TABLE devices ADD COLUMN tags text;
      DROP VIEW dead_tokens;
      CREATE VIEW dead_tokens AS
        SELECT token, app, environment, invalid_since, invalid_reason, recorded_at, push_type,
          user_name, locale, app_version, bundle, model, time_zone, tags
        FROM devices
        WHERE invalid_since IS NOT NULL AND coalesce(registered_at < alive_from, true);
      CREATE INDEX devices_user ON devices (user_name, token, app, environment)
        WHERE user_name IS NOT NULL;
      -- Devices that were forgotten, and whose receipts are still to be removed.
      CREATE TABLE forgotten_devices (
        token text COLLATE "C" NOT NULL,
        app text COLLATE "C" NOT NULL,
        forgotten_at bigint NOT NULL,
        PRIMARY KEY (token, app)
      );
      """
    ),
    (
      "the schedule",
      """
      -- What push.schedule has: requests with their time, and cancellations. Filled by martlet-scheduler.
      CREATE TABLE schedule (
        partition bigint NOT NULL,
        key text COLLATE "C" NOT NULL,
        record_offset bigint NOT NULL,
        due bigint NOT NULL,
        at bigint NOT NULL,
        cancelled bigint NOT NULL,
        value text NOT NULL,
        PRIMARY KEY (partition, key)
      );
      CREATE INDEX schedule_due ON schedule (partition, due, key);
      -- The next offset of each partition that is not in it.
      CREATE TABLE schedule_positions (partition bigint PRIMARY KEY, next_offset bigint NOT NULL);
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
      ALTER TABLE devices ADD COLUMN activity text;
      DROP VIEW dead_tokens;
      CREATE VIEW dead_tokens AS
        SELECT token, app, environment, invalid_since, invalid_reason, recorded_at, push_type,
          user_name, locale, app_version, bundle, model, time_zone, tags, activity
        FROM devices
        WHERE invalid_since IS NOT NULL AND coalesce(registered_at < alive_from, true);
      CREATE INDEX devices_activity ON devices (registered_at) WHERE activity IS NOT NULL;
      """
    ),
    (
      "marks by time",
      """
      DROP INDEX devices_dead;
      -- A condition on recorded_at implies this one, so that such queries need not look at the rows.
      CREATE INDEX devices_dead ON devices (app, recorded_at, token, environment)
        WHERE recorded_at IS NOT NULL;
      """
    ),
    (
      "completeness",
      """
      -- Which reading of the topics from their first records on the row is of: that of completeness, or an older one, whose
      -- rows go when all has been read.
      ALTER TABLE devices ADD COLUMN generation bigint NOT NULL DEFAULT 1;
      CREATE TABLE new_completeness (
        id bigint PRIMARY KEY CHECK (id = 1),
        generation bigint NOT NULL,
        -- Until when the positions reflect the topics without a gap: when the rows were last complete, or reading them anew
        -- began.
        followed_at bigint NOT NULL,
        -- When the rows had all of the topics; NULL while they lack some of it.
        complete_at bigint,
        has_old_rows bigint NOT NULL,
        -- Offsets that were read since reading began, and how many there were then.
        done bigint NOT NULL,
        total bigint NOT NULL
      );
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
          AND coalesce(registered_at < alive_from, true);
      -- 0 while the partition is read anew.
      ALTER TABLE schedule_positions ADD COLUMN is_complete bigint NOT NULL DEFAULT 1;
      """
    ),
  ]

  /// Makes the schema if it is not there, and refuses one of another program. In the transaction of the migrations.
  static func prepare(_ database: Database, _ location: String) throws(StoreError) {
    let schema = PostgresDatabase.schema
    let exists = try database.integer(
      "SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = '\(schema)'")
    if exists == nil { try database.execute("CREATE SCHEMA \(schema)") }
    let tables = try database.integer(
      """
      SELECT count(*) FROM pg_catalog.pg_class JOIN pg_catalog.pg_namespace AS n ON n.oid = relnamespace
      WHERE nspname = '\(schema)' AND relkind = 'r'
      """)
    guard tables != 0 else { return }
    let ours = try database.integer(
      "SELECT 1 FROM pg_catalog.pg_class WHERE oid = to_regclass('\(schema).migrations')")
    guard ours == nil else { return }
    throw StoreError(
      sqlState: "42P07", attempt: "cannot use the database \(location)",
      message: "its schema \(schema) is of another program; name another database")
  }
}
