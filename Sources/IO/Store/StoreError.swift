// SPDX-License-Identifier: Apache-2.0
import CSQLite

/// Why the database did not do what it was asked: what happened, the cause, and whether waiting helps.
package struct StoreError: Error, Equatable, Sendable, CustomStringConvertible {
  /// SQLite's extended result code.
  package let code: Int32
  package let attempt: String
  package let message: String

  init(code: Int32, attempt: String, message: String) {
    self.code = code
    self.attempt = attempt
    self.message = message
  }

  init(_ database: OpaquePointer?, _ attempt: String) {
    code = database.map { sqlite3_extended_errcode($0) } ?? SQLITE_NOMEM
    self.attempt = attempt
    message = database.map { String(cString: sqlite3_errmsg($0)) } ?? "out of memory"
  }

  /// True when the same may succeed later: locked by another process, disk full, or an input/output error of
  /// the disk. False for what only a person can mend (not a database, a newer schema, a bug).
  package var isTemporary: Bool {
    switch code & 0xFF {
    case SQLITE_BUSY, SQLITE_LOCKED, SQLITE_FULL, SQLITE_IOERR, SQLITE_NOMEM, SQLITE_CANTOPEN,
      SQLITE_READONLY, SQLITE_PROTOCOL, SQLITE_INTERRUPT:
      true
    default: false
    }
  }

  package var description: String { "\(attempt): \(message) (SQLite \(code))" }
}
