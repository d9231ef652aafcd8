// SPDX-License-Identifier: Apache-2.0

internal import Contract

/// The fault in a record of a topic: the record's kind, the field and the problem.
public struct RecordError: Error, Equatable, Sendable, CustomStringConvertible {
  public let record: String
  /// The field at fault; `nil` if it is the record as a whole.
  public let field: String?
  public let problem: String
  /// The cause of the fault: what has to change.
  public let cause: Cause

  public enum Cause: Sendable {
    case content
    /// Its time is too far ahead: the same record becomes valid later.
    case tooFarAhead
    /// Its time has passed.
    case isOver
  }

  public init(record: String, field: String?, problem: String, cause: Cause = .content) {
    self.record = record
    self.field = field
    self.problem = problem
    self.cause = cause
  }

  public var description: String {
    guard let field else { return "\(record): \(problem)" }
    return "\(record): \(field): \(problem)"
  }
}

/// The members of a JSON record, read by type. Unknown members are ignored: a newer writer may add some.
struct RecordFields {
  private let record: String
  let members: JSONObject

  init(_ value: JSONValue, record: String) throws(RecordError) {
    guard let members = value.object else {
      throw RecordError(record: record, field: nil, problem: "is not a JSON object")
    }
    if let key = members.duplicateKey {
      throw RecordError(record: record, field: key, problem: "is given twice")
    }
    self.record = record
    self.members = members
  }

  init(_ bytes: UnsafeRawBufferPointer, parser: JSONParser, record: String) throws(RecordError) {
    let value: JSONValue
    do throws(JSONError) {
      value = try parser.parse(bytes)
    } catch {
      throw RecordError(record: record, field: nil, problem: "is \(error)")
    }
    try self.init(value, record: record)
  }

  func fail(
    _ field: String, _ problem: String, _ cause: RecordError.Cause = .content
  ) -> RecordError {
    RecordError(record: record, field: field, problem: problem, cause: cause)
  }

  /// The member, unless it is absent or null.
  private func member(_ field: String) -> JSONValue? {
    guard let value = members[field], !value.isNull else { return nil }
    return value
  }

  /// An object whose members are strings, as JSON text.
  func optionalStrings(_ field: String) throws(RecordError) -> String? {
    guard let value = member(field) else { return nil }
    guard let object = value.object, object.members.allSatisfy({ $0.value.string != nil }) else {
      throw fail(field, "is not an object of strings")
    }
    return String(decoding: value.text, as: UTF8.self)
  }

  /// The JSON text of an array of strings.
  func optionalTexts(_ field: String) throws(RecordError) -> String? {
    guard let value = member(field) else { return nil }
    guard let array = value.array, array.allSatisfy({ $0.string != nil }) else {
      throw fail(field, "is not an array of strings")
    }
    return String(decoding: value.text, as: UTF8.self)
  }

  func optionalText(_ field: String) throws(RecordError) -> String? {
    guard let value = member(field) else { return nil }
    guard let text = value.string else { throw fail(field, "is not a string") }
    return text
  }

  func text(_ field: String) throws(RecordError) -> String {
    guard let text = try optionalText(field) else { throw fail(field, "is required") }
    guard !text.isEmpty else { throw fail(field, "is empty") }
    return text
  }

  /// A number of any size, for the bounded ones below.
  private func optionalInteger(_ field: String) throws(RecordError) -> Int64? {
    guard let value = member(field) else { return nil }
    guard let number = value.int(.min ... .max) else { throw fail(field, "is not an integer") }
    return number
  }

  /// A time in milliseconds since the epoch (`OutsideTime`): safe to calculate with.
  func optionalTime(_ field: String) throws(RecordError) -> Int64? {
    guard let time = try optionalInteger(field) else { return nil }
    if let problem = OutsideTime.problem(time) { throw fail(field, problem) }
    return time
  }

  func time(_ field: String) throws(RecordError) -> Int64 {
    guard let time = try optionalTime(field) else { throw fail(field, "is required") }
    return time
  }

  /// A Boolean; false if it is absent.
  func flag(_ field: String) throws(RecordError) -> Bool {
    guard let value = member(field) else { return false }
    guard let flag = value.bool else { throw fail(field, "is not true or false") }
    return flag
  }

  /// An HTTP status.
  func optionalStatus(_ field: String) throws(RecordError) -> UInt16? {
    guard let number = try optionalInteger(field) else { return nil }
    guard (100...599).contains(number) else { throw fail(field, "is not an HTTP status") }
    return UInt16(number)
  }

  /// An integer from 0 to `limit`: safe to calculate with.
  func optionalInteger(_ field: String, upTo limit: Int64) throws(RecordError) -> Int64? {
    guard let number = try optionalInteger(field) else { return nil }
    guard (0...limit).contains(number) else { throw fail(field, "is not within 0 to \(limit)") }
    return number
  }

  func integer(_ field: String, upTo limit: Int64) throws(RecordError) -> Int64 {
    guard let number = try optionalInteger(field, upTo: limit) else {
      throw fail(field, "is required")
    }
    return number
  }

  /// A number from 0 to `limit`, with or without a fraction.
  func number(_ field: String, upTo limit: Double) throws(RecordError) -> Double {
    guard let value = member(field) else { throw fail(field, "is required") }
    guard let number = value.number(0...limit) else {
      throw fail(field, "is not a number within 0 to \(Int64(limit))")
    }
    return number
  }

  func texts(_ field: String) throws(RecordError) -> [String] {
    guard let value = member(field) else { throw fail(field, "is required") }
    guard let elements = value.array else { throw fail(field, "is not an array") }
    var texts: [String] = []
    for element in elements {
      guard let text = element.string else {
        throw fail(field, "has an entry that is not a string")
      }
      texts.append(text)
    }
    return texts
  }

  func environment(_ field: String = "environment") throws(RecordError) -> Environment {
    let name = try text(field)
    guard let environment = Environment(name) else {
      throw fail(field, "\"\(name)\" is not production or sandbox")
    }
    return environment
  }

  /// A device token in its lower-case form.
  func token(_ field: String = "token") throws(RecordError) -> String {
    let token = try text(field).lowercased()
    do throws(DeviceToken.Problem) {
      try DeviceToken.validate(token.utf8.span)
    } catch {
      throw fail(field, "\(error)")
    }
    return token
  }
}
