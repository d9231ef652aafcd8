// SPDX-License-Identifier: Apache-2.0
import Settings

/// An error in a fault script: the rule, the field and the cause.
public struct FaultScriptError: Error, Sendable, Equatable, CustomStringConvertible {
  public let description: String

  public init(_ description: String) { self.description = description }
}

/// A JSON value in a fault script.
public enum FaultValue: Sendable {
  case integer(Int64)
  case number(Double)
  case text(String)
  case list([FaultValue])
  /// The members in their order, including duplicates.
  case object([(key: String, value: FaultValue)])
  /// true, false or null, which are not valid in a script.
  case other

  var integer: Int64? { if case .integer(let value) = self { value } else { nil } }
  var text: String? { if case .text(let value) = self { value } else { nil } }
  var list: [FaultValue]? { if case .list(let value) = self { value } else { nil } }

  var number: Double? {
    if case .number(let value) = self { value } else { integer.map { Double($0) } }
  }

  func member(_ key: String) -> FaultValue? {
    if case .object(let members) = self { members.first { $0.key == key }?.value } else { nil }
  }
}

/// Reads the members of one JSON object of a fault script, and reports those that were not read.
public struct FaultFields {
  /// The name of the object in errors, such as `rules[3] (stream_reset)`.
  let name: String
  /// The rule's stage and conditions, for faults that depend on them or have defaults of their own.
  var stage = FaultStage.request
  var when = FaultMatcher()
  private let members: [(key: String, value: FaultValue)]
  private var asked: Set<String> = []

  init(_ value: FaultValue, name: String) throws(FaultScriptError) {
    guard case .object(let members) = value else {
      throw FaultScriptError("\(name) must be an object")
    }
    var keys: Set<String> = []
    if let twice = members.first(where: { !keys.insert($0.key).inserted }) {
      throw FaultScriptError("\(name).\(twice.key) occurs twice")
    }
    self.name = name
    self.members = members
  }

  func error(_ field: String, _ problem: String) -> FaultScriptError {
    FaultScriptError("\(name).\(field) \(problem)")
  }

  func has(_ field: String) -> Bool { members.contains { $0.key == field } }

  mutating func value(_ field: String) -> FaultValue? {
    asked.insert(field)
    return members.first { $0.key == field }?.value
  }

  mutating func text(_ field: String) throws(FaultScriptError) -> String? {
    guard let value = value(field) else { return nil }
    guard let text = value.text else { throw error(field, "must be a text") }
    return text
  }

  /// Reads one of these words and returns its index; 0 if the field is absent.
  mutating func place(_ field: String, _ words: [String]) throws(FaultScriptError) -> Int {
    guard let text = try text(field) else { return 0 }
    guard let place = words.firstIndex(of: text) else {
      throw error(field, "must be one of \(words.joined(separator: ", ")), not \(text)")
    }
    return place
  }

  /// Reads one of these words; the first one if the field is absent.
  mutating func word(_ field: String, _ words: [String]) throws(FaultScriptError) -> String {
    words[try place(field, words)]
  }

  /// Reads one of the cases by its word; the first one if the field is absent.
  mutating func choice<Choice: RawRepresentable<String> & CaseIterable>(
    _ field: String
  ) throws(FaultScriptError) -> Choice {
    let choices = Array(Choice.allCases)
    return choices[try place(field, choices.map(\.rawValue))]
  }

  mutating func integer<Number: FixedWidthInteger>(
    _ field: String, _ range: ClosedRange<Number>
  ) throws(FaultScriptError) -> Number? {
    guard let value = value(field) else { return nil }
    guard let number = value.integer.flatMap({ Number(exactly: $0) }), range.contains(number) else {
      throw error(field, "must be a whole number from \(range.lowerBound) to \(range.upperBound)")
    }
    return number
  }

  /// Reads a count of at least 1.
  mutating func count(_ field: String) throws(FaultScriptError) -> UInt64? {
    try integer(field, 1...UInt64(Int64.max))
  }

  /// Reads a number from 0 to 1.
  mutating func share(_ field: String) throws(FaultScriptError) -> Double? {
    guard let value = value(field) else { return nil }
    guard let number = value.number, number >= 0, number <= 1 else {
      throw error(field, "must be a number from 0 to 1")
    }
    return number
  }

  /// Reads a duration such as `30s`, in milliseconds.
  mutating func duration(_ field: String) throws(FaultScriptError) -> UInt64? {
    guard let text = try text(field) else { return nil }
    guard let time = DurationText.milliseconds(of: text), (0...Self.longestOffset).contains(time)
    else {
      throw error(
        field, "must be a time such as 250ms, 30s or 15m, of ten years at most, not \(text)")
    }
    return UInt64(time)
  }

  /// Reads a duration with an optional sign such as `-30m`, in milliseconds.
  mutating func offset(_ field: String) throws(FaultScriptError) -> Int64? {
    guard let text = try text(field) else { return nil }
    guard let offset = Self.offset(of: text) else {
      throw error(
        field, "must be a time with a sign such as -30m or +1h, of ten years at most, not \(text)")
    }
    return offset
  }

  /// Ten years in milliseconds, more than any clock is off: sums of some of them cannot overflow.
  private static let longestOffset: Int64 = 315_576_000_000

  public static func offset(of text: String) -> Int64? {
    let isSigned = text.hasPrefix("-") || text.hasPrefix("+")
    guard let time = DurationText.milliseconds(of: isSigned ? String(text.dropFirst()) : text),
      (0...longestOffset).contains(time)
    else { return nil }
    return text.hasPrefix("-") ? -time : time
  }

  /// Reads a list of at least one element, each with `read`; returns `standard` if the field is absent.
  mutating func list<Element>(
    _ field: String, _ standard: [Element], _ problem: String, _ read: (FaultValue) -> Element?
  ) throws(FaultScriptError) -> [Element] {
    guard let value = value(field) else { return standard }
    guard let list = value.list, !list.isEmpty else {
      throw error(field, "must be a list with at least one element")
    }
    let elements = list.compactMap(read)
    guard elements.count == list.count else { throw error(field, problem) }
    return elements
  }

  /// Rejects members that were not read: a misspelt condition must not be ignored.
  func finish() throws(FaultScriptError) {
    if let unknown = members.first(where: { !asked.contains($0.key) }) {
      throw error(unknown.key, "is not known here")
    }
  }
}
