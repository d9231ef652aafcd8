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
    let file =
      database.flatMap { sqlite3_db_filename($0, "main") }.map { String(cString: $0) } ?? ""
    self.attempt = file.isEmpty || attempt.contains(file) ? attempt : "\(attempt) (\(file))"
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

  /// Another process has what is wanted.
  var isBusy: Bool { code & 0xFF == SQLITE_BUSY }

  package var description: String {
    let text = "\(attempt): \(message) (SQLite \(code))"
    return advice.map { "\(text); \($0)" } ?? text
  }

  /// What a person can do about it.
  private var advice: String? {
    switch code & 0xFF {
    case SQLITE_FULL: "make room on the disk"
    case SQLITE_BUSY, SQLITE_LOCKED: "end the other program that writes to the database"
    case SQLITE_READONLY: "let this user write to the file and to its folder"
    case SQLITE_CANTOPEN: "see that the folder exists and that this user may use it"
    case SQLITE_NOTADB: "name another file"
    case SQLITE_CORRUPT: "restore a backup"
    case SQLITE_IOERR: "look for errors of the disk in the system's log"
    default: nil
    }
  }
}
