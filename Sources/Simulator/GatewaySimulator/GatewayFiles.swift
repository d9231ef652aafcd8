// SPDX-License-Identifier: Apache-2.0
import Contract
import Crypto
import EventLoop
public import GatewayModel
public import Records

/// Reads the gateway's lists, from files and from the admin API.
public enum GatewayFiles {
  /// Keys: an array of objects, or an object with that array as `keys`. Each has `key_id`, `team_id`
  /// and either `public_key` (PEM text) or `public_key_file` (a path, taken from `folder`).
  /// Optional: `environment` (production, sandbox or any), `apps` (bundle ids or `*`),
  /// `related_key_id`, `state` (active or revoked).
  public static func keys(
    _ value: JSONValue, folder: String
  ) throws(GatewayFileError) -> [GatewayKey] {
    var keys: [GatewayKey] = []
    for (index, entry) in try list(value, "keys").enumerated() {
      keys.append(try key(entry, name: "keys[\(index)]", folder: folder))
    }
    return keys
  }

  private static func key(
    _ entry: JSONValue, name: String, folder: String
  ) throws(GatewayFileError) -> GatewayKey {
    let fields = try FieldReader(
      entry, name,
      known: [
        "key_id", "team_id", "public_key", "public_key_file", "environment", "apps",
        "related_key_id", "state",
      ])
    let text = try fields.optionalText("public_key")
    let pem: [UInt8]
    if let text, text.hasPrefix("-----BEGIN") {
      pem = Array(text.utf8)
    } else if let path = try fields.optionalText("public_key_file") ?? text {
      do { pem = try File.read(path.hasPrefix("/") ? path : "\(folder)/\(path)") } catch {
        throw fields.error("public_key_file", "cannot be read: \(error)")
      }
    } else {
      throw fields.error("public_key", "is missing, and so is public_key_file")
    }
    let state = try fields.optionalText("state") ?? "active"
    guard state == "active" || state == "revoked" else {
      throw fields.error("state", "must be active or revoked, not \(state)")
    }
    let publicKey: PublicKey
    do { publicKey = try PublicKey(pem: pem) } catch {
      throw fields.error("public_key", "cannot be used: \(error)")
    }
    let apps = try fields.texts("apps")
    return GatewayKey(
      keyID: try fields.text("key_id"), teamID: try fields.text("team_id"),
      publicKey: publicKey, environment: try fields.environment("environment"),
      apps: apps.flatMap { $0.contains("*") ? nil : $0 },
      relatedKeyID: try fields.optionalText("related_key_id"), isRevoked: state == "revoked")
  }

  /// Declared tokens: an array of objects with `token` and optionally `state` (active, unregistered,
  /// expired, bad, offline or power-restricted), `timestamp` (ms; of the 410), `topic`,
  /// `environment` and its own budgets.
  public static func tokens(_ value: JSONValue) throws(GatewayFileError) -> [DeclaredToken] {
    let list = try list(value, "tokens")
    var tokens: [DeclaredToken] = []
    tokens.reserveCapacity(list.count)
    for (index, entry) in list.enumerated() {
      let fields = try FieldReader(
        entry, "tokens[\(index)]",
        known: ["token", "state", "timestamp", "topic", "environment"]
          + BudgetKind.allCases.map(\.field))
      let timestamp = try fields.integer("timestamp")
      let named = try fields.optionalText("state")
      tokens.append(
        DeclaredToken(
          token: try fields.deviceToken("token"),
          state: try state(
            named ?? (timestamp == nil ? "active" : "unregistered"), timestamp, fields),
          topic: try fields.optionalText("topic"),
          environment: try fields.environment("environment"), budgets: try budgets(fields)))
    }
    return tokens
  }

