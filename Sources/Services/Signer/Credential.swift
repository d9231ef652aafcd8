// SPDX-License-Identifier: Apache-2.0
import APNS
import Delivery
package import Records
import Signing

/// A signing key with what it may be used for. Holds a secret: never printed.
package struct Credential: Sendable {
  package let teamID: String
  package let keyID: String
  package let scope: ProviderTokenRecord.Scope
  /// Bundle ids, or `*` alone.
  package let apps: [String]
  /// Where its key was read from.
  let keyPath: String
  let minter: ProviderTokenMinter

  /// `<team>/<key>/<environment>`: the key of its records.
  package var id: String { "\(teamID)/\(keyID)/\(scope.rawValue)" }

  /// The scope as the core has it.
  var reach: ProviderTokenBook.Scope {
    switch scope {
    case .production: .production
    case .sandbox: .sandbox
    case .any: .any
    }
  }

  /// Whether a notification of this app in this environment would use the credential.
  func serves(app: String, environment: Environment) -> Bool {
    scope.covers(environment) && (apps.contains(app) || apps.contains("*"))
  }
}
