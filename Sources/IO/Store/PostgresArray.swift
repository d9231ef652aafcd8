// SPDX-License-Identifier: Apache-2.0

/// Values of one column as a PostgreSQL array in its text form, for statements about many rows.
struct PostgresArray {
  private(set) var text = "{"

  /// The whole array.
  var literal: String { text + "}" }

  private mutating func separate() {
    if text.utf8.count > 1 { text.append(",") }
  }

  mutating func append(_ number: Int64?) {
    separate()
    text.append(number.map { "\($0)" } ?? "NULL")
  }

  mutating func append(_ value: String?) {
    separate()
    guard let value else {
      text.append("NULL")
      return
    }
    text.append("\"")
    if value.utf8.contains(where: { $0 == UInt8(ascii: "\"") || $0 == UInt8(ascii: "\\") }) {
      for character in value.unicodeScalars {
        if character == "\"" || character == "\\" { text.append("\\") }
        text.unicodeScalars.append(character)
      }
    } else {
      text.append(value)
    }
    text.append("\"")
  }
}
