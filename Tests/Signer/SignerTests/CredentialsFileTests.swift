// SPDX-License-Identifier: Apache-2.0
import Contract
import Crypto
import EventLoop
import Settings
import TestSupport
import Testing

@testable import Signer

/// The list of signing keys, with `AppClaims`.
@Suite struct CredentialsFileTests {
  private let folder = TemporaryFolder()

  private func load(_ json: String) throws(CredentialsError) -> [Credential] {
    do { try File.write(folder.file("c.json"), Array(json.utf8)) } catch { fatalError("\(error)") }
    return try CredentialsFile.load(folder.file("c.json"))
  }

  private func entry(_ changes: [String: String] = [:]) -> String {
    var fields = [
      "key_id": "\"ABC123DEFG\"", "team_id": "\"TEAM123456\"", "environment": "\"production\"",
      "apps": "[\"com.example.app\"]", "key_file": "\"key.p8\"",
    ]
    for (name, value) in changes { fields[name] = value.isEmpty ? nil : value }
    return "{" + fields.map { "\"\($0.key)\":\($0.value)" }.joined(separator: ",") + "}"
  }

  private func writeKey(mode: UInt32 = 0o600) throws {
    try File.write(folder.file("key.p8"), try SigningKey.generate().pem(), mode: mode)
  }

  private func problem(_ json: String) -> String {
    do {
      _ = try load(json)
      return ""
    } catch {
      return error.description
    }
  }

  @Test func `an array and an object with credentials are read`() throws {
    try writeKey()
    let credentials = try load("[\(entry())]")
    #expect(credentials.map(\.id) == ["TEAM123456/ABC123DEFG/production"])
    #expect(credentials[0].serves(app: "com.example.app", environment: .production))
    #expect(!credentials[0].serves(app: "com.example.app", environment: .sandbox))
    #expect(!credentials[0].serves(app: "com.example.other", environment: .production))
    let wrapped = try load("{\"credentials\":[\(entry(["environment": "", "apps": "[\"*\"]"]))]}")
    #expect(wrapped[0].id == "TEAM123456/ABC123DEFG/any")
    #expect(wrapped[0].serves(app: "anything", environment: .sandbox))
  }

  @Test func `a key file that others can read is refused and says what to do`() throws {
    try writeKey(mode: 0o644)
    #expect(problem("[\(entry())]").contains("chmod 600"))
    // A group that this process is in, as with a Kubernetes secret under fsGroup.
    try writeKey(mode: 0o440)
    #expect(problem("[\(entry())]") == "")
  }

  @Test func `a list that others can read is refused, too`() throws {
    try writeKey()
    try File.write(folder.file("c.json"), Array("[\(entry())]".utf8), mode: 0o644)
    #expect { _ = try CredentialsFile.load(folder.file("c.json")) } throws: {
      "\($0)".contains("c.json can be read by others: chmod 600")
    }
  }

  @Test(arguments: [
    (first: #"["a"]"#, second: #"["b","a"]"#, words: "a in production is claimed by entry 1"),
    (#"["*"]"#, #"["*"]"#, #"every other app ("*") in production is claimed by entry 1"#),
    (#"["a","*"]"#, #"["b"]"#, "must be the only entry"),
    (#"["com.example.*"]"#, #"["b"]"#, "is a pattern"),
    (#"["a b"]"#, #"["b"]"#, "is not a bundle id"), (#"["a","a"]"#, #"["b"]"#, "is listed twice"),
    (#"["*"]"#, #"["b"]"#, ""), (#"["a"]"#, #"["b"]"#, ""),
  ])
  func `an app that two credentials claim, or that is no bundle id, is refused`(
    first: String, second: String, words: String
  ) throws {
    try writeKey()
    let other = entry(["apps": second, "key_id": "\"OTHER12345\"", "environment": "\"any\""])
    let problem = problem("[\(entry(["apps": first])),\(other)]")
    #expect(words.isEmpty ? problem.isEmpty : problem.contains(words), "\(problem)")
    // In another environment the same app is another matter.
    let sandbox = entry([
      "apps": #"["b"]"#, "key_id": "\"OTHER12345\"", "environment": "\"sandbox\"",
    ])
    #expect(self.problem("[\(entry(["apps": #"["b"]"#])),\(sandbox)]").isEmpty)
  }

  @Test func `a file that holds no P-256 key is refused`() throws {
    try File.write(folder.file("key.p8"), Array("not a key".utf8))
    #expect(problem("[\(entry())]").contains("no private key"))
    try File.write(folder.file("key.p8"), try SigningKey.generate().publicKey.pem())
    #expect(problem("[\(entry())]").contains("no private key"))
    #expect(problem("[\(entry(["key_file": "\"none.p8\""]))]").contains("none.p8"))
  }

  @Test(arguments: [
    ("key_id", "", "key_id is required"), ("key_id", "\"short\"", "ten capital letters"),
    ("team_id", "17", "is not a text"), ("environment", "\"prod\"", "production, sandbox or any"),
    ("apps", "[]", "bundle ids"), ("apps", "[1]", "bundle ids"), ("apps", "", "bundle ids"),
    ("key_file", "", "key_file is required"), ("key", "\"x\"", "key is not a field"),
  ])
  func `an error names the entry and the field`(field: String, value: String, words: String) throws
  {
    try writeKey()
    let problem = problem("[\(entry()),\(entry([field: value]))]")
    #expect(problem.contains("entry 2"))
    #expect(problem.contains(words), "\(problem)")
  }

  @Test func `a file that is no list of credentials is refused`() throws {
    try writeKey()
    #expect(problem("[]").contains("no credential"))
    #expect(problem("7").contains("neither"))
    #expect(problem("[").contains("JSON"))
    #expect(problem("[\(entry()),\(entry())]").contains("twice"))
  }
}
