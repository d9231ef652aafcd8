// SPDX-License-Identifier: Apache-2.0

/// The schema on PostgreSQL, step by step. A step that was released is never changed.
enum PostgresMigrations {
  static let steps: [(name: String, sql: String)] = [
    (
      "0.1.0, tokens as bytes",
      """
      -- Texts are compared by their bytes, as SQLite does. Times are milliseconds since the UNIX epoch.
      -- A row is what push.devices and push.invalid-tokens say of a device, and nothing else. Numbers come first: behind
      -- texts each would begin at the next multiple of eight bytes.
      CREATE TABLE devices (
        -- The newest of both, or none.
        registered_at bigint,
        removed_at bigint,
        -- The mark on push.invalid-tokens; refuted by a registration at alive_from or later.
        invalid_since bigint,
        recorded_at bigint,
        alive_from bigint,
        -- Which reading of the topics from their first records on the row is of: that of completeness, or an older one,
        -- whose rows go when all has been read.
        generation integer NOT NULL DEFAULT 1,
        -- See PackedToken.
        token bytea NOT NULL,
        app text COLLATE "C" NOT NULL,
        environment text COLLATE "C" NOT NULL CHECK (environment IN ('production', 'sandbox')),
        invalid_reason text,
        -- What the newest registration said besides.
        push_type text,
        user_name text,
        locale text,
        app_version text,
        bundle text,
        -- Earlier facts, as DeviceHistory writes them; NULL: none but those of the row.
        history text,
        model text,
        time_zone text,
        -- Words with a blank between them.
        tags text,
        -- What a token of type liveactivity updates.
        activity text,
        PRIMARY KEY (token, app, environment)
      );
      -- DeviceIndexes has the others.
      -- The first condition is that of the index devices_dead. Every mark has the time.
      CREATE VIEW dead_tokens AS
        SELECT token, app, environment, invalid_since, invalid_reason, recorded_at, push_type,
          user_name, locale, app_version, bundle, model, time_zone, tags, activity
        FROM devices
        WHERE recorded_at IS NOT NULL AND invalid_since IS NOT NULL
          AND coalesce(registered_at < alive_from, true);
      CREATE TABLE device_counts (
        state text PRIMARY KEY CHECK (state IN ('registered', 'removed', 'invalid')),
        count bigint NOT NULL
      );
      INSERT INTO device_counts VALUES ('invalid', 0), ('registered', 0), ('removed', 0);
      -- The last record applied of each partition; it also tells one log from another.
      CREATE TABLE changelog (
        topic text NOT NULL,
        partition bigint NOT NULL,
        last_offset bigint NOT NULL,
        timestamp bigint NOT NULL,
        key_hash bigint NOT NULL,
        PRIMARY KEY (topic, partition)
      );
      CREATE TABLE completeness (
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
      -- Answers that a token is bad, since the newest registration.
      CREATE TABLE suspicions (
        token bytea NOT NULL,
        app text COLLATE "C" NOT NULL,
        environment text COLLATE "C" NOT NULL CHECK (environment IN ('production', 'sandbox')),
        first_at bigint NOT NULL,
        last_at bigint NOT NULL,
        last_sent_at bigint NOT NULL,
        count bigint NOT NULL,
        reason text NOT NULL,
        -- Whether the last answer would have proved the token dead, had it not come in a wave.
        held bigint NOT NULL DEFAULT 0,
        PRIMARY KEY (token, app, environment)
      );
      CREATE INDEX suspicions_recent ON suspicions (app, environment, last_at);
      CREATE INDEX suspicions_repeated ON suspicions (token, app, environment)
        WHERE last_at > first_at;
      CREATE INDEX suspicions_held ON suspicions (app, environment, last_at) WHERE held = 1;
      -- Times in which an abnormal number of tokens was called bad.
      CREATE TABLE waves (
        app text NOT NULL,
        environment text NOT NULL CHECK (environment IN ('production', 'sandbox')),
        from_time bigint NOT NULL,
        until_time bigint NOT NULL,
        -- 'released': its answers count; 'rejected': they never do; NULL: they wait.
        verdict text CHECK (verdict IN ('released', 'rejected')),
        decided_at bigint,
        decided_by text,
        PRIMARY KEY (app, environment, from_time)
      );
      -- Devices that were forgotten, and whose receipts are still to be removed.
      CREATE TABLE forgotten_devices (
        token text COLLATE "C" NOT NULL,
        app text COLLATE "C" NOT NULL,
        forgotten_at bigint NOT NULL,
        PRIMARY KEY (token, app)
      );
      -- Outcomes of notifications, where they are kept: lines of push.receipts.
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
      -- Since when they are kept, and for how many milliseconds each; no row: they are not.
      CREATE TABLE receipt_keeping (
        id bigint PRIMARY KEY CHECK (id = 1),
        since bigint NOT NULL,
        retention bigint NOT NULL
      );
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
      -- The next offset of each partition that is not in it; is_complete is 0 while the partition is read anew.
      CREATE TABLE schedule_positions (
        partition bigint PRIMARY KEY,
        next_offset bigint NOT NULL,
        is_complete bigint NOT NULL DEFAULT 1
      );
      """
    )
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
