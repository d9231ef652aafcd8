// SPDX-License-Identifier: Apache-2.0
public import Contract

public struct KnownDevice: Equatable, Sendable {
  public let device: DeviceKey
  public let state: DeviceState
}

public struct DeviceFilter: Sendable {
  /// nil: of all apps, in both environments, in every state.
  public var app: String?
  public var environment: Environment?
  public var word: DeviceState.Word?

  public init(app: String? = nil, environment: Environment? = nil, word: DeviceState.Word? = nil) {
    self.app = app
    self.environment = environment
    self.word = word
  }

  public func takes(_ known: KnownDevice) -> Bool {
    app.map { $0 == known.device.app } ?? true
      && environment.map { $0 == known.device.environment } ?? true
      && word.map { $0 == known.state.word } ?? true
  }
}

extension TokenStoreReader {
  public func deviceCounts() throws(StoreError) -> DeviceCounts {
    try CountStatements.read(try database.prepare(CountStatements.selectSQL))
  }

  /// The states of a token, for each of its apps and environments.
  public func devices(token: String) throws(StoreError) -> [KnownDevice] {
    let statement = try database.prepare(
      """
      SELECT token, app, environment, \(TokenStore.SQL.stateColumns) FROM devices
      WHERE token = ?1 ORDER BY app, environment
      """)
    statement.bind(1, token: token)
    return try statement.knownDevices()
  }

  /// The devices of a user, by app, environment and time of registration.
  ///
  /// - Parameters:
  ///   - apps: whose devices are asked for, at most 1,000; nil: everybody's.
  public func devices(
    ofUser user: ExactText, apps: Set<ExactText>? = nil, limit: Int = .max
  ) throws(StoreError) -> [KnownDevice] {
    try database.devices(ofUser: user, apps: apps, limit: limit)
  }

  /// Calls `body` for every device that the filter takes, by token, app and environment; `body` returns false to stop.
  ///
  /// Reads page by page, as `forEachInvalidDevice` does.
  public func forEachDevice(
    _ filter: DeviceFilter, pageSize: Int = 1_000, _ body: (KnownDevice) -> Bool
  ) throws(StoreError) {
    let statement = try database.prepare(
      """
      SELECT token, app, environment, \(TokenStore.SQL.stateColumns) FROM devices
      WHERE (token, app, environment) > (?1, ?2, ?3) AND (app = ?4 OR ?4 = '')
        AND (environment = ?5 OR ?5 = '')
      ORDER BY token, app, environment LIMIT ?6
      """)
    var last: DeviceKey?
    while true {
      statement.bind(after: last)
      statement.bindAll(from: 4, filter.app ?? "", filter.environment?.description ?? "", pageSize)
      let page = try statement.knownDevices()
      for device in page where filter.takes(device) {
        guard body(device) else { return }
      }
      guard page.count == pageSize else { return }
      last = page.last?.device
    }
  }
}

extension Database {
  /// The devices of a user: see `TokenStoreReader.devices(ofUser:)`.
  func devices(
    ofUser user: ExactText, apps: Set<ExactText>?, limit: Int
  ) throws(StoreError) -> [KnownDevice] {
    let apps = apps.map { Array($0) }
    if let apps, apps.isEmpty { return [] }
    let list = (apps ?? []).indices.map { "?\($0 + 3)" }.joined(separator: ", ")
    let statement = try prepare(
      """
      SELECT token, app, environment, \(TokenStore.SQL.stateColumns) FROM devices
      WHERE user_name = ?1 \(apps == nil ? "" : "AND app IN (\(list))")
      ORDER BY app, environment, registered_at, token LIMIT ?2
      """)
    statement.bindAll(user.text, limit)
    for (index, app) in (apps ?? []).enumerated() { statement.bind(Int32(index + 3), app.text) }
    return try statement.knownDevices()
  }
}

extension Statement {
  /// The devices in the first three columns with `SQL.stateColumns` behind them.
  fileprivate func knownDevices() throws(StoreError) -> [KnownDevice] {
    try rows { row in
      row.identity.map { KnownDevice(device: $0, state: row.deviceState(from: 3)) }
    }
  }
}
