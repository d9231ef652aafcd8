// SPDX-License-Identifier: Apache-2.0
import CDatabases
public import Contract
import Glibc

/// The database of device tokens, as its writer sees it: SQLite with a write-ahead log, or PostgreSQL.
///
/// It is a view of `push.devices` and `push.invalid-tokens` together with how far it reflects them: rows and
/// positions change in one transaction, so neither is ever ahead of the other. Owned by one thread; several processes
/// may share the database, one writes at a time.
public final class TokenStore {
  let database: Database
  let select: Statement
  private let upsert: Statement
  private let upsertMark: Statement
  private let delete: Statement
  private let refuted: Statement
  private let selectPositions: Statement
  private let upsertPosition: Statement
  let completeness: CompletenessStatements
  let suspicions: SuspicionStatements
  let waves: WaveStatements
  let counts: CountStatements
  let receipts: ReceiptStatements
  /// With PostgreSQL: what is done for many devices at once.
  let many: ManyDevices?
  private var isCopying = false
  /// With SQLite: rows that need not be read again.
  var known: KnownRows?
  /// Which reading of the topics rows are written from: see `TokenStore+Completeness`.
  public internal(set) var generation: Int64

  /// Opens the database, makes it if it is not there, and brings its schema up to date. Refuses a file that another
  /// program or a newer version has made.
  ///
  /// - Parameters:
  ///   - now: milliseconds since the epoch, for the table of migrations.
  ///   - busyTimeout: milliseconds to wait for another writer.
  ///   - location: the file's path, or a `postgresql://` URL.
  ///   - onUpdate: called with the schema's version and the one that it gets, before an older database is brought up to
  ///     date: that may take seconds for each million devices.
  public init(
    _ location: String, now: Int64, busyTimeout: Int32 = 1_000,
    onUpdate: (_ version: Int, _ known: Int) -> Void = { _, _ in }
  ) throws(StoreError) {
    let database = try Database(location, isReadOnly: false, busyTimeout: busyTimeout)
    switch database {
    case .sqlite(let file):
      try Migrations.refuseForeign(database, location)
      let mode = try Self.setUp(database, within: busyTimeout)
      guard mode == "wal" else {
        throw StoreError(
          code: SQLITE_ERROR, attempt: "cannot use the database \(file.path)",
          message:
            "its file system does not allow a write-ahead log (mode \(mode)); use a local disk"
        )
      }
      try Migrations.apply(to: database, location, now: now, onUpdate)
      many = nil
    case .postgres(let server):
      try Migrations.apply(to: database, "\(server.location)", now: now, onUpdate)
      many = try ManyDevices(server)
    }
    select = try database.prepare(SQL.select)
    upsert = try database.prepare(SQL.upsert)
    upsertMark = try database.prepare(SQL.upsertMark)
    delete = try database.prepare(SQL.delete)
    refuted = try database.prepare(SQL.refuted)
    selectPositions = try database.prepare(
      "SELECT topic, partition, last_offset, timestamp, key_hash FROM changelog")
    upsertPosition = try database.prepare(SQL.upsertPosition)
    completeness = try CompletenessStatements(database)
    generation = try completeness.generation()
    suspicions = try SuspicionStatements(database)
    waves = try WaveStatements(database)
    counts = try CountStatements(database)
    receipts = try ReceiptStatements(database)
    known = try KnownRows(database)
    self.database = database
    // What a process that was killed has left in the log.
    _ = try cutLog()
  }

  /// Refuses a location that nothing can be at: a URL that libpq does not read, or one with a password.
  public static func checkLocation(_ location: String) throws(StoreError) {
    if PostgresLocation.isURL(location) { _ = try PostgresLocation(location) }
  }

  public static func isOnServer(_ location: String) -> Bool { PostgresLocation.isURL(location) }

  /// True if opening may help later though it failed: a server may come back, and a file that is there be unlocked.
  public static func mayAppear(_ location: String) -> Bool {
    PostgresLocation.isURL(location) || access(location, F_OK) == 0
  }

  private static let cacheKilobytes = 8_192
  private static let checkpointPages = 8_000
  /// The write-ahead log is cut to this many bytes when it is begun anew. One that is longer is to be cut as soon as
  /// possible.
  public static let longLog = 64 << 20

  /// Switches to a write-ahead log, which the file remembers.
  ///
  /// SQLite refuses the switch at once, without its busy timeout, while another process is at the same: the file is in
  /// that mode a moment later.
  private static func setUp(_ database: Database, within milliseconds: Int32) throws(StoreError)
    -> String
  {
    var mode = ""
    var waited: Int32 = 0
    while true {
      do throws(StoreError) {
        mode = try database.text("PRAGMA journal_mode = WAL") ?? ""
        break
      } catch {
        guard error.isBusy, waited < milliseconds else { throw error }
        waited += sqlite3_sleep(10)
      }
    }
    // Pages of 4 KiB: rows of a batch are all over the file and written in the order of their keys, so that a page is
    // changed once. A larger cache saves reads that the system's cache answers, and hardly any time.
    // A checkpoint writes a page once, however many transactions have changed it.
    // What is deleted is overwritten with zeros: names and tokens of people who are forgotten do not stay in free pages.
    try database.execute(
      """
      PRAGMA synchronous = FULL; PRAGMA cache_size = -\(cacheKilobytes);
      PRAGMA wal_autocheckpoint = \(checkpointPages); PRAGMA journal_size_limit = \(longLog);
      PRAGMA secure_delete = ON
      """)
    return mode
  }

