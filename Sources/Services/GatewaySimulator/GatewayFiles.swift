// SPDX-License-Identifier: Apache-2.0
import APNS
import Bytes
package import JSON
import Signing

/// What is wrong with a list of keys or tokens, and where.
package struct GatewayFileError: Error, Sendable, CustomStringConvertible {
  package let description: String
}

/// Reads the gateway's lists, from files and from the admin port.
package enum GatewayFiles {
  /// Keys: an array of objects, or an object with that array as `keys`. Each has `key_id`, `team_id`
  /// and either `public_key` (PEM text) or `public_key_file` (a path, taken from `folder`);
  /// `environment` (production, sandbox or any) and `apps` (bundle ids or `*`) are optional.
  package static func keys(
    _ value: JSONValue, folder: String
  ) throws(GatewayFileError) -> [GatewayKey] {
    guard let list = value.array ?? value["keys"]?.array else {
      throw GatewayFileError(description: "keys must be an array")
    }
    var keys: [GatewayKey] = []
    for (index, entry) in list.enumerated() {
      keys.append(try key(entry, name: "keys[\(index)]", folder: folder))
    }
    return keys
  }

  private static func key(
    _ entry: JSONValue, name: String, folder: String
  ) throws(GatewayFileError) -> GatewayKey {
    let text = entry["public_key"]?.string
    let pem: [UInt8]
    if let text, text.hasPrefix("-----BEGIN") {
      pem = Array(text.utf8)
    } else if let path = entry["public_key_file"]?.string ?? text {
      do { pem = try File.read(path.hasPrefix("/") ? path : "\(folder)/\(path)") } catch {
        throw GatewayFileError(description: "\(name): \(error)")
      }
    } else {
      throw GatewayFileError(description: "\(name) has neither public_key nor public_key_file")
    }
    let environment = entry["environment"]?.string ?? "any"
    guard environment == "any" || Environment(environment) != nil else {
      throw GatewayFileError(description: "\(name).environment is not known: \(environment)")
    }
    let apps = entry["apps"]?.array?.compactMap(\.string)
    do {
      return GatewayKey(
        keyID: try string(entry, "key_id", name), teamID: try string(entry, "team_id", name),
        publicKey: try PublicKey(pem: pem), environment: Environment(environment),
        apps: apps.flatMap { $0.contains("*") ? nil : $0 })
    } catch let error as GatewayFileError {
      throw error
    } catch {
      throw GatewayFileError(description: "\(name): \(error)")
    }
  }

  /// Declared tokens: an array of objects with `token` and optionally `state` (active, unregistered,
  /// expired or bad), `timestamp` (ms; of the 410) and `topic`.
  package static func tokens(_ value: JSONValue) throws(GatewayFileError) -> [DeclaredToken] {
    guard let list = value.array ?? value["tokens"]?.array else {
      throw GatewayFileError(description: "tokens must be an array")
    }
    var tokens: [DeclaredToken] = []
    tokens.reserveCapacity(list.count)
    for (index, entry) in list.enumerated() {
      let name = "tokens[\(index)]"
      let timestamp = entry["timestamp"]?.int
      let state: DeclaredToken.State
      switch entry["state"]?.string ?? (timestamp == nil ? "active" : "unregistered") {
      case "active": state = .active
      case "bad": state = .bad
      case "unregistered": state = .gone(.unregistered, timestamp: timestamp ?? 0)
      case "expired": state = .gone(.expiredToken, timestamp: timestamp ?? 0)
      case let other:
        throw GatewayFileError(description: "\(name).state is not known: \(other)")
      }
      tokens.append(
        DeclaredToken(
          token: try string(entry, "token", name), state: state, topic: entry["topic"]?.string))
    }
    return tokens
  }

  /// Reads and parses a file.
  package static func json(_ path: String) throws(GatewayFileError) -> JSONValue {
    do { return try JSONDocument(File.read(path)).root } catch {
      throw GatewayFileError(description: "\(path): \(error)")
    }
  }

  package static func folder(of path: String) -> String {
    guard let slash = path.lastIndex(of: "/") else { return "." }
    return String(path[..<slash])
  }

  private static func string(
    _ entry: JSONValue, _ field: String, _ name: String
  ) throws(GatewayFileError) -> String {
    guard let text = entry[field]?.string, !text.isEmpty else {
      throw GatewayFileError(description: "\(name).\(field) is missing")
    }
    return text
  }
}
