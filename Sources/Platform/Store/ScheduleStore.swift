// SPDX-License-Identifier: Apache-2.0
public import Contract

/// One entry of the schedule as the database keeps it.
public struct ScheduledEntry: Equatable, Sendable {
  public let key: ExactText
  public let row: ScheduleRow
  public let value: String
  public var bytes: Int { key.utf8.count + value.utf8.count + 200 }

  public init(key: ExactText, row: ScheduleRow, value: String) {
    (self.key, self.row, self.value) = (key, row, value)
  }
}

/// The schedule in the database of device tokens, as its writer sees it: a view of `push.schedule` together with how far
/// it reflects each partition. Owned by one thread; each process writes only what belongs to its partitions.
public final class ScheduleStore {
  private let store: TokenStore
  private let select: Statement
  private let upsert: Statement
  private let delete: Statement
  private let deleteUnwritten: Statement
  private let page: Statement
  private let anywhere: ScheduleQueries
  private let selectPosition: Statement
  private let selectPositions: Statement
  private let upsertPosition: Statement
  /// With PostgreSQL: what is done for many entries at once.
  private let many: ManyScheduled?

  public init(_ store: TokenStore) throws(StoreError) {
    let database = store.database
    self.store = store
    select = try database.prepare(
      "SELECT \(Self.columns) FROM schedule WHERE partition = ?1 AND key = ?2")
    anywhere = try ScheduleQueries(database)
    upsert = try database.prepare(
      "INSERT INTO schedule VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) \(Self.replaces)")
    delete = try database.prepare("DELETE FROM schedule WHERE partition = ?1 AND key = ?2")
    deleteUnwritten = try database.prepare(
      "DELETE FROM schedule WHERE partition = ?1 AND key = ?2 AND record_offset < 0")
    let rows = """
      SELECT \(Self.columns) FROM schedule
      WHERE partition = ?1 AND due <= ?2 AND (due, key) > (?3, ?4) AND record_offset >= ?6
      ORDER BY due, key LIMIT ?5
      """
    selectPosition = try database.prepare(
      "SELECT next_offset FROM schedule_positions WHERE partition = ?1")
    selectPositions = try database.prepare("SELECT partition, next_offset FROM schedule_positions")
    upsertPosition = try database.prepare(
      """
      INSERT INTO schedule_positions VALUES (?1, ?2, 1)
      ON CONFLICT (partition) DO UPDATE SET next_offset = excluded.next_offset
      """)
    if case .postgres(let server) = database {
      many = try ManyScheduled(server)
      // Its answer is in memory as a whole: no row is sent before which there are bytes enough.
      page = try database.prepare(
        """
        SELECT \(Self.columns) FROM (
          SELECT found.*,
            sum(octet_length(value)) OVER (ORDER BY due, key ROWS UNBOUNDED PRECEDING)
              - octet_length(value) AS bytes_before
          FROM (\(rows)) AS found
        ) AS page WHERE bytes_before < ?7 ORDER BY due, key
        """)
    } else {
      many = nil
      page = try database.prepare(rows)
    }
  }

  static let columns = "key, record_offset, due, at, cancelled, value"
  static let replaces = """
    ON CONFLICT (partition, key) DO UPDATE SET record_offset = excluded.record_offset,
      due = excluded.due, at = excluded.at, cancelled = excluded.cancelled, value = excluded.value
    """

  /// Runs the operations of `body` in one transaction: all of them happen or none.
  public func transaction<R>(_ body: () throws(StoreError) -> R) throws(StoreError) -> R {
    try store.transaction(body)
  }

  public func entries(
    _ partition: Int32, _ keys: [ExactText]
  ) throws(StoreError) -> [ExactText: ScheduledEntry] {
    var entries: [ExactText: ScheduledEntry] = [:]
    if let many {
      for entry in try many.entries(partition, keys) { entries[entry.key] = entry }
      return entries
    }
    for key in keys {
      select.bind(1, Int64(partition))
      select.bind(2, key.text)
      if try select.next() {
        entries[key] = select.scheduledEntry
        select.reset()
      }
    }
    return entries
  }

