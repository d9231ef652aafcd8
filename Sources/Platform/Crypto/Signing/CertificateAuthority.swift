// SPDX-License-Identifier: Apache-2.0
import COpenSSL
public import EventLoop

/// A certificate authority for tests, demos and the simulator: its certificates are trusted by
/// clients that are given its root, and by no other.
public final class CertificateAuthority: Sendable {
  private let key: SigningKey
  private let subject: [(String, String)]
  private let clientKeys: ClientKeys
  private let keyIdentifier: [UInt8]
  /// The root certificate, for the trust store of clients and servers.
  public let certificatePEM: [UInt8]

  /// A new authority with a random key. Its certificate is valid for ten years.
  ///
  /// - Parameters:
  ///   - further: What stands before the common name: fields by their short names, such as C and O.
  ///   - clientKeys: The keys of the client certificates that it issues.
  public init(
    name: String = "Martlet test authority", further: [(field: String, value: String)] = [],
    clientKeys: ClientKeys = .p256
  ) throws(SigningError) {
    self.clientKeys = clientKeys
    key = try SigningKey.generate()
    subject = further.map { ($0.field, $0.value) } + [("CN", name)]
    let draft = try CertificateDraft(subject: subject, key: key, validity: .years(10))
    try draft.add(NID_basic_constraints, "critical,CA:TRUE")
    try draft.add(NID_key_usage, "critical,keyCertSign,cRLSign")
    // RFC 5280 §4.2.1.2 wants one, and Python's clients verify strictly since 3.13.
    try draft.add(NID_subject_key_identifier, "hash")
    keyIdentifier = draft.keyIdentifier
    certificatePEM = try draft.sign(issuer: subject, with: key)
  }

  /// A server's certificate.
  ///
  /// - Parameter names: Its subject alternative names: host names and IP addresses.
  public func issueServer(
    names: [String] = ["localhost", "127.0.0.1", "::1"], validity: Validity = .years(5)
  ) throws(SigningError) -> IssuedCertificate {
    let alternatives = names.map { Self.isAddress($0) ? "IP:\($0)" : "DNS:\($0)" }
    return try issue(subject: [("CN", names.first ?? "server")], validity, key: .generate()) {
      draft throws(SigningError) in
      try draft.add(NID_ext_key_usage, "serverAuth")
      try draft.add(NID_subject_alt_name, alternatives.joined(separator: ","))
    }
  }

  /// A client certificate as Apple issues them for one app: the bundle id as UID, its topics in
  /// extension 1.2.840.113635.100.6.3.6, marks for the environments it serves (…6.3.1 and …6.3.2).
  ///
  /// - Parameters:
  ///   - isUniversal: Lists the app's own topic, `.voip` and `.complication`; otherwise the UID alone
  ///     names the topic.
  ///   - furtherTopics: More topics to list, each with its kind, such as a Live Activity's.
  public func issueClient(
    bundleID: String, isUniversal: Bool = true, furtherTopics: [(name: String, kind: String)] = [],
    forSandbox: Bool = true, forProduction: Bool = true, validity: Validity = .years(1)
  ) throws(SigningError) -> IssuedCertificate {
    let subject = [("UID", bundleID), ("CN", "Apple Push Services: \(bundleID)")]
    let topics = (isUniversal ? AppleExtension.universal(bundleID) : []) + furtherTopics
    return try issue(subject: subject, validity, key: clientKey()) { draft throws(SigningError) in
      try draft.add(NID_ext_key_usage, "clientAuth")
      if forSandbox { try draft.add(AppleExtension.sandbox, DER.null) }
      if forProduction { try draft.add(AppleExtension.production, DER.null) }
      if !topics.isEmpty { try draft.add(AppleExtension.topics, AppleExtension.list(topics)) }
    }
  }

