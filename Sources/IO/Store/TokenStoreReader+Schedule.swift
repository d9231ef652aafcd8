// SPDX-License-Identifier: Apache-2.0

extension TokenStoreReader {
  /// Calls `body` for requests that wait for their time, the next one first; `body` returns false to stop.
  ///
  /// - Parameter prefix: the beginning of their keys; empty for all.
  public func forEachScheduled(
    withPrefix prefix: String, _ body: (ScheduledEntry) -> Bool
  ) throws(StoreError) {
    let statement = try database.prepare(
      """
      SELECT \(ScheduleStore.columns) FROM schedule
      WHERE cancelled = 0 AND substr(key, 1, length(?1)) = ?1 ORDER BY due, key
      """)
    statement.bind(1, prefix)
    while try statement.next() {
      guard body(statement.scheduledEntry) else { return statement.reset() }
    }
  }

  /// The requests that wait for their time.
  public func scheduledCount() throws(StoreError) -> Int {
    Int(try database.integer("SELECT count(*) FROM schedule WHERE cancelled = 0") ?? 0)
  }

  /// What the schedule has of a key: a request that waits, or its cancellation; nil for nothing.
  public func scheduled(key: String) throws(StoreError) -> ScheduledEntry? {
    let statement = try database.prepare(
      "SELECT \(ScheduleStore.columns) FROM schedule WHERE key = ?1 ORDER BY record_offset DESC")
    statement.bind(1, key)
    guard try statement.next() else { return nil }
    defer { statement.reset() }
    return statement.scheduledEntry
  }
}
