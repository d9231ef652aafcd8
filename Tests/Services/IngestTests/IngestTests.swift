// SPDX-License-Identifier: Apache-2.0
import APNS
import Contract
import EventLoop
import Kafka
import Records
import Telemetry
import TestSupport
import Testing

@testable import Ingest

@Suite struct IngestTests {
  private func header(_ record: ReadRecord, _ name: String) -> String? {
    record.headers.first { $0.name == name }.map { String(decoding: $0.value, as: UTF8.self) }
  }

  @Test
  func `ingest makes the documented request into exactly these bytes on the transactional lane`()
    throws
  {
    let fixture = try IngestFixture()
    let payload =
      #"{"aps":{"alert":{"title":"Avocado bacon burger","body":"on sale"},"sound":"default","#
      + #""badge":1},"special":"avocado_bacon_burger"}"#
    let delivery = try fixture.produce(
      fixture.names.requests,
      #"{"id":"order-8812","app":"com.example.app","environment":"production","token":""#
        + String(repeating: "aB", count: 32) + #"","type":"alert","payload":"# + payload
        + #","priority":10,"expiration":1900000000,"collapse_id":"specials","lane":"transactional"}"#
    )
    let ingest = try fixture.start()
    let records = try fixture.read(fixture.names.notifications(.first), count: 1)
    #expect(ingest.stop() == nil)
    let request = try fixture.readAll(fixture.names.requests)
    #expect(delivery.offset == 0)
    #expect(records.map(\.key) == [IngestFixture.token])
    // The id is UUIDv5 of app, environment, request id and token, computed by another program.
    let expected =
      "M2\ttransactional\tproduction\tcom.example.app\tcom.example.app\talert\t10\t1900000000\t"
      + "2026cac1-9ae6-57d2-99bc-82090dbd2081\t\(request[0].timestamp)\torder-8812\t\t\t\tapns-collapse-id=specials\n"
      + payload
    #expect(records.map(\.value) == [expected])
    #expect(try fixture.readAll(fixture.names.deadLetters).isEmpty)
  }

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
  }

  @Test
  func `ingest counts expires_in from the request's record, and refuses it beside expiration`()
    throws
  {
    let fixture = try IngestFixture()
    try fixture.produce(fixture.names.requests, IngestFixture.request(#","expires_in":3600"#))
    try fixture.produce(
      fixture.names.requests,
      IngestFixture.request(#","expires_in":3600,"expiration":1900000000"#))
    let ingest = try fixture.start()
    let record = try #require(try fixture.read(fixture.names.notifications(.first), count: 1).first)
    let letter = try #require(try fixture.read(fixture.names.deadLetters, count: 1).first)
    #expect(ingest.stop() == nil)
    let written = try fixture.readAll(fixture.names.requests).map(\.timestamp)
    let envelope = try Envelope.parse(Array((record.value ?? "").utf8).span)
    #expect(written.map { ($0 + 999) / 1_000 + 3_600 }.contains(envelope.expiration ?? 0))
    #expect(
      header(letter, DeadLetterHeader.detail)?.hasPrefix("expires_in: cannot be combined") == true)
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
    ]
    for entry in cases { try fixture.produce(fixture.names.requests, key: "k", entry.value) }
    try fixture.produce(fixture.names.requests, IngestFixture.request())
    let ingest = try fixture.start()
    let letters = try fixture.read(fixture.names.deadLetters, count: cases.count)
    #expect(try fixture.read(fixture.names.notifications(.first), count: 1).count == 1)
    let receipts = try fixture.receipts(count: 2)
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
    #expect(receipts.map(\.outcome) == [.deadLettered, .deadLettered])
    #expect(Set(receipts.compactMap(\.id)) == ["p7", "big"])
    #expect(receipts.allSatisfy { $0.reason == "invalid_request" && $0.detail != nil })
    #expect(receipts.allSatisfy { $0.app == "com.example.app" })
    #expect(try fixture.committed() == 8)
  }

  @Test func `ingest says of a letter whose key was too long that the key was cut`() throws {
    let fixture = try IngestFixture()
    try fixture.produce(
      fixture.names.requests, key: String(repeating: "k", count: 910_000), "{}")
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

  @Test
  func `ingest makes a broadcast one notification, keyed by its channel, whatever tokens are dead`()
    throws
  {
    let fixture = try IngestFixture()
    let payload = #"{"aps":{"timestamp":1795000060,"event":"update","content-state":{"p":40}}}"#
    let text =
      #"{"id":"goal-1","app":"com.example.app","channel":"dHN0LXNyY2gtY2hubA==","#
      + #""payload":\#(payload)}"#
    try fixture.produce(fixture.names.requests, text)
    try fixture.produce(fixture.names.requests, text)
    let ingest = try fixture.start()
    let records = try fixture.read(fixture.names.notifications(.first), count: 2)
    #expect(ingest.stop() == nil)
    #expect(records.map(\.key) == ["dHN0LXNyY2gtY2hubA==", "dHN0LXNyY2gtY2hubA=="])
    for record in records {
      let value = Array((record.value ?? "").utf8)
      let envelope = try Envelope.parse(value.span)
      #expect(envelope.target == .channel)
      #expect(envelope.expiration == 0)
      // UUIDv5 of app, environment, request id and "channel:" with the channel, by another program.
      #expect(envelope.id.description == "b4b45049-4a16-5bba-805b-62496fd67915")
      #expect(String(decoding: value[envelope.bodyStart...], as: UTF8.self) == payload)
    }
    #expect(ingest.counter("unusual_tokens") == 0)
    #expect(try fixture.readAll(fixture.names.deadLetters).isEmpty)
  }

  @Test func `ingest refuses payloads that APNs or the device would drop, by the member's name`()
    throws
  {
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

  @Test func `ingest makes one notification per token, of up to 1,000, with ids that differ`()
    throws
  {
    let fixture = try IngestFixture()
    let tokens = (0..<1_000).map { index in
      let digits = String(index + 65_536, radix: 16)
      return String(repeating: "0", count: 64 - digits.count) + digits
    }
    let list = tokens.map { "\"\($0)\"" }.joined(separator: ",")
    try fixture.produce(
      fixture.names.requests,
      #"{"app":"com.example.app","payload":{"aps":{"alert":"x"}},"tokens":[\#(list)]}"#)
    let ingest = try fixture.start(["--max-in-flight-bytes", "65536"])
    let records = try fixture.read(fixture.names.notifications(.first), count: 1_000)
    #expect(ingest.stop() == nil)
    #expect(records.count == 1_000)
    #expect(Set(records.compactMap(\.key)) == Set(tokens))
    let ids = try records.map { try Envelope.parse(Array(($0.value ?? "").utf8).span).id }
    #expect(Set(ids).count == 1_000)
    #expect(try fixture.committed() == 1)
  }

  @Test func `answers for a token that is known to be dead, until it is registered again`() throws {
    let fixture = try IngestFixture()
    let device = DeviceKey(
      token: IngestFixture.token, app: "com.example.app", environment: .production)
    let record = InvalidTokenRecord(device: device, invalidSince: 1, reason: "Unregistered", at: 2)
    try fixture.produce(
      fixture.names.invalidTokens, key: device.description,
      String(decoding: record.value, as: UTF8.self))
    try fixture.produce(fixture.names.requests, IngestFixture.request(#","id":"one""#))
    try fixture.produce(
      fixture.names.requests, IngestFixture.request(#","id":"two","environment":"sandbox""#))
    let ingest = try fixture.start()
    let receipts = try fixture.receipts(count: 1)
    let records = try fixture.read(fixture.names.notifications(.first), count: 1)
    #expect(receipts.map(\.outcome) == [.suppressed])
    #expect(receipts.map(\.id) == ["one"])
    #expect(receipts.map(\.token) == [IngestFixture.token])
    #expect(receipts.first?.apnsID != nil)
    #expect(records.first?.value?.contains("\ttwo\t") == true)
    try fixture.produce(fixture.names.invalidTokens, key: device.description, nil)
    #expect(eventually { ingest.counter("invalid_tokens") == 0 })
    try fixture.produce(fixture.names.requests, IngestFixture.request(#","id":"three""#))
    let later = try fixture.read(fixture.names.notifications(.first), count: 2)
    #expect(ingest.stop() == nil)
    #expect(later.contains { $0.value?.contains("\tthree\t") == true })
    #expect(ingest.counter("suppressed") == 1)
  }

  @Test func `answers for a token whose device was removed, and for the next owner's as before`()
    throws
  {
    let fixture = try IngestFixture()
    let device = DeviceKey(
      token: IngestFixture.token, app: "com.example.app", environment: .production)
    let now = WallClock.milliseconds()
    let record = InvalidTokenRecord(
      device: device, invalidSince: now, reason: DeviceRelease.removedReason, at: now)
    func tell(_ release: DeviceRelease, _ value: String?) throws {
      try fixture.produce(
        fixture.names.invalidTokens, key: device.description, value,
        headers: [KafkaHeader("\(DeviceRelease.header)", release.text)])
    }
    try tell(DeviceRelease(.removed, at: now), String(decoding: record.value, as: UTF8.self))
    try fixture.produce(fixture.names.requests, IngestFixture.request(#","id":"one""#))
    let ingest = try fixture.start()
    let receipts = try fixture.receipts(count: 1)
    #expect(receipts.map(\.outcome) == [.suppressed] && receipts.map(\.reason) == ["removed"])
    try tell(DeviceRelease(.ownerChanged, at: now), nil)
    #expect(eventually { ingest.counter("invalid_tokens") == 0 })
    try fixture.produce(fixture.names.requests, IngestFixture.request(#","id":"two""#))
    // One that waited in the schedule while the owner changed, and one that was handed to it afterwards.
    for (id, accepted) in [("three", now - 1_000), ("four", now + 1)] {
      try fixture.produce(
        fixture.names.requests, IngestFixture.request(#","id":"\#(id)","send_at":\#(now / 1_000)"#),
        headers: [KafkaHeader("scheduled", "\(accepted) \(now)")])
    }
    let all = try fixture.receipts(count: 2)
    #expect(all.filter { $0.id == "three" }.map(\.reason) == ["owner_changed"])
    let records = try fixture.read(fixture.names.notifications(.first), count: 2)
    #expect(ingest.stop() == nil)
    #expect(records.contains { $0.value?.contains("\ttwo\t") == true })
    #expect(records.contains { $0.value?.contains("\tfour\t") == true })
  }

  @Test
  func
    `ingest makes the same ids of the same request, and different ones of requests without an id`()
    throws
  {
    let fixture = try IngestFixture(requestPartitions: 1)
    let same = IngestFixture.request(#","id":"again""#)
    try fixture.request([same, same, IngestFixture.request(), IngestFixture.request()])
    let ingest = try fixture.start()
    let records = try fixture.read(fixture.names.notifications(.first), count: 4)
    #expect(ingest.stop() == nil)
    let ids = try records.map { try Envelope.parse(Array(($0.value ?? "").utf8).span).id }
    #expect(ids.count == 4)
    #expect(ids[0] == ids[1])
    #expect(Set(ids).count == 3)
  }
}
