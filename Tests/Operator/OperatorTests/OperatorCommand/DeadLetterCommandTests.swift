// SPDX-License-Identifier: Apache-2.0
import Contract
import Kafka
import Records
import ServiceKit
import Settings
import TestSupport
import Testing

@testable import OperatorCommand

/// A cluster with some dead letters, and the commands on it.
private final class DeadLetterFixture {
  let kafka: KafkaFixture
  let names: TopicNames
  private let producer: KafkaProducer

  init() throws {
    kafka = try KafkaFixture(topics: [
      ("dead-letters", 2), ("requests", 1), ("notifications", 1), ("notifications.bulk", 1),
      ("feedback", 1), ("devices", 1), ("schedule", 1), ("campaign-requests", 1),
    ])
    names = TopicNames(prefix: kafka.prefix)
    producer = try KafkaProducer(kafka.configuration)
  }

  deinit { producer.close() }

  func add(_ value: String?, _ headers: [KafkaHeader], key: String = Letter.token) throws {
    try kafka.produce(
      producer, producer.topic(named: names.deadLetters), key: key, value: value, headers: headers)
  }

  /// One of each kind: sender, bulk, ingest, unreadable.
  func addSome() throws {
    func headers(_ stage: String, _ reason: String, _ topic: String, _ at: Int64) -> [KafkaHeader] {
      Letter.headers(stage, reason, origin: "\(topic)/0/\(at)", at: at)
    }
    try add(
      Letter.notification(),
      headers("sender", "retries_exhausted", names.notifications(.first), 1_000))
    try add(
      Letter.notification(lane: "bulk"),
      headers("sender", "no_credential", names.notifications(.bulk), 2_000))
    try add(Letter.request, headers("ingest", "invalid_request", names.requests, 3_000))
    try add("not json", headers("ingest", "invalid_request", names.requests, 4_000))
  }

  private var prefix: [String] { ["--topic-prefix", kafka.prefix] }

  func list(_ flags: [String] = []) throws -> [String] {
    let context = try DeadLettersListCommand.context(prefix + flags)
    var settings = try DeadLettersListCommand.settings(context.values)
    settings.cluster.kafka = kafka.configuration
    var lines: [String] = []
    try DeadLettersListCommand.list(settings, context) {
      lines.append($0)
      return true
    }
    return lines
  }

  func show(_ wanted: String, _ flags: [String] = []) throws -> [String] {
    let context = try DeadLettersListCommand.context(prefix + [wanted] + flags)
    var settings = try DeadLettersListCommand.settings(context.values)
    settings.cluster.kafka = kafka.configuration
    var lines: [String] = []
    try DeadLettersListCommand.show(wanted, settings, context) {
      lines.append($0)
      return true
    }
    return lines
  }

  func replay(_ flags: [String] = []) throws -> ReplayResult {
    let context = try DeadLettersReplayCommand.context(prefix + ["--no-progress"] + flags)
    var settings = try DeadLettersReplayCommand.settings(context.values)
    settings.cluster.kafka = kafka.configuration
    return try DeadLettersReplayCommand.replay(settings, context)
  }

  /// Records on the topics that a replay writes to.
  func written() throws -> [String: Int64] {
    let admin = try KafkaAdmin(kafka.configuration)
    defer { admin.close() }
    var counts: [String: Int64] = [:]
    for topic in [names.requests, names.notifications(.first), names.notifications(.bulk)] {
      counts[String(topic.dropFirst(kafka.prefix.count))] =
        try admin.watermarks(
          TopicPartition(topic: topic, partition: 0), timeoutMilliseconds: 30_000
        ).high
    }
    return counts
  }
}