  /// The entry of a key in whatever partition it is, also one of another process; nil for none.
  public func entry(_ key: ExactText) throws(StoreError) -> ScheduledEntry? {
    try anywhere.scheduled(key: key)
  }

  /// Replaces what the database has of these keys.
  public func put(_ partition: Int32, _ entries: [ScheduledEntry]) throws(StoreError) {
    if let many { return try many.put(partition, entries) }
    for entry in entries {
      let columns = entry.row.kind.columns
      upsert.bind(1, Int64(partition))
      upsert.bind(2, entry.key.text)
      upsert.bind(3, entry.row.offset)
      upsert.bind(4, columns.due)
      upsert.bind(5, columns.at)
      upsert.bind(6, columns.cancelled)
      upsert.bind(7, entry.value)
      try upsert.run()
    }
  }

  public func remove(_ partition: Int32, _ keys: [ExactText]) throws(StoreError) {
    if let many { return try many.remove(partition, keys) }
    for key in keys {
      delete.bind(1, Int64(partition))
      delete.bind(2, key.text)
      try delete.run()
    }
  }

  /// Entries of a partition that are due until a time (milliseconds since the epoch), in the order of time and key: those
  /// that follow a place in that order.
  ///
  /// - Parameters:
  ///   - bytes: the entry with which all have so many bytes or more is the last one.
  ///   - areAllMeant: also those that are not on the topic (`unwritten`). They are not to be released: what is written
  ///     may come to stand in another partition, and is released there.
  public func due(
    _ partition: Int32, through: Int64, after due: Int64, _ key: ExactText, limit: Int,
    bytes: Int = .max, areAllMeant: Bool = false
  ) throws(StoreError) -> [ScheduledEntry] {
    page.bindAll(Int64(partition), through, due, key.text, limit)
    page.bind(6, areAllMeant ? Int64.min : 0)
    if many != nil { page.bind(7, Int64(bytes)) }
    return try page.scheduledEntries(bytes: bytes)
  }

  /// Requests of a partition that were written, or read as handed back, after a time (milliseconds since the epoch).
  public func handedBack(_ partition: Int32, after time: Int64) throws(StoreError)
    -> [ScheduledEntry]
  {
    let statement = try store.database.prepare(
      "SELECT \(Self.columns) FROM schedule WHERE partition = ?1 AND at > ?2 AND cancelled = 0")
    return try statement.bindAll(Int64(partition), time).scheduledEntries()
  }

  /// An entry of a partition that was read of its topic: that with the earliest time. nil if there is none.
  public func firstRead(_ partition: Int32) throws(StoreError) -> ScheduledEntry? {
    let statement = try store.database.prepare(
      """
      SELECT \(Self.columns) FROM schedule
      WHERE partition = ?1 AND record_offset >= 0 ORDER BY due, key LIMIT 1
      """)
    return try statement.bindAll(Int64(partition)).scheduledEntries().first
  }

  public func campaigns(_ partition: Int32) throws(StoreError) -> [ScheduledEntry] {
    try due(partition, through: ScheduleRow.never, after: ScheduleRow.never - 1, "", limit: .max)
  }

  /// The next offset of a partition that is not reflected; nil if nothing was ever read of it.
  public func position(_ partition: Int32) throws(StoreError) -> Int64? {
    try selectPosition.bindAll(Int64(partition)).firstInteger()
  }

  /// The positions of all partitions of which the database has, or had, anything.
  public func positions() throws(StoreError) -> [Int32: Int64] {
    var positions: [Int32: Int64] = [:]
    while try selectPositions.next() {
      guard let partition = selectPositions.integer(0).flatMap({ Int32(exactly: $0) }) else {
        continue
      }
      positions[partition] = selectPositions.integer(1)
    }
    return positions
  }

  /// Notes how far a partition is reflected, in the transaction that applied its records.
  public func setPosition(_ partition: Int32, _ next: Int64) throws(StoreError) {
    try upsertPosition.bindAll(Int64(partition), next).run()
  }

