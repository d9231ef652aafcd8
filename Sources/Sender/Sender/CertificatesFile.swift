// SPDX-License-Identifier: Apache-2.0
public import Contract
public import Crypto
public import EventLoop
import Records
import SenderDecisions
import Telemetry

/// Why the client certificates cannot be used: which entry, which field, what to do. Names no secret.
public struct CertificatesError: Error, Equatable, Sendable, CustomStringConvertible {
  public let description: String

  init(_ description: String) { self.description = description }
}

/// A client certificate of the sender: what it serves and how to show it.
public struct ClientCertificate: Sendable {
  /// The certificate's file.
  public let path: String
  /// The key's file.
  let keyPath: String
  public let certificate: PushCertificate
  /// Bundle ids whose pushes use it.
  public let apps: [String]
  public let scope: ProviderTokenBook.Scope
  /// Holds a secret.
  public let identity: TLSIdentity

  /// The apps that certificates serve: those of the list that the certificate itself names, where it names any.
  static func coverage(_ certificates: [ClientCertificate]) -> AppCoverage {
    var coverage = AppCoverage()
    for entry in certificates {
      let topics = entry.certificate.topics
      let named = entry.apps.filter { app in
        topics.isEmpty || topics.contains { $0 == app || $0.hasPrefix("\(app).") }
      }
      coverage.add(named, entry.scope, team: entry.certificate.teamID)
    }
    return coverage
  }

  var entry: CertificateBook.Entry {
    .init(apps: apps, scope: scope, expiresAt: certificate.expiresAt)
  }
}

/// The file that lists the client certificates: a JSON array, or an object whose `certificates` is that
/// array. `key_file` is only needed if the key is not in the certificate's file, `apps` and `environment` where the
/// certificate should serve less than it says.
///
/// ```json
/// [{"certificate_file": "push.pem", "key_file": "push-key.pem",
///   "apps": ["com.example.app"], "environment": "production"}]
/// ```
public enum CertificatesFile {
  private static let fields = ["certificate_file", "key_file", "apps", "environment"]

  /// Reads the file and every certificate and key that it names. Throws at the first thing that is wrong:
  /// also a certificate that has expired or is not valid yet, or whose key is another's or can be read by others.
  ///
  /// - Parameters:
  ///   - inUse: fingerprints of certificates that may have expired: one that is in use already must not keep the others
  ///     from being renewed.
  ///   - now: seconds since the epoch.
  public static func load(
    _ path: String, inUse: Set<String> = [], now: Int64 = WallClock.seconds()
  ) throws(CertificatesError) -> [ClientCertificate] {
    let content: [UInt8]
    let problem: String?
    do throws(SystemError) {
      problem = try File.tampering(of: path)
      content = try File.read(path, limit: 4 << 20)
    } catch {
      throw CertificatesError("\(error)")
    }
    if let problem { throw CertificatesError(problem) }
    return try parse(content, of: path, inUse: inUse, now: now)
  }

  /// Reads the file's content. Paths of certificates and keys begin at the folder of `path`.
  static func parse(
    _ content: [UInt8], of path: String, inUse: Set<String> = [], now: Int64
  ) throws(CertificatesError) -> [ClientCertificate] {
    let entries = try list(content, path)
    let folder = path.lastIndex(of: "/").map { String(path[...$0]) } ?? ""
    var certificates: [ClientCertificate] = []
    var claims = AppClaims()
    for (index, entry) in entries.enumerated() {
      let place = "\(path): entry \(index + 1)"
      let found = try read(entry, folder: folder, place: place)
      let fingerprint = found.certificate.fingerprint
      guard found.certificate.expiresAt > now || inUse.contains(fingerprint) else {
        let past = ExpiryReminder.age(from: found.certificate.expiresAt, to: now)
        throw CertificatesError(
          "\(place): certificate_file: \(found.path) expired \(past) ago; renew it")
      }
      guard found.certificate.startsAt <= now + OutsideTime.skew / 1_000 else {
        let start = Timestamp.text(milliseconds: found.certificate.startsAt * 1_000)
        throw CertificatesError(
          "\(place): certificate_file: \(found.path) is valid from \(start) on only; list it then, or correct the clock"
        )
      }
      guard !certificates.contains(where: { $0.certificate.fingerprint == fingerprint }) else {
        throw CertificatesError("\(place): \(found.path) is listed twice")
      }
      try claim(found, index, certificates, &claims, place)
      certificates.append(found)
    }
    guard !certificates.isEmpty else { throw CertificatesError("\(path): lists no certificate") }
    return certificates
  }