@Suite struct DeadLetterListTests {
  @Test func `the table has a line for each dead letter and a sum`() throws {
    let fixture = try DeadLetterFixture()
    #expect(try fixture.list().last == "no dead letter matches")
    try fixture.addSome()
    let lines = try fixture.list()
    #expect(lines.count == 6)
    #expect(lines[0].hasPrefix("POSITION"))
    #expect(lines[5] == "4 in all: 2 invalid_request, 1 no_credential, 1 retries_exhausted")
    let some = try fixture.list(["--limit", "3"]).last
    #expect(some?.hasPrefix("3 listed, as many as --limit allows: ") == true)
    let line = lines.first { $0.contains("retries_exhausted") }
    #expect(line?.contains("1970-01-01T00:00:01.000Z sender") == true)
    #expect(line?.contains("com.example.app") == true)
    #expect(line?.hasSuffix("words") == true)
  }

  @Test(arguments: [
    (["--reason", "no_credential"], 1), (["--stage", "ingest"], 2),
    (["--app", "com.example.app"], 3), (["--app", "com.example.other"], 0),
    (["--since", "1970-01-01T00:00:03Z"], 2), (["--until", "1970-01-01T00:00:03Z"], 2),
    (["--topic", "notifications.bulk"], 1), (["--topic", "requests"], 2), (["--limit", "3"], 3),
    (["--stage", "ingest", "--app", "com.example.app"], 1), (["--id", Letter.id], 2),
    (["--id", Letter.id.uppercased()], 2), (["--id", Letter.id, "--topic", "notifications"], 1),
    (["--id", "order-7"], 0),
  ])
  func `each filter lets its dead letters pass`(flags: [String], count: Int) throws {
    let fixture = try DeadLetterFixture()
    try fixture.addSome()
    #expect(try fixture.list(flags + ["--json"]).count == count)
  }

  @Test func `as JSON a dead letter is one object, with its token shortened`() throws {
    let fixture = try DeadLetterFixture()
    let headers = Letter.headers(
      "ingest", "invalid_token", origin: "push.requests/0/1",
      more: [("martlet-token", Letter.token), ("martlet-request-id", "r1")])
    try fixture.add(Letter.request, headers)
    let line = try #require(try fixture.list(["--json"]).first)
    let letter = try JSONDocument(line).root
    #expect(letter["stage"]?.string == "ingest")
    #expect(letter["reason"]?.string == "invalid_token")
    #expect(letter["attempts"]?.int == 3)
    #expect(letter["origin"]?.string == "push.requests/0/1")
    #expect(letter["app"]?.string == "com.example.app")
    #expect(letter["request_id"]?.string == "r1")
    #expect(letter["token"]?.string == "0a1b2c3d…")
    #expect(!line.contains(Letter.token))
    #expect(try fixture.list(["--json", "--reveal"]).first?.contains(Letter.token) == true)
    #expect(try fixture.list(["--json", "--id", "r1"]) == [line])
    #expect(try fixture.list(["--json", "--id", "R1"]).isEmpty)
  }
}

@Suite struct DeadLetterShowTests {
  @Test
  func `one dead letter is shown by its position or id, with payload and a short token`() throws {
    let fixture = try DeadLetterFixture()
    try fixture.addSome()
    let rows = try fixture.list(["--reason", "retries_exhausted", "--json"])
    let place = try #require(try JSONDocument(rows[0]).root["place"]?.string)
    let lines = try fixture.show(place)
    #expect(lines.contains(#"payload:  {"aps":{"alert":"x"}}"#))
    #expect(lines.contains("  apns-id: \(Letter.id)"))
    #expect(lines.contains("key:      0a1b2c3d…"))
    #expect(!lines.joined().contains(Letter.token))
    #expect(try fixture.show(place, ["--reveal"]).contains("key:      \(Letter.token)"))
    // Two letters have this id.
    #expect(try fixture.show(Letter.id).filter { $0.hasPrefix("place:") }.count == 2)
    let json = try JSONDocument(try fixture.show(place, ["--json"])[0]).root
    #expect(json["payload"]?.string == #"{"aps":{"alert":"x"}}"#)
    #expect(throws: ServiceFailure.self) { try fixture.show("7/7") }
  }

