// SPDX-License-Identifier: Apache-2.0
import CDatabases
import Contract
import Glibc

/// Owns one SQLite connection and its statements. One thread at a time.
final class SQLiteDatabase {
  let raw: OpaquePointer
  let path: String
  /// A reader of the tables, which another program may change while it is open (`Database.init(reading:)`).
  var isReader = false

  init(path: String, isReadOnly: Bool, busyTimeout: Int32) throws(StoreError) {
    var handle: OpaquePointer?
    _ = Self.configuration
    if !isReadOnly { Self.create(path) }
    // One thread uses the connection, so SQLite's own mutexes are left out.
    let flags =
      SQLITE_OPEN_NOMUTEX
      | (isReadOnly ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE)
    let code = sqlite3_open_v2(path, &handle, flags, nil)
    guard code == SQLITE_OK, let handle else {
      let error = StoreError(handle, "cannot open the database \(path)")
      sqlite3_close_v2(handle)
      throw error
    }
    raw = handle
    self.path = path
    self.busyTimeout = busyTimeout
    sqlite3_extended_result_codes(raw, 1)
    sqlite3_busy_timeout(raw, busyTimeout)
  }

  private let busyTimeout: Int32
  /// Whether statements wait for others who use the file.
  var isPatient = true {
    didSet { sqlite3_busy_timeout(raw, isPatient ? busyTimeout : 0) }
  }

  deinit { sqlite3_close_v2(raw) }

  /// Once in a process.
  private static let configuration = martlet_sqlite_configure()

  /// Makes a new database's file its owner's alone, whatever the umask: SQLite gives its log and journal the same mode.
  /// What goes wrong here SQLite says.
  private static func create(_ path: String) {
    let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
    if descriptor >= 0 { close(descriptor) }
  }

  func execute(_ sql: String) throws(StoreError) {
    guard sqlite3_exec(raw, sql, nil, nil, nil) == SQLITE_OK else {
      throw StoreError(raw, "the database refused \(sql.prefix(60))")
    }
  }

  /// Throws if the open file is not the one at the path any more: nobody else reads what is written to it, and nobody
  /// writes what is read from it.
  func demandInPlace() throws(StoreError) {
    var hasMoved: Int32 = 0
    sqlite3_file_control(raw, "main", SQLITE_FCNTL_HAS_MOVED, &hasMoved)
    guard hasMoved != 0 else { return }
    throw StoreError(
      code: SQLITE_ERROR, attempt: "the database's file is not at \(path) any more",
      message: "it was removed, moved or replaced while it was open; a restart opens what is there")
  }

  func prepare(_ sql: String) throws(StoreError) -> SQLiteStatement {
    var statement: OpaquePointer?
    guard
      sqlite3_prepare_v3(raw, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &statement, nil)
        == SQLITE_OK, let statement
    else { throw StoreError(raw, "the database refused to prepare \(sql.prefix(60))") }
    return SQLiteStatement(owning: statement, of: self)
  }

  /// Runs `body` in one exclusive write transaction: all of it happens or nothing.
  func transaction<R>(_ body: () throws(StoreError) -> R) throws(StoreError) -> R {
    try execute("BEGIN IMMEDIATE")
    do throws(StoreError) {
      let result = try body()
      try execute("COMMIT")
      return result
    } catch {
      // After some errors (disk full) SQLite has rolled back by itself.
      if sqlite3_get_autocommit(raw) == 0 { try? execute("ROLLBACK") }
      throw error
    }
  }
}

/// A prepared statement. Reused: bind, step, and it is ready again.
final class SQLiteStatement {
  private let raw: OpaquePointer
  private let database: SQLiteDatabase
  /// The device that is bound, and behind it its packed token; SQLite reads them here.
  private var device: UnsafeMutableRawPointer?
  private static let deviceBytes = 1_024

  init(owning raw: OpaquePointer, of database: SQLiteDatabase) {
    self.raw = raw
    self.database = database
  }

  deinit {
    sqlite3_finalize(raw)
    device?.deallocate()
  }

  func bind(_ index: Int32, _ text: String) {
    var text = text
    text.withUTF8 { bind(index, $0) }
  }

  /// Binds a copy of these bytes.
  private func bind(_ index: Int32, _ bytes: UnsafeBufferPointer<UInt8>) {
    _ = bytes.withMemoryRebound(to: CChar.self) {
      martlet_sqlite_bind_text(raw, index, $0.baseAddress, Int32($0.count))
    }
  }

