// SPDX-License-Identifier: Apache-2.0
public import Contract

/// The states of some devices, taken from the database at once, changed in memory, and written back at once.
public struct DeviceRows {
  /// Rows that were known, and where each of them is here; −1: it is not.
  private let known: KnownRows.Places
  private var taken: [Int]
  /// The generation of the known rows that these are from.
  fileprivate let generation: Int
  /// The places of all others.
  fileprivate private(set) var places: [DeviceKey: Int] = [:]
  fileprivate private(set) var rows: [Row] = []
  /// The places of the devices that were asked for, one for each time that they were.
  public private(set) var asked: [Int] = []
  /// Places in the order of the table: each page is then looked for once, when it is read and when it is written.
  fileprivate private(set) var order: [Int] = []
  /// By how much the changes alter how many devices are in each state.
  fileprivate private(set) var counts = DeviceCounts()

  fileprivate struct Row {
    let device: DeviceKey
    var state = DeviceState()
    /// In what it is not as the database has it.
    var change = Change.none
    /// Its place among the known rows; −1: it was not known.
    var known = -1
    /// Whether the database was looked in and had no row.
    var isAbsent = false
  }

  enum Change {
    case none, mark, all
  }

  fileprivate init(of devices: [DeviceKey], _ knownRows: KnownRows?) {
    known = knownRows?.places ?? [:]
    generation = knownRows?.generation ?? 0
    taken = Array(repeating: -1, count: known.count)
    if known.isEmpty { places.reserveCapacity(devices.count) }
    rows.reserveCapacity(devices.count)
    asked.reserveCapacity(devices.count)
    for device in devices { asked.append(takeIn(device)) }
    var sorted = rows.indices.map { (start: rows[$0].device.start, place: $0) }
    sorted.sort { $0.start < $1.start }
    order = sorted.map(\.place)
  }

  private mutating func takeIn(_ device: DeviceKey) -> Int {
    if let place = known[device] {
      if taken[place] < 0 {
        taken[place] = rows.count
        rows.append(Row(device: device, known: place))
      }
      return taken[place]
    }
    func value(_ place: inout Int) -> Int { place }
    // Inserts it if it is not there.
    let place = value(&places[device, default: rows.count])
    if place == rows.count { rows.append(Row(device: device)) }
    return place
  }

  func place(of device: DeviceKey) -> Int? {
    if let place = known[device], taken[place] >= 0 { return taken[place] }
    return places[device]
  }

  /// Takes in what the database has of a device.
  ///
  /// - Parameter isOld: it is of an earlier reading of the topics than the one under way, and nothing of it counts any
  ///   more but its history: what the topics still say of the device follows.
  fileprivate mutating func found(_ state: DeviceState, at place: Int, isOld: Bool = false) {
    rows[place].isAbsent = false
    guard isOld else {
      rows[place].state = state
      return
    }
    counts.move(from: state.word, to: nil)
    rows[place].state = DeviceState(history: state.history)
    rows[place].change = .all
  }

  /// Those that are not as the database has them, each once, in the order of the table.
  fileprivate var changed: [Int] { order.filter { rows[$0].change != .none } }

  /// In what the device at a place is not as the database has it.
  func change(_ place: Int) -> Change { rows[place].change }

  /// Whether the database was looked in and had no row of the device at a place.
  fileprivate func isAbsent(_ place: Int) -> Bool { rows[place].isAbsent }

  /// The database is looked in for all of them; what is not `found` is not there.
  fileprivate mutating func expectNone() {
    for place in order { rows[place].isAbsent = true }
  }

  public func device(_ place: Int) -> DeviceKey { rows[place].device }

  public subscript(place: Int) -> DeviceState {
    get { rows[place].state }
    set {
      guard newValue != rows[place].state else { return }
      counts.move(from: rows[place].state.word, to: newValue.word)
      let isOnlyMark =
        rows[place].change != .all && newValue.differsInMark(from: rows[place].state)
      rows[place].change = isOnlyMark ? .mark : .all
      rows[place].state = newValue
    }
  }

  public subscript(device: DeviceKey) -> DeviceState {
    get { place(of: device).map { rows[$0].state } ?? DeviceState() }
    set {
      let place = takeIn(device)
      if place == order.count { order.append(place) }
      self[place] = newValue
    }
  }
}

