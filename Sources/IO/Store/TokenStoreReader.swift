// SPDX-License-Identifier: Apache-2.0
import APNS

/// A dead token.
package struct InvalidDevice: Hashable, Sendable {
  package let device: DeviceIdentity
  /// Milliseconds since the epoch.
  package let since: Int64
  package let reason: String
}

/// Reads the database of device tokens beside its writer, without ever writing to it. Owned by one thread.
package final class TokenStoreReader {
  private let database: Database

  /// Opens a database that exists.
  package init(path: String) throws(StoreError) {
    database = try Database(path: path, isReadOnly: true, busyTimeout: 5_000)
  }

  /// Devices of which anything is known.
  package func deviceCount() throws(StoreError) -> Int {
    Int(try database.integer("SELECT count(*) FROM devices") ?? 0)
  }

  /// Dead tokens.
  package func invalidCount() throws(StoreError) -> Int {
    Int(
      try database.integer("SELECT count(*) FROM devices WHERE invalid_since IS NOT NULL") ?? 0)
  }

  /// Dead tokens, at most `limit`, by app, environment and time.
  package func invalidDevices(limit: Int = .max) throws(StoreError) -> [InvalidDevice] {
    let statement = try database.prepare(
      """
      SELECT token, app, environment, invalid_since, invalid_reason FROM devices
      WHERE invalid_since IS NOT NULL ORDER BY app, environment, invalid_since, token LIMIT ?1
      """)
    statement.bind(1, Int64(limit))
    var devices: [InvalidDevice] = []
    while try statement.next() {
      guard let environment = Environment(statement.text(2)) else { continue }
      devices.append(
        InvalidDevice(
          device: DeviceIdentity(
            token: statement.text(0), app: statement.text(1), environment: environment),
          since: statement.integer(3) ?? 0, reason: statement.text(4)))
    }
    return devices
  }
}
