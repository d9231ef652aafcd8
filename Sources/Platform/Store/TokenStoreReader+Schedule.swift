// SPDX-License-Identifier: Apache-2.0
public import Contract

extension TokenStoreReader {
  /// Calls `body` for requests that wait for their time, the next one first; `body` returns false to stop.
  public func forEachScheduled(
    withPrefix prefix: String, _ body: (ScheduledEntry) -> Bool
  ) throws(StoreError) {
    let partitions = try database.prepare("SELECT partition FROM schedule_positions")
    var runs = try partitions.rows { ScheduledRun(partition: $0.integer(0) ?? 0) }
    // Page by page: a statement that stands open for as long as somebody reads its rows keeps SQLite's log from being
    // cut. And in the order of the table: the rows of all partitions would be sorted for each page.
    let statement = try database.prepare(
      """
      SELECT \(ScheduleStore.columns) FROM schedule
      WHERE partition = ?4 AND cancelled = 0 AND substr(key, 1, length(?1)) = ?1
        AND (due, key) > (?2, ?3)
      ORDER BY due, key LIMIT ?5
      """)
    statement.bind(1, prefix)
    let limit = max(Self.leastPage, Self.mostRead / max(1, runs.count))
    while true {
      var first: (run: Int, entry: ScheduledEntry)?
      for run in runs.indices {
        if runs[run].page.isEmpty { try runs[run].read(statement, limit) }
        guard let entry = runs[run].page.first else { continue }
        let isNext =
          first.map { (entry.row.due, entry.key) < ($0.entry.row.due, $0.entry.key) } ?? true
        if isNext { first = (run, entry) }
      }
      guard let first else { return }
      runs[first.run].page.removeFirst()
      guard body(first.entry) else { return }
    }
  }

  /// The requests that are in memory at once, about, and the fewest of a partition.
  private static var mostRead: Int { 10_000 }
  private static var leastPage: Int { 20 }

  /// Runs `body`, which looks into the schedule. Throws if no scheduler has read the topic into the database, and while a
  /// partition is read anew, before or after it.
  public func whileScheduleIsComplete<R>(
    _ body: () throws(StoreError) -> R
  ) throws(StoreError) -> R {
    let queries = try ScheduleQueries(database)
    if try database.integer("SELECT count(*) FROM schedule_positions") ?? 0 == 0 {
      throw ScheduleQueries.refusal(
        "martlet-scheduler has not read its topic into this database; name the database that it keeps"
      )
    }
    try queries.demandComplete()
    let result = try body()
    try queries.demandComplete()
    return result
  }

  /// Records of campaigns that are in memory at once, at most: each may have 64 KiB.
  private static let campaignsAtOnce = 1_000

  /// Calls `body` for the records of the campaigns, in the order of their keys.
  public func forEachCampaign(_ body: (ScheduledEntry) -> Void) throws(StoreError) {
    let queries = try ScheduleQueries(database)
    var last = ""
    while true {
      let page = try queries.campaigns(after: last, limit: Self.campaignsAtOnce)
      for entry in page { body(entry) }
      guard page.count == Self.campaignsAtOnce, let end = page.last else { return }
      last = end.key.text
    }
  }

  public func campaigns() throws(StoreError) -> [ScheduledEntry] {
    var found: [ScheduledEntry] = []
    try forEachCampaign { found.append($0) }
    return found
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
  public func scheduled(key: ExactText) throws(StoreError) -> ScheduledEntry? {
    try ScheduleQueries(database).scheduled(key: key)
  }
}

/// The requests of one partition that wait for their time, in its order.
private struct ScheduledRun {
  let partition: Int64
  /// Those that were read and are to come.
  var page: ArraySlice<ScheduledEntry> = []
  private var place: (due: Int64, key: String)? = (.min, "")

  init(partition: Int64) { self.partition = partition }

  /// Reads the next page, unless there is none.
  mutating func read(_ statement: Statement, _ limit: Int) throws(StoreError) {
    guard let (due, key) = place else { return }
    statement.bindAll(from: 2, due, key, partition, limit)
    page = try ArraySlice(statement.scheduledEntries())
    place = page.count < limit ? nil : page.last.map { ($0.row.due, $0.key.text) }
  }
}

/// Questions to the schedule about a key in whatever partition it is. Owned by one thread.
public final class ScheduleQueries {
  private let select: Statement
  private let selectCampaigns: Statement
  private let selectIncomplete: Statement
  private let database: Database
  private let selectNamed: Statement
  /// The most campaigns of one name that are read: of that many apps and environments.
  private static let mostNamed = 1_000

  /// Opens a database that exists: a file's path, or a `postgresql://` URL.
  public convenience init(_ location: String) throws(StoreError) {
    try self.init(Database(reading: location, busyTimeout: 2_000))
  }

