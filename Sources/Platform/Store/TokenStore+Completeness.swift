// SPDX-License-Identifier: Apache-2.0
public import Contract

/// Whether the rows are all that the topics say, and the reading of the topics that makes them so.
///
/// Reading anew empties nothing. Each reading from the first records on has a number, the generation. A row that a record
/// of the topics touches is made anew under it; when all has been read, the rows of earlier generations are those that
/// the topics do not have any more, and go.
extension TokenStore {
  /// Whether the rows are complete; and which generation they are of.
  public func state() throws(StoreError) -> TableState { try database.tableState() }

  /// Until when the positions reflect the topics without a gap that tombstones may have fallen into: when the rows were
  /// last complete, or reading them anew began. Milliseconds since the epoch; nil if nothing was ever read.
  public func followedAt() throws(StoreError) -> Int64? {
    try completeness.selectFollowed.firstInteger()
  }

  /// Takes over the generation that another process may have begun; to be called in a transaction that reads or writes rows.
  public func followGeneration() throws(StoreError) {
    let current = try completeness.generation()
    if current != generation { known?.forget() }
    generation = current
  }

  /// All that was on the topics at this time, milliseconds since the epoch, is in the rows.
  public func setComplete(at time: Int64) throws(StoreError) {
    try completeness.complete.bindAll(time).run()
  }

  /// The rows lack what the topics have: nothing is to be looked up in them until they are complete again.
  public func setIncomplete() throws(StoreError) {
    try transaction { () throws(StoreError) in try completeness.incomplete.run() }
  }

  /// Notes how far reading is, for those who wait; in the caller's transaction.
  public func set(_ progress: TableProgress) throws(StoreError) {
    try completeness.progress.bindAll(progress.done, progress.total).run()
  }

  /// Begins to read the topics from their first records, at this time, beside the rows that are there. Suspicions stay:
  /// they are on no topic.
  public func startOver(at time: Int64) throws(StoreError) {
    known?.forget()
    try transaction { () throws(StoreError) in
      try completeness.begin.bindAll(time).run()
      try database.execute("DELETE FROM changelog")
    }
    generation = try completeness.generation()
  }

  /// Whether rows of earlier generations may be there.
  public func hasOldRows() throws(StoreError) -> Bool {
    try completeness.selectOld.firstInteger() ?? 0 != 0
  }

  /// All rows of earlier generations are gone; in the transaction that removes the last of them.
  public func noteOldRowsGone() throws(StoreError) { try completeness.swept.run() }

  /// Removes the rows of earlier generations from a page of all rows, in the caller's transaction.
  ///
  /// - Parameters:
  ///   - device: the end of the page before; nil: this is the first one.
  ///   - limit: rows of a page, at least 1.
  /// - Returns: the end of this page, nil after the last one, and the number of rows that were removed.
  public func removeOldRows(
    after device: DeviceKey?, limit: Int
  ) throws(StoreError) -> (end: DeviceKey?, removed: Int) {
    known?.forget()
    let last = try database.prepare(
      """
      SELECT token, app, environment FROM devices WHERE (token, app, environment) > (?1, ?2, ?3)
      ORDER BY token, app, environment LIMIT 1 OFFSET ?4
      """)
    last.bind(after: device)
    let end = try last.bindAll(from: 4, limit - 1).first { $0.identity }
    let old = """
      FROM devices WHERE (token, app, environment) > (?1, ?2, ?3) AND generation <> ?4
        \(end == nil ? "" : "AND (token, app, environment) <= (?5, ?6, ?7)")
      """
    // Counted first: DELETE … RETURNING of SQLite 3.40.1 returns values of other rows where a table has no rowid. A mark
    // without recorded_at is that of a removal (`DeviceState.Mark.saidAt`).
    let count = try database.prepare(
      """
      SELECT CASE
        WHEN recorded_at IS NOT NULL AND (registered_at IS NULL OR registered_at < alive_from)
          THEN 'invalid'
        WHEN registered_at IS NOT NULL THEN 'registered' ELSE 'removed' END, count(*)
      \(old) GROUP BY 1
      """)
    bind(count, after: device, through: end)
    var (change, removed) = (DeviceCounts(), 0)
    while try count.next() {
      let rows = Int(count.integer(1) ?? 0)
      if let word = DeviceState.Word(rawValue: count.text(0)) { change[word] -= rows }
      removed += rows
    }
    let remove = try database.prepare("DELETE \(old)")
    bind(remove, after: device, through: end)
    try remove.run()
    try counts.add(change)
    return (end, removed)
  }

