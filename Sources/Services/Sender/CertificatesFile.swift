// SPDX-License-Identifier: Apache-2.0
import Bytes
public import Delivery
public import EventLoop
import JSON
public import TLS

/// Why the client certificates cannot be used: which entry, which field, what to do. Names no secret.
public struct CertificatesError: Error, Equatable, Sendable, CustomStringConvertible {
  public let description: String

  init(_ description: String) { self.description = description }
}

/// A client certificate of the sender: what it serves and how to show it.
public struct ClientCertificate: Sendable {
  /// The certificate's file, for the log.
  public let path: String
  public let certificate: PushCertificate
  /// Bundle ids whose pushes use it.
  public let apps: [String]
  public let scope: ProviderTokenBook.Scope
  /// Holds a secret.
  public let identity: TLSIdentity

  var entry: CertificateBook.Entry {
    .init(apps: apps, scope: scope, expiresAt: certificate.expiresAt)
  }
}

/// The file that lists the client certificates: a JSON array, or an object whose `certificates` is that
/// array. `apps` and `environment` are only needed where the certificate should serve less than it says.
///
/// ```json
/// [{"certificate_file": "push.pem", "key_file": "push-key.pem",
///   "apps": ["com.example.app"], "environment": "production"}]
/// ```
public enum CertificatesFile {
  private static let fields = ["certificate_file", "key_file", "apps", "environment"]

  /// Reads the file and every certificate and key that it names. Throws at the first thing that is wrong:
  /// also a certificate that has expired, or whose key is another's or can be read by others.
  ///
  /// - Parameter now: seconds since the epoch.
  public static func load(
    _ path: String, now: Int64 = WallClock.seconds()
  ) throws(CertificatesError) -> [ClientCertificate] {
    let content: [UInt8]
    do throws(SystemError) {
      content = try File.read(path, limit: 4 << 20)
    } catch {
      throw CertificatesError("\(error)")
    }
    return try parse(content, of: path, now: now)
  }

  /// Reads the file's content. Paths of certificates and keys begin at the folder of `path`.
  static func parse(
    _ content: [UInt8], of path: String, now: Int64
  ) throws(CertificatesError) -> [ClientCertificate] {
    let entries = try list(content, path)
    let folder = path.lastIndex(of: "/").map { String(path[...$0]) } ?? ""
    var certificates: [ClientCertificate] = []
    var claims = AppClaims()
    for (index, entry) in entries.enumerated() {
      let place = "\(path): entry \(index + 1)"
      let found = try read(entry, folder: folder, place: place, now: now)
      let fingerprint = found.certificate.fingerprint
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
    _ entry: JSONValue, folder: String, place: String, now: Int64
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
    let identity = try identity(certificatePath, try path("key_file"), place)
    let certificate: PushCertificate
    do throws(TLSError) {
      certificate = try PushCertificate(pem: identity.certificates)
    } catch {
      throw CertificatesError("\(place): certificate_file: \(certificatePath): \(error)")
    }
    guard certificate.expiresAt > now else {
      let past = CertificateBook.age(from: certificate.expiresAt, to: now)
      throw CertificatesError(
        "\(place): certificate_file: \(certificatePath) expired \(past) ago; renew it")
    }
    return ClientCertificate(
      path: certificatePath, certificate: certificate, apps: try apps(object, certificate, place),
      scope: try scope(object, certificate, place), identity: identity)
  }

  private static func identity(
    _ certificatePath: String, _ keyPath: String, _ place: String
  ) throws(CertificatesError) -> TLSIdentity {
    let identity: TLSIdentity
    let problem: String?
    do throws(SystemError) {
      problem = try File.exposure(of: keyPath)
      identity = TLSIdentity(
        certificates: try File.read(certificatePath, limit: 1 << 20),
        key: try File.read(keyPath, limit: 64 << 10))
    } catch {
      throw CertificatesError("\(place): \(error)")
    }
    if let problem { throw CertificatesError("\(place): key_file: \(problem)") }
    do throws(TLSError) {
      // Also finds a key that belongs to another certificate; a client's context would read the system's roots.
      _ = try TLSContext.server(identity: identity)
    } catch {
      throw CertificatesError("\(place): \(certificatePath) and \(keyPath): \(error)")
    }
    return identity
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