extension DeviceKey {
  /// The first eight bytes, by which keys are in the order of their tokens but for very few.
  fileprivate var start: UInt64 {
    let bytes = description.utf8.span
    var start: UInt64 = 0
    for index in 0..<8 { start = start << 8 | (index < bytes.count ? UInt64(bytes[index]) : 0) }
    return start
  }
}

/// Rows that were looked at a moment ago, as the database still has them: what is judged is soon applied, and need not be
/// read again. Of SQLite only, which says when another connection has written (`PRAGMA data_version`).
struct KnownRows {
  typealias Places = [DeviceKey: Int]

  private let dataVersion: Statement
  fileprivate private(set) var places: Places = [:]
  private var states: [DeviceState] = []
  private var version: Int64?
  /// Counts how often they became others.
  fileprivate private(set) var generation = 0

  /// nil: there is no way to know whether they are still true.
  init?(_ database: Database) throws(StoreError) {
    guard case .sqlite = database else { return nil }
    dataVersion = try database.prepare("PRAGMA data_version")
  }

  /// Drops the rows if another connection has written since; to be called in the transaction that uses them.
  mutating func check() throws(StoreError) {
    let version = try dataVersion.firstInteger()
    if version != self.version || version == nil { forget() }
    self.version = version
  }

  fileprivate func state(_ row: DeviceRows.Row) -> DeviceState? {
    row.known < 0 ? nil : states[row.known]
  }

  /// These rows, none of which was known, are as the database has them.
  fileprivate mutating func remember(_ rows: DeviceRows) {
    places = rows.places
    states = rows.rows.map(\.state)
    generation += 1
  }

  /// These rows were written, in a transaction that may yet fail.
  fileprivate mutating func wrote(_ written: DeviceRows, _ changed: [Int]) {
    guard written.generation == generation else { return forget() }
    for place in changed where written.rows[place].known >= 0 {
      states[written.rows[place].known] = written.rows[place].state
    }
  }

  mutating func forget() {
    places = [:]
    states = []
    generation += 1
  }
}

extension TokenStore {
  /// The rows of these devices.
  ///
  /// - Parameter remembering: the same devices will soon be asked for again.
  public func rows(
    of devices: [DeviceKey], remembering: Bool = false
  ) throws(StoreError) -> DeviceRows {
    if remembering { known?.forget() }
    try known?.check()
    var rows = DeviceRows(of: devices, known)
    if let many {
      if !rows.order.isEmpty { try many.read(&rows, generation) }
      return rows
    }
    for place in rows.order {
      if let state = known?.state(rows.rows[place]) {
        rows.found(state, at: place)
      } else {
        try readRow(place, of: &rows)
      }
    }
    if remembering { known?.remember(rows) }
    return rows
  }

  private func readRow(_ place: Int, of rows: inout DeviceRows) throws(StoreError) {
    select.bind(rows.device(place))
    guard try select.next() else { return }
    defer { select.reset() }
    rows.found(
      select.deviceState(from: 0), at: place,
      isOld: select.integer(SQL.generationColumn) != generation)
  }

  public func write(_ rows: DeviceRows) throws(StoreError) {
    try counts.add(rows.counts)
    let changed = rows.changed
    known?.wrote(rows, changed)
    guard let many else {
      for place in changed {
        if rows.change(place) == .mark, let mark = rows[place].mark {
          try note(mark, of: rows.device(place))
        } else {
          try replace(rows.device(place), rows[place])
        }
      }
      return
    }
    let gone = changed.filter { rows[$0].isEmpty }.map { rows.device($0) }
    if !gone.isEmpty { try many.delete(gone) }
    // A NUL becomes another character there, and the row that was asked for may be that of another device.
    let isNew = { (place: Int) in
      many.mayInsert && rows.isAbsent(place) && !rows.device(place).app.utf8.contains(0)
    }
    let kept = changed.filter { !rows[$0].isEmpty }
    let (new, others) = (kept.filter(isNew), kept.filter { !isNew($0) })
    if !new.isEmpty { try many.insert(new.map { (rows.device($0), rows[$0]) }, generation) }
    if !others.isEmpty { try many.put(others.map { (rows.device($0), rows[$0]) }, generation) }
  }
}

