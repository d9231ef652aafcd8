// SPDX-License-Identifier: Apache-2.0
import Glibc

/// The write-ahead log of SQLite beside the database: what was written lately, and also what is deleted since. It goes back
/// to nothing only when nobody reads; one open reader makes it grow with everything that is written.
extension TokenStore {
  /// The bytes of the log now; nil with PostgreSQL, whose log is the server's own.
  public var logBytes: Int? {
    guard case .sqlite(let file) = database else { return nil }
    var status = stat()
    return stat(file.path + "-wal", &status) == 0 ? Int(status.st_size) : 0
  }

  /// Writes what is in the log into the database's file and cuts the log to nothing, without waiting for anybody.
  ///
  /// - Returns: false if somebody reads what is in the log, or writes: it stays.
  public func cutLog() throws(StoreError) -> Bool {
    guard case .sqlite(let file) = database else { return true }
    file.isPatient = false
    defer { file.isPatient = true }
    do throws(StoreError) {
      return try database.integer("PRAGMA wal_checkpoint(TRUNCATE)") == 0
    } catch {
      guard error.isBusy else { throw error }
      return false
    }
  }
}
