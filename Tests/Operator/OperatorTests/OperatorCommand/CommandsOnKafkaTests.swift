// SPDX-License-Identifier: Apache-2.0
import Contract
import EmbeddedKafka
import EventLoop
import Glibc
import Kafka
import Records
import ServiceKit
import TestSupport
import Testing

@testable import OperatorCommand

@Suite struct ImportTests {
  private let folder = TemporaryFolder()

  private let token = String(repeating: "ab", count: 32)

  private func imported(
    _ content: String, _ fixture: KafkaFixture, _ context: ServiceContext
  ) throws -> ImportResult {
    let settings = try settings(content, folder, ["--topic-prefix", fixture.prefix])
    let cluster = try KafkaCluster(fixture.configuration, context)
    return try Importer(LineSource(settings.file), cluster, settings, context).run()
  }

  private func settings(
    _ content: String, _ folder: TemporaryFolder, _ flags: [String]
  ) throws -> ImportCommand.Settings {
    try File.write(folder.file("in"), Array(content.utf8))
    return try ImportCommand.settings(
      ImportCommand.values([folder.file("in"), "--kafka", "127.0.0.1:1", "--no-progress"] + flags))
  }

  @Test func `a check reads the file without Kafka and counts what an import would refuse`() throws
  {
    let good = #"{"app":"a.b","tokens":["\#(token)","zz"],"payload":{"aps":{"badge":1}}}"#
    let bad = try settings("\(good)\n\n{}\n", folder, [])
    let found = ImportCommand.check(bad, try ImportCommand.context(["x"]))
    #expect(found.map(\.status) == [.error])
    #expect(found.first?.message == "2 lines, 1 not valid requests, 1 invalid tokens in the others")
    let fine = try settings(good.replacing(",\"zz\"", with: ""), folder, [])
    #expect(ImportCommand.check(fine, try ImportCommand.context(["x"])).map(\.status) == [.ok])
    try File.remove(folder.file("in"))
    #expect(ImportCommand.check(fine, try ImportCommand.context(["x"])).map(\.status) == [.error])
  }

  @Test
  func `lines are produced byte for byte, without the file's mark, keyed by their first token`()
    throws
  {
    let fixture = try KafkaFixture(topics: [("requests", 3)])
    let good = #"{"app":"a.b",  "tokens":["\#(token)","cdcd"],"payload":{"aps":{"badge":1}}}"#
    let text = "\u{FEFF}\(good)\n\nnot json\r\n{}\n"
    let result = try imported(text, fixture, ImportCommand.context(["x"]))
    #expect(result.produced == 3)
    #expect(result.unusable == 2)
    #expect(result.refused == 0)
    let records = try fixture.read(fixture.name("requests"), count: 3)
    #expect(Set(records.map(\.value)) == [good, "not json", "{}"])
    #expect(records.first { $0.value == good }?.key == token)
    #expect(records.filter { $0.key == nil }.count == 2)
  }

  /// Ingest refuses an empty list beside them, which only the scheduler may write.
  @Test func `a request to users has the first as its key, and no empty list of tokens`() throws {
    let fixture = try KafkaFixture(topics: [("requests", 1)])
    let rest = #""id":"r","users":["ann","bob"],"payload":{"aps":{"badge":1}}}"#
    let lines = [
      #"{"app":"a.b","tokens":[],\#(rest)"#, #"{"app":"a.b","tokens":["cdcd"],\#(rest)"#,
      #"{"app":"a.b","tokens":[],\#(rest)"#, #"{"app":"a.b",\#(rest)"#,
    ]
    let result = try imported(lines.joined(separator: "\n"), fixture, ImportCommand.context(["x"]))
    #expect(result.produced == 4 && result.unusable == 2)
    let records = try fixture.read(fixture.name("requests"), count: 4)
    #expect(records.map(\.key) == [nil, "cdcd", nil, "ann"])
  }

  @Test func `an import that gives up tells the audit what Kafka has`() throws {
    let fixture = try KafkaFixture(topics: [("requests", 1)], embedded: true)
    try fixture.broker?.setLeader(topic: fixture.name("requests"), partition: 0, broker: -1)
    let context = try ImportCommand.context(["x"])
    let settings = try settings("{}\n{}\n", folder, ["--topic-prefix", fixture.prefix])
    let importer = try Importer(
      LineSource(settings.file), KafkaCluster(fixture.configuration, context), settings, context,
      standstill: Standstill(noticeable: 500, patience: 2_000))
    #expect(throws: ServiceFailure.self) { try importer.run() }
    #expect(importer.deed == "0 requests from \(settings.file); 2 more may be stored or not")
  }

