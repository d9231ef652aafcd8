// SPDX-License-Identifier: Apache-2.0
import APNS
import Contract
public import DeviceTokens

/// The states of some devices, taken from the database at once, changed in memory, and written back at once.
public struct DeviceRows {
  private var places: [DeviceIdentity: Int] = [:]
  private var rows: [Row] = []
  /// By how much the changes alter how many devices are in each state.
  fileprivate private(set) var counts = DeviceCounts()

  fileprivate struct Row {
    let device: DeviceIdentity
    var state: DeviceState
    /// True if it is not as the database has it.
    var isChanged = false
  }

  fileprivate init(capacity: Int) {
    places.reserveCapacity(capacity)
    rows.reserveCapacity(capacity)
  }

  /// Takes in what the database has of a device, once.
  fileprivate mutating func append(_ device: DeviceIdentity, _ state: DeviceState) {
    places[device] = rows.count
    rows.append(Row(device: device, state: state))
  }

  /// Those that are not as the database has them, each once.
  fileprivate var changed: [Row] { rows.filter(\.isChanged) }

  /// The state of a device that was asked for.
  public subscript(device: DeviceIdentity) -> DeviceState {
    get { places[device].map { rows[$0].state } ?? DeviceState() }
    set {
      if places[device] == nil { append(device, DeviceState()) }
      let place = places[device]!
      let old = rows[place].state
      guard newValue != old else { return }
      counts.move(from: old.word, to: newValue.word)
      rows[place].state = newValue
      rows[place].isChanged = true
    }
  }
}

extension TokenStore {
  /// The rows of these devices.
  public func rows(of devices: Set<DeviceIdentity>) throws(StoreError) -> DeviceRows {
    var rows = DeviceRows(capacity: devices.count)
    // In the order of the table: each page is then looked for once, when it is read and when it is written.
    let sorted = devices.sorted { $0.token < $1.token }
    if let many {
      let states = devices.isEmpty ? [:] : try many.states(of: sorted)
      for device in sorted { rows.append(device, states[device] ?? DeviceState()) }
    } else {
      for device in sorted { rows.append(device, try self.device(device)) }
    }
    return rows
  }

  /// Writes what was changed.
  public func write(_ rows: DeviceRows) throws(StoreError) {
    try counts.add(rows.counts)
    let changed = rows.changed
    guard let many else {
      for row in changed { try replace(row.device, row.state) }
      return
    }
    let gone = changed.filter { $0.state.isEmpty }.map(\.device)
    if !gone.isEmpty { try many.delete(gone) }
    if gone.count < changed.count {
      try many.put(changed.filter { !$0.state.isEmpty }.map { ($0.device, $0.state) })
    }
  }
}

/// The statements of PostgreSQL about many devices: one exchange with the server instead of one for each device.
struct ManyDevices {
  private let select: PostgresStatement
  private let upsert: PostgresStatement
  private let delete: PostgresStatement

  init(_ database: PostgresDatabase) throws(StoreError) {
    select = try database.prepare(
      """
      SELECT token, app, environment, \(TokenStore.SQL.stateColumns)
      FROM unnest(?1::text[], ?2::text[], ?3::text[]) AS wanted (token, app, environment)
      JOIN devices USING (token, app, environment)
      """)
    upsert = try database.prepare(
      """
      INSERT INTO devices SELECT * FROM unnest(?1::text[], ?2::text[], ?3::text[], ?4::bigint[],
        ?5::bigint[], ?6::bigint[], ?7::text[], ?8::bigint[], ?9::bigint[], ?10::text[], ?11::text[],
        ?12::text[], ?13::text[], ?14::text[], ?15::text[], ?16::text[], ?17::text[], ?18::text[],
        ?19::text[])
      \(TokenStore.SQL.replacesDevice)
      """)
    delete = try database.prepare(
      """
      DELETE FROM devices AS d
      USING unnest(?1::text[], ?2::text[], ?3::text[]) AS gone (token, app, environment)
      WHERE d.token = gone.token AND d.app = gone.app AND d.environment = gone.environment
      """)
  }

  func states(of devices: [DeviceIdentity]) throws(StoreError) -> [DeviceIdentity: DeviceState] {
    bind(select, devices)
    var states: [DeviceIdentity: DeviceState] = [:]
    states.reserveCapacity(devices.count)
    let rows = Statement.postgres(select)
    while try rows.next() {
      if let identity = rows.identity { states[identity] = rows.deviceState(from: 3) }
    }
    return states
  }

  func delete(_ devices: [DeviceIdentity]) throws(StoreError) {
    bind(delete, devices)
    try Statement.postgres(delete).run()
  }

  func put(_ rows: [(device: DeviceIdentity, state: DeviceState)]) throws(StoreError) {
    bind(upsert, rows.map(\.device))
    var times = [PostgresArray](repeating: PostgresArray(), count: 5)
    // The reason, details, the history, further details.
    var texts = [PostgresArray](repeating: PostgresArray(), count: 11)
    for (_, state) in rows {
      times[0].append(state.registeredAt)
      times[1].append(state.removedAt)
      times[2].append(state.mark?.since)
      times[3].append(state.mark?.recordedAt)
      times[4].append(state.mark?.aliveFrom)
      texts[0].append(state.mark?.reason)
      texts[1].append(state.details.pushType)
      texts[2].append(state.details.user)
      texts[3].append(state.details.locale)
      texts[4].append(state.details.appVersion)
      texts[5].append(state.details.bundle)
      texts[6].append(state.earlierFacts)
      texts[7].append(state.details.model)
      texts[8].append(state.details.timeZone)
      texts[9].append(state.details.tags)
      texts[10].append(state.details.activity)
    }
    for (index, column) in zip([4, 5, 6, 8, 9] as [Int32], times) {
      upsert.bind(index, column.literal)
    }
    for (index, column) in zip([7, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19] as [Int32], texts) {
      upsert.bind(index, column.literal)
    }
    try Statement.postgres(upsert).run()
  }

  private func bind(_ statement: PostgresStatement, _ devices: [DeviceIdentity]) {
    var columns = [PostgresArray](repeating: PostgresArray(), count: 3)
    for device in devices {
      columns[0].append(device.token)
      columns[1].append(device.app)
      columns[2].append(device.environment.description)
    }
    for index in 0..<3 { statement.bind(Int32(index + 1), columns[index].literal) }
  }
}
