// SPDX-License-Identifier: Apache-2.0
import COpenSSL

/// An X.509 v3 certificate until it is signed (RFC 5280).
final class CertificateDraft {
  private let raw: OpaquePointer

  init(subject: [(String, String)], key: SigningKey, validity: Validity) throws(SigningError) {
    guard let certificate = X509_new() else { throw .openSSL("making a certificate") }
    raw = certificate
    var serial: UInt64 = 0
    let isDrafted =
      X509_set_version(raw, 2) == 1
      && RAND_bytes(&serial, 8) == 1
      && ASN1_INTEGER_set_uint64(X509_get_serialNumber(raw), serial >> 1) == 1
      && X509_gmtime_adj(X509_getm_notBefore(raw), validity.from) != nil
      && X509_gmtime_adj(X509_getm_notAfter(raw), validity.to) != nil
      && X509_set_pubkey(raw, key.raw) == 1
      && Self.fill(X509_get_subject_name(raw), subject)
    guard isDrafted else { throw .openSSL("drafting a certificate") }
  }

  deinit { X509_free(raw) }

  /// The name of the subject's key: the SHA-1 of its bits (RFC 5280 §4.2.1.2), as OpenSSL's `hash` has it.
  var keyIdentifier: [UInt8] {
    var digest = [UInt8](repeating: 0, count: 20)
    X509_pubkey_digest(raw, EVP_sha1(), &digest, nil)
    return digest
  }

  /// Adds a standard extension in OpenSSL's own notation, such as `critical,CA:TRUE`.
  func add(_ identifier: Int32, _ value: String) throws(SigningError) {
    var context = X509V3_CTX()
    X509V3_set_ctx(&context, raw, raw, nil, nil, 0)
    let made = X509V3_EXT_conf_nid(nil, &context, identifier, value)
    try add(made, value)
  }

  /// Adds an extension of which only the object identifier and the DER content are known.
  func add(_ identifier: String, _ content: [UInt8]) throws(SigningError) {
    let object = OBJ_txt2obj(identifier, 1)
    defer { ASN1_OBJECT_free(object) }
    let octets = ASN1_OCTET_STRING_new()
    defer { ASN1_OCTET_STRING_free(octets) }
    guard ASN1_OCTET_STRING_set(octets, content, Int32(content.count)) == 1 else {
      throw .openSSL("adding extension \(identifier)")
    }
    try add(X509_EXTENSION_create_by_OBJ(nil, object, 0, octets), identifier)
  }

  private func add(_ made: OpaquePointer?, _ name: String) throws(SigningError) {
    defer { X509_EXTENSION_free(made) }
    guard made != nil, X509_add_ext(raw, made, -1) == 1 else {
      throw .openSSL("adding extension \(name)")
    }
  }

  /// The certificate as PEM.
  func sign(issuer: [(String, String)], with key: SigningKey) throws(SigningError) -> [UInt8] {
    guard Self.fill(X509_get_issuer_name(raw), issuer),
      X509_sign(raw, key.raw, EVP_sha256()) > 0,
      let pem = PEM.writing({ PEM_write_bio_X509($0, raw) })
    else { throw .openSSL("signing a certificate") }
    return pem
  }

  private static func fill(_ name: OpaquePointer?, _ parts: [(String, String)]) -> Bool {
    parts.allSatisfy { field, value in
      // RFC 5280 appendix A: a common name has at most 64 characters.
      let bytes = Array((field == "CN" ? String(value.prefix(64)) : value).utf8)
      return X509_NAME_add_entry_by_txt(
        name, field, MBSTRING_UTF8, bytes, Int32(bytes.count), -1, 0) == 1
    }
  }
}

/// The extension that names the issuer's key (RFC 5280 §4.2.1.1).
enum AuthorityKey {
  static let identifier = "2.5.29.35"

  /// The key by its name alone: field 0 of the sequence.
  static func named(_ keyIdentifier: [UInt8]) -> [UInt8] {
    DER.sequence([0x80, UInt8(keyIdentifier.count)] + keyIdentifier)
  }
}

/// Apple's extensions of push certificates (archived "Communicating with APNs", and observed).
enum AppleExtension {
  static let sandbox = "1.2.840.113635.100.6.3.1"
  static let production = "1.2.840.113635.100.6.3.2"
  static let topics = "1.2.840.113635.100.6.3.6"

  static let voipTopics = "1.2.840.113635.100.6.3.4"

  /// The entries that a universal certificate of an app lists.
  static func universal(_ bundleID: String) -> [(name: String, kind: String)] {
    [(bundleID, "app"), (bundleID + ".voip", "voip"), (bundleID + ".complication", "complication")]
  }

  /// One sequence in which a topic's name and a sequence with its kind alternate.
  static func list(_ topics: [(name: String, kind: String)]) -> [UInt8] {
    DER.sequence(topics.flatMap { DER.text($0.name) + DER.sequence(DER.text($0.kind)) })
  }
}

/// The few DER forms that extensions need (ITU-T X.690); contents below 64 KiB.
enum DER {
  static let null: [UInt8] = [0x05, 0x00]

  static func text(_ text: String) -> [UInt8] { value(tag: 0x0c, Array(text.utf8)) }
  static func sequence(_ content: [UInt8]) -> [UInt8] { value(tag: 0x30, content) }

  private static func value(tag: UInt8, _ content: [UInt8]) -> [UInt8] {
    let (high, low) = (UInt8(content.count >> 8), UInt8(content.count & 0xff))
    if content.count < 0x80 { return [tag, low] + content }
    if content.count < 0x100 { return [tag, 0x81, low] + content }
    return [tag, 0x82, high, low] + content
  }
}