  init(_ database: Database) throws(StoreError) {
    self.database = database
    // What follows the name in `campaign:<name>:<app>:<environment>`, between commas.
    let find = database.find
    let name = "substr(key, \(CampaignKey.prefix.utf8.count + 1))"
    let place = "',' || substr(\(name), \(find)(\(name), ':') + 1) || ','"
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
        AND key > ?2 AND (?4 = '' OR \(find)(?4, \(place)) > 0)
      ORDER BY key LIMIT ?3
      """)
    selectIncomplete = try database.prepare(
      "SELECT count(*) FROM schedule_positions WHERE is_complete = 0")
    selectNamed = try database.prepare(
      """
      SELECT \(ScheduleStore.columns) FROM schedule
      WHERE partition IN (SELECT partition FROM schedule_positions) AND due = ?1 AND cancelled = 2
        AND substr(key, 1, length(?2)) = ?2
      ORDER BY key LIMIT \(Self.mostNamed)
      """)
  }

  /// Calls `body` for the entries of whatever kind in whose keys or values the name of a user or one of these tokens
  /// stands, and perhaps for more; `body` returns false to stop.
  ///
  /// - Parameter tokens: lower-case digits.
  public func forEachEntry(
    naming user: ExactText, _ tokens: Set<ExactText>, _ body: (ScheduledEntry) -> Bool
  ) throws(StoreError) {
    let words = ([user] + tokens.sorted()).map(\.text)
    for start in stride(from: 0, to: words.count, by: Self.wordsAtOnce) {
      let some = Array(words[start..<min(start + Self.wordsAtOnce, words.count)])
      guard try forEachEntry(with: some, body) else { return }
    }
  }

  private static let wordsAtOnce = 50
  private static let page = 500

  /// - Returns: false if `body` stopped it.
  private func forEachEntry(
    with words: [String], _ body: (ScheduledEntry) -> Bool
  ) throws(StoreError) -> Bool {
    let find = database.find
    // Names as they are, digits in either case and with the blanks that ingest leaves out.
    let conditions = words.indices.map { index in
      "\(find)(key, ?\(index + 4)) > 0 OR \(find)(value, ?\(index + 4)) > 0"
        + " OR \(find)(replace(lower(value), ' ', ''), ?\(index + 4)) > 0"
    }
    let statement = try database.prepare(
      """
      SELECT \(ScheduleStore.columns), partition FROM schedule
      WHERE (partition, key) > (?1, ?2) AND cancelled <> 2 AND (\(conditions.joined(separator: " OR ")))
      ORDER BY partition, key LIMIT ?3
      """)
    for (index, word) in words.enumerated() { statement.bind(Int32(index + 4), word) }
    var place: (partition: Int64, key: String) = (-1, "")
    while true {
      statement.bindAll(place.partition, place.key, Self.page)
      let entries = try statement.rows { (entry: $0.scheduledEntry, partition: $0.integer(6) ?? 0) }
      for (entry, _) in entries {
        guard body(entry) else { return false }
      }
      guard entries.count == Self.page, let last = entries.last else { return true }
      place = (last.partition, last.entry.key.text)
    }
  }

  /// Why what is not found may be on the topic; nil if the schedule is complete.
  public func obstacle() throws(StoreError) -> String? {
    try database.demandInPlace()
    let count = try selectIncomplete.firstInteger() ?? 0
    return count == 0
      ? nil : "martlet-scheduler is reading \(count) partitions of its topic into the database"
  }

  /// Throws while a partition is read anew.
  func demandComplete() throws(StoreError) {
    if let obstacle = try obstacle() { throw Self.refusal(obstacle) }
  }

  static func refusal(_ why: String) -> StoreError {
    StoreError(code: 1, attempt: "cannot look up the schedule", message: why)
  }

  /// The records of campaigns whose keys follow one, in the order of the keys.
  ///
  /// - Parameter apps: of these apps only; nil for all.
  public func campaigns(
    after key: String, limit: Int, apps: Set<ExactText>? = nil
  ) throws(StoreError) -> [ScheduledEntry] {
    if let apps, apps.isEmpty { return [] }
    let places = (apps ?? []).flatMap { app in
      Environment.allCases.map { "\(app.text):\($0)" }
    }
    return try selectCampaigns.bindAll(
      ScheduleRow.never, key, limit, places.isEmpty ? "" : ",\(places.joined(separator: ",")),"
    ).scheduledEntries()
  }

  /// The records of the campaigns whose keys begin so.
  public func campaigns(withPrefix prefix: String) throws(StoreError) -> [ScheduledEntry] {
    try selectNamed.bindAll(ScheduleRow.never, prefix).scheduledEntries()
  }

  /// What the schedule has of a key: a request that waits, or its cancellation; nil for nothing.
  public func scheduled(key: ExactText) throws(StoreError) -> ScheduledEntry? {
    try select.bindAll(key.text).first { $0.scheduledEntry }
  }
}
