// SPDX-License-Identifier: Apache-2.0

extension TokenStoreReader {
  /// How many rows are in each state; a device is in one of the first three.
  package struct StateCounts: Equatable, Sendable {
    package let live: Int
    /// The application has taken the registration back.
    package let removed: Int
    package let dead: Int
    /// Called bad by APNs since the registration, which alone makes no token dead.
    package let suspected: Int

    package init(live: Int, removed: Int, dead: Int, suspected: Int) {
      self.live = live
      self.removed = removed
      self.dead = dead
      self.suspected = suspected
    }
  }

  /// Counts all rows: about a second for ten million of them.
  package func stateCounts() throws(StoreError) -> StateCounts {
    let statement = try database.prepare(
      """
      SELECT count(*),
        sum(CASE WHEN invalid_since IS NULL OR registered_at >= alive_from THEN 0 ELSE 1 END),
        sum(CASE WHEN removed_at IS NOT NULL AND
          (invalid_since IS NULL OR registered_at >= alive_from) THEN 1 ELSE 0 END)
      FROM devices
      """)
    defer { statement.reset() }
    guard try statement.next() else {
      return StateCounts(live: 0, removed: 0, dead: 0, suspected: 0)
    }
    let all = Int(statement.integer(0) ?? 0)
    let dead = Int(statement.integer(1) ?? 0)
    let removed = Int(statement.integer(2) ?? 0)
    let suspected = Int(try database.integer("SELECT count(*) FROM suspicions") ?? 0)
    return StateCounts(
      live: all - dead - removed, removed: removed, dead: dead, suspected: suspected)
  }
}
