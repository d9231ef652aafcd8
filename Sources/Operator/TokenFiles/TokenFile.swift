// SPDX-License-Identifier: Apache-2.0

/// Reads a file of device tokens piece by piece, in memory that does not grow with it. What is wrong is reported with its
/// line, and reading goes on.
public struct TokenFile: Sendable {
  private let format: TokenFileFormat
  private var line = 1
  /// The line in which what is open began.
  private var start = 1
  private var isWithinLine = false
  private var records = CSVRecords()
  private var header: OneSignalRow.Header?
  private var objects = JSONObjects()
  private var dump: SQLDump
  private var rows: RpushRows

  /// - Parameter table: with `rpush`, the table that has the devices; nil: every one that is called so.
  public init(_ format: TokenFileFormat, table: String? = nil) {
    self.format = format
    rows = RpushRows(devices: table)
    dump = SQLDump { [rows] in rows.isWanted($0) }
  }

  /// - Parameters:
  ///   - bytes: a line without its end, or a part of one that is too long.
  ///   - endsLine: whether the line ends with it.
  /// - Returns: the result.
  public mutating func read(_ bytes: [UInt8], endsLine: Bool = true) -> [ImportedLine] {
    var found: [ImportedLine] = []
    if format == .parse {
      readObjects(bytes, endsLine, &found)
    } else if isWithinLine || !endsLine {
      // One word for each line that is too long.
      if !isWithinLine { found.append(problem("the line is too long")) }
    } else {
      readLine(bytes[...], &found)
    }
    isWithinLine = !endsLine
    if endsLine { line += 1 }
    return found
  }

  /// The file ended.
  public func finish() -> [ImportedLine] {
    guard objects.isOpen || records.isOpen else { return [] }
    return [ImportedLine(line: start, item: .problem(field: nil, "the file ends within it"))]
  }

  private func problem(_ text: String) -> ImportedLine {
    ImportedLine(line: line, item: .problem(field: nil, text))
  }

  private mutating func readLine(_ bytes: ArraySlice<UInt8>, _ found: inout [ImportedLine]) {
    switch format {
    case .plain:
      let token = Self.trimmed(bytes)
      if !token.isEmpty { found.append(item(.token(ImportedToken(token: token)))) }
    case .ndjson:
      if !bytes.allSatisfy({ $0 <= 0x20 }) { found.append(item(.object(Array(bytes)))) }
    case .onesignal: readRecord(bytes, &found)
    case .rpush: readDump(bytes, &found)
    case .parse: break
    }
  }

  private func item(_ item: ImportedItem) -> ImportedLine { ImportedLine(line: line, item: item) }

  /// Without blanks around it, and without the quotes and commas of a list.
  private static func trimmed(_ bytes: ArraySlice<UInt8>) -> String {
    func isAround(_ byte: UInt8) -> Bool {
      byte <= 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: ",")
        || byte == UInt8(ascii: "'")
    }
    var bytes = bytes.drop(while: isAround)
    while let last = bytes.last, isAround(last) { bytes.removeLast() }
    return String(decoding: bytes, as: UTF8.self)
  }

  private mutating func readRecord(_ bytes: ArraySlice<UInt8>, _ found: inout [ImportedLine]) {
    if !records.isOpen {
      if bytes.isEmpty { return }
      start = line
    }
    switch records.read(bytes) {
    case .open: break
    case .tooLong:
      found.append(problem("the record is longer than \(CSVRecords.longest) bytes"))
    case .record(let fields):
      guard let header else {
        header = OneSignalRow.Header(fields)
        if header == nil { found.append(problem("the first line has no column identifier")) }
        return
      }
      found.append(ImportedLine(line: start, item: OneSignalRow.item(fields, header)))
    }
  }

  private mutating func readDump(_ bytes: ArraySlice<UInt8>, _ found: inout [ImportedLine]) {
    let line = line
    var read: [SQLDump.Found] = []
    dump.read(bytes) { read.append($0) }
    for entry in read {
      switch entry {
      case .problem(let text):
        found.append(ImportedLine(line: line, item: .problem(field: nil, text)))
      case .row(let row):
        if let item = rows.item(row) { found.append(ImportedLine(line: line, item: item)) }
      }
    }
  }

  private mutating func readObjects(
    _ bytes: [UInt8], _ endsLine: Bool, _ found: inout [ImportedLine]
  ) {
    let line = line
    if !objects.isOpen { start = line }
    var items: [ImportedLine] = []
    var from = start
    let take = { (result: JSONObjects.Found) in
      let item: ImportedItem =
        switch result {
        case .object(let object): .object(object)
        case .tooLong:
          .problem(field: nil, "the object is longer than \(JSONObjects.longest) bytes")
        case .unexpected: .problem(field: nil, "an object is expected")
        }
      items.append(ImportedLine(line: from, item: item))
      from = line
    }
    objects.read(bytes, take)
    if endsLine { objects.read(CollectionOfOne(UInt8(ascii: "\n")), take) }
    // What is still open began in this line if something before it ended here.
    if !items.isEmpty { start = line }
    found += items
  }
}
