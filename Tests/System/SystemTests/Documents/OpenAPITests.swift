// SPDX-License-Identifier: Apache-2.0
import API
import Crypto
import EventLoop
import Glibc
import Kafka
import Records
import Store
import TestSupport
import Testing

/// docs/openapi.json against a running martlet-api: schemathesis sends what the document allows and what it does not, and
/// looks at status, media type, header fields and body of every answer.
@Suite(.serialized) struct OpenAPITests {
  private static let key = "martlet_openapi"

  private func start(_ folder: TemporaryFolder, _ kafka: KafkaFixture) throws -> BuiltProgram {
    let database = folder.file("tokens.sqlite")
    try TokenStore(database, now: 1).setComplete(at: 1)
    let digest = SHA256Digest.of(Self.key).map { byte in
      (byte < 16 ? "0" : "") + String(byte, radix: 16)
    }.joined()
    let keys = folder.file("keys.json")
    try File.write(
      keys,
      Array(
        #"[{"name":"test","sha256":"\#(digest)","apps":["*"],"paces":true,"campaigns":true}]"#.utf8
      ))
    return try BuiltProgram.start(
      "martlet-api",
      [
        "--kafka", kafka.configuration.bootstrap, "--topic-prefix", kafka.prefix, "--keys", keys,
        "--database", database, "--listen", "127.0.0.1:0", "--http", "off",
      ], in: folder)
  }

  /// Runs schemathesis to its end.
  private func run(
    _ url: String, _ flags: [String], in folder: TemporaryFolder
  ) throws -> (status: Int32, output: String) {
    // It leaves files where it is started.
    try BuiltProgram.run(
      try SystemProgram.path("bash"),
      [
        "-c", "cd \"$0\" && exec \"$@\"", folder.path, try SystemProgram.python("schemathesis"),
        "--config-file", Repository.path("Tests/System/SystemTests/Python/schemathesis.toml"),
        "run", Repository.path("docs/openapi.json"), "--url", url, "-H",
        "Authorization: Bearer \(Self.key)", "--no-color", "--generation-database", "none",
        "--seed", "1",
      ] + flags, in: folder, withinMilliseconds: 500_000)
  }

  /// `MARTLET_TEST_ALL_REQUESTS` asks for more of them.
  @Test func `every answer is as the document says, whatever is sent`() throws {
    let folder = TemporaryFolder()
    let kafka = try KafkaFixture(
      topics: [("requests", 2), ("devices", 1), ("schedule", 1), ("controls", 1)])
    let api = try start(folder, kafka)
    let url = try #require(api.url(of: APILog.listening), "it printed: \(api.output)")
    let examples = getenv("MARTLET_TEST_ALL_REQUESTS") == nil ? "15" : "200"
    let result = try run(
      url, ["--phases", "coverage,fuzzing", "--max-examples", examples], in: folder)
    #expect(result.status == 0, "\(result.output.suffix(8_000))\n\(api.output.suffix(1_000))")
    #expect(result.output.contains("passed"), "\(result.output)")
    #expect(api.stop() == 0, "\(api.output)")
  }

  @Test func `a generated client sends a push, a batch and a campaign`() throws {
    let folder = TemporaryFolder()
    let kafka = try KafkaFixture(
      topics: [("requests", 2), ("devices", 1), ("schedule", 1), ("controls", 1)])
    let api = try start(folder, kafka)
    let url = try #require(api.url(of: APILog.listening), "it printed: \(api.output)")
    let said = try Documents.run(
      "generated_client.py",
      [
        "--document", Repository.path("docs/openapi.json"), "--url", url, "--key", Self.key,
        "--folder", folder.path,
      ], in: folder)
    #expect(said["push"]?["status"]?.int == 202 && said["push"]?["id"]?.string == "client-1")
    #expect(said["push"]?["warnings"]?.array?.first?["rule"]?.string == "misspelled-key", "\(said)")
    let batch = try #require(said["batch"]?.array)
    #expect(batch.map { $0["status"]?.int } == [202, 400])
    #expect(batch.last?["detail"]?.string?.hasPrefix("payload.aps.badge: ") == true)
    #expect(said["campaign"]?["status"]?.int == 202)
    #expect(try kafka.read(kafka.name("requests"), count: 2).count == 2)
    #expect(api.stop() == 0, "\(api.output)")
  }

  @Test func `the document says of every operation that a key may lack the right to it`() throws {
    let document = try JSONDocument(try Repository.text("docs/openapi.json")).root
    for path in try #require(document["paths"]?.object).members {
      for method in ["get", "put", "post", "delete"] {
        guard let operation = path.value[method] else { continue }
        for status in ["401", "403"] {
          #expect(operation["responses"]?[status] != nil, "\(method) \(path.key): \(status)")
        }
      }
    }
  }

  @Test
  func `the document names every field of requests and campaigns, and refers to itself alone`()
    throws
  {
    let document = try JSONDocument(try Repository.text("docs/openapi.json")).root
    let schemas = document["components"]?["schemas"]
    func fields(_ schema: JSONValue?) -> Set<String> {
      Set(schema?["properties"]?.object?.keys ?? [])
    }
    func file(_ name: String) throws -> JSONValue {
      try JSONDocument(try Repository.text("docs/schemas/\(name).json")).root
    }
    let request = fields(schemas?["Request"])
    let campaign = fields(schemas?["CampaignStart"])
    let sent = fields(schemas?["CampaignRequest"])
    #expect(try request == fields(file("request")))
    #expect(try campaign == fields(file("campaign")))
    #expect(sent.isSubset(of: request))
    for match in try Repository.text("docs/openapi.json").matches(of: #/"\$ref": "([^"]+)"/#) {
      #expect(match.1.hasPrefix("#/components/"), "\(match.1)")
    }
  }
}
