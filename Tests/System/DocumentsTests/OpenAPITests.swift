// SPDX-License-Identifier: Apache-2.0
import Bytes
import Glibc
import Kafka
import Signing
import Store
import SystemTestSupport
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
    _ url: Substring, _ flags: [String], in folder: TemporaryFolder
  ) throws -> (status: Int32, output: String) {
    // It leaves files where it is started.
    try BuiltProgram.run(
      try SystemProgram.path("bash"),
      [
        "-c", "cd \"$0\" && exec \"$@\"", folder.path, try Documents.tool("schemathesis"),
        "--config-file", Documents.path("Tests/System/DocumentsTests/Python/schemathesis.toml"),
        "run", try document(in: folder), "--url", String(url), "-H",
        "Authorization: Bearer \(Self.key)", "--no-color", "--generation-database", "none",
        "--seed", "1",
      ] + flags, in: folder, withinMilliseconds: 500_000)
  }

  /// The document without `headers` of requests, for the tool makes no objects whose names have a pattern, and without
  /// what is about people, `send_at`, `supersede` and `group`, for with more members that have rules of their own it makes no requests at all
  /// (`result is not supported in canonical form`). Their rules are held to the parser by `RequestSchemaTests` and
  /// `CarriedFieldTests`.
  private func document(in folder: TemporaryFolder) throws -> String {
    let copied = try BuiltProgram.run(
      "/bin/cp",
      ["-r", Documents.path("docs/openapi.json"), Documents.path("docs/schemas"), folder.path],
      in: folder)
    try #require(copied.status == 0, "\(copied.output)")
    let request = folder.file("schemas/request.json")
    var text = String(decoding: try File.read(request), as: UTF8.self)
    for (first, next) in [
      ("user", "payload"), ("send_at", "collapse_id"), ("supersede", "data"), ("group", "lane"),
    ] {
      let start = try #require(text.firstRange(of: "\"\(first)\": {")).lowerBound
      let end = try #require(text.firstRange(of: "\"\(next)\": {")).lowerBound
      text.removeSubrange(start..<end)
    }
    let persons = "    {\"$ref\": \"#/$defs/persons\"},\n"
    text.removeSubrange(try #require(text.firstRange(of: persons)))
    // One to people is none of the targets then.
    let beginning = ",\n    {\n      \"$ref\": \"#/$defs/has/people\""
    let people = try #require(text.firstRange(of: beginning))
    let rest = try #require(text[people.lowerBound...].firstRange(of: "\n  ],\n"))
    text.removeSubrange(people.lowerBound..<rest.lowerBound)
    try File.write(request, Array(text.utf8))
    return folder.file("openapi.json")
  }

  /// Each value at its limits takes minutes for requests, with their many rules: that is done when
  /// `MARTLET_TEST_ALL_REQUESTS` asks for it.
  @Test func `every answer is as the document says, whatever is sent`() throws {
    let folder = TemporaryFolder()
    let kafka = try KafkaFixture(
      topics: [("requests", 2), ("devices", 1), ("schedule", 1), ("controls", 1)])
    let api = try start(folder, kafka)
    try #require(
      eventually { api.output.contains("HTTP API url=") }, "it printed: \(api.output)")
    let url = try #require(api.output.firstMatch(of: #/HTTP API url=(http:[0-9.:\/]+)/#)).1
    let isLong = getenv("MARTLET_TEST_ALL_REQUESTS") != nil
    let runs = [
      ["--exclude-path", "/v1/notifications", "--phases", "coverage,fuzzing", "--max-examples"]
        + [isLong ? "100" : "10"],
      ["--include-path", "/v1/notifications", "--max-examples", isLong ? "200" : "20", "--phases"]
        + [isLong ? "coverage,fuzzing" : "fuzzing"],
    ]
    for flags in runs {
      let result = try run(url, flags, in: folder)
      #expect(result.status == 0, "\(result.output.suffix(8_000))\n\(api.output.suffix(1_000))")
      #expect(result.output.contains("passed"), "\(result.output)")
    }
    #expect(api.stop() == 0, "\(api.output)")
  }
}
