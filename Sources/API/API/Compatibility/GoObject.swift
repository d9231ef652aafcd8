// SPDX-License-Identifier: Apache-2.0
import Contract
import Records

/// A JSON object, read as Go programs read it into a struct: member names in any case, the last of repeated names,
/// null as absent, and unknown members ignored.
struct GoObject: Sendable {
  private var members: [ExactText: JSONValue] = [:]

  init(_ object: JSONObject) {
    for member in object.members where !member.value.isNull {
      members[member.key.lowercased().exact] = member.value
    }
  }

  init(_ value: JSONValue) throws(CompatibilityError) {
    guard let object = value.object else { throw CompatibilityError("", "is not an object") }
    self.init(object)
  }

  /// - Parameter name: the name in lower case.
  subscript(name: String) -> JSONValue? { members[name.exact] }

  private func read<Value>(
    _ name: String, _ what: String, _ convert: (JSONValue) -> Value?
  ) throws(CompatibilityError) -> Value? {
    guard let value = members[name.exact] else { return nil }
    guard let converted = convert(value) else { throw CompatibilityError(name, "is not \(what)") }
    return converted
  }

  /// A text; empty if absent.
  func text(_ name: String) throws(CompatibilityError) -> String {
    try read(name, "a string", \.string) ?? ""
  }

  func flag(_ name: String) throws(CompatibilityError) -> Bool {
    try read(name, "true or false", \.bool) ?? false
  }

  func integer(_ name: String) throws(CompatibilityError) -> Int64? {
    // To Go, 1.0 is not an integer.
    try read(name, "an integer") { if case .integer(let value) = $0 { value } else { nil } }
  }

  /// A number as given.
  func number(_ name: String) throws(CompatibilityError) -> JSONValue? {
    // In `? nil : value`, nil would be JSON's null.
    try read(name, "a number") { value in value.anyNumber.map { _ in value } }
  }

  /// An array of texts; empty if absent.
  func texts(_ name: String) throws(CompatibilityError) -> [String] {
    try read(name, "an array of strings") { value in
      let texts = value.array?.map { $0.isNull ? "" : $0.string }
      return texts?.contains { $0 == nil } == true ? nil : texts?.compactMap { $0 }
    } ?? []
  }

  func object(_ name: String) throws(CompatibilityError) -> JSONObject? {
    try read(name, "an object", \.object)
  }
}

extension JSONValue {
  /// The object as Go writes a map: keys ordered by bytes, the last value of repeated keys.
  var sortedByKey: JSONValue {
    switch self {
    case .array(let elements): return .array(elements.map(\.sortedByKey))
    case .object(let object):
      var last: [ExactText: JSONValue] = [:]
      for member in object.members { last[member.key.exact] = member.value.sortedByKey }
      let keys = last.keys.sorted()
      return .object(JSONObject(keys.map { .init(key: $0.text, value: last[$0] ?? .null) }))
    default: return self
    }
  }
}

extension JSONObject {
  mutating func appendText(_ key: String, _ text: String) {
    if !text.isEmpty { append(key, .string(text)) }
  }

  mutating func appendTexts(_ key: String, _ texts: [String]) {
    if !texts.isEmpty { append(key, .array(texts.map { .string($0) })) }
  }

  mutating func appendPositive(_ key: String, _ number: Int64?) {
    if let number, number > 0 { append(key, .integer(number)) }
  }
}