  @Test func `a replay that gives up tells the audit what Kafka has`() throws {
    let fixture = try KafkaFixture(topics: [("requests", 1)])
    let context = try DeadLettersReplayCommand.context()
    let (requests, missing) = (fixture.name("requests"), fixture.name("notifications"))
    let output = try ReplayProducer(
      KafkaCluster(fixture.configuration, context), [requests, missing], context)
    for _ in 0..<2 { #expect(try output.produce(requests, key: nil, value: [123, 125])) }
    #expect(throws: ServiceFailure.self) { try output.produce(missing, key: nil, value: [123]) }
    #expect(output.end() == "2 to \(requests)")
    #expect(ReplayProducer.deed([:], unanswered: 0) == "nothing")
    #expect(
      ReplayProducer.deed(["b": 2, "a": 1], unanswered: 3)
        == "1 to a, 2 to b; 3 more may be stored or not"
    )
  }

  @Test func `a topic that does not exist is not made`() throws {
    let fixture = try KafkaFixture()
    try File.write(folder.file("in"), Array("{}\n".utf8))
    let values = try ImportCommand.values([
      folder.file("in"), "--topic-prefix", fixture.prefix, "--kafka",
      fixture.configuration.bootstrap,
    ])
    let failure = #expect(throws: ServiceFailure.self) {
      try ImportCommand.run(try ImportCommand.settings(values), try ImportCommand.context(["x"]))
    }
    #expect(failure?.description.contains("there is no topic \(fixture.name("requests"))") == true)
    let admin = try KafkaAdmin(fixture.configuration)
    #expect(try admin.partitionCounts(timeoutMilliseconds: 30_000)[fixture.name("requests")] == nil)
  }

  @Test func `a summary for programs says whether it is whole`() throws {
    var result = ImportResult(produced: 3, unusable: 1, refused: 0, milliseconds: 20)
    #expect(
      result.json
        == #"{"produced":3,"unusable":1,"invalid_tokens":0,"refused":0,"milliseconds":20,"complete":true}"#
    )
    #expect(!result.text.contains("stopped"))
    result.wasStopped = true
    #expect(result.json.hasSuffix(#""complete":false}"#))
    #expect(result.text.hasSuffix("; stopped before the end"))
  }

  @Test func `a line larger than any record is refused and the rest goes on`() throws {
    let fixture = try KafkaFixture(topics: [("requests", 1)])
    let large = String(repeating: "x", count: 2_000_000)
    let result = try imported("{}\n\(large)\n{}\n", fixture, ImportCommand.context(["x"]))
    #expect(result.produced == 2)
    #expect(result.refused == 1)
  }

  @Test func `no piece of a line that is too long becomes a request`() throws {
    let fixture = try KafkaFixture(topics: [("requests", 1)])
    for count in [LineSource.longestLine + 500_000, 2 * LineSource.longestLine + 1_000_000] {
      let large = String(repeating: "x", count: count)
      let result = try imported("{}\n\(large)\n{}\n", fixture, ImportCommand.context(["x"]))
      #expect(result.lines == 3 && result.produced == 2 && result.refused == 1)
      #expect(result.unusable == 2, "of those that were produced")
    }
    let unfinished = String(repeating: "x", count: LineSource.longestLine + 500_000)
    let bad = try settings("{}\n\(unfinished)", folder, [])
    let found = ImportCommand.check(bad, try ImportCommand.context(["x"]))
    #expect(found.first?.message == "2 lines, 2 not valid requests, 0 invalid tokens in the others")
  }

  @Test func `a token that is none is counted, and named with its line and entry`() throws {
    let fixture = try KafkaFixture(topics: [("requests", 1)])
    let lines = [
      #"{"app":"a","token":"xyz","payload":{"aps":{"alert":"x"}}}"#,
      #"{"app":"a","tokens":["00ff","0",7],"payload":{"aps":{"alert":"x"}}}"#,
      #"{"app":"a","token":"<00ff 00ff>","payload":{"aps":{"alert":"x"}}}"#,
    ]
    let result = try imported(lines.joined(separator: "\n"), fixture, ImportCommand.context(["x"]))
    #expect(result.produced == 3 && result.unusable == 0 && result.invalidTokens == 3)
    #expect(result.text.contains("3 invalid tokens"))
  }
}

