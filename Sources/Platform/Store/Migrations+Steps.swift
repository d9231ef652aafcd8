// SPDX-License-Identifier: Apache-2.0

extension Migrations {
  /// What differs in the schema between the kinds of database.
  struct Dialect {
    let first: String
    let integer: String
    /// A text that is compared by its bytes, which SQLite does with all.
    let key: String
    let token: String
    /// What stands behind a table, and behind one whose rows lie in the order of their primary key.
    let table: String
    let ordered: String
    /// The table of devices, and what precedes it.
    let devices: String
    /// The columns by which the devices of a user are found. An index of SQLite has those of the key in any case; one of
    /// PostgreSQL is smaller without them, and sorts the few rows of a user.
    let person: String

    static let sqlite = Dialect(
      first: "0.1.0", integer: "INTEGER", key: "TEXT", token: "ANY", table: " STRICT",
      ordered: " STRICT, WITHOUT ROWID",
      devices: """
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
        """,
      person: "user_name, app, environment, registered_at, token")

    static let postgres = Dialect(
      first: "0.1.0, tokens as bytes", integer: "BIGINT", key: #"TEXT COLLATE "C""#,
      token: "BYTEA", table: "", ordered: "",
      devices: """
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
        """,
      person: "user_name, app, registered_at")
  }

