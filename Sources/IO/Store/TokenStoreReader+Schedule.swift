// SPDX-License-Identifier: Apache-2.0
import Schedule

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

  /// The records of the campaigns.
  public func campaigns() throws(StoreError) -> [ScheduledEntry] {
    try ScheduleQueries(database).campaigns()
  }

  /// The records of the campaigns whose keys begin so.
  public func campaigns(withPrefix prefix: String) throws(StoreError) -> [ScheduledEntry] {
    try ScheduleQueries(database).campaigns(withPrefix: prefix)
  }

  /// The requests that wait for their time.
  public func scheduledCount() throws(StoreError) -> Int {
    Int(try database.integer("SELECT count(*) FROM schedule WHERE cancelled = 0") ?? 0)
  }

  /// What the schedule has of a key: a request that waits, or its cancellation; nil for nothing.
  public func scheduled(key: String) throws(StoreError) -> ScheduledEntry? {
    try ScheduleQueries(database).scheduled(key: key)
  }
}

/// Questions to the schedule about a key in whatever partition it is. Owned by one thread.
public final class ScheduleQueries {
  private let select: Statement
  private let selectCampaigns: Statement
  private let selectNamed: Statement
  /// Records of campaigns that are read, at most.
  private static let mostCampaigns = 10_000

  /// Opens a database that exists: a file's path, or a `postgresql://` URL.
  public convenience init(_ location: String) throws(StoreError) {
    try self.init(Database(reading: location, busyTimeout: 2_000))
  }

  init(_ database: Database) throws(StoreError) {
    // The table's key begins with the partition.
    select = try database.prepare(
      """
      SELECT \(ScheduleStore.columns) FROM schedule
      WHERE partition IN (SELECT partition FROM schedule_positions) AND key = ?1
      ORDER BY record_offset DESC
      """)
    selectCampaigns = try database.prepare(
      """
      SELECT \(ScheduleStore.columns) FROM schedule
      WHERE partition IN (SELECT partition FROM schedule_positions) AND due = ?1 AND cancelled = 2
      ORDER BY key LIMIT \(Self.mostCampaigns)
      """)
    selectNamed = try database.prepare(
      """
      SELECT \(ScheduleStore.columns) FROM schedule
      WHERE partition IN (SELECT partition FROM schedule_positions) AND due = ?1 AND cancelled = 2
        AND substr(key, 1, length(?2)) = ?2
      ORDER BY key LIMIT \(Self.mostCampaigns)
      """)
  }

  /// The records of the campaigns.
  public func campaigns() throws(StoreError) -> [ScheduledEntry] {
    selectCampaigns.bind(1, ScheduleRow.never)
    return try selectCampaigns.scheduledEntries()
  }

  /// The records of the campaigns whose keys begin so.
  public func campaigns(withPrefix prefix: String) throws(StoreError) -> [ScheduledEntry] {
    selectNamed.bind(1, ScheduleRow.never)
    selectNamed.bind(2, prefix)
    return try selectNamed.scheduledEntries()
  }

  /// What the schedule has of a key: a request that waits, or its cancellation; nil for nothing.
  public func scheduled(key: String) throws(StoreError) -> ScheduledEntry? {
    select.bind(1, key)
    guard try select.next() else { return nil }
    defer { select.reset() }
    return select.scheduledEntry
  }
}