  /// Forgets what a partition's topic has: it is read from its first record again. What is to be written to the topic
  /// stays (`renew`).
  public func startOver(_ partition: Int32) throws(StoreError) {
    try begin(
      partition, by: "DELETE FROM schedule WHERE partition = \(partition) AND record_offset >= 0")
  }

  /// The partition's topic was made anew and has nothing of what is here: it is to be written there again, and the topic is
  /// read from its first record.
  public func renew(_ partition: Int32) throws(StoreError) {
    try begin(
      partition,
      by: "UPDATE schedule SET record_offset = \(Self.unwritten) WHERE partition = \(partition)")
  }

  /// Runs a statement about a partition's rows, and begins it at its first record.
  private func begin(_ partition: Int32, by statement: String) throws(StoreError) {
    try transaction { () throws(StoreError) in
      // A whole partition: cut, it would begin again for ever.
      try store.database.liftTimeLimit()
      try store.database.execute(
        "\(statement);DELETE FROM schedule_positions WHERE partition = \(partition);"
          + "INSERT INTO schedule_positions VALUES (\(partition), 0, 0)")
    }
  }

  /// The offset of what is not on the topic.
  private static let unwritten: Int64 = -1

  /// What is to be written to a partition's topic again, in the order of the keys behind this one.
  public func unwritten(
    _ partition: Int32, after key: ExactText, limit: Int
  ) throws(StoreError) -> [ScheduledEntry] {
    let statement = try store.database.prepare(
      """
      SELECT \(Self.columns) FROM schedule
      WHERE partition = ?1 AND record_offset < 0 AND key > ?2 ORDER BY key LIMIT ?3
      """)
    return try statement.bindAll(Int64(partition), key.text, limit).scheduledEntries()
  }

  /// What was to be written to a partition's topic again stands in another partition now.
  public func removeUnwritten(_ partition: Int32, _ key: ExactText) throws(StoreError) {
    try deleteUnwritten.bindAll(Int64(partition), key.text).run()
  }

  /// The partitions of which the database has, or had, anything.
  public func partitions() throws(StoreError) -> [Int32] {
    let statement = try store.database.prepare(
      "SELECT partition FROM schedule_positions ORDER BY partition")
    return try statement.rows { $0.integer(0).flatMap { Int32(exactly: $0) } }
  }

  /// Forgets a partition that its topic does not have any more, once nothing of it is left.
  public func forget(_ partition: Int32) throws(StoreError) {
    try store.database.execute(
      "DELETE FROM schedule_positions WHERE partition = \(partition)"
        + " AND NOT EXISTS (SELECT 1 FROM schedule WHERE partition = \(partition))")
  }

  /// A partition has been read to its end since it was begun anew.
  public func setComplete(_ partition: Int32) throws(StoreError) {
    try store.database.execute(
      "UPDATE schedule_positions SET is_complete = 1 WHERE partition = \(partition)")
  }

  public func entryCount(_ partition: Int32) throws(StoreError) -> Int {
    Int(
      try store.database.integer("SELECT count(*) FROM schedule WHERE partition = \(partition)")
        ?? 0)
  }

  /// Throws if the database takes no changes now: see `TokenStore.demandWritable`.
  public func demandWritable() throws(StoreError) { try store.demandWritable() }

  /// The bytes of SQLite's log; nil with PostgreSQL.
  public var logBytes: Int? { store.logBytes }

  /// Cuts SQLite's log: see `TokenStore.cutLog`.
  public func cutLog() throws(StoreError) -> Bool { try store.cutLog() }

  /// Requests of these partitions that wait.
  public func count(_ partitions: [Int32]) throws(StoreError) -> Int {
    guard !partitions.isEmpty else { return 0 }
    let list = partitions.map { "\($0)" }.joined(separator: ", ")
    return Int(
      try store.database.integer(
        "SELECT count(*) FROM schedule WHERE cancelled = 0 AND partition IN (\(list))") ?? 0)
  }
}