  /// The schema, step by step. A step that was released is never changed.
  static func steps(_ sql: Dialect) -> [(name: String, sql: String)] {
    [
      (
        sql.first,
        """
        \(sql.devices)
        CREATE INDEX devices_refuted ON devices (token, app, environment)
          WHERE registered_at >= alive_from;
        -- A condition on recorded_at implies this one, so that such queries need not look at the rows.
        CREATE INDEX devices_dead ON devices (app, recorded_at, token, environment)
          WHERE recorded_at IS NOT NULL;
        CREATE INDEX devices_person ON devices (\(sql.person)) WHERE user_name IS NOT NULL;
        CREATE INDEX devices_activity ON devices (registered_at) WHERE activity IS NOT NULL;
        -- The first condition is that of the index devices_dead. Every mark has the time.
        CREATE VIEW dead_tokens AS
          SELECT token, app, environment, invalid_since, invalid_reason, recorded_at, push_type,
            user_name, locale, app_version, bundle, model, time_zone, tags, activity
          FROM devices
          WHERE recorded_at IS NOT NULL AND invalid_since IS NOT NULL
            AND coalesce(registered_at < alive_from, true);
        CREATE TABLE device_counts (
          state TEXT PRIMARY KEY CHECK (state IN ('registered', 'removed', 'invalid')),
          count \(sql.integer) NOT NULL
        )\(sql.ordered);
        INSERT INTO device_counts VALUES ('invalid', 0), ('registered', 0), ('removed', 0);
        -- The last record applied of each partition; it also tells one log from another.
        CREATE TABLE changelog (
          topic TEXT NOT NULL,
          partition \(sql.integer) NOT NULL,
          last_offset \(sql.integer) NOT NULL,
          timestamp \(sql.integer) NOT NULL,
          key_hash \(sql.integer) NOT NULL,
          PRIMARY KEY (topic, partition)
        )\(sql.ordered);
        CREATE TABLE completeness (
          id \(sql.integer) PRIMARY KEY CHECK (id = 1),
          generation \(sql.integer) NOT NULL,
          -- Until when the positions reflect the topics without a gap: when the rows were last complete, or reading them anew
          -- began.
          followed_at \(sql.integer) NOT NULL,
          -- When the rows had all of the topics; NULL while they lack some of it.
          complete_at \(sql.integer),
          has_old_rows \(sql.integer) NOT NULL,
          -- Offsets that were read since reading began, and how many there were then.
          done \(sql.integer) NOT NULL,
          total \(sql.integer) NOT NULL
        )\(sql.table);
        -- Answers that a token is bad, since the newest registration.
        CREATE TABLE suspicions (
          token \(sql.token) NOT NULL,
          app \(sql.key) NOT NULL,
          environment \(sql.key) NOT NULL CHECK (environment IN ('production', 'sandbox')),
          first_at \(sql.integer) NOT NULL,
          last_at \(sql.integer) NOT NULL,
          last_sent_at \(sql.integer) NOT NULL,
          count \(sql.integer) NOT NULL,
          reason TEXT NOT NULL,
          -- Whether the last answer would have proved the token dead, had it not come in a wave.
          held \(sql.integer) NOT NULL DEFAULT 0,
          PRIMARY KEY (token, app, environment)
        )\(sql.ordered);
        CREATE INDEX suspicions_recent ON suspicions (app, environment, last_at);
        CREATE INDEX suspicions_repeated ON suspicions (token, app, environment)
          WHERE last_at > first_at;
        CREATE INDEX suspicions_held ON suspicions (app, environment, last_at) WHERE held = 1;
        -- Times in which an abnormal number of tokens was called bad.
        CREATE TABLE waves (
          app TEXT NOT NULL,
          environment TEXT NOT NULL CHECK (environment IN ('production', 'sandbox')),
          from_time \(sql.integer) NOT NULL,
          until_time \(sql.integer) NOT NULL,
          -- 'released': its answers count; 'rejected': they never do; NULL: they wait.
          verdict TEXT CHECK (verdict IN ('released', 'rejected')),
          decided_at \(sql.integer),
          decided_by TEXT,
          PRIMARY KEY (app, environment, from_time)
        )\(sql.ordered);
        -- Devices that were forgotten, and whose receipts are still to be removed.
        CREATE TABLE forgotten_devices (
          token \(sql.key) NOT NULL,
          app \(sql.key) NOT NULL,
          forgotten_at \(sql.integer) NOT NULL,
          PRIMARY KEY (token, app)
        )\(sql.ordered);
        -- Outcomes of notifications, where they are kept: lines of push.receipts.
        CREATE TABLE receipts (
          at \(sql.integer) NOT NULL,
          partition \(sql.integer) NOT NULL,
          record_offset \(sql.integer) NOT NULL,
          line \(sql.integer) NOT NULL,
          app \(sql.key) NOT NULL,
          request_id \(sql.key),
          apns_id \(sql.key),
          receipt TEXT NOT NULL,
          PRIMARY KEY (at, partition, record_offset, line)
        )\(sql.ordered);
        CREATE INDEX receipts_request ON receipts (request_id) WHERE request_id IS NOT NULL;
        CREATE INDEX receipts_apns ON receipts (apns_id) WHERE apns_id IS NOT NULL;
        -- Since when they are kept, and for how many milliseconds each; no row: they are not.
        CREATE TABLE receipt_keeping (
          id \(sql.integer) PRIMARY KEY CHECK (id = 1),
          since \(sql.integer) NOT NULL,
          retention \(sql.integer) NOT NULL
        )\(sql.table);
        -- What push.schedule has: requests with their time, and cancellations. Filled by martlet-scheduler. Its rows lie
        -- in the order in which they are due, and go.
        CREATE TABLE schedule (
          partition \(sql.integer) NOT NULL,
          key \(sql.key) NOT NULL,
          record_offset \(sql.integer) NOT NULL,
          due \(sql.integer) NOT NULL,
          at \(sql.integer) NOT NULL,
          cancelled \(sql.integer) NOT NULL,
          value TEXT NOT NULL,
          PRIMARY KEY (partition, due, key)
        )\(sql.ordered);
        CREATE UNIQUE INDEX schedule_key ON schedule (partition, key);
        -- The next offset of each partition that is not in it; is_complete is 0 while the partition is read anew.
        CREATE TABLE schedule_positions (
          partition \(sql.integer) PRIMARY KEY,
          next_offset \(sql.integer) NOT NULL,
          is_complete \(sql.integer) NOT NULL DEFAULT 1
        )\(sql.table);
        """
      ),
      (
        "until when devices were forgotten",
        """
        -- Receipts that are younger are of a registration behind the tombstone.
        ALTER TABLE forgotten_devices
          ADD COLUMN until_time \(sql.integer) NOT NULL DEFAULT \(Int64.max);
        """
      ),
    ]
  }
}
