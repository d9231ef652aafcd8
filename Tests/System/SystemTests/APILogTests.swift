// SPDX-License-Identifier: Apache-2.0
import API
import Crypto
import EventLoop
import HTTPClient
import Kafka
import TestSupport
import Testing

/// What the HTTP API's log says of many things in one line.
@Suite struct APILogTests {
  private let folder = TemporaryFolder()

  private func key(_ name: String) -> String {
    let digest = SHA256Digest.of(name).map { byte in
      (byte < 16 ? "0" : "") + String(byte, radix: 16)
    }.joined()
    return #"{"name":"\#(name)","sha256":"\#(digest)","apps":["*"]}"#
  }

  private func start(_ kafka: KafkaFixture, _ flags: [String] = []) throws -> BuiltProgram {
    let keys = folder.file("keys.json")
    try File.write(keys, Array("[\(key("shop")),\(key("news")),\(key("idle"))]".utf8))
    return try BuiltProgram.start(
      "martlet-api",
      [
        "--kafka", kafka.configuration.bootstrap, "--topic-prefix", kafka.prefix, "--keys", keys,
        "--listen", "127.0.0.1:0", "--http", "off",
      ] + flags, in: folder)
  }

  private func lines(of event: APILog, _ api: BuiltProgram) -> [Substring] {
    api.output.split(separator: "\n").filter { $0.contains(" \(event.rawValue) ") }
  }

  @Test func `requests that Kafka refuses alike are told of once`() throws {
    let kafka = try KafkaFixture(topics: [("requests", 1), ("devices", 1)])
    let api = try start(kafka, ["--kafka.producer.message.max.bytes=2000"])
    let url = try #require(api.url(of: APILog.listening), "it printed: \(api.output)")
    let token = String(repeating: "ab", count: 32)
    let text = String(repeating: "a", count: 3_000)
    let line =
      #"{"app":"a.b","token":"\#(token)","payload":{"aps":{"alert":"\#(text)"}}}"# + "\n"
    _ = try HTTPClient(timeoutMilliseconds: 30_000).post(
      "\(url)/v1/notifications", Array(String(repeating: line, count: 20).utf8),
      contentType: "application/x-ndjson", headers: ["Authorization: Bearer shop"])
    #expect(api.stop() == 0, "\(api.output)")
    #expect(lines(of: .requestRefused, api).count == 1, "\(api.output)")
  }

  @Test func `devices changed names each key with what it changed since the line before`() throws {
    let kafka = try KafkaFixture(topics: [("requests", 1), ("devices", 1)])
    let api = try start(kafka)
    let url = try #require(api.url(of: APILog.listening), "it printed: \(api.output)")
    let client = HTTPClient(timeoutMilliseconds: 30_000)
    func change(_ method: String, _ query: String, _ body: String?, _ key: String) throws {
      let token = String(repeating: "ab", count: 32)
      let answer = try client.send(
        method, "\(url)/v1/devices/\(token)\(query)", body.map { Array($0.utf8) },
        contentType: "application/json", headers: ["Authorization: Bearer \(key)"])
      #expect(answer.status == 202, "\(answer.text)")
    }
    for app in ["a.b", "a.c"] { try change("PUT", "", #"{"app":"\#(app)"}"#, "shop") }
    try change("DELETE", "?app=a.b", nil, "shop")
    try change("PUT", "", #"{"app":"a.d"}"#, "news")
    #expect(api.stop() == 0, "\(api.output)")
    // What came within the minute is told at the end.
    let lines = lines(of: .devicesChanged, api)
    func sum(_ field: String, of key: String) -> Int {
      lines.filter { $0.contains(" key=\(key) ") }.reduce(0) { sum, line in
        let words = line.split(separator: " ").filter { $0.hasPrefix("\(field)=") }
        return sum + (words.first.flatMap { Int($0.dropFirst(field.count + 1)) } ?? 0)
      }
    }
    #expect(sum("registered", of: "shop") == 2 && sum("removed", of: "shop") == 1, "\(lines)")
    #expect(sum("registered", of: "news") == 1 && sum("removed", of: "news") == 0, "\(lines)")
    #expect(!lines.contains { $0.contains("key=idle") }, "\(lines)")
    #expect(lines.allSatisfy { $0.contains(" info ") && $0.contains("client=127.0.0.1") })
  }
}
