// SPDX-License-Identifier: Apache-2.0
import APNS
import Bytes
import Delivery
import Records
import Settings
import Signing
import TestSupport
import Testing

@testable import Signer

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

  @Test func `reads an array and an object with credentials`() throws {
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
    try writeKey(mode: 0o640)
    #expect(problem("[\(entry())]").contains("chmod 600"))
  }

  @Test func `a file that holds no P-256 key in PKCS 8 is refused`() throws {
    try File.write(folder.file("key.p8"), Array("not a key".utf8))
    #expect(problem("[\(entry())]").contains("PKCS#8"))
    try File.write(folder.file("key.p8"), try SigningKey.generate().publicKey.pem())
    #expect(problem("[\(entry())]").contains("PKCS#8"))
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

  @Test func `what is no list of credentials is refused`() throws {
    try writeKey()
    #expect(problem("[]").contains("no credential"))
    #expect(problem("7").contains("neither"))
    #expect(problem("[").contains("JSON"))
    #expect(problem("[\(entry()),\(entry())]").contains("twice"))
  }
}

@Suite struct MintingDeskTests {
  private func desk() throws -> MintingDesk {
    let minter = try ProviderTokenMinter(
      key: try SigningKey.generate(), teamID: "TEAM123456", keyID: "ABC123DEFG")
    return MintingDesk([
      Credential(
        teamID: "TEAM123456", keyID: "ABC123DEFG", scope: .production, apps: ["a"], keyPath: "",
        minter: minter)
    ])
  }

  private func request(at seconds: Int64, app: String = "a") -> TokenRequest {
    TokenRequest(
      credential: nil, app: app, environment: .production, reason: "ExpiredProviderToken",
      at: seconds * 1_000)
  }

  @Test func `a token on its way is not minted again and a refused one is`() throws {
    var desk = try desk()
    #expect(desk.due(now: 10_000) == 0)
    let record = try #require(try desk.mint(0, now: 10_000))
    #expect(record.issuedAt == 9_995)
    #expect(desk.due(now: 10_001) == nil)
    desk.answered(record, isStored: false)
    #expect(desk.due(now: 10_002) == 0)
    let again = try #require(try desk.mint(0, now: 10_002))
    #expect(again.generation == 1)
    desk.answered(again, isStored: true)
    #expect(desk.due(now: 10_003) == nil)
    #expect(desk.due(now: 9_997 + 45 * 60) == 0)
  }

  @Test func `a request that is older than the current token changes nothing`() throws {
    var desk = try desk()
    desk.published(
      ProviderTokenRecord(
        credential: "TEAM123456/ABC123DEFG/production", teamID: "TEAM123456", keyID: "ABC123DEFG",
        scope: .production, apps: ["a"], issuedAt: 5_000, generation: 3, token: "x.y.z"))
    let isServed = desk.requested(request(at: 4_999))
    #expect(isServed)
    #expect(desk.due(now: 5_000 + 21 * 60) == nil)
    _ = desk.requested(request(at: 5_001))
    #expect(desk.due(now: 5_000 + 19 * 60) == nil)
    #expect(desk.due(now: 5_000 + 21 * 60) == 0)
  }

  @Test func `a request for an app that no credential serves is reported`() throws {
    var desk = try desk()
    let isServed = desk.requested(request(at: 1, app: "b"))
    #expect(!isServed)
  }
}
