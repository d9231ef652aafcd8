// SPDX-License-Identifier: Apache-2.0
internal import Contract

/// A JSON value as Swift values, for everything off the hot paths.
public enum JSONValue: Sendable {
  case null
  case bool(Bool)
  /// A number without fraction or exponent that fits into `Int64`.
  case integer(Int64)
  case double(Double)
  /// Any other number that was read, as its original text: it is written with the same digits (RFC 8259 §6 leaves the
  /// precision to each program).
  case digits(String)
  case string(String)
  case array([JSONValue])
  case object(JSONObject)

  /// The member with this key, if the value is an object that has it.
  public subscript(key: String) -> JSONValue? { object?[key] }

  public var string: String? {
    if case .string(let value) = self { value } else { nil }
  }

  /// A whole number that fits, in whatever notation (in JSON Schema, too, 1.0 is an integer): to compare, not to
  /// calculate with.
  public var int: Int64? {
    switch self {
    case .integer(let value): return value
    case .digits(let text):
      // Above 2⁵³, a floating-point number cannot represent every whole number.
      guard let value = Double(text), abs(value) <= 9_007_199_254_740_992, value == value.rounded()
      else { return nil }
      return Int64(value)
    default: return nil
    }
  }

  /// A number without fraction or exponent within the range: safe to calculate with. Values that anyone may
  /// have written are read with this, not with `int`.
  public func int(_ range: ClosedRange<Int64>) -> Int64? {
    int.flatMap { range.contains($0) ? $0 : nil }
  }

  /// Any number within the range, as a double.
  public func number(_ range: ClosedRange<Double>) -> Double? {
    let value: Double? =
      switch self {
      case .integer(let value): Double(value)
      case .double(let value): value
      case .digits(let text): Double(text)
      default: nil
      }
    return value.flatMap { range.contains($0) ? $0 : nil }
  }

  /// Any number, as a double: to compare, not to calculate with.
  public var anyNumber: Double? { number(-.infinity ... .infinity) }

  public var bool: Bool? {
    if case .bool(let value) = self { value } else { nil }
  }

  public var array: [JSONValue]? {
    if case .array(let value) = self { value } else { nil }
  }

  public var object: JSONObject? {
    if case .object(let value) = self { value } else { nil }
  }

  public var isNull: Bool { self == .null }
}

/// Compares by value; numbers that were read equal any number of the same value.
extension JSONValue: Equatable {
  public static func == (one: JSONValue, other: JSONValue) -> Bool {
    switch (one, other) {
    case (.null, .null): true
    case (.bool(let one), .bool(let other)): one == other
    case (.integer(let one), .integer(let other)): one == other
    case (.string(let one), .string(let other)): haveSameBytes(one, other)
    case (.array(let one), .array(let other)): one == other
    case (.object(let one), .object(let other)): one == other
    case (.digits(let one), .digits(let other)) where one.utf8.elementsEqual(other.utf8): true
    case (.double, .double), (.double, .digits), (.digits, .double), (.digits, .digits):
      one.anyNumber == other.anyNumber
    default: false
    }
  }
}

/// The members of a JSON object in the order of the text, duplicates included.
public struct JSONObject: Equatable, Sendable {
  public struct Member: Equatable, Sendable {
    public let key: String
    public let value: JSONValue

    public init(key: String, value: JSONValue) {
      self.key = key
      self.value = value
    }
  }

  public var members: [Member]

  public init(_ members: [Member] = []) { self.members = members }

  /// The first member with this key.
  public subscript(key: String) -> JSONValue? {
    members.first { haveSameBytes($0.key, key) }?.value
  }

  /// The first non-null member with this key, for records in which null means absent.
  public func given(_ key: String) -> JSONValue? {
    members.first { haveSameBytes($0.key, key) && !$0.value.isNull }?.value
  }

  public var keys: [String] { members.map(\.key) }

  /// A key that appears more than once, if any: RFC 8259 leaves its meaning open.
  public var duplicateKey: String? {
    var seen: Set<ExactText> = []
    return members.first { !seen.insert($0.key.exact).inserted }?.key
  }

  /// Adds a member at the end.
  public mutating func append(_ key: String, _ value: JSONValue) {
    members.append(Member(key: key, value: value))
  }
}

extension JSONValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral {
  public init(stringLiteral value: String) { self = .string(value) }
  public init(integerLiteral value: Int64) { self = .integer(value) }
}

extension JSONValue: ExpressibleByBooleanLiteral, ExpressibleByFloatLiteral {
  public init(booleanLiteral value: Bool) { self = .bool(value) }
  public init(floatLiteral value: Double) { self = .double(value) }
}

extension JSONValue: ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral {
  public init(arrayLiteral elements: JSONValue...) { self = .array(elements) }
  public init(dictionaryLiteral elements: (String, JSONValue)...) {
    self = .object(JSONObject(elements.map { .init(key: $0.0, value: $0.1) }))
  }
}

extension JSONValue: ExpressibleByNilLiteral {
  public init(nilLiteral: ()) { self = .null }
}
