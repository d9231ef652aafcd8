// SPDX-License-Identifier: Apache-2.0
package import APNS
import JSON
package import Signing

/// A signing key that the gateway knows.
package struct GatewayKey: Sendable {
  package let keyID: String
  package let teamID: String
  package let publicKey: PublicKey
  /// The environment it is good for; nil is both.
  package let environment: Environment?
  /// The bundle ids it may send for; nil is all.
  package let apps: [[UInt8]]?

  package init(
    keyID: String, teamID: String, publicKey: PublicKey, environment: Environment? = nil,
    apps: [String]? = nil
  ) {
    self.keyID = keyID
    self.teamID = teamID
    self.publicKey = publicKey
    self.environment = environment
    self.apps = apps?.map { Array($0.utf8) }
  }
}

/// Checks provider tokens (JSON Web Tokens, ES256). A signature is verified once: what is found is
/// remembered by the token's bytes, because one token comes with very many requests.
package struct ProviderTokenCheck {
  private enum Finding {
    case refused(Reason)
    case signed(issuedAt: Int64, key: Int)
  }

  private struct Known {
    let bytes: [UInt8]
    let finding: Finding
  }

  private let environment: Environment
  private let keys: [GatewayKey]
  private var known: [Known] = []
  private var places: [UInt64: Int] = [:]
  private var latest = -1
  /// The key of the token that was checked last.
  private var currentKey = -1

  /// So many tokens are remembered; then all are forgotten.
  private static let capacity = 4_096
  /// APNs' limit of a token's age, and ours of its being early, in seconds.
  private static let lifetime: Int64 = 3_600

  package init(keys: [GatewayKey], environment: Environment) {
    self.keys = keys
    self.environment = environment
  }

  /// What is wrong with the `authorization` value, or nil. `now` is in ms.
  package mutating func refusal(
    of authorization: UnsafeRawBufferPointer?, binding: inout ConnectionBinding, now: Int64
  ) -> Refusal? {
    guard let authorization, authorization.count > 7, authorization[6] == UInt8(ascii: " "),
      UnsafeRawBufferPointer(rebasing: authorization[..<6]).foldedHash == Self.bearer
    else { return Refusal(.missingProviderToken) }
    switch finding(UnsafeRawBufferPointer(rebasing: authorization[7...])) {
    case .refused(let reason): return Refusal(reason)
    case .signed(let issuedAt, let key):
      let age = now / 1_000 - issuedAt
      if age > Self.lifetime { return Refusal(.expiredProviderToken) }
      if age < -Self.lifetime { return Refusal(.invalidProviderToken) }
      if let wanted = keys[key].environment, wanted != environment {
        return Refusal(.badEnvironmentKeyIdInToken)
      }
      // A connection belongs to the team whose token came first.
      if let team = binding.team {
        if team != keys[key].teamID { return Refusal(.invalidProviderToken) }
      } else {
        binding.team = keys[key].teamID
      }
      currentKey = key
      return nil
    }
  }

  /// Whether the key of the token checked last may send to this topic: its bundle ids, with or
  /// without a suffix.
  func allows(topic: UnsafeRawBufferPointer) -> Bool {
    guard currentKey >= 0, let apps = keys[currentKey].apps else { return true }
    return apps.contains { app in
      topic.count >= app.count
        && UnsafeRawBufferPointer(rebasing: topic[..<app.count]).equals(app)
        && (topic.count == app.count || topic[app.count] == UInt8(ascii: "."))
    }
  }

  private static let bearer: UInt64 = Array("bearer".utf8).withUnsafeBytes { $0.foldedHash }

  private mutating func finding(_ token: UnsafeRawBufferPointer) -> Finding {
    if latest >= 0, token.equals(known[latest].bytes) { return known[latest].finding }
    // The signature's end differs from token to token.
    let hash = UnsafeRawBufferPointer(rebasing: token.suffix(24)).foldedHash
    if let place = places[hash], token.equals(known[place].bytes) {
      latest = place
      return known[place].finding
    }
    if known.count >= Self.capacity {
      known = []
      places = [:]
    }
    let entry = Known(bytes: Array(token), finding: examine(Array(token)))
    latest = known.count
    places[hash] = latest
    known.append(entry)
    return entry.finding
  }

  /// Reads and verifies a token that was not seen before.
  private func examine(_ token: [UInt8]) -> Finding {
    let parts = token.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    guard parts.count == 3,
      let header = json(parts[0]), header["alg"]?.string == "ES256",
      let keyID = header["kid"]?.string, let claims = json(parts[1]),
      let issuer = claims["iss"]?.string, let issuedAt = claims["iat"]?.int,
      let place = keys.firstIndex(where: { $0.keyID == keyID }),
      keys[place].teamID == issuer,
      let signature = Base64URL.decode(parts[2], isLenient: true)
    else { return .refused(.invalidProviderToken) }
    let message = Array(token[..<(parts[2].startIndex - 1)])
    let key = keys[place].publicKey
    // The raw form is the standard's; the DER form is what Apple's shell recipe sends.
    let isSigned =
      signature.count == 64
      ? key.verifies(message, rawSignature: signature)
      : key.verifies(message, derSignature: signature)
    return isSigned ? .signed(issuedAt: issuedAt, key: place) : .refused(.invalidProviderToken)
  }

  private func json(_ part: ArraySlice<UInt8>) -> JSONValue? {
    guard let text = Base64URL.decode(part, isLenient: true) else { return nil }
    return try? JSONDocument(text).root
  }
}