  /// A certificate of the old VoIP service: its one topic stands in extension …6.3.4.
  public func issueVoIPClient(bundleID: String) throws(SigningError) -> IssuedCertificate {
    let subject = [("UID", bundleID + ".voip"), ("CN", "VoIP Services: \(bundleID)")]
    return try issue(subject: subject, .years(1), key: clientKey()) { draft throws(SigningError) in
      try draft.add(NID_ext_key_usage, "clientAuth")
      try draft.add(AppleExtension.voipTopics, AppleExtension.list([(bundleID + ".voip", "voip")]))
    }
  }

  private func clientKey() throws(SigningError) -> SigningKey {
    clientKeys == .rsa ? try .generateRSA() : try .generate()
  }

  private func issue(
    subject: [(String, String)], _ validity: Validity, key leafKey: SigningKey,
    _ extend: (CertificateDraft) throws(SigningError) -> Void
  ) throws(SigningError) -> IssuedCertificate {
    let draft = try CertificateDraft(subject: subject, key: leafKey, validity: validity)
    try draft.add(NID_basic_constraints, "critical,CA:FALSE")
    try draft.add(NID_key_usage, "critical,digitalSignature")
    try draft.add(NID_subject_key_identifier, "hash")
    try draft.add(AuthorityKey.identifier, AuthorityKey.named(keyIdentifier))
    try extend(draft)
    let certificate = try draft.sign(issuer: self.subject, with: key)
    return IssuedCertificate(certificatePEM: certificate, keyPEM: try leafKey.pem())
  }

  private static func isAddress(_ name: String) -> Bool {
    name.contains(":") || name.allSatisfy { $0.isNumber || $0 == "." }
  }
}

/// The keys of client certificates. Apple's are RSA; P-256 is made faster.
public enum ClientKeys: Sendable {
  case p256, rsa
}

public struct IssuedCertificate: Sendable {
  public let certificatePEM: [UInt8]
  /// PKCS#8. A secret.
  public let keyPEM: [UInt8]

  /// Both as PKCS #12 (RFC 7292), in the algorithms that older readers know: triple DES and SHA-1. A secret.
  public func pkcs12(name: String, passPhrase: String) throws(SigningError) -> [UInt8] {
    let certificate = Self.reading(certificatePEM) { PEM_read_bio_X509($0, nil, nil, nil) }
    defer { X509_free(certificate) }
    let key = Self.reading(keyPEM) { PEM_read_bio_PrivateKey($0, nil, nil, nil) }
    defer { EVP_PKEY_free(key) }
    let kind = NID_pbe_WithSHA1And3_Key_TripleDES_CBC
    let packed = PKCS12_create(passPhrase, name, key, certificate, nil, kind, kind, 2_048, -1, 0)
    defer { PKCS12_free(packed) }
    guard packed != nil, PKCS12_set_mac(packed, passPhrase, -1, nil, 0, 2_048, EVP_sha1()) == 1,
      let bytes = PEM.writing({ i2d_PKCS12_bio($0, packed) })
    else { throw .openSSL("packing a certificate") }
    return bytes
  }

  /// Runs `body` with a source that reads `bytes`.
  private static func reading(
    _ bytes: [UInt8], _ body: (OpaquePointer?) -> OpaquePointer?
  ) -> OpaquePointer? {
    bytes.withUnsafeBytes { buffer in
      let source = BIO_new_mem_buf(buffer.baseAddress, Int32(buffer.count))
      defer { BIO_free(source) }
      return body(source)
    }
  }

  /// Writes both, readable by their owner only.
  public func write(certificate: String, key: String) throws(SystemError) {
    try File.write(certificate, certificatePEM)
    try File.write(key, keyPEM)
  }
}

/// When a certificate is valid, in seconds from now.
public struct Validity: Sendable {
  let from: Int
  let to: Int

  public static func years(_ count: Int) -> Validity {
    Validity(from: -300, to: count * 31_557_600)
  }
  /// Was valid until an hour ago.
  public static let expired = Validity(from: -86_400, to: -3_600)
  public static let future = Validity(from: 86_400, to: 31_557_600)
}
