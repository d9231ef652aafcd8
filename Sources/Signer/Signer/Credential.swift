// SPDX-License-Identifier: Apache-2.0
public import Contract
import Crypto

/// A signing key with what it may be used for. Holds a secret: never printed.
public struct Credential: Sendable {
  public let teamID: String
  public let keyID: String
  public let scope: ProviderTokenBook.Scope
  /// Bundle ids, or `*` alone.
  public let apps: [String]
  /// Where its key was read from.
  let keyPath: String
  let minter: ProviderTokenMinter

  /// `<team>/<key>/<environment>`: the key of its records.
  public var id: String { "\(teamID)/\(keyID)/\(scope.rawValue)" }

  static func coverage(_ credentials: [Credential]) -> AppCoverage {
    var coverage = AppCoverage()
    for entry in credentials { coverage.add(entry.apps, entry.scope, team: entry.teamID) }
    return coverage
  }

  /// Whether a notification of this app in this environment would use the credential.
  func serves(app: String, environment: Environment) -> Bool {
    scope.covers(environment) && (apps.contains(app) || apps.contains("*"))
  }
}
