// SPDX-License-Identifier: Apache-2.0
import APNS
import Bytes
import Delivery
import Faults
import Glibc
import JSON
import Signing

@testable import GatewaySimulator
@testable import HTTPServer
@testable import Signer

extension FuzzTarget {
  /// The signer's credentials: every accepted entry has identifiers, apps and a key.
  static func credentials() -> FuzzTarget {
    let path = "\(temporaryFolder())/credentials-\(getpid()).json"
    return FuzzTarget("credentials") { bytes in
      guard (try? File.write(path, Array(bytes))) != nil else { return "cannot write \(path)" }
      defer { try? File.remove(path) }
      do throws(CredentialsError) {
        let credentials = try CredentialsFile.load(path)
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
      let api = AdminAPI(GatewayWorld(), FaultControl(seed: 1, identity: nil), [])
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

  /// Fault scripts of the simulator: every accepted rule names a moment that its fault has.
  static func faultScript() -> FuzzTarget {
    let parser = JSONParser()
    return FuzzTarget("fault-script") { bytes in
      guard let value = try? parser.parse(bytes) else { return nil }
      do throws(FaultScriptError) {
        let script = try FaultScript(value)
        for rule in script.rules where !rule.id.stages.contains(rule.stage) {
          return "a rule at a moment that its fault does not have"
        }
        return nil
      } catch {
        return error.description.isEmpty ? "refused without words" : nil
      }
    }
  }

  /// In memory where the system has such a place: files come and go with every input.
  private static func temporaryFolder() -> String {
    access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp"
  }
}