  private func bind(_ statement: Statement, after device: DeviceKey?, through end: DeviceKey?) {
    statement.bind(after: device)
    statement.bind(4, generation)
    guard let end else { return }
    statement.bind(5, token: end.token)
    statement.bind(6, end.app)
    statement.bind(7, end.environment.description)
  }
}

/// The statements about the one row that says whether the rows of devices are complete.
struct CompletenessStatements {
  private let selectGeneration: Statement
  let selectFollowed: Statement
  let selectOld: Statement
  let complete: Statement
  let incomplete: Statement
  let progress: Statement
  let begin: Statement
  let swept: Statement

  init(_ database: Database) throws(StoreError) {
    selectGeneration = try database.prepare("SELECT generation FROM completeness")
    selectFollowed = try database.prepare("SELECT followed_at FROM completeness")
    selectOld = try database.prepare("SELECT has_old_rows FROM completeness")
    complete = try database.prepare(
      """
      INSERT INTO completeness VALUES (1, 1, ?1, ?1, 0, 0, 0)
      ON CONFLICT (id) DO UPDATE SET followed_at = excluded.followed_at,
        complete_at = excluded.complete_at
      """)
    incomplete = try database.prepare(
      "UPDATE completeness SET complete_at = NULL, done = 0, total = 0")
    progress = try database.prepare("UPDATE completeness SET done = ?1, total = ?2")
    begin = try database.prepare(
      """
      INSERT INTO completeness (id, generation, followed_at, complete_at, has_old_rows, done, total)
      VALUES (1, 2, ?1, NULL, CASE WHEN EXISTS (SELECT 1 FROM devices) THEN 1 ELSE 0 END, 0, 0)
      ON CONFLICT (id) DO UPDATE SET generation = completeness.generation + 1,
        followed_at = excluded.followed_at, complete_at = NULL,
        has_old_rows = CASE WHEN EXISTS (SELECT 1 FROM devices) THEN 1 ELSE 0 END, done = 0, total = 0
      """)
    swept = try database.prepare("UPDATE completeness SET has_old_rows = 0")
  }

  /// 1 as long as nothing was read.
  func generation() throws(StoreError) -> Int64 { try selectGeneration.firstInteger() ?? 1 }
}

extension Database {
  func tableState() throws(StoreError) -> TableState {
    let columns = "SELECT generation, complete_at, done, total FROM"
    let row: [Int64?]?
    switch self {
    case .sqlite(let file):
      try file.demandInPlace()
      row = try prepare("\(columns) completeness").first { found in
        (0..<4).map { found.integer($0) }
      }
    case .postgres(let server):
      row = try server.numbers("\(columns) \(PostgresDatabase.schema).completeness")
    }
    guard let row else { return .unfilled }
    guard row[1] == nil else { return .complete(generation: row[0] ?? 0) }
    return .filling(TableProgress(done: row[2] ?? 0, total: row[3] ?? 0))
  }

  /// Runs `body`, which looks devices up, and throws unless they were complete before it and still are: an answer from
  /// some of the devices would be taken for one from all.
  func whileComplete<R>(_ body: () throws(StoreError) -> R) throws(StoreError) -> R {
    let before = try tableState()
    try demandComplete(before)
    let result = try body()
    let after = try tableState()
    try demandComplete(after)
    guard before == after else { throw Self.refusal("they are being read from the topics anew") }
    return result
  }

  private func demandComplete(_ state: TableState) throws(StoreError) {
    if let obstacle = state.obstacle { throw Self.refusal(obstacle) }
  }

  private static func refusal(_ why: String) -> StoreError {
    StoreError(code: 1, attempt: "cannot look up devices", message: why)
  }
}
