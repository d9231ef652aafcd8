// SPDX-License-Identifier: Apache-2.0

/// The claims of a provider token (JWT, ES256). Source: Apple, "Establishing a token-based connection".
public struct ProviderTokenClaims: Equatable, Sendable {
  /// `iss`: the team that owns the key.
  public let teamID: String
  /// `kid`: the key that signed.
  public let keyID: String
  /// `iat`: when it was issued, in seconds since the UNIX epoch.
  public let issuedAt: Int64

  /// The age in seconds above which APNs refuses a token.
  public static let lifetime: Int64 = 3_600
  /// The length of a team id and of a key id.
  public static let identifierLength = 10

  public init(teamID: String, keyID: String, issuedAt: Int64) {
    self.teamID = teamID
    self.keyID = keyID
    self.issuedAt = issuedAt
  }

  /// True if APNs would consider the token expired at `now` (seconds).
  public func isExpired(at now: Int64) -> Bool { now - issuedAt > Self.lifetime }

  /// True if a team id or key id has Apple's form: ten capital letters and digits.
  public static func isIdentifier(_ text: String) -> Bool {
    text.utf8.count == identifierLength
      && text.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x41...0x5A).contains($0) }
  }
}
