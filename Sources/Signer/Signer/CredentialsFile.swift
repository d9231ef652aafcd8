// SPDX-License-Identifier: Apache-2.0
import Contract
import Crypto
import EventLoop
import Records

/// Why the credentials cannot be used: which entry, which field, what to do. Names no secret.
public struct CredentialsError: Error, Equatable, Sendable, CustomStringConvertible {
  public let description: String

  init(_ description: String) { self.description = description }
}

/// The file that lists the signing keys: a JSON array, or an object whose `credentials` is that array.
///
/// ```json
/// [{"key_id": "ABC123DEFG", "team_id": "DEF123GHIJ", "environment": "any",
///   "apps": ["com.example.app"], "key_file": "AuthKey_ABC123DEFG.p8"}]
/// ```
public enum CredentialsFile {
  private static let fields = ["key_id", "team_id", "environment", "apps", "key_file"]

  /// Reads the file and every key that it names. Throws at the first thing that is wrong: also when others can read
  /// one of them, or when two credentials claim one app.
  public static func load(_ path: String) throws(CredentialsError) -> [Credential] {
    let content: [UInt8]
    let exposure: String?
    do throws(SystemError) {
      exposure = try File.exposure(of: path)
      content = try File.read(path, limit: 4 << 20)
    } catch {
      throw CredentialsError("\(error)")
    }
    if let exposure { throw CredentialsError(exposure) }
    return try parse(content, of: path)
  }

  /// Reads the file's content. Paths of keys begin at the folder of `path`.
  static func parse(_ content: [UInt8], of path: String) throws(CredentialsError) -> [Credential] {
    let entries = try list(content, path)
    let folder = path.lastIndex(of: "/").map { String(path[...$0]) } ?? ""
    var credentials: [Credential] = []
    var ids: Set<String> = []
    var claims = AppClaims()
    for (index, entry) in entries.enumerated() {
      let place = "\(path): entry \(index + 1)"
      let credential = try read(entry, folder: folder, place: place)
      guard ids.insert(credential.id).inserted else {
        throw CredentialsError("\(place): \(credential.id) is listed twice")
      }
      do throws(AppClaims.Overlap) {
        try claims.claim(credential.apps, credential.scope, by: index)
      } catch {
        throw CredentialsError("\(place): \(error)")
      }
      credentials.append(credential)
    }
    guard !credentials.isEmpty else { throw CredentialsError("\(path): lists no credential") }
    return credentials
  }

  private static func list(
    _ content: [UInt8], _ path: String
  ) throws(CredentialsError) -> [JSONValue] {
    let root: JSONValue
    do throws(JSONError) {
      root = try JSONDocument(content).root
    } catch {
      throw CredentialsError("\(path): \(error)")
    }
    guard let entries = root.array ?? root["credentials"]?.array else {
      throw CredentialsError("\(path): is neither an array nor an object with credentials")
    }
    return entries
  }

  private static func read(
    _ entry: JSONValue, folder: String, place: String
  ) throws(CredentialsError) -> Credential {
    guard let object = entry.object else { throw CredentialsError("\(place): is not an object") }
    if let stranger = object.keys.first(where: { !fields.contains($0) }) {
      throw CredentialsError(
        "\(place): \(stranger) is not a field (\(fields.joined(separator: ", ")))")
    }
    if let twice = object.duplicateKey {
      throw CredentialsError("\(place): \(twice) is given twice")
    }
    let keyID = try text(object, "key_id", place)
    let teamID = try text(object, "team_id", place)
    for (field, value) in [("key_id", keyID), ("team_id", teamID)]
    where !ProviderTokenClaims.isIdentifier(value) {
      throw CredentialsError(
        "\(place): \(field): \"\(value)\" is not ten capital letters and digits")
    }
    let environment = object["environment"] == nil ? "any" : try text(object, "environment", place)
    guard let scope = ProviderTokenBook.Scope(rawValue: environment) else {
      throw CredentialsError(
        "\(place): environment: \"\(environment)\" is not production, sandbox or any")
    }
    let apps = object["apps"]?.array?.compactMap(\.string) ?? []
    guard !apps.isEmpty, apps.count == object["apps"]?.array?.count, !apps.contains("") else {
      throw CredentialsError("\(place): apps: is not a list of bundle ids, or of \"*\" alone")
    }
    if let problem = AppClaims.problem(in: apps, allowsStar: true) {
      throw CredentialsError("\(place): apps: \(problem)")
    }
    let file = try text(object, "key_file", place)
    do throws(SigningError) {
      let keyPath = file.hasPrefix("/") ? file : folder + file
      let key = try SigningKey.load(keyPath)
      return Credential(
        teamID: teamID, keyID: keyID, scope: scope, apps: apps, keyPath: keyPath,
        minter: try ProviderTokenMinter(key: key, teamID: teamID, keyID: keyID))
    } catch {
      throw CredentialsError("\(place): key_file: \(error)")
    }
  }

  private static func text(
    _ object: JSONObject, _ field: String, _ place: String
  ) throws(CredentialsError) -> String {
    guard let value = object[field] else {
      throw CredentialsError("\(place): \(field) is required")
    }
    guard let text = value.string, !text.isEmpty else {
      throw CredentialsError("\(place): \(field): is not a text")
    }
    return text
  }
}
