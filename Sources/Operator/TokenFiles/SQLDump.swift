// SPDX-License-Identifier: Apache-2.0

/// The rows of a dump, line by line: `COPY … FROM stdin` of `pg_dump`, and `INSERT INTO … VALUES` of `mysqldump` and
/// `pg_dump --inserts`. Where an INSERT does not name its columns, those of the table's CREATE TABLE before it count.
struct SQLDump {
  struct Row: Equatable {
    let table: String
    let columns: [String]
    /// nil: NULL.
    let values: [String?]
  }

  enum Found: Equatable {
    case row(Row)
    case problem(String)
  }

  /// Tables whose columns are remembered, at most.
  private static let mostTables = 1_000

  private enum State {
    case statements
    case copy(table: String, columns: [String])
    case create(table: String)
  }

  private var state = State.statements
  private var columnsOf: [String: [String]] = [:]
  private let isWanted: @Sendable (String) -> Bool

  /// - Parameter isWanted: whether the rows of a table, named in lower case, are to be read.
  init(isWanted: @escaping @Sendable (String) -> Bool) { self.isWanted = isWanted }

  /// - Parameter line: without its end.
  mutating func read(_ line: ArraySlice<UInt8>, _ found: (Found) -> Void) {
    switch state {
    case .copy(let table, let columns):
      if line.elementsEqual("\\.".utf8) {
        state = .statements
        return
      }
      guard isWanted(table) else { return }
      let values = CopyText.values(line)
      guard values.count == columns.count else {
        return found(.problem("the row has \(values.count) values, not \(columns.count)"))
      }
      found(.row(Row(table: table, columns: columns, values: values)))
    case .create(let table): readColumn(line, of: table)
    case .statements: readStatement(line, found)
    }
  }

  private mutating func readStatement(_ line: ArraySlice<UInt8>, _ found: (Found) -> Void) {
    var words = SQLWords(line)
    switch words.word()?.lowercased() {
    case "copy":
      guard let table = words.name(), let columns = words.names() else { return }
      state = .copy(table: table, columns: columns)
    case "create":
      guard words.word()?.lowercased() == "table" else { return }
      words.skip(["if", "not", "exists"])
      guard let table = words.name(), words.skip("(") else { return }
      if columnsOf.count < Self.mostTables { columnsOf[table] = [] }
      if words.isAtEnd { state = .create(table: table) }
    case "insert", "replace":
      words.skip(["ignore", "into"])
      guard let table = words.name(), isWanted(table) else { return }
      let named = words.names()
      guard words.word()?.lowercased() == "values" else { return }
      readTuples(&words, table, named ?? columnsOf[table] ?? [], found)
    default: break
    }
  }

  /// A line within CREATE TABLE.
  private mutating func readColumn(_ line: ArraySlice<UInt8>, of table: String) {
    var words = SQLWords(line)
    if words.skip(")") {
      state = .statements
      return
    }
    let others = [
      "primary", "key", "unique", "constraint", "index", "foreign", "check", "fulltext", "spatial",
    ]
    let isQuoted = words.isQuoted
    guard let name = words.name(), isQuoted || !others.contains(name) else { return }
    columnsOf[table]?.append(name)
  }

  private func readTuples(
    _ words: inout SQLWords, _ table: String, _ columns: [String], _ found: (Found) -> Void
  ) {
    repeat {
      guard let values = words.tuple() else {
        return found(.problem("the values of an INSERT do not end in this line"))
      }
      guard values.count == columns.count else {
        let known = columns.isEmpty ? "unknown columns" : "\(columns.count) columns"
        return found(.problem("a row has \(values.count) values for \(known)"))
      }
      found(.row(Row(table: table, columns: columns, values: values)))
    } while words.skip(",")
  }
}

/// A row of COPY's text format.
private enum CopyText {
  static func values(_ line: ArraySlice<UInt8>) -> [String?] {
    line.split(separator: 9, omittingEmptySubsequences: false).map { value in
      if value.elementsEqual("\\N".utf8) { return nil }
      guard value.contains(UInt8(ascii: "\\")) else {
        return String(decoding: value, as: UTF8.self)
      }
      var (bytes, isEscaped): ([UInt8], Bool) = ([], false)
      for byte in value {
        if isEscaped {
          bytes.append(unescaped(byte))
          isEscaped = false
        } else if byte == UInt8(ascii: "\\") {
          isEscaped = true
        } else {
          bytes.append(byte)
        }
      }
      return String(decoding: bytes, as: UTF8.self)
    }
  }

  private static func unescaped(_ byte: UInt8) -> UInt8 {
    switch byte {
    case UInt8(ascii: "n"): 10
    case UInt8(ascii: "t"): 9
    case UInt8(ascii: "r"): 13
    default: byte
    }
  }
}
