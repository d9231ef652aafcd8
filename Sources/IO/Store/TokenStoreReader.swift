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

  /// Dead tokens, at most `limit`, by token, app and environment: the first ones, or those that follow
  /// `device` in that order.
  package func invalidDevices(
    after device: DeviceIdentity? = nil, limit: Int = .max
  ) throws(StoreError) -> [InvalidDevice] {
    let statement = try database.prepare(
      """
      SELECT token, app, environment, invalid_since, invalid_reason FROM devices
      WHERE invalid_since IS NOT NULL AND (token, app, environment) > (?2, ?3, ?4)
      ORDER BY token, app, environment LIMIT ?1
      """)
    statement.bind(1, Int64(limit))
    // No token is empty.
    statement.bind(2, device?.token ?? "")
    statement.bind(3, device?.app ?? "")
    statement.bind(4, device?.environment.description ?? "")
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

  /// Every dead token, by token, app and environment; `body` returns false to stop.
  ///
  /// Reads page by page, so that memory stays small and a slow caller does not keep the writer from
  /// cleaning its log up. What changes meanwhile may be seen or not.
  package func forEachInvalidDevice(
    pageSize: Int = 1_000, _ body: (InvalidDevice) -> Bool
  ) throws(StoreError) {
    var page = try invalidDevices(limit: pageSize)
    while true {
      for device in page where !body(device) { return }
      guard page.count == pageSize, let last = page.last else { return }
      page = try invalidDevices(after: last.device, limit: pageSize)
    }
  }
}