  /// Binds a device to ?1, ?2, ?3.
  func bind(_ device: DeviceKey) {
    var text = device.description
    let app = device.appBytes
    text.withUTF8 { bytes in
      guard bytes.count <= Self.deviceBytes else {
        bind(1, token: device.token)
        bind(2, UnsafeBufferPointer(rebasing: bytes[app]))
        bind(3, UnsafeBufferPointer(rebasing: bytes[(app.upperBound + 1)...]))
        return
      }
      let copy = self.device ?? .allocate(byteCount: 2 * Self.deviceBytes, alignment: 8)
      self.device = copy
      copy.copyMemory(from: bytes.baseAddress!, byteCount: bytes.count)
      let packed = (copy + Self.deviceBytes).assumingMemoryBound(to: UInt8.self)
      if PackedToken.pack(bytes.span.extracting(..<device.tokenBytes), into: packed) {
        sqlite3_bind_blob(raw, 1, packed, Int32(device.tokenBytes / 2), nil)
      } else {
        bind(1, copy, 0..<device.tokenBytes)
      }
      bind(2, copy, app)
      bind(3, copy, app.upperBound + 1..<bytes.count)
    }
  }

  /// Binds a copy of a device token as tables have it.
  func bind(_ index: Int32, token: String) {
    var token = token
    token.withUTF8 { digits in
      withUnsafeTemporaryAllocation(of: UInt8.self, capacity: digits.count / 2 + 1) { bytes in
        guard PackedToken.pack(digits.span, into: bytes.baseAddress!) else {
          return bind(index, digits)
        }
        _ = martlet_sqlite_bind_blob(raw, index, bytes.baseAddress, Int32(digits.count / 2))
      }
    }
  }

  /// Binds bytes that stay where they are.
  private func bind(_ index: Int32, _ bytes: UnsafeMutableRawPointer, _ range: Range<Int>) {
    let start = (bytes + range.lowerBound).assumingMemoryBound(to: CChar.self)
    sqlite3_bind_text(raw, index, start, Int32(range.count), nil)
  }

  func bind(_ index: Int32, _ number: Int64?) {
    if let number {
      sqlite3_bind_int64(raw, index, number)
    } else {
      sqlite3_bind_null(raw, index)
    }
  }

  /// Steps to the next row; false at the end, and the statement is ready for new values.
  func next() throws(StoreError) -> Bool {
    let code = sqlite3_step(raw)
    if database.isReader, code == SQLITE_ROW || code == SQLITE_DONE { try demandKnownTables() }
    switch code {
    case SQLITE_ROW: return true
    case SQLITE_DONE:
      sqlite3_reset(raw)
      return false
    default:
      let error = StoreError(database.raw, "the database did not answer")
      sqlite3_reset(raw)
      throw error
    }
  }

  /// Throws if tables were changed since the statement was prepared (SQLite prepares it again then) and this program
  /// does not know them as they are now.
  private func demandKnownTables() throws(StoreError) {
    guard sqlite3_stmt_status(raw, SQLITE_STMTSTATUS_REPREPARE, 0) > 0 else { return }
    do throws(StoreError) {
      try Migrations.demandCurrent(.sqlite(database))
    } catch {
      sqlite3_reset(raw)
      throw error
    }
    sqlite3_stmt_status(raw, SQLITE_STMTSTATUS_REPREPARE, 1)
  }

  func reset() { sqlite3_reset(raw) }

  func integer(_ column: Int32) -> Int64? {
    sqlite3_column_type(raw, column) == SQLITE_NULL ? nil : sqlite3_column_int64(raw, column)
  }

  func token(_ column: Int32) -> String {
    guard sqlite3_column_type(raw, column) == SQLITE_BLOB else { return text(column) ?? "" }
    let count = Int(sqlite3_column_bytes(raw, column))
    let bytes = sqlite3_column_blob(raw, column)?.assumingMemoryBound(to: UInt8.self)
    return PackedToken.digits(UnsafeBufferPointer(start: bytes, count: bytes == nil ? 0 : count))
  }

  func text(_ column: Int32) -> String? {
    guard let bytes = sqlite3_column_text(raw, column) else { return nil }
    let count = Int(sqlite3_column_bytes(raw, column))
    return String(decoding: UnsafeBufferPointer(start: bytes, count: count), as: UTF8.self)
  }
}
