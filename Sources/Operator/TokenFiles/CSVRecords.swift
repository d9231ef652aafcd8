// SPDX-License-Identifier: Apache-2.0

/// Puts the records of a CSV file (RFC 4180) together from its lines: a field in quotes may go on in the next line.
struct CSVRecords {
  /// Longer records are refused.
  static let longest = 1 << 16

  enum Piece: Equatable {
    /// A record's fields.
    case record([String])
    /// The record goes on.
    case open
    case tooLong
  }

  private var fields: [String] = []
  private var field: [UInt8] = []
  private var isQuoted = false
  private var count = 0

  /// True if a record has begun that is not at its end.
  var isOpen: Bool { isQuoted }

  /// - Parameter line: without its end.
  mutating func read(_ line: some Sequence<UInt8>) -> Piece {
    var wasQuote = false
    if isQuoted { field.append(UInt8(ascii: "\n")) }
    for byte in line {
      count += 1
      if isQuoted {
        // A quote ends the field, unless another one follows.
        if byte == UInt8(ascii: "\"") {
          (isQuoted, wasQuote) = (false, true)
        } else {
          field.append(byte)
        }
      } else if byte == UInt8(ascii: "\"") {
        if wasQuote { field.append(byte) }
        (isQuoted, wasQuote) = (true, false)
      } else if byte == UInt8(ascii: ",") {
        endField()
        wasQuote = false
      } else {
        wasQuote = false
        field.append(byte)
      }
    }
    if count > Self.longest {
      self = CSVRecords()
      return .tooLong
    }
    if isQuoted { return .open }
    endField()
    let record = fields
    self = CSVRecords()
    return .record(record)
  }

  private mutating func endField() {
    fields.append(String(decoding: field, as: UTF8.self))
    field.removeAll(keepingCapacity: true)
  }
}
