// SPDX-License-Identifier: Apache-2.0

/// Values of one column as a PostgreSQL array in its text form, for statements about many rows.
struct PostgresArray {
  private var bytes = [UInt8(ascii: "{")]

  /// The whole array.
  var literal: String { String(decoding: bytes, as: UTF8.self) + "}" }

  private mutating func separate() {
    if bytes.count > 1 { bytes.append(UInt8(ascii: ",")) }
  }

  mutating func append(_ number: Int64?) {
    separate()
    append(plain: number.map { "\($0)" } ?? "NULL")
  }

  mutating func append(_ value: String?) {
    separate()
    guard var value else { return append(plain: "NULL") }
    bytes.append(UInt8(ascii: "\""))
    value.withUTF8 { append(escaped: $0) }
    bytes.append(UInt8(ascii: "\""))
  }

  private mutating func append(plain text: String) { bytes.append(contentsOf: text.utf8) }

  /// Copies the bytes between two escapes at once.
  private mutating func append(escaped text: UnsafeBufferPointer<UInt8>) {
    var start = 0
    for index in text.indices
    where text[index] == UInt8(ascii: "\"") || text[index] == UInt8(ascii: "\\") {
      bytes.append(contentsOf: text[start..<index])
      bytes.append(UInt8(ascii: "\\"))
      start = index
    }
    bytes.append(contentsOf: text[start...])
  }
}

/// Rows as an array for each column, for a statement that takes them with `unnest`.
struct PostgresColumns: PostgresRows {
  private var columns: [PostgresArray]
  private var next = 0

  init(count: Int) { columns = Array(repeating: PostgresArray(), count: count) }

  mutating func append(_ number: Int64?) {
    columns[next].append(number)
    next += 1
  }

  mutating func append(_ text: String?) {
    columns[next].append(text)
    next += 1
  }

  mutating func endLine() { next = 0 }

  /// Binds the columns in their order.
  func bind(to statement: Statement, from first: Int32 = 1) {
    for (index, column) in columns.enumerated() {
      statement.bind(first + Int32(index), column.literal)
    }
  }
}
