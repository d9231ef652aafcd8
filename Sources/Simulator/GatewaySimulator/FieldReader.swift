// SPDX-License-Identifier: Apache-2.0
import Contract
import Records

/// An error in a list of keys or tokens, and its position.
public struct GatewayFileError: Error, Sendable, Equatable, CustomStringConvertible {
  public let description: String
}

/// Reads the fields of one JSON object strictly: wrong types, missing fields and unknown fields are errors that name
/// the field.
struct FieldReader {
  private let object: JSONObject
  private let name: String

  /// - Parameters:
  ///   - name: The position of the object, such as `keys[2]`; empty for a whole body.
  ///   - known: All fields that the object may have.
  init(_ value: JSONValue, _ name: String, known: [String]) throws(GatewayFileError) {
    guard let object = value.object else {
      throw GatewayFileError(description: "\(name.isEmpty ? "the body" : name) must be an object")
    }
    self.object = object
    self.name = name
    if let twice = object.duplicateKey {
      throw GatewayFileError(description: "\(path(twice)) occurs twice")
    }
    for key in object.keys where !known.contains(key) {
      throw GatewayFileError(description: "\(path(key)) is not known")
    }
  }

  private func path(_ field: String) -> String { name.isEmpty ? field : "\(name).\(field)" }

  func error(_ field: String, _ problem: String) -> GatewayFileError {
    GatewayFileError(description: "\(path(field)) \(problem)")
  }

  func optionalText(_ field: String) throws(GatewayFileError) -> String? {
    guard let value = object[field], !value.isNull else { return nil }
    guard let text = value.string, !text.isEmpty else {
      throw error(field, "must be a text that is not empty")
    }
    return text
  }

  func text(_ field: String) throws(GatewayFileError) -> String {
    guard let text = try optionalText(field) else { throw error(field, "is missing") }
    return text
  }

  func integer(_ field: String) throws(GatewayFileError) -> Int64? {
    guard let value = object[field], !value.isNull else { return nil }
    guard let number = value.int else { throw error(field, "must be a whole number") }
    return number
  }

  func flag(_ field: String) throws(GatewayFileError) -> Bool? {
    guard let value = object[field], !value.isNull else { return nil }
    guard let flag = value.bool else { throw error(field, "must be true or false") }
    return flag
  }

  func texts(_ field: String) throws(GatewayFileError) -> [String]? {
    guard let value = object[field], !value.isNull else { return nil }
    guard let list = value.array else { throw error(field, "must be an array") }
    var texts: [String] = []
    for item in list {
      guard let text = item.string, !text.isEmpty else {
        throw error(field, "must hold texts that are not empty")
      }
      texts.append(text)
    }
    return texts
  }

  /// Reads an environment; nil if it is absent or `any`.
  func environment(_ field: String) throws(GatewayFileError) -> Environment? {
    guard let text = try optionalText(field), text != "any" else { return nil }
    guard let environment = Environment(text) else {
      throw error(field, "must be production, sandbox or any, not \(text)")
    }
    return environment
  }

  /// A device token: hexadecimal digits.
  func deviceToken(_ field: String) throws(GatewayFileError) -> String {
    let token = try text(field)
    do throws(DeviceToken.Problem) {
      try DeviceToken.validate(token.utf8.span)
    } catch {
      throw self.error(field, "\(error)")
    }
    return token
  }
}
