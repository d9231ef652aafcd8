// SPDX-License-Identifier: Apache-2.0
import APNS
import JSON
import Settings

/// The fault in a fault script: which rule, which field, why.
public struct FaultScriptError: Error, Sendable, Equatable, CustomStringConvertible {
  public let description: String

  init(_ description: String) { self.description = description }
}

/// Reads the members of one JSON object of a fault script, and knows at the end which of them nobody
/// asked for.
struct FaultFields {
  /// The name of the object in errors: `rules[3] (stream_reset)`.
  let name: String
  private let object: JSONObject
  private var asked: Set<String> = []

  init(_ value: JSONValue, name: String) throws(FaultScriptError) {
    guard let object = value.object else { throw FaultScriptError("\(name) must be an object") }
    if let key = object.duplicateKey {
      throw FaultScriptError("\(name).\(key) occurs twice")
    }
    self.name = name
    self.object = object
  }

  func error(_ field: String, _ problem: String) -> FaultScriptError {
    FaultScriptError("\(name).\(field) \(problem)")
  }

  func has(_ field: String) -> Bool { object[field] != nil }

  mutating func value(_ field: String) -> JSONValue? {
    asked.insert(field)
    return object[field]
  }

  mutating func text(_ field: String) throws(FaultScriptError) -> String? {
    guard let value = value(field) else { return nil }
    guard let text = value.string else { throw error(field, "must be a text") }
    return text
  }

  /// One of a few words; the first one if the field is absent.
  mutating func word(_ field: String, _ words: [String]) throws(FaultScriptError) -> String {
    guard let text = try text(field) else { return words[0] }
    guard words.contains(text) else {
      throw error(field, "must be one of \(words.joined(separator: ", ")), not \(text)")
    }
    return text
  }

  mutating func integer<Number: FixedWidthInteger>(
    _ field: String, _ range: ClosedRange<Number>
  ) throws(FaultScriptError) -> Number? {
    guard let value = value(field) else { return nil }
    guard let number = value.int.flatMap({ Number(exactly: $0) }), range.contains(number) else {
      throw error(
        field, "must be a whole number from \(range.lowerBound) to \(range.upperBound)")
    }
    return number
  }

  /// A number from 0 to 1.
  mutating func share(_ field: String) throws(FaultScriptError) -> Double? {
    guard let value = value(field) else { return nil }
    guard let number = value.anyNumber, number >= 0, number <= 1 else {
      throw error(field, "must be a number from 0 to 1")
    }
    return number
  }

  /// Milliseconds of a time such as `30s`.
  mutating func duration(_ field: String) throws(FaultScriptError) -> UInt64? {
    guard let text = try text(field) else { return nil }
    guard let time = DurationText.milliseconds(of: text), time >= 0 else {
      throw error(field, "must be a time such as 250ms, 30s or 15m, not \(text)")
    }
    return UInt64(time)
  }

  /// Milliseconds of a time with a sign, such as `-30m`; without one it is positive.
  mutating func offset(_ field: String) throws(FaultScriptError) -> Int64? {
    guard let text = try text(field) else { return nil }
    guard let offset = Self.offset(of: text) else {
      throw error(
        field, "must be a time with a sign such as -30m or +1h, of ten years at most, not \(text)")
    }
    return offset
  }

  /// Ten years in milliseconds: more than any clock is off.
  private static let longestOffset: Int64 = 315_576_000_000

  static func offset(of text: String) -> Int64? {
    let isSigned = text.hasPrefix("-") || text.hasPrefix("+")
    guard let time = DurationText.milliseconds(of: isSigned ? String(text.dropFirst()) : text),
      (0...longestOffset).contains(time)
    else { return nil }
    return text.hasPrefix("-") ? -time : time
  }

  mutating func list(_ field: String) throws(FaultScriptError) -> [JSONValue]? {
    guard let value = value(field) else { return nil }
    guard let list = value.array, !list.isEmpty else {
      throw error(field, "must be a list with at least one element")
    }
    return list
  }

  /// Refuses members that were not asked for: a misspelt condition must not be ignored.
  func finish() throws(FaultScriptError) {
    if let unknown = object.keys.first(where: { !asked.contains($0) }) {
      throw error(unknown, "is not known here")
    }
  }
}
