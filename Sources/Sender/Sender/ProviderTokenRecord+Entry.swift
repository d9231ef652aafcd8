// SPDX-License-Identifier: Apache-2.0
import Contract
import Records

extension ProviderTokenRecord {
  /// The record as the core's book of tokens takes it.
  var entry: ProviderTokenBook.Entry {
    let scope: ProviderTokenBook.Scope =
      switch self.scope {
      case .production: .production
      case .sandbox: .sandbox
      case .any: .any
      }
    return ProviderTokenBook.Entry(
      credential: credential, teamID: teamID, keyID: keyID, scope: scope, apps: apps,
      stamp: ProviderTokenStamp(issuedAt: issuedAt, generation: UInt64(max(0, generation))),
      token: Array(token.utf8))
  }
}
