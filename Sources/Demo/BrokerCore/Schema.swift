// SPDX-License-Identifier: Apache-2.0

/// A field of a message: its type, and the versions that have it.
///
/// It is written as a word, `Name:type` followed in any order by `@2` or `@2-7` for its versions, `?` or `?2` if it can
/// be null (from that version on), `#0` for its tag, `=-1` for a default other than zero. The types are `i8 i16 i32
/// i64`, `b` (boolean), `s` (string), `y` (bytes), `r` (records) and `u` (UUID), prefixed with `[]` for a list; `Name:[
/// … ]` is a list of structures and `Name:( … )` a structure, with the rest after the bracket.
public final class FieldSchema: Sendable {
  public indirect enum Kind: Equatable, Sendable {
    /// The size in bytes: 1, 2, 4 or 8.
    case int(Int)
    case text, bytes, records, uuid
    case list(Kind)
    case fields([FieldSchema])
  }

  public let name: String
  public let kind: Kind
  public let versions: ClosedRange<Int16>
  /// The first version in which the field can be null.
  public let nullableFrom: Int16
  public let tag: UInt64?
  /// The value written if a response lacks the field, and read if the version lacks it.
  public let standard: Value

  /// Parses the words of a message. An invalid word terminates the process: schemas are constants.
  public static func fields(_ text: String) -> [FieldSchema] {
    var words = text.split(whereSeparator: \.isWhitespace)[...]
    let fields = parse(&words)
    precondition(words.isEmpty, "a bracket too many: \(text)")
    return fields
  }

  private static func parse(_ words: inout ArraySlice<Substring>) -> [FieldSchema] {
    var fields: [FieldSchema] = []
    while let word = words.first, word.first != "]", word.first != ")" {
      words.removeFirst()
      guard let colon = word.firstIndex(of: ":") else { preconditionFailure("no type: \(word)") }
      let name = String(word[..<colon])
      var rest = word[word.index(after: colon)...]
      var kind: Kind
      if rest == "[" || rest == "(" {
        let inner = Kind.fields(parse(&words))
        kind = rest == "[" ? .list(inner) : inner
        rest = words.removeFirst().dropFirst()
      } else {
        let end = rest.firstIndex { "@?#=".contains($0) } ?? rest.endIndex
        kind = plain(rest[..<end])
        rest = rest[end...]
      }
      fields.append(FieldSchema(name, kind, suffix: rest))
    }
    return fields
  }

  private static func plain(_ name: Substring) -> Kind {
    if name.hasPrefix("[]") { return .list(plain(name.dropFirst(2))) }
    switch name {
    case "i8", "b": return .int(1)
    case "i16": return .int(2)
    case "i32": return .int(4)
    case "i64": return .int(8)
    case "s": return .text
    case "y": return .bytes
    case "r": return .records
    case "u": return .uuid
    default: preconditionFailure("no type: \(name)")
    }
  }

  private init(_ name: String, _ kind: Kind, suffix: Substring) {
    var (standard, versions, tag) = (kind.zero, 0...Int16.max, UInt64?.none)
    var nullableFrom = Int16.max
    var rest = suffix
    while let mark = rest.popFirst() {
      let end = rest.firstIndex { "@?#=".contains($0) } ?? rest.endIndex
      let text = rest[..<end]
      rest = rest[end...]
      switch mark {
      case "@":
        let limits = text.split(separator: "-").map { Int16($0)! }
        versions = limits[0]...(limits.count > 1 ? limits[1] : .max)
      case "?":
        nullableFrom = Int16(text) ?? 0
        standard = .null
      case "#": tag = UInt64(text)
      default: standard = .int(Int64(text)!)
      }
    }
    self.name = name
    self.kind = kind
    self.standard = standard
    self.versions = versions
    self.tag = tag
    self.nullableFrom = nullableFrom
  }
}

extension FieldSchema: Equatable {
  /// Schemas are constants, so they are compared by identity.
  public static func == (one: FieldSchema, other: FieldSchema) -> Bool { one === other }
}

extension FieldSchema.Kind {
  fileprivate var zero: Value {
    switch self {
    case .int: 0
    case .text: ""
    case .bytes, .records: .bytes([])
    case .uuid: .bytes(ArraySlice(repeating: 0, count: 16))
    case .list: []
    case .fields: .null
    }
  }
}
