// SPDX-License-Identifier: Apache-2.0

/// Makes provider authentication tokens in the exact form that APNs asks for:
/// header `{"alg":"ES256","kid":…}`, claims `{"iss":…,"iat":…}`, raw 64-byte signature
/// ("Establishing a token-based connection to APNs").
public struct ProviderTokenMinter: Sendable {
  private let key: SigningKey
  private let header: String
  private let teamID: String

  /// - Parameters:
  ///   - teamID: Ten letters and digits.
  ///   - keyID: Ten letters and digits.
  public init(key: SigningKey, teamID: String, keyID: String) throws(SigningError) {
    for (name, value) in [("team id", teamID), ("key id", keyID)] {
      let isPlain =
        value.utf8.count == 10 && value.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber) }
      guard isPlain else {
        throw SigningError("the \(name) \"\(value)\" is not ten letters and digits")
      }
    }
    self.key = key
    self.teamID = teamID
    header = Base64URL.encode(Array(#"{"alg":"ES256","kid":"\#(keyID)"}"#.utf8))
  }

  /// A token. A bearer secret for an hour: never log it.
  ///
  /// - Parameter issuedAt: Seconds since the UNIX epoch.
  public func mint(issuedAt: Int64) throws(SigningError) -> String {
    let signed = signedPart(issuedAt: issuedAt)
    let signature = try key.signES256(Array(signed.utf8))
    return "\(signed).\(Base64URL.encode(signature))"
  }

  /// True if this key has signed the token for this team and key id, with this `iat`.
  public func hasMinted(_ token: String, issuedAt: Int64) -> Bool {
    let signed = signedPart(issuedAt: issuedAt)
    guard token.hasPrefix("\(signed)."),
      let signature = Base64URL.decode(token.utf8.dropFirst(signed.utf8.count + 1))
    else { return false }
    return key.publicKey.verifies(Array(signed.utf8), rawSignature: signature)
  }

  private func signedPart(issuedAt: Int64) -> String {
    let claims = Base64URL.encode(Array(#"{"iss":"\#(teamID)","iat":\#(issuedAt)}"#.utf8))
    return "\(header).\(claims)"
  }
}
