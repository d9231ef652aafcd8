// SPDX-License-Identifier: Apache-2.0
import COpenSSL
import Glibc

/// The facts that a push certificate (X.509) states about its holder: the app, its topics, its environments.
///
/// Sources: Apple, "Establishing a certificate-based connection to APNs" and the archived
/// "Communicating with APNs" (UID, extensions …6.3.6 and …6.3.4); …6.3.1 and …6.3.2 were observed.
public struct PushCertificate: Sendable, Equatable {
  /// A topic and what it is good for, such as `app`, `voip`, `complication`.
  public struct Topic: Sendable, Equatable {
    public let name: String
    public let kinds: [String]
  }

  /// The subject's UID: the bundle id, and the topic of requests that name none. nil without one.
  public let bundleID: String?
  public let commonName: String?
  /// The subject's OU: the team id. nil without one.
  public let teamID: String?
  /// Topics of the extensions, in their order; empty for a certificate of a single topic.
  public let listedTopics: [Topic]
  /// Has the mark of the sandbox (…6.3.1), of production (…6.3.2). One without either serves both.
  public let hasSandboxMark: Bool
  public let hasProductionMark: Bool
  /// When it begins to be valid, in seconds since the epoch.
  public let startsAt: Int64
  /// When it stops to be valid, in seconds since the epoch.
  public let expiresAt: Int64
  /// SHA-256 of the certificate in lower-case hexadecimal digits.
  public let fingerprint: String

  /// Every topic that it may send to: the bundle id and what the extensions list.
  public var topics: [String] {
    var names = bundleID.map { [$0] } ?? []
    for topic in listedTopics where !names.contains(topic.name) { names.append(topic.name) }
    return names
  }

  public var servesSandbox: Bool { hasSandboxMark || !hasProductionMark }
  public var servesProduction: Bool { hasProductionMark || !hasSandboxMark }

  /// Reads the first certificate of a file (`PEMFile`).
  public init(pem: [UInt8]) throws(TLSError) {
    let found = try Certificates(pem, path: "FILE")
    self = withExtendedLifetime(found) { PushCertificate(found.list[0]) }
  }

  init(_ certificate: OpaquePointer) {
    let subject = X509_get_subject_name(certificate)
    bundleID = Self.text(subject, NID_userId)
    commonName = Self.text(subject, NID_commonName)
    teamID = Self.text(subject, NID_organizationalUnitName)
    let lists = ["1.2.840.113635.100.6.3.6", "1.2.840.113635.100.6.3.4"]
    listedTopics = lists.flatMap { TopicList.read(Self.content(certificate, of: $0) ?? []) }
    hasSandboxMark = Self.content(certificate, of: "1.2.840.113635.100.6.3.1") != nil
    hasProductionMark = Self.content(certificate, of: "1.2.840.113635.100.6.3.2") != nil
    startsAt = Self.seconds(X509_get0_notBefore(certificate))
    expiresAt = Self.seconds(X509_get0_notAfter(certificate))
    fingerprint = Self.fingerprint(certificate)
  }

  static func fingerprint(_ certificate: OpaquePointer?) -> String {
    var digest = [UInt8](repeating: 0, count: 32)
    var count: UInt32 = 0
    X509_digest(certificate, EVP_sha256(), &digest, &count)
    let digits = Array("0123456789abcdef".utf8)
    let text = digest.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }
    return String(decoding: text, as: UTF8.self)
  }

  private static func text(_ name: OpaquePointer?, _ field: Int32) -> String? {
    let place = X509_NAME_get_index_by_NID(name, field, -1)
    guard place >= 0, let entry = X509_NAME_get_entry(name, place) else { return nil }
    var utf8: UnsafeMutablePointer<UInt8>?
    let count = ASN1_STRING_to_UTF8(&utf8, X509_NAME_ENTRY_get_data(entry))
    guard count >= 0, let utf8 else { return nil }
    defer { CRYPTO_free(utf8, "", 0) }
    return String(decoding: UnsafeBufferPointer(start: utf8, count: Int(count)), as: UTF8.self)
  }

  /// The DER content of an extension, nil when the certificate does not have it.
  private static func content(_ certificate: OpaquePointer, of identifier: String) -> [UInt8]? {
    let object = OBJ_txt2obj(identifier, 1)
    defer { ASN1_OBJECT_free(object) }
    let place = X509_get_ext_by_OBJ(certificate, object, -1)
    guard place >= 0, let found = X509_get_ext(certificate, place),
      let value = X509_EXTENSION_get_data(found)
    else { return nil }
    let start = ASN1_STRING_get0_data(value)
    return Array(UnsafeBufferPointer(start: start, count: Int(ASN1_STRING_length(value))))
  }

  private static func seconds(_ date: UnsafePointer<ASN1_TIME>?) -> Int64 {
    var time = tm()
    guard ASN1_TIME_to_tm(date, &time) == 1 else { return 0 }
    return Int64(timegm(&time))
  }
}

/// Reads `SEQUENCE OF CHOICE { topic UTF8String, kinds SEQUENCE OF UTF8String }`, in which a topic is
/// followed by its kinds (observed).
enum TopicList {
  static func read(_ bytes: [UInt8]) -> [PushCertificate.Topic] {
    guard let outer = values(bytes[...]).first, outer.tag == 0x30 else { return [] }
    var topics: [PushCertificate.Topic] = []
    for value in values(outer.content) {
      switch value.tag {
      case 0x0c: topics.append(.init(name: text(value.content), kinds: []))
      case 0x30:
        guard let last = topics.popLast() else { continue }
        let kinds = values(value.content).filter { $0.tag == 0x0c }.map { text($0.content) }
        topics.append(.init(name: last.name, kinds: last.kinds + kinds))
      default: continue
      }
    }
    return topics
  }

  private static func text(_ bytes: ArraySlice<UInt8>) -> String {
    String(decoding: bytes, as: UTF8.self)
  }

  /// The DER values that follow each other in `bytes`; what is cut off is left out.
  private static func values(
    _ bytes: ArraySlice<UInt8>
  ) -> [(tag: UInt8, content: ArraySlice<UInt8>)] {
    var rest = bytes
    var found: [(tag: UInt8, content: ArraySlice<UInt8>)] = []
    while let tag = rest.popFirst(), let first = rest.popFirst() {
      var count = Int(first)
      if first >= 0x80 {
        // The long form; more than three bytes of length do not fit a certificate.
        let size = Int(first & 0x7f)
        guard size > 0, size <= 3, rest.count >= size else { break }
        count = rest.prefix(size).reduce(0) { $0 << 8 | Int($1) }
        rest = rest.dropFirst(size)
      }
      guard rest.count >= count else { break }
      found.append((tag, rest.prefix(count)))
      rest = rest.dropFirst(count)
    }
    return found
  }
}
