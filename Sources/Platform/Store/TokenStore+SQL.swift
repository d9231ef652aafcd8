// SPDX-License-Identifier: Apache-2.0

extension TokenStore {
  /// The statements. ?1 token, ?2 app, ?3 environment.
  enum SQL {
    static let select = """
      SELECT \(stateColumns), generation FROM devices
      WHERE token = ?1 AND app = ?2 AND environment = ?3
      """

    /// Where `select` has the generation of the row.
    static let generationColumn: Int32 = 16

    /// The columns that `deviceState(from:)` reads.
    static let stateColumns = """
      registered_at, removed_at, invalid_since, invalid_reason, recorded_at, alive_from, push_type,
      user_name, locale, app_version, bundle, model, time_zone, tags, activity,
      history
      """

    /// The columns of a device's row, in the order in which rows are written.
    static let columns = """
      token, app, environment, registered_at, removed_at, invalid_since, invalid_reason,
      recorded_at, alive_from, push_type, user_name, locale, app_version, bundle, history, model,
      time_zone, tags, activity, generation
      """

    static let upsert = """
      INSERT INTO devices (\(columns)) VALUES
        (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19,
          ?20)
      \(replacesDevice)
      """

    static let upsertMark = """
      INSERT INTO devices
        (token, app, environment, invalid_since, invalid_reason, recorded_at, alive_from, generation)
      VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
      ON CONFLICT (token, app, environment) DO UPDATE SET invalid_since = excluded.invalid_since,
        invalid_reason = excluded.invalid_reason, recorded_at = excluded.recorded_at,
        alive_from = excluded.alive_from
      """

    /// The clause by which an inserted device takes the place of the row that there is.
    static let replacesDevice = """
      ON CONFLICT (token, app, environment) DO UPDATE SET registered_at = excluded.registered_at,
        removed_at = excluded.removed_at, invalid_since = excluded.invalid_since,
        invalid_reason = excluded.invalid_reason, recorded_at = excluded.recorded_at,
        alive_from = excluded.alive_from, push_type = excluded.push_type,
        user_name = excluded.user_name, locale = excluded.locale,
        app_version = excluded.app_version, bundle = excluded.bundle, history = excluded.history,
        model = excluded.model, time_zone = excluded.time_zone, tags = excluded.tags,
        activity = excluded.activity, generation = excluded.generation
      """

    static let upsertPosition = """
      INSERT INTO changelog VALUES (?1, ?2, ?3, ?4, ?5)
      ON CONFLICT (topic, partition) DO UPDATE SET last_offset = excluded.last_offset,
        timestamp = excluded.timestamp, key_hash = excluded.key_hash
      """

    static let delete =
      "DELETE FROM devices WHERE token = ?1 AND app = ?2 AND environment = ?3"

    static let refuted = """
      SELECT token, app, environment FROM devices
      WHERE registered_at >= alive_from AND (token, app, environment) > (?1, ?2, ?3)
      ORDER BY token, app, environment LIMIT ?4
      """
  }
}
