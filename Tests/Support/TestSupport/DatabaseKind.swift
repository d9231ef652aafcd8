// SPDX-License-Identifier: Apache-2.0

/// What the database of device tokens is tested on: both do the same.
public enum DatabaseKind: String, CaseIterable, Sendable {
  case sqlite, postgres

  /// Where a new, empty database is: a file in the folder, or a database on the server that tests share.
  public func location(in folder: TemporaryFolder) throws -> String {
    switch self {
    case .sqlite: folder.file("tokens-\(UInt32.random(in: .min ... .max)).db")
    case .postgres: try PostgresServer.database("t\(UInt64.random(in: .min ... .max))")
    }
  }
}
