// SPDX-License-Identifier: Apache-2.0

/// A signing key as its list names it. Holds no secret.
public struct CredentialFacts: Sendable, Equatable {
  public let teamID: String
  public let keyID: String
  /// The path of the `.p8` file.
  public let keyFile: String
  /// In words: production, sandbox, any.
  public let environment: String
  public let apps: [String]

  public init(teamID: String, keyID: String, keyFile: String, environment: String, apps: [String]) {
    self.teamID = teamID
    self.keyID = keyID
    self.keyFile = keyFile
    self.environment = environment
    self.apps = apps
  }

  /// The key id that the file's name states, as Apple names its downloads: `AuthKey_ABC123DEFG.p8`; nil for other
  /// names.
  public var namedKeyID: String? {
    let name = keyFile.split(separator: "/").last ?? ""
    guard name.hasPrefix("AuthKey_"), name.hasSuffix(".p8") else { return nil }
    let id = name.dropFirst("AuthKey_".count).dropLast(".p8".count)
    let isIdentifier =
      id.utf8.count == 10
      && id.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x41...0x5A).contains($0) }
    return isIdentifier ? String(id) : nil
  }
}

/// Findings about signing keys that are readable and well formed: ids that were mixed up. APNs answers to such keys
/// with 403 InvalidProviderToken, and does not say which of the two ids is wrong.
public enum CredentialFindings {
  public static func all(_ credentials: [CredentialFacts]) -> [Finding] {
    let teams = Set(credentials.map(\.teamID))
    let keys = Set(credentials.map(\.keyID))
    return credentials.map { finding($0, teams: teams, keys: keys) }
  }

  private static func finding(
    _ credential: CredentialFacts, teams: Set<String>, keys: Set<String>
  ) -> Finding {
    let (team, key) = (credential.teamID, credential.keyID)
    let place = credential.keyFile
    if team == key {
      return .error(
        .credential, place, "team_id and key_id are both \(key)",
        remedy:
          "team_id is the id of the membership, key_id that of the key in Apple's developer portal")
    }
    if let named = credential.namedKeyID, named != key {
      guard named == team else {
        return .error(
          .credential, place, "the file's name says key \(named), key_id says \(key)",
          remedy: "set key_id to \(named), or name the right file")
      }
      return .error(
        .credential, place,
        "team_id and key_id are swapped: the file's name says that \(named) is the key",
        remedy: "exchange the values of team_id and key_id")
    }
    if teams.contains(key) || keys.contains(team) {
      return .error(
        .credential, place,
        "\(teams.contains(key) ? key : team) is a team_id in one entry and a key_id in another",
        remedy: "exchange the values in the entry where they are swapped")
    }
    return .ok(
      .credential, place,
      "key \(key) of team \(team) for \(credential.environment), \(apps(credential.apps))")
  }

  private static func apps(_ apps: [String]) -> String {
    if apps == ["*"] { return "every app that no other key names" }
    return apps.count > 3 ? "\(apps.count) apps" : apps.joined(separator: ", ")
  }
}