  /// Runs the operations of `body` in one transaction: all of them happen or none.
  ///
  /// - Parameter isCopy: it writes nothing but what can be read again from where its own positions stand. It need not be
  ///   on the disk when it returns: a machine that loses power may lose it, with all transactions of that kind that
  ///   followed.
  public func transaction<R>(
    isCopy: Bool = false, _ body: () throws(StoreError) -> R
  ) throws(StoreError) -> R {
    do throws(StoreError) {
      if isCopy != isCopying {
        try database.setDurable(!isCopy)
        isCopying = isCopy
      }
      return try database.transaction(body)
    } catch {
      known?.forget()
      throw error
    }
  }

  /// Throws if the database takes no changes now, as far as a question can tell: its server has become a standby, or
  /// answers questions only; its file was removed or replaced.
  public func demandWritable() throws(StoreError) { try database.demandWritable() }

  // MARK: Devices

  public func device(_ identity: DeviceKey) throws(StoreError) -> DeviceState {
    select.bind(identity)
    return try select.first { $0.deviceState(from: 0) } ?? DeviceState()
  }

  /// Replaces what is known of a device.
  public func put(_ identity: DeviceKey, _ state: DeviceState) throws(StoreError) {
    var rows = try rows(of: [identity])
    rows[identity] = state
    try write(rows)
  }

  func replace(_ identity: DeviceKey, _ state: DeviceState) throws(StoreError) {
    guard !state.isEmpty else {
      delete.bind(identity)
      return try delete.run()
    }
    upsert.bind(identity)
    upsert.bind(4, state.registeredAt)
    upsert.bind(5, state.removedAt)
    upsert.bind(6, state.mark?.since)
    upsert.bind(7, optional: state.mark?.reason)
    upsert.bind(8, state.mark?.saidAt)
    upsert.bind(9, state.mark?.aliveFrom)
    upsert.bind(10, optional: state.details.pushType)
    upsert.bind(11, optional: state.details.user)
    upsert.bind(12, optional: state.details.locale)
    upsert.bind(13, optional: state.details.appVersion)
    upsert.bind(14, optional: state.details.bundle)
    upsert.bind(15, optional: state.earlierFacts)
    upsert.bind(16, optional: state.details.model)
    upsert.bind(17, optional: state.details.timeZone)
    upsert.bind(18, optional: state.details.tags)
    upsert.bind(19, optional: state.details.activity)
    upsert.bind(20, generation)
    try upsert.run()
  }

  /// Replaces the mark in the row of a device, or makes a row of nothing but a mark. Costs half of `replace`.
  func note(_ mark: DeviceState.Mark, of device: DeviceKey) throws(StoreError) {
    upsertMark.bind(device)
    upsertMark.bind(4, mark.since)
    upsertMark.bind(5, mark.reason)
    upsertMark.bind(6, mark.saidAt)
    upsertMark.bind(7, mark.aliveFrom)
    upsertMark.bind(8, generation)
    try upsertMark.run()
  }

  /// Devices whose mark a registration refutes, at most `limit`, in the order of token, app and environment: the
  /// first ones, or those that follow `device`.
  public func refutedMarks(after device: DeviceKey?, limit: Int) throws(StoreError) -> [DeviceKey] {
    refuted.bind(after: device)
    refuted.bind(4, Int64(limit))
    return try refuted.rows { $0.identity }
  }

  // MARK: What of the topics is in it

  /// The position up to which each partition is reflected.
  public func positions() throws(StoreError) -> [String: [Int32: ChangelogPosition]] {
    var positions: [String: [Int32: ChangelogPosition]] = [:]
    while try selectPositions.next() {
      let anchor = ChangelogPosition.Anchor(
        offset: min(max(0, selectPositions.integer(2) ?? 0), .max - 1),
        timestamp: selectPositions.integer(3) ?? -1,
        keyHash: selectPositions.integer(4) ?? 0)
      positions[selectPositions.text(0), default: [:]][
        Int32(truncatingIfNeeded: selectPositions.integer(1) ?? 0)] = ChangelogPosition(
          anchor: anchor)
    }
    return positions
  }

  /// Notes how far a partition is reflected, in the transaction that applied its records.
  public func setPosition(
    _ topic: String, _ partition: Int32, _ position: ChangelogPosition
  ) throws(StoreError) {
    guard let anchor = position.anchor else { return }
    try upsertPosition.bindAll(
      topic, Int64(partition), anchor.offset, anchor.timestamp, anchor.keyHash
    ).run()
  }
}