@Suite struct InspectTests {
  private let token = String(repeating: "0a1b2c3d", count: 8)

  private func shown(
    _ short: String, key: String?, value: String?, headers: [KafkaHeader] = [], isRaw: Bool = false,
    isJSON: Bool = false
  ) throws -> [String] {
    let fixture = try KafkaFixture()
    let names = TopicNames(prefix: fixture.prefix)
    let topic = try fixture.createTopic(short, partitions: 1)
    try fixture.produce(topic, key: key, value: value, headers: headers)
    let tail = try KafkaTail(fixture.configuration, topic: topic, from: .beginning)
    var batch = KafkaBatch(capacity: 10)
    #expect(eventually { tail.poll(into: &batch, timeoutMilliseconds: 20) > 0 })
    var output = ByteBuffer()
    let printer = RecordPrinter(names, topic: topic, isRaw: isRaw, isJSON: isJSON)
    let count = printer.append(ShownRecord(batch[0]), to: &output)
    batch.release()
    tail.close()
    let lines = String(decoding: output.bytes, as: UTF8.self).split(separator: "\n").map(
      String.init)
    #expect(lines.count == count)
    if isJSON { return lines }
    // Without place and time, or without time and with one blank between the cells of a row.
    return lines.map { line in
      isRaw
        ? line.split(separator: " ", maxSplits: 2).dropFirst(2).joined()
        : line.split(separator: " ").dropFirst().joined(separator: " ")
    }
  }

