// SPDX-License-Identifier: Apache-2.0

/// Why a file's keys or certificates cannot be used, in words that follow the file's name, with the command that
/// converts it. Holds nothing of the file's content.
public struct PEMProblem: Error, Equatable, Sendable, CustomStringConvertible {
  public let description: String

  init(_ description: String) { self.description = description }
}

/// Keys and certificates of one file, in the forms in which people have them: PEM blocks (RFC 7468), or one DER value.
///
/// What pasting does to PEM is undone where only one reading is possible: a byte order mark, indentation, quotation
/// marks around it, line ends of any kind or none, a line end that is spelt `\n`. Text between blocks is ignored, as
/// OpenSSL does. A block that is damaged or cut is refused and never left out.
///
/// Whoever uses a key from here never asks for a pass phrase: OpenSSL sees only DER that is not encrypted.
public struct PEMFile: Sendable {
  public enum Kind: Equatable, Sendable {
    /// X.509, `TRUSTED CERTIFICATE` with what OpenSSL keeps behind it.
    case certificate
    /// PKCS#8, SEC 1 (`EC PRIVATE KEY`) or PKCS#1 (`RSA PRIVATE KEY`), not encrypted.
    case privateKey
    case encryptedKey
    /// SubjectPublicKeyInfo.
    case publicKey
    /// PKCS#12: `.p12`, `.pfx`.
    case archive
    /// PKCS#7: `.p7b`.
    case bundle
    /// A certificate signing request.
    case request
    /// Anything else, such as `EC PARAMETERS`.
    case other
  }

  public struct Entry: Equatable, Sendable {
    public let kind: Kind
    /// Empty for an encrypted key.
    public let der: [UInt8]
  }

  /// In the order of the file; the same certificate or key twice counts once.
  public let entries: [Entry]
  private let path: String

  /// - Parameter path: the file's name in commands that convert it.
  /// - Throws: for damaged PEM, and for content that is neither PEM nor DER.
  public init(_ content: [UInt8], path: String = "FILE") throws(PEMProblem) {
    self.path = path
    if let kind = DERShape.kind(content[...]) {
      entries = [Entry(kind: kind, der: kind == .encryptedKey ? [] : content)]
      return
    }
    if content.isEmpty { throw PEMProblem("is empty; copy the key or certificate into it again") }
    if content.starts(with: [0xFF, 0xFE]) || content.starts(with: [0xFE, 0xFF]) {
      throw PEMProblem(
        "is UTF-16 text; convert it: iconv -f UTF-16 -t UTF-8 \(path) > converted.pem")
    }
    var blocks = PEMBlocks(content)
    var found: [Entry] = []
    while let entry = try blocks.next() {
      if !found.contains(entry) || entry.kind == .encryptedKey { found.append(entry) }
    }
    if found.isEmpty, PEMBlocks.isEncodedAgain(content) {
      throw PEMProblem(
        "is base64 without BEGIN and END lines; decode it: base64 -d \(path) > decoded.pem")
    }
    entries = found
  }

  public static func isDER(_ content: [UInt8]) -> Bool { DERShape.kind(content[...]) != nil }

  /// The certificates in the order of the file, at least one, as DER.
  public func certificates() throws(PEMProblem) -> [[UInt8]] {
    let found = entries.filter { $0.kind == .certificate }.map(\.der)
    if !found.isEmpty { return found }
    if has(.archive) { throw archive }
    if has(.bundle) {
      throw PEMProblem(
        "is a PKCS#7 file; convert it: openssl pkcs7 -in \(path) -print_certs -out certificate.pem (with -inform DER"
          + " if it is not text)")
    }
    if has(.request) {
      throw PEMProblem(
        "is a certificate signing request; use the certificate that was issued for it")
    }
    throw PEMProblem("holds no certificate (a block that begins with -----BEGIN CERTIFICATE-----)")
  }

  /// The one private key, as DER of any form.
  public func privateKey() throws(PEMProblem) -> [UInt8] {
    let keys = entries.filter { $0.kind == .privateKey || $0.kind == .encryptedKey }
    guard keys.count <= 1 else {
      throw PEMProblem("holds \(keys.count) private keys; keep one of them in a file of its own")
    }
    if let key = keys.first {
      guard key.kind == .privateKey else {
        throw PEMProblem(
          "the private key is encrypted; write it without a pass phrase: openssl pkey -in \(path) -out key.pem"
        )
      }
      return key.der
    }
    if has(.archive) { throw archive }
    throw PEMProblem(
      "holds no private key (a block that begins with -----BEGIN PRIVATE KEY-----)"
        + (has(.publicKey)
          ? ", but a public one" : has(.certificate) ? ", but a certificate" : ""))
  }

  /// The one public key, as DER (SubjectPublicKeyInfo).
  public func publicKey() throws(PEMProblem) -> [UInt8] {
    let keys = entries.filter { $0.kind == .publicKey }
    guard keys.count == 1 else {
      throw PEMProblem(
        keys.isEmpty
          ? "holds no public key (a block that begins with -----BEGIN PUBLIC KEY-----)"
          : "holds \(keys.count) public keys; keep one of them in a file of its own")
    }
    return keys[0].der
  }

  /// True if the file holds a private key, so that nobody else may read it.
  public var holdsSecret: Bool { has(.privateKey) || has(.encryptedKey) || has(.archive) }

  private func has(_ kind: Kind) -> Bool { entries.contains { $0.kind == kind } }

  /// Keychain Access still writes archives in a form that OpenSSL 3 reads with `-legacy` only.
  private var archive: PEMProblem {
    PEMProblem(
      "is a PKCS#12 archive; convert it: openssl pkcs12 -legacy -nodes -in \(path) -out converted.pem (certificate and"
        + " key in one file)")
  }
}
