// SPDX-License-Identifier: Apache-2.0

/// A JSON value as Swift values, for everything that is not on a hot path.
package enum JSONValue: Equatable, Sendable {
  case null
  case bool(Bool)
  /// A number without fraction or exponent that fits.
  case integer(Int64)
  case double(Double)
  case string(String)
  case array([JSONValue])
  case object(JSONObject)

  /// The member with this key, if the value is an object that has it.
  package subscript(key: String) -> JSONValue? { object?[key] }

  package var string: String? {
    if case .string(let value) = self { value } else { nil }
  }

  package var int: Int64? {
    if case .integer(let value) = self { value } else { nil }
  }

  /// Any number as a double.
  package var number: Double? {
    switch self {
    case .integer(let value): Double(value)
    case .double(let value): value
    default: nil
    }
  }

  package var bool: Bool? {
    if case .bool(let value) = self { value } else { nil }
  }

  package var array: [JSONValue]? {
    if case .array(let value) = self { value } else { nil }
  }

  package var object: JSONObject? {
    if case .object(let value) = self { value } else { nil }
  }

  package var isNull: Bool { self == .null }
}

/// The members of a JSON object in the order of the text, duplicates included.
package struct JSONObject: Equatable, Sendable {
  package struct Member: Equatable, Sendable {
    package let key: String
    package let value: JSONValue

    package init(key: String, value: JSONValue) {
      self.key = key
      self.value = value
    }
  }

  package var members: [Member]

  package init(_ members: [Member] = []) {
    self.members = members
  }

  /// The first member with this key.
  package subscript(key: String) -> JSONValue? {
    members.first { $0.key == key }?.value
  }

  /// The first member with this key that is not null, for records where null says as much as nothing.
  package func given(_ key: String) -> JSONValue? {
    members.first { $0.key == key && !$0.value.isNull }?.value
  }

  package var keys: [String] { members.map(\.key) }

  /// A key that stands more than once, if any: RFC 8259 leaves its meaning open.
  package var duplicateKey: String? {
    var seen: Set<String> = []
    return members.first { !seen.insert($0.key).inserted }?.key
  }

  /// Adds a member at the end.
  package mutating func append(_ key: String, _ value: JSONValue) {
    members.append(Member(key: key, value: value))
  }
}

extension JSONValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral {
  package init(stringLiteral value: String) { self = .string(value) }
  package init(integerLiteral value: Int64) { self = .integer(value) }
}

extension JSONValue: ExpressibleByBooleanLiteral, ExpressibleByFloatLiteral {
  package init(booleanLiteral value: Bool) { self = .bool(value) }
  package init(floatLiteral value: Double) { self = .double(value) }
}

extension JSONValue: ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral {
  package init(arrayLiteral elements: JSONValue...) { self = .array(elements) }
  package init(dictionaryLiteral elements: (String, JSONValue)...) {
    self = .object(JSONObject(elements.map { .init(key: $0.0, value: $0.1) }))
  }
}

extension JSONValue: ExpressibleByNilLiteral {
  package init(nilLiteral: ()) { self = .null }
}
