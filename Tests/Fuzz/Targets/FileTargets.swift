// SPDX-License-Identifier: Apache-2.0
import Contract
import Crypto
import EventLoop
import Glibc
import Records

@testable import GatewaySimulator
@testable import HTTPServer
@testable import Sender
@testable import Signer

extension FuzzTarget {
  /// The signer's credentials: every accepted entry has identifiers, apps and a key. `@key` stands for the path
  /// of a good one.
  static func credentials() -> FuzzTarget {
    let key = (try? SigningKey.generate()).flatMap { try? $0.pem() }
    let file = NamelessFile(key ?? [])
    return FuzzTarget("credentials") { bytes in
      let text = bytes.text.replacing("@key", with: file.path)
      do throws(CredentialsError) {
        let credentials = try CredentialsFile.parse(Array(text.utf8), of: "fuzz/credentials.json")
        if credentials.isEmpty { return "accepted without a credential" }
        if Set(credentials.map(\.id)).count != credentials.count { return "the same id twice" }
        for credential in credentials {
          guard ProviderTokenClaims.isIdentifier(credential.keyID),
            ProviderTokenClaims.isIdentifier(credential.teamID), !credential.apps.isEmpty
          else { return "an entry that is not whole" }
        }
        return nil
      } catch {
        return error.description.isEmpty ? "refused without words" : nil
      }
    }
  }

  /// The sender's client certificates: every accepted entry has a certificate that is good for its apps and
  /// environment. `@certificate` and `@key` stand for the paths of good ones.
  static func certificates() -> FuzzTarget {
    let issued = (try? CertificateAuthority()).flatMap {
      try? $0.issueClient(bundleID: "com.example.app")
    }
    let certificate = NamelessFile(issued?.certificatePEM ?? [])
    let key = NamelessFile(issued?.keyPEM ?? [])
    return FuzzTarget("certificates") { bytes in
      let text = bytes.text.replacing("@certificate", with: certificate.path)
        .replacing("@key", with: key.path)
      do throws(CertificatesError) {
        let certificates = try CertificatesFile.parse(
          Array(text.utf8), of: "fuzz/certificates.json", now: 1_700_000_000)
        if certificates.isEmpty { return "accepted without a certificate" }
        if Set(certificates.map(\.certificate.fingerprint)).count != certificates.count {
          return "the same certificate twice"
        }
        for entry in certificates {
          let serves =
            switch entry.scope {
            case .production: entry.certificate.servesProduction
            case .sandbox: entry.certificate.servesSandbox
            case .any: entry.certificate.servesProduction && entry.certificate.servesSandbox
            }
          if !serves { return "a certificate for another environment" }
          if entry.apps.isEmpty || entry.apps.contains("") { return "an entry without an app" }
        }
        return nil
      } catch {
        return error.description.isEmpty ? "refused without words" : nil
      }
    }
  }

  /// The simulator's admin port: a line with method, path and query, then the body. Every route answers, with
  /// JSON where it says so, and says what is wrong when it refuses.
  static func admin() -> FuzzTarget {
    let parser = JSONParser()
    return FuzzTarget("admin") { bytes in
      let head = bytes.prefix { $0 != UInt8(ascii: "\n") }
      let words = String(decoding: head, as: UTF8.self).split(
        separator: " ", maxSplits: 2, omittingEmptySubsequences: false
      ).map(String.init)
      guard words.count >= 2 else { return nil }
      let query = (words.count > 2 ? words[2] : "").split(separator: "&").map { part in
        let pair = part.split(separator: "=", maxSplits: 1).map(String.init)
        return (name: pair.first ?? "", value: pair.count > 1 ? pair[1] : "")
      }
      let request = HTTPRequest(
        method: words[0], path: words[1], query: query,
        body: Array(bytes.dropFirst(head.count + 1)))
      let (world, faults) = (GatewayWorld(), FaultControl(seed: 1, identity: nil))
      let api = AdminAPI(world, faults, ProfileControl(world, faults), [])
      guard let route = api.routes.first(where: { $0.covers(words[1]) && $0.takes(words[0]) })
      else { return nil }
      let response = route.handler(request)
      guard case .bytes(let body) = response.body, response.contentType == "application/json"
      else { return nil }
      guard let answer = try? parser.parse(body) else { return "an answer that is no JSON" }
      if response.status == 200 { return answer["error"] == nil ? nil : "an error with 200" }
      return answer["error"]?.string?.isEmpty == false ? nil : "refused without words"
    }
  }
}

/// A file without a name that this user alone may read: nothing is left behind, however the process ends.
private final class NamelessFile {
  private let descriptor: Int32
  /// Leads to it as long as this value is there.
  var path: String { "/proc/self/fd/\(descriptor)" }

  init(_ content: [UInt8]) {
    var template = Array("/tmp/martlet-fuzz-XXXXXX".utf8CString)
    descriptor = mkstemp(&template)
    unlink(template)
    _ = write(descriptor, content, content.count)
  }

  deinit { close(descriptor) }
}