  /// A device's own budgets: `background_budget`, `live_activity_budget`, `push_to_start_budget`; 0 is no limit.
  private static func budgets(_ fields: FieldReader) throws(GatewayFileError) -> BudgetLimits? {
    func limit(_ kind: BudgetKind) throws(GatewayFileError) -> Int? {
      guard let number = try fields.integer(kind.field) else { return nil }
      guard (0...1_000_000).contains(number) else {
        throw fields.error(kind.field, "must be from 0 to 1000000")
      }
      return Int(number)
    }
    let limits = BudgetLimits(
      background: try limit(.background), liveActivity: try limit(.liveActivity),
      pushToStart: try limit(.pushToStart))
    return limits == BudgetLimits() ? nil : limits
  }

  private static func state(
    _ name: String, _ timestamp: Int64?, _ fields: FieldReader
  ) throws(GatewayFileError) -> DeclaredToken.State {
    switch name {
    case "active": .active
    case "bad": .bad
    case "offline": .offline
    case "power-restricted": .powerRestricted
    case "unregistered": .gone(.unregistered, timestamp: timestamp ?? 0)
    case "expired": .gone(.expiredToken, timestamp: timestamp ?? 0)
    default:
      throw fields.error(
        "state",
        "must be active, unregistered, expired, bad, offline or power-restricted, not \(name)")
    }
  }

  /// Client certificates by fingerprint: an array of objects with `certificate` (PEM) or `fingerprint`
  /// (SHA-256, hexadecimal), and `state` (active, revoked or bad).
  static func certificates(
    _ value: JSONValue
  ) throws(GatewayFileError) -> [String: CertificateState] {
    var states: [String: CertificateState] = [:]
    for (index, entry) in try list(value, "certs").enumerated() {
      let fields = try FieldReader(
        entry, "certs[\(index)]", known: ["certificate", "fingerprint", "state"])
      let name = try fields.text("state")
      guard let state = CertificateState(rawValue: name) else {
        throw fields.error("state", "must be active, revoked or bad, not \(name)")
      }
      states[try fingerprint(fields)] = state
    }
    return states
  }

  private static func fingerprint(_ fields: FieldReader) throws(GatewayFileError) -> String {
    if let pem = try fields.optionalText("certificate") {
      do { return try PushCertificate(pem: Array(pem.utf8)).fingerprint } catch {
        throw fields.error("certificate", "cannot be read: \(error)")
      }
    }
    let text = try fields.text("fingerprint").filter { $0 != ":" }.lowercased()
    guard text.utf8.count == 64, text.allSatisfy(\.isHexDigit) else {
      throw fields.error("fingerprint", "must be 64 hexadecimal digits")
    }
    return text
  }

  /// Apps and whether broadcasts are enabled: an array of objects with `app` and `broadcast`.
  static func apps(
    _ value: JSONValue
  ) throws(GatewayFileError) -> [(app: String, broadcast: Bool)] {
    var apps: [(app: String, broadcast: Bool)] = []
    for (index, entry) in try list(value, "apps").enumerated() {
      let fields = try FieldReader(entry, "apps[\(index)]", known: ["app", "broadcast"])
      apps.append((try fields.text("app"), try fields.flag("broadcast") ?? true))
    }
    return apps
  }

  private static func list(
    _ value: JSONValue, _ name: String
  ) throws(GatewayFileError) -> [JSONValue] {
    guard let list = value.array ?? value[name]?.array else {
      throw GatewayFileError(description: "\(name) must be an array")
    }
    if value.object != nil { _ = try FieldReader(value, "", known: [name]) }
    return list
  }

  /// Reads and parses a file.
  public static func json(_ path: String) throws(GatewayFileError) -> JSONValue {
    do { return try JSONDocument(File.read(path)).root } catch {
      throw GatewayFileError(description: "\(path): \(error)")
    }
  }

  public static func folder(of path: String) -> String {
    guard let slash = path.lastIndex(of: "/") else { return "." }
    return String(path[..<slash])
  }
}

extension BudgetKind {
  /// The field of `PUT /tokens`.
  fileprivate var field: String { name.replacing("-", with: "_") }
}
