// SPDX-License-Identifier: Apache-2.0
import Crypto
import EventLoop
import Glibc
import Records

/// The folder of `--dev`: all that a test suite needs to talk to the gateway. Missing files are created; existing ones
/// are never overwritten.
struct DevFolder {
  let path: String
  /// Names of the gateway in addition to localhost and the loopback addresses.
  var names: [String] = []

  static let teamID = "MARTLETDEV"
  static let keyID = "DEVKEY0001"
  /// The bundle id of the client certificate.
  static let app = "com.example.app"
  /// Some readers of PKCS #12 reject an empty passphrase.
  static let passPhrase = "martlet"

  var root: String { "\(path)/root.pem" }
  var certificate: String { "\(path)/gateway.pem" }
  var certificateKey: String { "\(path)/gateway-key.pem" }
  var gatewayKeys: String { "\(path)/gateway-keys.json" }
  private var key: String { "\(path)/AuthKey_\(Self.keyID).p8" }
  private var client: String { "\(path)/client.pem" }
  private var clientKey: String { "\(path)/client-key.pem" }
  private var clientArchive: String { "\(path)/client.p12" }

  /// Creates the folder and its missing files. Processes that start at the same time wait for each other.
  ///
  /// - Throws: Also if certificates of an older root are incomplete or lack a name: the root's key is not kept.
  func complete() throws {
    try File.makeFolder(path)
    let lock = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    defer { close(lock) }
    guard lock >= 0, flock(lock, LOCK_EX) == 0 else {
      throw GatewayFileError(
        description: "cannot use the folder \(path): \(SystemError.meaning(of: errno))")
    }
    if !File.exists(root) { try issueCertificates() }
    let issued = [certificate, certificateKey, client, clientKey, clientArchive]
    if let missing = issued.first(where: { !File.exists($0) }) {
      throw GatewayFileError(
        description: "\(missing) is missing; remove \(root) to have all certificates made again")
    }
    if let missing = try names.first(where: {
      try !TLSIdentity.isCertificate(at: certificate, for: $0)
    }) {
      throw GatewayFileError(
        description:
          "\(certificate) is not for \(missing); remove \(root) to have all certificates made again"
      )
    }
    if !File.exists(key) { try File.write(key, SigningKey.generate().pem()) }
    if !File.exists(gatewayKeys) { try declareKey() }
  }

  /// The root is written last: if it exists, the others do.
  private func issueCertificates() throws {
    let authority = try CertificateAuthority(name: "Martlet simulator root")
    try authority.issueServer(names: ["localhost", "127.0.0.1", "::1"] + names).write(
      certificate: certificate, key: certificateKey)
    let issued = try authority.issueClient(bundleID: Self.app, validity: .years(5))
    try issued.write(certificate: client, key: clientKey)
    try File.write(clientArchive, issued.pkcs12(name: Self.app, passPhrase: Self.passPhrase))
    try File.write(root, authority.certificatePEM)
  }

  private func declareKey() throws {
    let pem = try SigningKey(pem: File.read(key), path: key).publicKey.pem()
    let keys: JSONValue = [
      "keys": [
        [
          "key_id": .string(Self.keyID), "team_id": .string(Self.teamID), "apps": ["*"],
          "public_key": .string(String(decoding: pem, as: UTF8.self)),
        ]
      ]
    ]
    try File.write(gatewayKeys, keys.text + [10])
  }

  /// Adds the folder's files to the line of addresses, as absolute paths.
  func describe(_ line: inout JSONObject) {
    let folder = realpath(path, nil)
    defer { free(folder) }
    let whole = DevFolder(path: folder.map { String(cString: $0) } ?? path)
    line.append("root", .string(whole.root))
    line.append("key", .string(whole.key))
    line.append("key_id", .string(Self.keyID))
    line.append("team_id", .string(Self.teamID))
    line.append("client_certificate", .string(whole.client))
    line.append("client_key", .string(whole.clientKey))
    line.append("client_p12", .string(whole.clientArchive))
    line.append("client_p12_password", .string(Self.passPhrase))
    line.append("client_topic", .string(Self.app))
  }
}
