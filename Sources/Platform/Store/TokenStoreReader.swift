// SPDX-License-Identifier: Apache-2.0
public import Contract

public struct InvalidDevice: Hashable, Sendable {
  public let device: DeviceKey
  /// Milliseconds since the epoch.
  public let since: Int64
  public let reason: String
}

/// Reads the database of device tokens beside its writer, without ever writing to it. Owned by one thread.
public final class TokenStoreReader {
  let database: Database

  /// Opens a database that exists: a file's path, or a `postgresql://` URL.
  public init(_ location: String) throws(StoreError) {
    database = try Database(reading: location, busyTimeout: 5_000, isPatient: true)
  }

  public func state() throws(StoreError) -> TableState { try database.tableState() }

  /// Runs `body`, which looks devices up, and throws unless all devices are in the database before and after it.
  public func whileComplete<R>(_ body: () throws(StoreError) -> R) throws(StoreError) -> R {
    try database.whileComplete(body)
  }

  /// Devices of which anything is known.
  public func deviceCount() throws(StoreError) -> Int {
    Int(try database.integer("SELECT count(*) FROM devices") ?? 0)
  }

  public func invalidCount() throws(StoreError) -> Int {
    Int(try database.integer("SELECT count(*) FROM dead_tokens WHERE recorded_at IS NOT NULL") ?? 0)
  }

  /// Invalid tokens, at most `limit`, by token, app and environment: the first ones, or those that follow
  /// `device` in that order.
  public func invalidDevices(
    after device: DeviceKey? = nil, limit: Int = .max
  ) throws(StoreError) -> [InvalidDevice] {
    let statement = try database.prepare(
      """
      SELECT token, app, environment, invalid_since, invalid_reason FROM dead_tokens
      WHERE recorded_at IS NOT NULL AND (token, app, environment) > (?1, ?2, ?3)
      ORDER BY token, app, environment LIMIT ?4
      """)
    statement.bind(after: device)
    statement.bind(4, Int64(limit))
    return try statement.rows { row in
      row.identity.map {
        InvalidDevice(device: $0, since: row.time(3) ?? 0, reason: row.text(4))
      }
    }
  }
}