  @Test func `the tokens of a request are short, and nothing steers the terminal`() throws {
    let fixture = try DeadLetterFixture()
    let headers = Letter.headers("ingest", "invalid_request", origin: "t/0/1", detail: "a\u{1B}[2J")
    try fixture.add(#"{"app":"a","tokens":["\#(Letter.token)","abcdef0123"]}"#, headers, key: "u7")
    let row = try #require(try fixture.list(["--json"]).first)
    let place = try #require(try JSONDocument(row).root["place"]?.string)
    let text = try fixture.show(place).joined(separator: "\n")
    #expect(!text.contains(Letter.token) && !text.contains("abcdef0123"))
    #expect(!text.contains("\u{1B}"))
  }
}

@Suite struct DeadLetterReplayTests {
  @Test func `a dry run counts and writes nothing`() throws {
    let fixture = try DeadLetterFixture()
    try fixture.addSome()
    let result = try fixture.replay(["--dry-run"])
    #expect(
      result.sent == [
        fixture.names.notifications(.first): 1, fixture.names.notifications(.bulk): 1,
        fixture.names.requests: 1,
      ])
    #expect(result.skipped == [.unreadable: 1])
    #expect(try fixture.written() == ["requests": 0, "notifications": 0, "notifications.bulk": 0])
    #expect(result.lines(isDryRun: true).contains { $0.hasPrefix("1 would be replayed to") })
  }

  @Test func `each dead letter goes back to where it belongs, by the filter`() throws {
    let fixture = try DeadLetterFixture()
    try fixture.addSome()
    var result = try fixture.replay(["--stage", "sender", "--limit", "1"])
    #expect(result.total == 1)
    result = try fixture.replay(["--yes"])
    #expect(result.total == 3)
    #expect(result.skipped == [.unreadable: 1])
    #expect(result.refused == 0)
    let request = try fixture.kafka.read(fixture.names.requests, count: 1)
    #expect(
      request.first?.value
        == #"{"id":"\#(fixture.names.requests)/0/3000","# + Letter.request.dropFirst())
    #expect(request.first?.key == Letter.token)
    let bulk = try fixture.kafka.read(fixture.names.notifications(.bulk), count: 1)
    let envelope = try Envelope.parse(Array((bulk[0].value ?? "").utf8).span)
    #expect(envelope.attempt == 0)
    #expect(bulk[0].key == Letter.token)
    #expect(bulk[0].headers.isEmpty)
  }

