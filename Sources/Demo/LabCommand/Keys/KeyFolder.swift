// SPDX-License-Identifier: Apache-2.0
public import Contract
import Crypto
import EventLoop
import Records

/// A folder with everything that a pipeline on one machine needs to authenticate with the simulator: signing keys, the
/// credentials file, a root, a server certificate.
public struct KeyFolder: Sendable {
  /// A signing key to generate, and its scope.
  public struct Credential: Sendable {
    /// Ten letters and digits each.
    public let teamID: String
    public let keyID: String
    /// The bundle ids; `*` is all of them.
    public let apps: [String]
    /// The environment; nil for both.
    public let environment: Environment?

    public init(teamID: String, keyID: String, apps: [String], environment: Environment? = nil) {
      self.teamID = teamID
      self.keyID = keyID
      self.apps = apps
      self.environment = environment
    }

    /// Generates a key id that no other folder has: two keys with one id would look like one credential on a topic.
    public static func freshKeyID() -> String {
      let signs = Array("ABCDEFGHJKLMNPQRSTUVWXYZ23456789")
      return String(
        (0..<ProviderTokenClaims.identifierLength).map { _ in signs[Int.random(in: signs.indices)] }
      )
    }
  }

  public let path: String

  public init(_ path: String) { self.path = path }

  /// The signer's credentials file.
  public var credentials: String { "\(path)/credentials.json" }
  /// The simulator's list of public keys.
  public var gatewayKeys: String { "\(path)/gateway-keys.json" }
  /// The certificate that senders trust.
  public var root: String { "\(path)/root.pem" }
  /// The simulator's certificate, for localhost and the loopback addresses.
  public var certificate: String { "\(path)/gateway.pem" }
  public var certificateKey: String { "\(path)/gateway-key.pem" }

  func keyName(_ credential: Credential) -> String { "AuthKey_\(credential.keyID).p8" }
  func publicKeyName(_ credential: Credential) -> String { "AuthKey_\(credential.keyID).pub.pem" }

  /// Creates the folder and its files, each readable by its owner only.
  ///
  /// - Parameters:
  ///   - clientApps: Bundle ids to make client certificates for, one of each kind.
  ///   - overwrite: Whether existing files are replaced; otherwise nothing is written if any exists.
  public func generate(
    _ credentials: [Credential], clientApps: [String] = [], overwrite: Bool = false
  ) throws(KeyFolderError) {
    let files = fileNames(credentials, clientApps: clientApps).map { "\(path)/\($0)" }
    if !overwrite, let found = files.first(where: File.exists) {
      throw KeyFolderError(
        description:
          "\(found) is already there; --force replaces it and every other file of the set")
    }
    do {
      try File.makeFolder(path)
      for credential in credentials { try writeKeys(credential) }
      try writeCertificates(clientApps)
      try writeLists(credentials)
    } catch {
      throw KeyFolderError(description: "\(error)")
    }
  }

  /// The names of the files that `generate` writes.
  public func fileNames(_ credentials: [Credential], clientApps: [String] = []) -> [String] {
    let keys = credentials.flatMap { [keyName($0), publicKeyName($0)] }
    let others = [self.credentials, gatewayKeys, root, certificate, certificateKey]
    let clients = clientApps.flatMap { app in
      ClientCertificateKind.allCases.flatMap {
        [$0.certificate(of: app), $0.key(of: app), $0.archive(of: app)]
      }
    }
    return keys + others.map { String($0.dropFirst(path.count + 1)) } + clients
  }

  private func writeKeys(_ credential: Credential) throws {
    let key = try SigningKey.generate()
    _ = try ProviderTokenMinter(key: key, teamID: credential.teamID, keyID: credential.keyID)
    try File.write("\(path)/\(keyName(credential))", key.pem())
    try File.write("\(path)/\(publicKeyName(credential))", key.publicKey.pem())
  }

  /// The authority's own key is not kept: no other certificate can be issued under this root.
  private func writeCertificates(_ clientApps: [String]) throws {
    let authority = try CertificateAuthority(name: "Martlet simulator root", clientKeys: .rsa)
    try File.write(root, authority.certificatePEM)
    try authority.issueServer().write(certificate: certificate, key: certificateKey)
    for app in clientApps {
      for kind in ClientCertificateKind.allCases {
        let issued = try kind.issue(authority, app)
        try issued.write(
          certificate: "\(path)/\(kind.certificate(of: app))", key: "\(path)/\(kind.key(of: app))")
        let archive = try issued.pkcs12(name: app, passPhrase: ClientCertificateKind.passPhrase)
        try File.write("\(path)/\(kind.archive(of: app))", archive)
      }
    }
  }

  private func writeLists(_ credentials: [Credential]) throws {
    let signing = credentials.map { JSONValue.object(entry($0, "key_file", keyName($0))) }
    let checking = credentials.map {
      JSONValue.object(entry($0, "public_key_file", publicKeyName($0)))
    }
    try File.write(gatewayKeys, (["keys": .array(checking)] as JSONValue).text + [10])
    // The last file: if it exists, the others do.
    try File.write(self.credentials, (["credentials": .array(signing)] as JSONValue).text + [10])
  }

  private func entry(_ credential: Credential, _ name: String, _ file: String) -> JSONObject {
    var object = JSONObject()
    object.append("team_id", .string(credential.teamID))
    object.append("key_id", .string(credential.keyID))
    object.append("environment", .string(credential.environment.map { "\($0)" } ?? "any"))
    object.append("apps", .array(credential.apps.map { .string($0) }))
    object.append(name, .string(file))
    return object
  }
}

/// The reason why the folder could not be created.
public struct KeyFolderError: Error, Sendable, CustomStringConvertible {
  public let description: String
}
