// SPDX-License-Identifier: Apache-2.0

/// A value in Kafka's protocol, of which requests and responses consist. Booleans are integers.
public enum Value: Equatable, Sendable {
  case null
  case int(Int64)
  case text(String)
  case bytes(ArraySlice<UInt8>)
  case list([Value])
  case fields([Field])
  /// Records that are read from the storage when the response is written.
  case stored([StoredRange])

  public struct Field: Equatable, Sendable {
    public var name: String
    public var value: Value

    public init(name: String, value: Value) {
      self.name = name
      self.value = value
    }
  }

  /// The field with this name; null if there is none.
  public subscript(name: String) -> Value {
    guard case .fields(let fields) = self else { return .null }
    for field in fields where field.name == name { return field.value }
    return .null
  }

  public var int: Int64 { if case .int(let value) = self { value } else { 0 } }
  public var int32: Int32 { Int32(truncatingIfNeeded: int) }
  public var isTrue: Bool { int != 0 }
  public var isNull: Bool { self == .null }
  /// The string; empty for null.
  public var text: String { optionalText ?? "" }
  public var optionalText: String? { if case .text(let value) = self { value } else { nil } }
  public var bytes: ArraySlice<UInt8> { if case .bytes(let value) = self { value } else { [] } }
  public var list: [Value] { if case .list(let values) = self { values } else { [] } }

  /// Returns the same structure with another value of a field.
  public func with(_ name: String, _ value: Value) -> Value {
    guard case .fields(let fields) = self else { return self }
    return .fields(fields.filter { $0.name != name } + [Field(name: name, value: value)])
  }

  /// Returns the list of the transformed elements.
  public func map(_ body: (Value) -> Value) -> Value { .list(list.map(body)) }

  /// The topics of the response to this request, from each partition with its topic's name.
  func eachPartition(_ body: (String, Int32, Value) -> Value) -> Value {
    let topics = self["Topics"].map { topic in
      let name = topic["Name"].text
      return [
        "Name": .text(name),
        "Partitions": topic["Partitions"].map { body(name, $0["Index"].int32, $0) },
      ]
    }
    return ["Topics": topics]
  }

  /// Returns the same with the stored records as bytes.
  func loaded(_ storage: any LogStorage) -> Value {
    switch self {
    case .stored(let ranges):
      var bytes: [UInt8] = []
      for range in ranges { storage.read(range, into: &bytes) }
      return .bytes(bytes[...])
    case .list(let values): return .list(values.map { $0.loaded(storage) })
    case .fields(let fields):
      return .fields(fields.map { Field(name: $0.name, value: $0.value.loaded(storage)) })
    default: return self
    }
  }

  public static func optional(_ text: String?) -> Value { text.map { .text($0) } ?? .null }
  public static func number(_ value: some BinaryInteger) -> Value {
    .int(Int64(truncatingIfNeeded: value))
  }
  static func error(_ code: ErrorCode) -> Value { .number(code.rawValue) }
}

extension Value: ExpressibleByIntegerLiteral, ExpressibleByStringLiteral,
  ExpressibleByBooleanLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
  public init(integerLiteral value: Int64) { self = .int(value) }
  public init(stringLiteral value: String) { self = .text(value) }
  public init(booleanLiteral value: Bool) { self = .int(value ? 1 : 0) }
  public init(arrayLiteral elements: Value...) { self = .list(elements) }
  public init(dictionaryLiteral elements: (String, Value)...) {
    self = .fields(elements.map { Field(name: $0.0, value: $0.1) })
  }
}
