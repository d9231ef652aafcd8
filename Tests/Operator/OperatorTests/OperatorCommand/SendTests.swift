// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Kafka
import Records
import ServiceKit
import Settings
import TestSupport
import Testing

@testable import OperatorCommand

/// `martlet send`.
@Suite struct SendTests {
  private let token = String(repeating: "0a1b2c3d", count: 8)

  private func values(_ flags: [String]) throws -> SettingValues {
    try SendCommand.values(["--app", "a.b"] + flags)
  }

  private func request(_ flags: [String]) throws -> JSONValue {
    let values = try values(flags)
    _ = try SendCommand.settings(values)
    return try JSONDocument(PushWords.reading(values).request(values)).root
  }

  private func problem(_ flags: [String]) -> String {
    do {
      return "none: \(try request(flags))"
    } catch { return "\(error)" }
  }

  @Test func `words become the request that they mean`() throws {
    let push = try request([
      "--token", token, "--title", "Order", "--alert", "Ready", "--badge", "0", "--sound",
      "default", "--lane", "bulk", "--environment", "sandbox",
    ])
    #expect(push["app"] == "a.b" && push["token"]?.string == token && push["lane"] == "bulk")
    #expect(push["environment"] == "sandbox" && push["id"]?.string?.hasPrefix("send:") == true)
    let aps = push["payload"]?["aps"]
    #expect(aps?["alert"] == ["title": "Order", "body": "Ready"])
    #expect(aps?["badge"]?.int == 0 && aps?["sound"] == "default")
    #expect(try request(["--user", "ann", "--alert", "x"])["payload"] == ["aps": ["alert": "x"]])
    #expect(
      try request(["--token", token, "--type", "background"])["payload"]
        == ["aps": ["content-available": 1]])
  }

  @Test func `a payload is sent byte for byte`() throws {
    let folder = TemporaryFolder()
    try File.write(
      folder.file("p"), Array(#"{ "aps":{"badge":1.0},"n":12345678901234567890}"#.utf8))
    let flags = ["--token", token, "--payload", folder.file("p")]
    let values = try values(flags)
    let text = String(decoding: try PushWords.reading(values).request(values), as: UTF8.self)
    #expect(text.hasSuffix(#","payload":{ "aps":{"badge":1.0},"n":12345678901234567890}}"#))
    #expect(problem(flags + ["--alert", "x"]).contains("payload (flag): is the whole payload"))
    try File.write(folder.file("p"), Array("[]".utf8))
    #expect(problem(flags).contains("is not a JSON object"))
  }

  @Test func `what devices would ignore of a payload is named`() throws {
    let folder = TemporaryFolder()
    try File.write(folder.file("p"), Array(#"{"aps":{"alert":"x","thread_id":"a"}}"#.utf8))
    let values = try values(["--token", token, "--payload", folder.file("p")])
    let warnings = try SendCommand.settings(values).warnings.all
    #expect(warnings.map(\.member.path) == ["payload.aps.thread-id"])
  }

  @Test func `what ingest would refuse is refused before, by its field`() {
    #expect(problem(["--alert", "x"]).contains("token: "))
    #expect(problem(["--token", "xyz", "--alert", "x"]).contains("token: "))
    #expect(problem(["--token", token, "--user", "ann", "--alert", "x"]).contains("user: "))
    #expect(problem(["--token", token]).contains("alert: or --title"))
    #expect(problem(["--token", token, "--alert", "x", "--lane", "bulky"]).contains("lane: "))
    #expect(problem(["--token", token, "--alert", "x", "--type", "voice"]).contains("type: "))
    #expect(problem(["--token", token, "--alert", "x", "--app", "a b"]).contains("app: "))
  }

  @Test func `the request is produced with its device's key`() throws {
    let fixture = try KafkaFixture(topics: [("requests", 1)])
    let values = try values([
      "--token", token, "--alert", "x", "--no-wait", "--topic-prefix", fixture.prefix, "--kafka",
      fixture.configuration.bootstrap,
    ])
    try SendCommand.run(SendCommand.settings(values), ServiceContext(values))
    let record = try #require(try fixture.read(fixture.name("requests"), count: 1).first)
    #expect(record.key == token)
    #expect(try JSONDocument(record.value ?? "").root["payload"] == ["aps": ["alert": "x"]])
  }

  /// The end of a wait for receipts like these, which get the push's id, behind another push's.
  private func outcome(_ flags: [String], _ outcomes: [String]) throws -> String {
    let fixture = try KafkaFixture(topics: [("receipts", 1)])
    let values = try values(flags + ["--alert", "x"])
    let context = ServiceContext(values)
    let push = PushWords.reading(values)
    let wait = try OutcomeWait(
      push, KafkaCluster(fixture.configuration, context), TopicNames(prefix: fixture.prefix))
    let lines = outcomes.map { #"{"id":"\#(push.id)","at":1,\#($0)}"# }
    try fixture.produce(
      fixture.name("receipts"), key: nil,
      value: ([#"{"outcome":"rejected","id":"\#(push.id)0","at":1}"#] + lines).joined(
        separator: "\n"))
    do {
      try wait.run(context)
      return "delivered"
    } catch { return "\(error)" }
  }

  @Test func `it ends with the outcome of its own push`() throws {
    #expect(try outcome(["--token", token], [#""outcome":"delivered""#]) == "delivered")
    let refused = try outcome(
      ["--token", token],
      [#""outcome":"rejected","reason":"BadDeviceToken","token":"\#(token)","detail":"why""#])
    #expect(refused.hasPrefix("rejected BadDeviceToken  0a1b2c3d…  in "), "\(refused)")
    #expect(refused.hasSuffix("why"))
    let expired = #""outcome":"expired","created":0"#
    #expect(try outcome(["--token", token], [expired]) == "expired  in 1 ms")
  }

  @Test func `of a user it waits for all devices`() throws {
    let two = #""outcome":"addressed","addressed":2"#
    let delivered = #""outcome":"delivered""#
    #expect(try outcome(["--user", "ann"], [two, delivered, delivered]) == "delivered")
    let none = #""outcome":"addressed","addressed":0,"reason":"no_device""#
    #expect(try outcome(["--user", "ann"], [none]).hasPrefix("addressed no_device"))
    let expired = #""outcome":"expired","reason":"expiration_passed""#
    #expect(try outcome(["--user", "ann"], [delivered, expired, two]).hasPrefix("expired "))
    // Ingest has refused the request: there is nothing to wait for.
    let refused = #""outcome":"dead_lettered","reason":"invalid_request","detail":"why""#
    let words = try outcome(["--user", "ann"], [refused])
    #expect(words.hasPrefix("dead_lettered invalid_request  ") && words.hasSuffix("why"))
  }

  @Test func `at the time limit what is known is said`() {
    func problem(_ failure: String?, ended: Int) -> String? {
      OutcomeWait.problem(failure, ended: ended, of: 2, "id-1")
    }
    #expect(
      problem(nil, ended: 0)
        == "no outcome within 30s; it may still come: martlet trace id-1")
    #expect(problem(nil, ended: 1)?.hasPrefix("no further outcome within 30s; ") == true)
    #expect(
      problem("expired", ended: 1)?.hasPrefix("expired; no further outcome within 30s; ") == true)
    #expect(problem("expired", ended: 2) == "expired")
    #expect(problem(nil, ended: 2) == nil)
  }

  @Test func `a push that ingest or a sender does again counts once, by its outcome`() throws {
    func of(_ device: Int, _ outcome: String) -> String {
      #""outcome":"\#(outcome)","apns_id":"00000000-0000-4000-8000-00000000000\#(device)""#
    }
    let again = [of(1, "deduplicated"), of(1, "delivered")]
    #expect(try outcome(["--token", token], again) == "delivered")
    let two = #""outcome":"addressed","addressed":2"#
    let all = [two, of(1, "delivered"), of(1, "delivered"), of(2, "expired")]
    #expect(try outcome(["--user", "ann"], all).hasPrefix("expired "))
  }
}
