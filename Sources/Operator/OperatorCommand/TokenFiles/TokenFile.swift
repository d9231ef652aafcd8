// SPDX-License-Identifier: Apache-2.0

/// Reads a file of device tokens line by line, with bounded memory. Errors are reported with their line, and reading
/// continues.
public struct TokenFile: Sendable {
  private let format: TokenFileFormat
  private var line = 1
  private var isWithinLine = false

  public init(_ format: TokenFileFormat) { self.format = format }

  /// - Parameters:
  ///   - bytes: A line without its end, or a part of one that is too long.
  ///   - endsLine: Whether this is the end of the line.
  /// - Returns: The result; nil for an empty line, and for further parts of a line that is too long.
  public mutating func read(_ bytes: [UInt8], endsLine: Bool = true) -> ImportedLine? {
    defer {
      isWithinLine = !endsLine
      if endsLine { line += 1 }
    }
    if isWithinLine { return nil }
    guard endsLine else {
      return ImportedLine(line: line, item: .problem(field: nil, "the line is too long"))
    }
    return item(bytes[...]).map { ImportedLine(line: line, item: $0) }
  }

  private func item(_ bytes: ArraySlice<UInt8>) -> ImportedItem? {
    switch format {
    case .plain:
      let token = Self.trimmed(bytes)
      return token.isEmpty ? nil : .token(ImportedToken(token: token))
    case .ndjson: return bytes.allSatisfy { $0 <= 0x20 } ? nil : .object(Array(bytes))
    }
  }

  /// The text without blanks around it, and without the quotes and commas of a list.
  private static func trimmed(_ bytes: ArraySlice<UInt8>) -> String {
    func isAround(_ byte: UInt8) -> Bool {
      byte <= 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: ",")
        || byte == UInt8(ascii: "'")
    }
    var bytes = bytes.drop(while: isAround)
    while let last = bytes.last, isAround(last) { bytes.removeLast() }
    return String(decoding: bytes, as: UTF8.self)
  }
}