  @Test func `dead letters of every process go back to its topic`() throws {
    let fixture = try DeadLetterFixture()
    let names = fixture.names
    for (stage, reason, topic) in [
      ("feedback", "invalid_feedback", names.feedback),
      ("feedback", "invalid_device", names.devices),
      ("scheduler", "invalid_schedule", names.schedule),
      ("ingest", "invalid_request", names.campaignRequests),
    ] {
      try fixture.add(Letter.request, Letter.headers(stage, reason, origin: "\(topic)/0/1"))
    }
    let result = try fixture.replay(["--yes"])
    #expect(
      result.sent == [
        names.feedback: 1, names.devices: 1, names.schedule: 1, names.campaignRequests: 1,
      ])
    #expect(result.refused == 0 && result.skipped.isEmpty)
    #expect(try fixture.kafka.read(names.devices, count: 1).first?.value == Letter.request)
  }

  @Test func `a topic that is gone is named, and not made`() throws {
    let fixture = try DeadLetterFixture()
    let gone = "\(fixture.kafka.prefix)notifications.gone"
    try fixture.add(
      Letter.notification(lane: "gone"),
      Letter.headers("sender", "no_credential", origin: "\(gone)/0/1"))
    let failure = #expect(throws: ServiceFailure.self) {
      try fixture.replay(["--yes", "--lanes", "transactional:6,bulk:3,gone:1"])
    }
    #expect(
      failure?.description == "there is no topic \(gone); martlet topics create creates it")
  }

  /// The places of the letters that the filters let pass.
  private func places(_ fixture: DeadLetterFixture, _ flags: [String]) throws -> [String] {
    try fixture.list(["--json"] + flags).map {
      try #require(try JSONDocument($0).root["place"]?.string)
    }
  }

  @Test func `dead letters are replayed by their positions, with or without the topic`() throws {
    let fixture = try DeadLetterFixture()
    try fixture.addSome()
    let first = try places(fixture, ["--reason", "retries_exhausted"])
    let second = try places(fixture, ["--reason", "no_credential"])
    let result = try fixture.replay([
      first[0], "\(fixture.names.deadLetters)/\(second[0])", first[0],
    ])
    #expect(
      result.sent == [
        fixture.names.notifications(.first): 1, fixture.names.notifications(.bulk): 1,
      ])
    #expect(try fixture.written() == ["requests": 0, "notifications": 1, "notifications.bulk": 1])
    #expect(try fixture.replay(first + second + ["--limit", "1", "--dry-run"]).total == 1)
  }

  @Test func `without a filter even one dead letter is not replayed unasked`() throws {
    let fixture = try DeadLetterFixture()
    try fixture.addSome()
    for flags in [[], ["--limit", "1"]] {
      #expect(throws: ServiceFailure.self) { try fixture.replay(flags) }
    }
    #expect(try fixture.written() == ["requests": 0, "notifications": 0, "notifications.bulk": 0])
    #expect(try fixture.replay(["--limit", "1", "--yes"]).total == 1)
  }

  @Test func `dead letters are replayed by their id`() throws {
    let fixture = try DeadLetterFixture()
    try fixture.addSome()
    let result = try fixture.replay(["--id", Letter.id, "--reason", "no_credential"])
    #expect(result.sent == [fixture.names.notifications(.bulk): 1])
  }

  @Test func `a position without a dead letter, or one that a filter leaves out, stops a replay`()
    throws
  {
    let fixture = try DeadLetterFixture()
    try fixture.addSome()
    let first = try places(fixture, ["--reason", "retries_exhausted"])[0]
    for flags in [[first, "0/9999"], [first, "--stage", "ingest"], [first, "7/0", "--dry-run"]] {
      #expect(throws: ServiceFailure.self) { try fixture.replay(flags) }
    }
    #expect(try fixture.written()["notifications"] == 0)
  }

  @Test(arguments: ["7", "1/x", "/1", "1/2/3", "1/-2", "push.requests/0/1", ""])
  func `a text that is no place is refused before anything is read`(operand: String) throws {
    let fixture = try DeadLetterFixture()
    #expect(throws: SettingErrors.self) { try fixture.replay(["--", operand]) }
  }

  @Test func `more than a few dead letters need a confirmation`() throws {
    let fixture = try DeadLetterFixture()
    let headers = Letter.headers("sender", "no_credential", origin: "push.notifications/0/1")
    for _ in 0...DeadLettersReplayCommand.fewLetters {
      try fixture.add(Letter.notification(), headers)
    }
    #expect(throws: ServiceFailure.self) { try fixture.replay() }
    #expect(try fixture.written()["notifications"] == 0)
    #expect(try fixture.replay(["--yes"]).total == DeadLettersReplayCommand.fewLetters + 1)
    #expect(
      try fixture.written()["notifications"] == Int64(DeadLettersReplayCommand.fewLetters + 1))
  }

  @Test func `the summary reads as text and as JSON`() throws {
    let result = ReplayResult(
      sent: ["push.requests": 2], skipped: [.cut: 1, .expired: 3], refused: 1)
    #expect(
      result.lines(isDryRun: false) == [
        "2 replayed to push.requests", "1 skipped: the value was too long and was cut",
        "3 skipped: the expiration has passed", "1 refused by Kafka",
      ])
    let json = try JSONDocument(result.json(isDryRun: true)).root
    #expect(json["replayed"]?["push.requests"]?.int == 2)
    #expect(json["skipped"]?["expired"]?.int == 3)
    #expect(json["dry_run"]?.bool == true)
    #expect(ReplayResult().lines(isDryRun: false) == ["no dead letter matches"])
  }
}
