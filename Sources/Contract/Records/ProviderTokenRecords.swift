// SPDX-License-Identifier: Apache-2.0

public import Contract

/// A record of `push.provider-tokens`: the current provider token of one credential. A bearer secret.
public struct ProviderTokenRecord: Equatable, Sendable {
  /// `<team>/<key>/<environment>`.
  public var credential: String
  public var teamID: String
  public var keyID: String
  public var scope: ProviderTokenBook.Scope
  /// Bundle ids, or only `*` for every app.
  public var apps: [String]
  /// The token's `iat`, in seconds.
  public var issuedAt: Int64
  public var generation: Int64
  /// The JWT; empty while sealed.
  public var token: String
  /// The JWT sealed with the deployment's key, instead of `token`.
  public var sealed: String?
  /// Whether the signer withdraws the credential: no token follows. A tombstone, which anyone may write, only says that
  /// the record is gone.
  public var isRemoved = false

  /// The end of the year 9999, in seconds since the epoch.
  private static let latestIssue: Int64 = 253_402_300_799
  /// One per second for longer than the sun lasts: the counter cannot run out.
  private static let highestGeneration: Int64 = 1 << 60

  public init(
    credential: String, teamID: String, keyID: String, scope: ProviderTokenBook.Scope,
    apps: [String], issuedAt: Int64, generation: Int64, token: String
  ) {
    self.credential = credential
    self.teamID = teamID
    self.keyID = keyID
    self.scope = scope
    self.apps = apps
    self.issuedAt = issuedAt
    self.generation = generation
    self.token = token
  }

  /// The withdrawal of a credential; nil if its name is invalid.
  public init?(withdrawing credential: String, at now: Int64) {
    let parts = credential.split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count == 3, !parts[0].isEmpty, !parts[1].isEmpty,
      let scope = ProviderTokenBook.Scope(rawValue: String(parts[2]))
    else { return nil }
    self.init(
      credential: credential, teamID: String(parts[0]), keyID: String(parts[1]), scope: scope,
      apps: [], issuedAt: now, generation: 0, token: "")
    isRemoved = true
  }

  /// Whether a credential can have this name: `<team>/<key>/<environment>`.
  public static func isName(_ credential: String) -> Bool {
    Self(withdrawing: credential, at: 0) != nil
  }

  public init(_ bytes: UnsafeRawBufferPointer, parser: JSONParser) throws(RecordError) {
    let fields = try RecordFields(bytes, parser: parser, record: "provider token")
    credential = try fields.text("credential")
    teamID = try fields.text("team_id")
    keyID = try fields.text("key_id")
    let environment = try fields.text("environment")
    guard let scope = ProviderTokenBook.Scope(rawValue: environment) else {
      throw fields.fail("environment", "\"\(environment)\" is not production, sandbox or any")
    }
    self.scope = scope
    apps = try fields.texts("apps")
    issuedAt = try fields.integer("issued_at", upTo: Self.latestIssue)
    generation = try fields.integer("generation", upTo: Self.highestGeneration)
    sealed = try fields.optionalText("sealed")
    isRemoved = try fields.flag("removed")
    guard sealed == nil, !isRemoved else {
      token = ""
      guard try fields.optionalText("token") == nil else {
        throw fields.fail("token", "cannot be combined with sealed or removed")
      }
      return
    }
    token = try fields.text("token")
    guard hasPlausibleToken else { throw fields.fail("token", "has a character that no JWT has") }
  }

  /// Reads a record's value. The key has to be that of its credential: otherwise a record could impersonate another
  /// credential.
  public init(
    _ value: UnsafeRawBufferPointer, key: String, parser: JSONParser
  ) throws(RecordError) {
    try self.init(value, parser: parser)
    let name = "\(teamID)/\(keyID)/\(scope.rawValue)"
    guard credential == key, credential == name else {
      throw RecordError(
        record: "provider token", field: "credential",
        problem: "\"\(credential)\" is not the record's key \"\(key)\", or not \"\(name)\"")
    }
  }

  /// Whether the token has only characters of a JWT (RFC 7515 §2): it becomes a header value as it is.
  public var hasPlausibleToken: Bool { token.utf8.allSatisfy(Self.isTokenCharacter) }

  private static func isTokenCharacter(_ byte: UInt8) -> Bool {
    let letter = (byte | 0x20) &- 0x61
    return letter < 26 || byte &- 0x30 < 10 || byte == 0x2D || byte == 0x5F || byte == 0x2E
  }

  /// The record as the book of tokens has it.
  public var entry: ProviderTokenBook.Entry {
    ProviderTokenBook.Entry(
      credential: credential, teamID: teamID, keyID: keyID, scope: scope, apps: apps,
      stamp: ProviderTokenStamp(issuedAt: issuedAt, generation: UInt64(max(0, generation))),
      token: Array(token.utf8))
  }

  public var key: [UInt8] { Array(credential.utf8) }

  public var value: [UInt8] {
    var object = JSONObject()
    object.append("credential", .string(credential))
    object.append("team_id", .string(teamID))
    object.append("key_id", .string(keyID))
    object.append("environment", .string(scope.rawValue))
    object.append("apps", .array(apps.map { .string($0) }))
    object.append("issued_at", .integer(issuedAt))
    object.append("generation", .integer(generation))
    if isRemoved { object.append("removed", .bool(true)) }
    if let sealed {
      object.append("sealed", .string(sealed))
    } else if !isRemoved {
      object.append("token", .string(token))
    }
    return JSONValue.object(object).text
  }
}

/// A record of `push.token-requests`: a sender has no provider token, or APNs refused it.
public struct TokenRequest: Equatable, Sendable {
  /// The credential, if one is known for the app.
  public var credential: String?
  public var app: String?
  public var environment: Environment?
  /// `missing`, `aging`, `probe`, or the reason that APNs gave.
  public var reason: String
  /// The `reason` of a sender that has no token for an app.
  public static let missing = "missing"
  /// The `reason` of a sender whose token grows old and has not been replaced.
  public static let aging = "aging"
  /// The `reason` of a caller that only checks whether a signer reads requests: it changes nothing.
  public static let probe = "probe"
  /// In milliseconds.
  public var at: Int64

  public init(
    credential: String?, app: String?, environment: Environment?, reason: String, at: Int64
  ) {
    self.credential = credential
    self.app = app
    self.environment = environment
    self.reason = reason
    self.at = at
  }

  public init(_ bytes: UnsafeRawBufferPointer, parser: JSONParser) throws(RecordError) {
    let fields = try RecordFields(bytes, parser: parser, record: "token request")
    credential = try fields.optionalText("credential")
    app = try fields.optionalText("app")
    environment = try fields.optionalText("environment") == nil ? nil : fields.environment()
    reason = try fields.text("reason")
    at = try fields.time("at")
    guard credential != nil || (app != nil && environment != nil) else {
      throw fields.fail("credential", "is required (or app and environment)")
    }
  }

  /// The credential, or `<app>/<environment>` if unknown.
  public var key: [UInt8] {
    Array((credential ?? "\(app ?? "")/\(environment?.description ?? "")").utf8)
  }

  public var value: [UInt8] {
    var object = JSONObject()
    if let credential { object.append("credential", .string(credential)) }
    if let app { object.append("app", .string(app)) }
    if let environment { object.append("environment", .string(environment.description)) }
    object.append("reason", .string(reason))
    object.append("at", .integer(at))
    return JSONValue.object(object).text
  }
}