/// The statements of PostgreSQL about many devices: one exchange with the server instead of one for each device.
struct ManyDevices {
  private let database: PostgresDatabase
  private let select: PostgresStatement
  private let upsert: PostgresStatement
  private let delete: PostgresStatement

  init(_ database: PostgresDatabase) throws(StoreError) {
    self.database = database
    select = try database.prepare(
      """
      SELECT token, app, environment, \(TokenStore.SQL.stateColumns), generation
      FROM unnest(?1::bytea[], ?2::text[], ?3::text[]) AS wanted (token, app, environment)
      JOIN devices USING (token, app, environment)
      """)
    upsert = try database.prepare(
      """
      INSERT INTO devices (\(TokenStore.SQL.columns))
      SELECT * FROM unnest(?1::bytea[], ?2::text[], ?3::text[],
        ?4::bigint[], ?5::bigint[], ?6::bigint[], ?7::text[], ?8::bigint[], ?9::bigint[],
        ?10::text[], ?11::text[], ?12::text[], ?13::text[], ?14::text[], ?15::text[], ?16::text[],
        ?17::text[], ?18::text[], ?19::text[], ?20::integer[])
      \(TokenStore.SQL.replacesDevice)
      """)
    delete = try database.prepare(
      """
      DELETE FROM devices AS d
      USING unnest(?1::bytea[], ?2::text[], ?3::text[]) AS gone (token, app, environment)
      WHERE d.token = gone.token AND d.app = gone.app AND d.environment = gone.environment
      """)
  }

  fileprivate func read(_ rows: inout DeviceRows, _ generation: Int64) throws(StoreError) {
    bind(select, rows.order.map { rows.device($0) })
    rows.expectNone()
    let found = Statement.postgres(select)
    while try found.next() {
      guard let device = found.identity, let place = rows.place(of: device) else { continue }
      rows.found(
        found.deviceState(from: 3), at: place,
        isOld: found.integer(3 + TokenStore.SQL.generationColumn) != generation)
    }
  }

  func delete(_ devices: [DeviceKey]) throws(StoreError) {
    bind(delete, devices)
    try Statement.postgres(delete).run()
  }

  /// Whether no other writer can have put a row where none was read: in a transaction.
  fileprivate var mayInsert: Bool { database.isInTransaction }

  /// Inserts devices without a row.
  fileprivate func insert(
    _ rows: [(device: DeviceKey, state: DeviceState)], _ generation: Int64
  ) throws(StoreError) {
    var lines = PostgresLines()
    for (device, state) in rows { lines.append(device, state, generation) }
    try database.copy(lines, into: "devices (\(TokenStore.SQL.columns))")
  }

  fileprivate func put(
    _ rows: [(device: DeviceKey, state: DeviceState)], _ generation: Int64
  ) throws(StoreError) {
    var columns = PostgresColumns(count: 20)
    for (device, state) in rows { columns.append(device, state, generation) }
    columns.bind(to: .postgres(upsert))
    try Statement.postgres(upsert).run()
  }

  private func bind(_ statement: PostgresStatement, _ devices: [DeviceKey]) {
    var columns = PostgresColumns(count: 3)
    for device in devices {
      columns.append(device)
      columns.endLine()
    }
    columns.bind(to: .postgres(statement))
  }
}

extension PostgresRows {
  /// The key of a device's row, in the order of `SQL.columns`.
  fileprivate mutating func append(_ device: DeviceKey) {
    append(PackedToken.postgres(device.token))
    append(device.app)
    append(device.environment.description)
  }

  /// A device's row, in the order of `SQL.columns`.
  fileprivate mutating func append(
    _ device: DeviceKey, _ state: DeviceState, _ generation: Int64
  ) {
    append(device)
    append(state.registeredAt)
    append(state.removedAt)
    append(state.mark?.since)
    append(state.mark?.reason)
    append(state.mark?.saidAt)
    append(state.mark?.aliveFrom)
    append(state.details.pushType)
    append(state.details.user)
    append(state.details.locale)
    append(state.details.appVersion)
    append(state.details.bundle)
    append(state.earlierFacts)
    append(state.details.model)
    append(state.details.timeZone)
    append(state.details.tags)
    append(state.details.activity)
    append(generation)
    endLine()
  }
}
