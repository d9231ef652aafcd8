// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Kafka
import Records
import Telemetry
import TestSupport
import Testing

@testable import Ingest

/// Requests that are refused, or have mistakes.
extension IngestTests {
  /// What clients give that take a time as they are given it: `time.time()`, or nothing.
  @Test func `a record time in seconds is named in a dead letter, and 0 is no time`() throws {
    let fixture = try IngestFixture()
    let seconds: Int64 = 1_795_224_000
    let more = #","expires_in":3600,"id":"seconds""#
    try fixture.kafka.produce(
      fixture.names.requests, value: IngestFixture.request(more), timestamp: seconds)
    try fixture.kafka.produce(
      fixture.names.requests, value: IngestFixture.request(#","id":"none""#), timestamp: 0)
    let ingest = try fixture.start()
    let letter = try #require(try fixture.read(fixture.names.deadLetters, count: 1).first)
    let record = try #require(try fixture.read(fixture.names.notifications(.first), count: 1).first)
    #expect(ingest.stop() == nil)
    #expect(header(letter, DeadLetterHeader.detail)?.contains("time 1795224000") == true)
    #expect(record.value?.contains("\tnone\t") == true)
    let envelope = try Envelope.parse(Array((record.value ?? "").utf8).span)
    #expect(envelope.created > OutsideTime.firstRecordTime)
    let receipts = try fixture.readAll(fixture.names.receipts).compactMap(\.value)
    #expect(receipts.count == 1 && receipts.first?.contains("seconds since 1970") == true)
    #expect(try fixture.receipts(count: 1).map(\.created) == [nil], "one that can be read")
  }

  @Test func `a receipt has its record's time only if that is one`() {
    #expect(IngestLoop.created(1_795_224_000_000) == 1_795_224_000_000)
    // Unknown, in seconds, in microseconds.
    for time: Int64 in [-1, 0, 1_795_224_000, 1_795_224_000_000_000] {
      #expect(IngestLoop.created(time) == 0)
    }
  }

  @Test
  func
    `ingest sends bad requests to the dead letters with the field named, and a receipt where there is an id`()
    throws
  {
    let fixture = try IngestFixture()
    let cases: [(value: String?, detail: String, hasReceipt: Bool)] = [
      (nil, "request: is empty", false),
      ("{\"app\":", "request: is not valid JSON", false),
      ("not json", "request: is not a JSON object", false),
      (#"{"app":"com.example.app"}"#, "payload: is required", false),
      (IngestFixture.request(#","priority":7,"id":"p7""#), "priority: 7 is not allowed", true),
      (IngestFixture.request(#","colour":1"#), "colour: is not a field", false),
      (IngestFixture.request(#","id":"big","topic":"x""#), "topic: does not match", true),
      (#"{"lane":5,"app":"com.example.app","id":"behind"}"#, "lane: is not a string", true),
    ]
    for entry in cases { try fixture.produce(fixture.names.requests, key: "k", entry.value) }
    try fixture.produce(fixture.names.requests, IngestFixture.request())
    let ingest = try fixture.start()
    let letters = try fixture.read(fixture.names.deadLetters, count: cases.count)
    #expect(try fixture.read(fixture.names.notifications(.first), count: 1).count == 1)
    let receipts = try fixture.receipts(count: 3)
    #expect(ingest.stop() == nil)
    #expect(letters.count == cases.count)
    for entry in cases {
      let letter = letters.first { header($0, "martlet-detail")?.hasPrefix(entry.detail) == true }
      guard let letter else {
        Issue.record("no dead letter says \(entry.detail)")
        continue
      }
      #expect(letter.key == "k")
      #expect(letter.value == entry.value)
      #expect(header(letter, "martlet-reason") == "invalid_request")
      #expect(header(letter, "martlet-stage") == "ingest")
      #expect(header(letter, "martlet-attempts") == "0")
      #expect(header(letter, "martlet-origin")?.hasPrefix(fixture.names.requests + "/") == true)
      #expect(header(letter, "martlet-at") != nil)
    }
    #expect(receipts.map(\.outcome) == [.deadLettered, .deadLettered, .deadLettered])
    #expect(Set(receipts.compactMap(\.id)) == ["p7", "big", "behind"])
    #expect(receipts.allSatisfy { $0.reason == "invalid_request" && $0.detail != nil })
    #expect(receipts.allSatisfy { $0.app == "com.example.app" })
    #expect(try fixture.committed() == 9)
  }

  @Test func `ingest says of a letter whose key was too long that the key was cut`() throws {
    let fixture = try IngestFixture()
    try fixture.produce(fixture.names.requests, key: String(repeating: "k", count: 910_000), "{}")
    let ingest = try fixture.start()
    let letters = try fixture.read(fixture.names.deadLetters, count: 1)
    #expect(ingest.stop() == nil)
    #expect(letters.first?.value == "{}")
    #expect(letters.first?.key?.utf8.count == DeadLetterCut.kept)
    #expect(
      letters.first.flatMap { header($0, "martlet-detail") }
        == "app: is required (key cut to 65536 of 910000 bytes)")
  }

  @Test
  func
    `ingest keeps what a bad request says of itself short, or Kafka would take no letter about it`()
    throws
  {
    let fixture = try IngestFixture()
    let long = String(repeating: "x", count: 880_000)
    for more in [#","id":"\#(long)""#, #","type":"\#(long)""#, #","\#(long)":1"#] {
      try fixture.produce(fixture.names.requests, IngestFixture.request(more))
    }
    try fixture.produce(fixture.names.requests, IngestFixture.request())
    let ingest = try fixture.start()
    let letters = try fixture.read(fixture.names.deadLetters, count: 3)
    #expect(letters.count == 3)
    #expect(letters.allSatisfy { ($0.value ?? "").utf8.count > 880_000 }, "the value is whole")
    for letter in letters {
      #expect(letter.headers.allSatisfy { $0.value.count <= DeadLetterHeader.longest })
    }
    #expect(try fixture.read(fixture.names.notifications(.first), count: 1).count == 1)
    #expect(ingest.stop() == nil)
    #expect(try fixture.committed() == 4)
  }

  /// Each letter has the whole request: those of one request can be a thousand times as large as it.
  @Test func `dead letters, too, wait once as many bytes as may are under way`() throws {
    let fixture = try IngestFixture()
    let list = (0..<300).map { "\"z\($0)\"" }.joined(separator: ",")
    try fixture.produce(
      fixture.names.requests,
      #"{"app":"com.example.app","payload":{"aps":{"alert":"x"}},"tokens":[\#(list)]}"#)
    let ingest = try fixture.start(["--max-in-flight-bytes", "65536"])
    #expect(try fixture.read(fixture.names.deadLetters, count: 300).count == 300)
    #expect(ingest.counter("blocked") > 0)
    #expect(ingest.stop() == nil)
    #expect(try fixture.committed() == 1)
  }

  @Test
  func `tokens beside their user do not wait in the schedule, where nobody asks whose they are`()
    throws
  {
    let fixture = try IngestFixture()
    let later = WallClock.milliseconds() / 1_000 + 3_600
    let value =
      #"{"app":"com.example.app","id":"x","user":"ann","tokens":["abcd"],"send_at":\#(later),"payload":{"aps":{"alert":"x"}}}"#
    try fixture.produce(fixture.names.requests, value)
    // One that the scheduler released, and whose time has not come by this clock.
    try fixture.produce(
      fixture.names.requests, value,
      headers: [KafkaHeader("scheduled", "\(later * 1_000 - 3_600_000)")])
    let ingest = try fixture.start()
    let letter = try #require(try fixture.read(fixture.names.deadLetters, count: 1).first)
    #expect(try fixture.read(fixture.names.schedule, count: 1).count == 1)
    #expect(ingest.stop() == nil)
    #expect(header(letter, "martlet-detail")?.hasPrefix("user: cannot be combined") == true)
    #expect(try fixture.readAll(fixture.names.notifications(.first)).isEmpty)
  }

  @Test func `an empty list of tokens beside a user is refused; only the scheduler finds none`()
    throws
  {
    let fixture = try IngestFixture()
    let value =
      #"{"app":"com.example.app","id":"x","user":"ann","tokens":[],"payload":{"aps":{"alert":"x"}}}"#
    try fixture.produce(fixture.names.requests, value)
    try fixture.produce(
      fixture.names.requests, value,
      headers: [KafkaHeader("scheduled", "\(WallClock.milliseconds())")])
    let ingest = try fixture.start()
    let letter = try #require(try fixture.read(fixture.names.deadLetters, count: 1).first)
    let receipts = try fixture.receipts(count: 2)
    #expect(ingest.stop() == nil)
    #expect(header(letter, "martlet-detail") == "tokens: has no entries")
    #expect(Set(receipts.map(\.outcome)) == [.deadLettered, .addressed])
  }

  /// The API keeps only receipts that are UTF-8.
  @Test func `the receipt about a long bad token can be read, whatever that consists of`() throws {
    let fixture = try IngestFixture()
    let token = "x" + String(repeating: "é", count: 400)
    try fixture.produce(
      fixture.names.requests, IngestFixture.request(#","id":"long""#, token: token))
    let ingest = try fixture.start()
    #expect(try fixture.read(fixture.names.deadLetters, count: 1).count == 1)
    #expect(ingest.stop() == nil)
    let receipt = try #require(try fixture.receipts(count: 1).first)
    #expect(receipt.id == "long")
    #expect(receipt.token?.utf8.count == 599 && token.hasPrefix(receipt.token ?? "-"))
  }

  /// PHP and others write `/` as `\/`: who looks for the request knows its id without that.
  @Test func `the dead letter of a bad request has its id without escapes`() throws {
    let fixture = try IngestFixture()
    let value = IngestFixture.request(#","priority":7,"id":"order\/\u00e9""#)
    try fixture.produce(fixture.names.requests, value)
    let ingest = try fixture.start()
    let letter = try #require(try fixture.read(fixture.names.deadLetters, count: 1).first)
    #expect(ingest.stop() == nil)
    #expect(header(letter, DeadLetterHeader.requestID) == "order/é")
    #expect(try fixture.receipts(count: 1).map(\.id) == ["order/é"])
  }

  @Test func `ingest sends only the bad tokens of a good request to the dead letters`() throws {
    let fixture = try IngestFixture()
    let value =
      #"{"app":"com.example.app","payload":{"aps":{"alert":"x"}},"id":"r1","lane":"bulk","tokens":["AA","xyz!","bb",null,"abc"]}"#
    try fixture.produce(fixture.names.requests, key: "user-7", value)
    let ingest = try fixture.start()
    let letters = try fixture.read(fixture.names.deadLetters, count: 3)
    let records = try fixture.read(fixture.names.notifications(.bulk), count: 2)
    let receipts = try fixture.receipts(count: 3)
    #expect(ingest.stop() == nil)
    #expect(Set(records.compactMap(\.key)) == ["aa", "bb"])
    #expect(Set(letters.compactMap { header($0, "martlet-token") }) == ["xyz!", "null", "abc"])
    #expect(letters.allSatisfy { $0.key == "user-7" && $0.value == value })
    #expect(letters.allSatisfy { header($0, "martlet-reason") == "invalid_token" })
    #expect(letters.allSatisfy { header($0, "martlet-request-id") == "r1" })
    let details = Set(letters.compactMap { header($0, "martlet-detail") })
    #expect(details.contains("tokens: has no hexadecimal digit at character 1 (entry 2)"))
    #expect(details.contains("tokens: is not a string (entry 4)"))
    #expect(details.contains("tokens: has an odd number of digits (3) (entry 5)"))
    #expect(receipts.count == 3)
    #expect(
      receipts.allSatisfy { $0.id == "r1" && $0.outcome == .deadLettered && $0.lane == "bulk" })
    #expect(try fixture.readAll(fixture.names.notifications(.first)).isEmpty)
  }

  /// Of a megabyte with a thousand bad tokens there would be a gigabyte of dead letters.
  @Test func `the dead letters of a long request with many bad tokens are short from some on`()
    throws
  {
    let fixture = try IngestFixture()
    let long = #""\#(String(repeating: "x", count: 200_000))""#
    let tokens = Array(repeating: long, count: 4) + Array(repeating: #""y""#, count: 36)
    let value =
      #"{"app":"com.example.app","payload":{"aps":{"alert":"x"}},"tokens":[\#(tokens.joined(separator: ","))]}"#
    try fixture.produce(fixture.names.requests, value)
    let ingest = try fixture.start()
    let letters = try fixture.read(fixture.names.deadLetters, count: 40)
    #expect(ingest.stop() == nil)
    let whole = DeadLetterCut.mostOfRecord / value.utf8.count
    #expect(letters.count { $0.value == value } == whole && whole == 20)
    let others = letters.filter { $0.value != value }
    #expect(others.allSatisfy { $0.value?.utf8.count == DeadLetterHeader.longest })
    #expect(
      others.allSatisfy {
        DeadLetterCut.isRemarked(header($0, DeadLetterHeader.detail) ?? "")
          && header($0, DeadLetterHeader.token) == "y"
      })
  }

  @Test
  func `ingest refuses payloads that APNs or the device would drop, by the member's name`() throws {
    let fixture = try IngestFixture()
    func request(_ type: String, _ payload: String) -> String {
      #"{"app":"com.example.app","token":"\#(IngestFixture.token)","type":"\#(type)","payload":\#(payload)}"#
    }
    let cases = [
      (
        request("background", #"{"aps":{"content-available":true}}"#),
        "payload.aps.content-available"
      ),
      (request("background", #"{"aps":{"content-available":1,"badge":1}}"#), "payload.aps.badge"),
      (request("alert", #"{"aps":{}}"#), "payload.aps"),
      (request("widgets", #"{"aps":{"content-changed":1}}"#), "payload.aps.content-changed"),
      (request("mdm", #"{"aps":{}}"#), "payload.mdm"),
      (request("alert", #"{"aps":{"content-available":1}}"#), "payload.aps"),
      (request("alert", #"{"aps":{"alert":"x","x":1,"x":2}}"#), "payload.aps.x"),
    ]
    for (value, _) in cases { try fixture.produce(fixture.names.requests, value) }
    // These pass: what has no effect is counted, what is decorated is cleaned.
    try fixture.produce(
      fixture.names.requests, request("alert", #"{"aps":{"badge":1,"mutable-content":1}}"#))
    try fixture.produce(fixture.names.requests, IngestFixture.request(token: "<ABAB abab>"))
    let ingest = try fixture.start()
    let letters = try fixture.read(fixture.names.deadLetters, count: cases.count)
    let records = try fixture.read(fixture.names.notifications(.first), count: 2)
    #expect(eventually { ingest.counter("notifications") == 2 })
    #expect(ingest.counter("ineffective_payloads") == 1)
    #expect(ingest.counter("unusual_tokens") == 1)
    #expect(ingest.stop() == nil)
    #expect(Set(records.compactMap(\.key)) == [IngestFixture.token, "abababab"])
    for (value, path) in cases {
      let letter = letters.first { $0.value == value }
      let detail = letter.flatMap { header($0, "martlet-detail") }
      #expect(detail?.hasPrefix("\(path): ") == true, "\(detail ?? "none"): \(value)")
    }
  }

  @Test
  func `ingest counts what devices ignore by app and rule, carries it, and refuses it if set`()
    throws
  {
    func request(_ id: String, _ app: String, _ aps: String) -> String {
      #"{"id":"\#(id)","app":"\#(app)","token":"\#(IngestFixture.token)","payload":{"aps":\#(aps)}}"#
    }
    let odd = #"{"alert":"x","thread_id":"a","mutableContent":1,"category":7}"#
    let fixture = try IngestFixture()
    try fixture.produce(fixture.names.requests, request("a", "a.b", odd))
    try fixture.produce(fixture.names.requests, request("b", "a.b", #"{"alert":"","badge":1}"#))
    try fixture.produce(fixture.names.requests, request("c", "c.d", odd))
    try fixture.produce(fixture.names.requests, request("d", "c.d", #"{"alert":"x"}"#))
    let ingest = try fixture.start()
    let records = try fixture.read(fixture.names.notifications(.first), count: 4)
    #expect(eventually { ingest.counter("ineffective_payloads") == 3 })
    let counted = ingest.samples("martlet_ingest_payload_warnings_total")
    #expect(
      counted == [
        ["a.b", "misspelled-key"]: 1, ["a.b", "wrong-type"]: 1, ["a.b", "empty-alert"]: 1,
        ["c.d", "misspelled-key"]: 1, ["c.d", "wrong-type"]: 1,
      ])
    #expect(ingest.stop() == nil)
    let list =
      "\t"
      + #"warnings=["misspelled-key:aps.mutable-content","misspelled-key:aps.thread-id","wrong-type:aps.category"]"#
    #expect(records.count { $0.value?.contains(list) == true } == 2)
    #expect(records.count { $0.value?.contains("warnings=") == true } == 3)

    let strict = try IngestFixture()
    try strict.produce(strict.names.requests, request("a", "a.b", odd))
    try strict.produce(strict.names.requests, request("d", "c.d", #"{"alert":"x"}"#))
    let refusing = try strict.start(["--payload-rules", "refuse"])
    let letter = try #require(try strict.read(strict.names.deadLetters, count: 1).first)
    #expect(try strict.read(strict.names.notifications(.first), count: 1).count == 1)
    #expect(refusing.stop() == nil)
    #expect(
      header(letter, DeadLetterHeader.detail)?.hasPrefix("payload.aps.mutable-content: is spelled")
        == true)
  }

  @Test func `counts of mistakes are of so many apps at most`() {
    let counts = PayloadWarningCounts()
    var facts = PayloadFacts()
    facts[.aps] = .object
    facts[.alert] = .text
    let warnings = PayloadWarnings(facts, type: .alert)
    for number in 0..<(PayloadWarningCounts.namedApps + 50) {
      Array("app\(number)".utf8).withUnsafeBytes { counts.add(warnings, of: $0) }
    }
    let samples = counts.samples
    #expect(samples.count == PayloadWarningCounts.namedApps + 1)
    #expect(samples.contains { $0.labels == ["other", "empty-alert"] && $0.value == .integer(50) })
  }
}
