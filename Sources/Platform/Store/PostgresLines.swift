// SPDX-License-Identifier: Apache-2.0

/// Rows that are written value by value.
protocol PostgresRows {
  mutating func append(_ number: Int64?)
  mutating func append(_ text: String?)
  /// The row has all its values.
  mutating func endLine()
}

/// Rows in the text form of PostgreSQL's COPY: a line each, with tabs between the values.
struct PostgresLines: PostgresRows {
  private var bytes: [UInt8] = []
  private var isAtStart = true

  private mutating func separate() {
    if !isAtStart { bytes.append(UInt8(ascii: "\t")) }
    isAtStart = false
  }

  mutating func append(_ number: Int64?) {
    separate()
    bytes.append(contentsOf: (number.map { "\($0)" } ?? #"\N"#).utf8)
  }

  mutating func append(_ value: String?) {
    separate()
    guard var value else { return bytes.append(contentsOf: #"\N"#.utf8) }
    value.withUTF8 { text in
      for byte in text {
        switch byte {
        case UInt8(ascii: "\\"): bytes.append(contentsOf: #"\\"#.utf8)
        case UInt8(ascii: "\t"): bytes.append(contentsOf: #"\t"#.utf8)
        case UInt8(ascii: "\n"): bytes.append(contentsOf: #"\n"#.utf8)
        case UInt8(ascii: "\r"): bytes.append(contentsOf: #"\r"#.utf8)
        // No text of PostgreSQL has a NUL.
        case 0: bytes.append(contentsOf: "\u{FFFD}".utf8)
        default: bytes.append(byte)
        }
      }
    }
  }

  mutating func endLine() {
    bytes.append(UInt8(ascii: "\n"))
    isAtStart = true
  }

  func withBytes<R>(_ body: (UnsafeRawBufferPointer) -> R) -> R { bytes.withUnsafeBytes(body) }
}
