// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import HTTPServer
import Records

/// Reads the arguments of several resources, from the path, the query and the body.
enum Arguments {
  /// Checks the names in a query: each is there once, and known.
  ///
  /// - Parameter known: nil to ignore all others.
  static func check(_ exchange: StreamExchange, _ known: [String]?) throws(Problem) {
    if let name = exchange.repeatedArgument {
      throw .malformed("\(name) is given twice", field: name)
    }
    if let known, let name = exchange.unknownArgument(besides: known) {
      throw .field(name, "is not an argument of this path")
    }
  }

  /// A device token, converted to lower case.
  static func token(_ text: String) throws(Problem) -> String {
    do throws(DeviceToken.Problem) {
      return try DeviceToken.normalized(text)
    } catch {
      throw .field("token", "\(error)")
    }
  }

  static func app(_ text: String?) throws(Problem) -> String {
    guard let text else { throw .field("app", "is required") }
    do throws(RequestError) {
      try RequestRules.checkName(text.utf8.span, .app)
    } catch {
      throw .malformed("\(error)", field: "app")
    }
    return text
  }

  static func environment(_ text: String?) throws(Problem) -> Environment? {
    guard let text else { return nil }
    guard let environment = Environment(text) else {
      throw .field("environment", "must be production or sandbox")
    }
    return environment
  }

  /// A device; in production by default.
  static func device(
    _ token: String, app: String?, environment: String?
  ) throws(Problem) -> DeviceKey {
    DeviceKey(
      token: try Self.token(token), app: try Self.app(app),
      environment: try Self.environment(environment) ?? .production)
  }

  /// The object in a body.
  ///
  /// - Parameters:
  ///   - known: the members allowed.
  ///   - name: what the object is called in messages.
  static func object(
    _ request: APIRequest, _ known: [String], of name: String
  ) throws(Problem) -> JSONObject {
    let root: JSONValue
    do throws(JSONError) { root = try request.api.parser.parse(request.body.bytes) } catch {
      throw .malformed("the body is \(error)")
    }
    guard let object = root.object else { throw .malformed("the body is not a JSON object") }
    if let twice = object.duplicateKey { throw .field(twice, "is given twice") }
    if let unknown = object.members.first(where: { !known.contains($0.key) }) {
      throw .field(unknown.key, "is not a member of \(name)")
    }
    return object
  }
}