extension ScheduleRow.Kind {
  /// The columns that say the kind; `cancelled` is 0 for a request, 1 for a cancellation, 2 for a campaign.
  fileprivate var columns: (due: Int64, at: Int64, cancelled: Int64) {
    switch self {
    case .request(let due, let written): (due, written, 0)
    case .handedBack(let due, _, let read): (due, read, 0)
    case .cancellation(let at, let keptUntil): (keptUntil, at, 1)
    case .campaign(let revision): (ScheduleRow.never, revision, 2)
    }
  }

  fileprivate init(due: Int64, at: Int64, cancelled: Int64, _ requeue: Requeue?) {
    switch (cancelled, requeue) {
    case (1, _): self = .cancellation(at: at, keptUntil: due)
    case (2, _): self = .campaign(revision: at)
    case (_, let requeue?): self = .handedBack(due: due, requeue, read: at)
    case (_, nil): self = .request(due: due, written: at)
    }
  }
}

extension Statement {
  /// The entry in the columns of `ScheduleStore.columns`.
  var scheduledEntry: ScheduledEntry {
    let value = text(5)
    return ScheduledEntry(
      key: text(0).exact,
      row: ScheduleRow(
        offset: integer(1) ?? 0, identity: ScheduleRow.identity(of: value.utf8),
        kind: ScheduleRow.Kind(
          due: integer(2) ?? 0, at: integer(3) ?? 0, cancelled: integer(4) ?? 0,
          Requeue(value: value.utf8.span))),
      value: value)
  }

  /// Those of all rows, or of the first ones that have so many bytes.
  func scheduledEntries(bytes: Int = .max) throws(StoreError) -> [ScheduledEntry] {
    var entries: [ScheduledEntry] = []
    var sum = 0
    while try next() {
      let entry = scheduledEntry
      entries.append(entry)
      sum += entry.bytes
      if sum >= bytes {
        reset()
        break
      }
    }
    return entries
  }
}

/// The statements of PostgreSQL about many entries: one exchange with the server instead of one for each.
private struct ManyScheduled {
  private let select: PostgresStatement
  private let upsert: PostgresStatement
  private let delete: PostgresStatement

  init(_ database: PostgresDatabase) throws(StoreError) {
    select = try database.prepare(
      """
      SELECT \(ScheduleStore.columns) FROM schedule
      WHERE partition = ?1 AND key = ANY (?2::text[])
      """)
    upsert = try database.prepare(
      """
      INSERT INTO schedule SELECT ?1::bigint, * FROM unnest(?2::text[], ?3::bigint[], ?4::bigint[],
        ?5::bigint[], ?6::bigint[], ?7::text[]) \(ScheduleStore.replaces)
      """)
    delete = try database.prepare(
      "DELETE FROM schedule WHERE partition = ?1 AND key = ANY (?2::text[])")
  }

  func entries(_ partition: Int32, _ keys: [ExactText]) throws(StoreError) -> [ScheduledEntry] {
    bind(select, partition, keys)
    return try Statement.postgres(select).scheduledEntries()
  }

  func remove(_ partition: Int32, _ keys: [ExactText]) throws(StoreError) {
    bind(delete, partition, keys)
    try Statement.postgres(delete).run()
  }

  func put(_ partition: Int32, _ entries: [ScheduledEntry]) throws(StoreError) {
    bind(upsert, partition, entries.map(\.key))
    var rows = PostgresColumns(count: 5)
    for entry in entries {
      let columns = entry.row.kind.columns
      rows.append(entry.row.offset)
      rows.append(columns.due)
      rows.append(columns.at)
      rows.append(columns.cancelled)
      rows.append(entry.value)
      rows.endLine()
    }
    rows.bind(to: .postgres(upsert), from: 3)
    try Statement.postgres(upsert).run()
  }

  private func bind(_ statement: PostgresStatement, _ partition: Int32, _ keys: [ExactText]) {
    var column = PostgresArray()
    for key in keys { column.append(key.text) }
    statement.bind(1, "\(partition)")
    statement.bind(2, column.literal)
  }
}