  /// Two certificates that serve the same apps in the same environments are one and its renewal: the one that lasts
  /// longest is used. Any other overlap would leave the choice to their dates.
  private static func claim(
    _ found: ClientCertificate, _ index: Int, _ others: [ClientCertificate],
    _ claims: inout AppClaims, _ place: String
  ) throws(CertificatesError) {
    let twin = others.firstIndex { Set($0.apps) == Set(found.apps) && $0.scope == found.scope }
    do throws(AppClaims.Overlap) {
      try claims.claim(found.apps, found.scope, by: twin ?? index)
    } catch {
      throw CertificatesError("\(place): \(error)")
    }
  }

  private static func list(
    _ content: [UInt8], _ path: String
  ) throws(CertificatesError) -> [JSONValue] {
    let root: JSONValue
    do throws(JSONError) {
      root = try JSONDocument(content).root
    } catch {
      throw CertificatesError("\(path): \(error)")
    }
    guard let entries = root.array ?? root["certificates"]?.array else {
      throw CertificatesError("\(path): is neither an array nor an object with certificates")
    }
    return entries
  }

  private static func read(
    _ entry: JSONValue, folder: String, place: String
  ) throws(CertificatesError) -> ClientCertificate {
    guard let object = entry.object else { throw CertificatesError("\(place): is not an object") }
    if let stranger = object.keys.first(where: { !fields.contains($0) }) {
      throw CertificatesError(
        "\(place): \(stranger) is not a field (\(fields.joined(separator: ", ")))")
    }
    if let twice = object.duplicateKey {
      throw CertificatesError("\(place): \(twice) is given twice")
    }
    func path(_ field: String) throws(CertificatesError) -> String {
      guard let text = object[field]?.string, !text.isEmpty else {
        throw CertificatesError("\(place): \(field): is required, as a text")
      }
      return text.hasPrefix("/") ? text : folder + text
    }
    let certificatePath = try path("certificate_file")
    let hasOneFile = object["key_file"] == nil
    let keyPath = hasOneFile ? certificatePath : try path("key_file")
    let identity: TLSIdentity
    let certificate: PushCertificate
    do throws(TLSError) {
      identity = try TLSIdentity.load(certificate: certificatePath, key: keyPath)
      certificate = try identity.certificate()
    } catch {
      let hint = hasOneFile ? "; if the key is in a file of its own, name that in key_file" : ""
      throw CertificatesError("\(place): \(error)\(hint)")
    }
    return ClientCertificate(
      path: certificatePath, keyPath: keyPath, certificate: certificate,
      apps: try apps(object, certificate, place),
      scope: try scope(object, certificate, place), identity: identity)
  }

  private static func apps(
    _ object: JSONObject, _ certificate: PushCertificate, _ place: String
  ) throws(CertificatesError) -> [String] {
    guard let given = object["apps"] else {
      guard !certificate.apps.isEmpty else {
        throw CertificatesError("\(place): apps: is required, the certificate names no app")
      }
      return certificate.apps
    }
    let apps = given.array?.compactMap(\.string) ?? []
    guard !apps.isEmpty, apps.count == given.array?.count, !apps.contains("") else {
      throw CertificatesError("\(place): apps: is not a list of bundle ids")
    }
    if let problem = AppClaims.problem(in: apps, allowsStar: false) {
      throw CertificatesError("\(place): apps: \(problem)")
    }
    return apps
  }

  private static func scope(
    _ object: JSONObject, _ certificate: PushCertificate, _ place: String
  ) throws(CertificatesError) -> ProviderTokenBook.Scope {
    let marks: ProviderTokenBook.Scope =
      !certificate.servesProduction
      ? .sandbox : certificate.servesSandbox ? .any : .production
    guard let given = object["environment"] else { return marks }
    switch given.string {
    case "any": return marks
    case "production" where certificate.servesProduction: return .production
    case "sandbox" where certificate.servesSandbox: return .sandbox
    case "production", "sandbox":
      throw CertificatesError(
        "\(place): environment: the certificate is not one for \(given.string ?? "")")
    default:
      throw CertificatesError("\(place): environment: is not production, sandbox or any")
    }
  }
}

extension PushCertificate {
  /// The bundle ids whose pushes it may carry: the subject's, and the topics of kind `app`.
  var apps: [String] {
    var names = bundleID.map { [$0] } ?? []
    for topic in listedTopics where topic.kinds.contains("app") && !names.contains(topic.name) {
      names.append(topic.name)
    }
    return names
  }
}
