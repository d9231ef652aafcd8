// SPDX-License-Identifier: Apache-2.0
import CDatabases
import Glibc

/// A prepared statement. Reused: bind, step, and it is ready again.
final class PostgresStatement {
  let name: String
  let sql: String
  /// It changes nothing.
  var isQuestion: Bool { sql.hasPrefix("SELECT") }
  private let database: PostgresDatabase
  private var generation = 0
  private var parameters: [String?] = []
  private var result: OpaquePointer?
  private var row: Int32 = -1

  init(_ name: String, _ sql: String, of database: PostgresDatabase) {
    self.name = name
    self.sql = sql
    self.database = database
  }

  deinit {
    PQclear(result)
    if generation == database.generation { database.forget(name) }
  }

  func prepare() throws(StoreError) {
    try database.prepare(name: name, sql)
    generation = database.generation
  }

  func bind(_ index: Int32, _ text: String?) {
    while parameters.count < index { parameters.append(nil) }
    // No text of PostgreSQL has a NUL.
    parameters[Int(index) - 1] = text.map {
      $0.utf8.contains(0) ? $0.replacing("\0", with: "\u{FFFD}") : $0
    }
  }

  /// Steps to the next row; false at the end, and the statement is ready for new values.
  func next() throws(StoreError) -> Bool {
    if result == nil { try run() }
    row += 1
    guard row < PQntuples(result) else {
      reset()
      return false
    }
    return true
  }

  /// Has the server prepare it if the connection is another one than it was prepared on.
  func prepareAgain() throws(StoreError) {
    if generation != database.generation { try prepare() }
  }

  private func run() throws(StoreError) {
    result = try withCStrings(parameters) { pointers throws(StoreError) in
      try database.run(self, pointers, parameters.count)
    }
    row = -1
  }

  func reset() {
    PQclear(result)
    result = nil
    row = -1
  }

  func text(_ column: Int32) -> String? {
    guard PQgetisnull(result, row, column) == 0, let bytes = PQgetvalue(result, row, column) else {
      return nil
    }
    let count = Int(PQgetlength(result, row, column))
    return String(decoding: UnsafeRawBufferPointer(start: bytes, count: count), as: UTF8.self)
  }

  func integer(_ column: Int32) -> Int64? {
    guard PQgetisnull(result, row, column) == 0, let bytes = PQgetvalue(result, row, column) else {
      return nil
    }
    return strtoll(bytes, nil, 10)
  }
}