  @Test func `of an envelope a row has app, device and id`() throws {
    let fields = [
      "M2", "transactional", "production", "com.example.app", "com.example.app", "alert", "10", "",
      "8f2c1c9e-0b5c-5d7e-9a3f-1f2e3d4c5b6a", "1763686184123", "order-1",
    ]
    let value = fields.joined(separator: "\t") + "\n" + #"{"aps":{}}"#
    #expect(
      try shown("notifications", key: token, value: value) == [
        "- - com.example.app 0a1b2c3d… order-1"
      ])
  }

  @Test func `receipts come one per row with short tokens`() throws {
    let value =
      #"{"outcome":"rejected","reason":"BadDeviceToken","app":"a.b","token":"0a1b2c3d4e","id":"x"}"#
      + "\n" + #"{"outcome":"expired"}"#
    let lines = try shown("receipts", key: nil, value: value)
    #expect(lines == ["rejected BadDeviceToken a.b 0a1b2c3d… x", "expired - - - -"])
    #expect(
      RecordRow.head.split(separator: " ") == ["time", "outcome", "reason", "app", "token", "id"])
  }

  @Test(arguments: [true, false])
  func `a provider token is never shown, not even raw`(isRaw: Bool) throws {
    let value = #"{"credential":"T/K/any","generation":3,"token":"eyJh.secret"}"#
    let lines = try shown("provider-tokens", key: "T/K/any", value: value, isRaw: isRaw)
    #expect(
      lines == [
        isRaw
          ? #"key=T/K/any {"credential":"T/K/any","generation":3,"token":"(not shown)"}"#
          : "- - - - T/K/any"
      ])
    let broken = try shown("provider-tokens", key: "T/K/any", value: "secret", isRaw: isRaw)
    #expect(broken.allSatisfy { !$0.contains("secret") })
  }

  @Test func `a dead letter has its reason, and no control character reaches the terminal`() throws
  {
    let headers = [KafkaHeader("martlet-reason", "invalid_request")]
    let value = "not\u{1B}[31m json\n\(token)"
    #expect(
      try shown("dead-letters", key: "k\u{1B}[31m", value: value, headers: headers) == [
        "dead letter invalid_request - - k\u{FFFD}[31m"
      ])
    #expect(
      try shown("dead-letters", key: nil, value: value, headers: headers, isRaw: true) == [
        "martlet-reason=invalid_request not\u{FFFD}[31m json\\n\(token)"
      ])
  }

  @Test(arguments: ["registered", "removed"])
  func `of a device a row says whether it is registered`(state: String) throws {
    let value = #"{"token":"0a1b2c3d4e","app":"a.b","\#(state)_at":1795000000000}"#
    let lines = try shown("devices", key: "0a1b2c3d4e", value: value)
    #expect(lines == ["\(state) - a.b 0a1b2c3d… -"])
  }

  @Test func `a tombstone is shown as one, by its key`() throws {
    let lines = try shown("invalid-tokens", key: "0a1b2c3d4e:com.example:production", value: nil)
    #expect(lines == ["(tombstone) - com.example 0a1b2c3d… -"])
  }

  @Test func `a token is short whatever it looks like, and nothing else is`() throws {
    let value =
      #"{"a":"token","token" : "äöüäöüäöäöü","b":{"token":"aaaaaaaaaaaa"},"tokens":["123456789",7,"x"],"c":"123456789"}"#
    let shown = try shown("requests", key: nil, value: value, isJSON: true)
    #expect(
      shown[0].hasSuffix(
        #"{"a":"token","token":"äöüäöüäö…","b":{"token":"aaaaaaaaaaaa"},"tokens":["12345678…",7,"x"],"c":"123456789"}}"#
      ))
    let escaped = try self.shown("requests", key: nil, value: #"{"to\u006ben":"0a1b2c3d4e"}"#)
    #expect(escaped == ["- - - 0a1b2c3d… -"])
  }

  @Test func `a provider token is hidden behind an escape, too`() throws {
    let jwt = "eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJURUFNIn0.c2lnbmF0dXJlLXNpZ25hdHVyZQ"
    for value in ["x\n\(jwt)", #"{"id":"x\n\#(jwt)"}"#, #"{"id":"\u0065\#(jwt.dropFirst())"}"#] {
      for isJSON in [false, true] {
        let lines = try shown("requests", key: nil, value: value, isJSON: isJSON)
        #expect(lines.allSatisfy { !$0.contains("c2lnbmF0dXJl") }, "\(lines)")
      }
    }
  }

  @Test func `no text turns the line around or begins another`() throws {
    let value = "{\"id\":\"x\u{202E}y\u{85}z\u{2028}\u{2066}\u{1F468}\u{200D}\u{1F469}\"}"
    #expect(
      try shown("requests", key: nil, value: value) == [
        "- - - - x\u{FFFD}y\u{FFFD}z\u{FFFD}\u{FFFD}\u{1F468}\u{200D}\u{1F469}"
      ])
    let json = try shown("requests", key: nil, value: value, isJSON: true)
    #expect(json.first?.hasSuffix(#"{"id":"x\u202ey\u0085z\u2028\u2066👨‍👩"}}"#) == true)
  }

  @Test func `JSON has the record's parts, with short tokens`() throws {
    let envelope = "M2\tbulk\tsandbox\n{\"aps\":{}}"
    let header = KafkaHeader("h", "v")
    let note = try JSONDocument(
      shown("notifications", key: token, value: envelope, headers: [header], isJSON: true)[0]
    ).root
    #expect(note["partition"]?.int == 0 && note["offset"]?.int == 0)
    #expect(note["timestamp"]?.int != nil)
    #expect(note["key"]?.string == "0a1b2c3d…")
    #expect(note["headers"]?.array?.first?["value"]?.string == "v")
    #expect(note["envelope"]?["lane"]?.string == "bulk")
    #expect(note["body"]?["aps"]?.object?.members.isEmpty == true)
    let receipts =
      #"{"outcome":"delivered","token":"0a1b2c3d4e"}"# + "\n" + #"{"outcome":"expired"}"#
    let lines = try shown("receipts", key: nil, value: receipts, isJSON: true)
    #expect(
      try lines.map { try JSONDocument($0).root["value"]?["outcome"]?.string } == [
        "delivered", "expired",
      ])
    #expect(try JSONDocument(lines[0]).root["value"]?["token"]?.string == "0a1b2c3d…")
    let gone = try shown("invalid-tokens", key: "k", value: nil, isJSON: true)
    #expect(try JSONDocument(gone[0]).root["value"] == .null)
    #expect(try JSONDocument(gone[0]).root["tombstone"] == true)
    let null = try JSONDocument(shown("invalid-tokens", key: "k", value: "null", isJSON: true)[0])
    #expect(null.root["value"] == .null && null.root["tombstone"] == nil)
    let text = try shown("dead-letters", key: nil, value: "no json", isJSON: true)
    #expect(try JSONDocument(text[0]).root["value"]?.string == "no json")
  }

  @Test func `a limit ends within a record, and a full device ends the rest`() throws {
    let fixture = try KafkaFixture(topics: [("receipts", 1)])
    for _ in 0..<5 {
      try fixture.produce(
        fixture.name("receipts"), key: nil, value: "{\"a\":1}\n{\"a\":2}\n{\"a\":3}")
    }
    func shown(_ flags: [String], accepts: Bool = true) throws -> (lines: Int, text: String) {
      let values = try InspectCommand.values(
        [
          "receipts", "--topic-prefix", fixture.prefix, "--kafka", fixture.configuration.bootstrap,
        ] + flags)
      let tail = try KafkaTail(
        fixture.configuration, topic: fixture.name("receipts"), from: .beginning)
      var text = ""
      let lines = try InspectCommand.show(
        tail, try InspectCommand.settings(values), try InspectCommand.context(["x"])
      ) {
        text += String(decoding: $0, as: UTF8.self)
        return accepts
      }
      tail.close()
      return (lines, text)
    }
    #expect(try shown([]).lines == 15)
    let some = try shown(["--limit", "4"])
    #expect(some.lines == 4)
    #expect(some.text.split(separator: "\n").count == 4)
    #expect(try shown([], accepts: false).lines <= 15)
  }

  @Test func `a topic that is written to all the time is shown to the end that it had`() throws {
    let fixture = try KafkaFixture(topics: [("receipts", 1)])
    let topic = fixture.name("receipts")
    let producer = try KafkaProducer(fixture.configuration)
    defer { producer.close() }
    let handle = try producer.topic(named: topic)
    try fixture.produce(producer, handle, key: nil, value: #"{"a":1}"#)
    let tail = try KafkaTail(fixture.configuration, topic: topic, from: .beginning)
    defer { tail.close() }
    let values = try InspectCommand.values([
      "receipts", "--topic-prefix", fixture.prefix, "--kafka", fixture.configuration.bootstrap,
    ])
    var writes = 0
    _ = try InspectCommand.show(
      tail, try InspectCommand.settings(values), try InspectCommand.context(["x"])
    ) { _ in
      writes += 1
      _ = try? fixture.produce(producer, handle, key: nil, value: #"{"a":1}"#)
      return writes < 100
    }
    #expect(writes == 1)
  }

  @Test func `following goes on to partitions that are added`() throws {
    let fixture = try KafkaFixture(topics: [("receipts", 1)], embedded: true)
    let topic = fixture.name("receipts")
    let tail = try KafkaTail(fixture.configuration, topic: topic, from: .end)
    defer { tail.close() }
    try fixture.broker?.grow(topic: topic, to: 4)
    let producer = try KafkaProducer(fixture.configuration)
    defer { producer.close() }
    let handle = try producer.topic(named: topic)
    for number in 0..<20 {
      try fixture.produce(producer, handle, key: "\(number)", value: #"{"a":1}"#)
    }
    let values = try InspectCommand.values([
      "receipts", "--topic-prefix", fixture.prefix, "--kafka", fixture.configuration.bootstrap,
      "--from", "end", "--limit", "20",
    ])
    // It ends by its limit: with the last of them.
    let lines = try InspectCommand.show(
      tail, try InspectCommand.settings(values), try InspectCommand.context(["x"])
    ) { _ in true }
    #expect(lines == 20 && tail.partitions == 4)
  }

  /// Describe shows the topic, and only a fetch is refused: nothing would ever come.
  @Test func `a topic that may be seen and not read ends with the right that it needs`() throws {
    let fixture = try KafkaFixture(topics: [("receipts", 2)], embedded: true)
    let topic = fixture.name("receipts")
    try fixture.produce(topic, key: "a", value: "1")
    let refusals = Array(repeating: EmbeddedBroker.Fault.topicNotAuthorized, count: 100_000)
    fixture.broker?.inject(refusals, into: .fetch)
    let values = try InspectCommand.values([
      "receipts", "--topic-prefix", fixture.prefix, "--kafka", fixture.configuration.bootstrap,
    ])
    let failure = #expect(throws: ServiceFailure.self) {
      try InspectCommand.run(InspectCommand.settings(values), InspectCommand.context(["x"]))
    }
    #expect(
      failure?.description
        == "this user may not read topic \(topic): needs Read on it (TOPIC_AUTHORIZATION_FAILED)")
  }

  @Test func `raw shows device tokens`() throws {
    let lines = try shown("requests", key: token, value: #"{"token":"\#(token)"}"#, isRaw: true)
    #expect(lines == [#"key=\#(token) {"token":"\#(token)"}"#])
  }
}
