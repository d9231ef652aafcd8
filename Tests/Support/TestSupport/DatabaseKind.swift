// SPDX-License-Identifier: Apache-2.0

/// The databases of device tokens to test, which must behave alike.
public enum DatabaseKind: String, CaseIterable, Sendable {
  case sqlite, postgres

  /// Returns the location of a new, empty database: a file in the folder, or a database on the shared server.
  public func location(in folder: TemporaryFolder) throws -> String {
    switch self {
    case .sqlite: folder.file("tokens-\(UInt32.random(in: .min ... .max)).db")
    case .postgres: try PostgresServer.database("t\(UInt64.random(in: .min ... .max))")
    }
  }
}
