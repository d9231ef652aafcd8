// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Kafka
import Records
import Telemetry
import TestSupport
import Testing

@testable import Ingest

@Suite struct IngestTests {
  func header(_ record: ReadRecord, _ name: String) -> String? {
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

  @Test
  func `ingest counts expires_in from the request's record, and refuses it beside expiration`()
    throws
  {
    let fixture = try IngestFixture()
    try fixture.produce(fixture.names.requests, IngestFixture.request(#","expires_in":3600"#))
    try fixture.produce(
      fixture.names.requests, IngestFixture.request(#","expires_in":3600,"expiration":1900000000"#))
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

  @Test
  func `ingest makes one notification per token, of up to 1,000, with ids that differ`() throws {
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

  @Test func `a value that is no record of its device suppresses nothing, and is counted`() throws {
    let fixture = try IngestFixture()
    let device = DeviceKey(
      token: IngestFixture.token, app: "com.example.app", environment: .production)
    let other = DeviceKey(token: device.token, app: "com.example.b", environment: .production)
    let record = InvalidTokenRecord(device: other, invalidSince: 1, reason: "Unregistered", at: 2)
    for value in ["{}", "hello", String(decoding: record.value, as: UTF8.self)] {
      try fixture.produce(fixture.names.invalidTokens, key: device.description, value)
    }
    try fixture.produce(fixture.names.requests, IngestFixture.request(#","id":"one""#))
    let ingest = try fixture.start()
    let records = try fixture.read(fixture.names.notifications(.first), count: 1)
    #expect(records.map(\.key) == [IngestFixture.token])
    #expect(eventually { ingest.counter("tokens_ignored") == 3 })
    #expect(ingest.stop() == nil)
    #expect(ingest.counter("invalid_tokens") == 0)
  }

  @Test func `receipts, too, wait once as many bytes as may are under way`() throws {
    let fixture = try IngestFixture()
    let device = DeviceKey(
      token: IngestFixture.token, app: "com.example.app", environment: .production)
    let record = InvalidTokenRecord(device: device, invalidSince: 1, reason: "Unregistered", at: 2)
    try fixture.produce(
      fixture.names.invalidTokens, key: device.description,
      String(decoding: record.value, as: UTF8.self))
    let list = Array(repeating: "\"\(IngestFixture.token)\"", count: 1_000).joined(separator: ",")
    try fixture.produce(
      fixture.names.requests,
      #"{"app":"com.example.app","payload":{"aps":{"alert":"x"}},"tokens":[\#(list)]}"#)
    let ingest = try fixture.start(["--max-in-flight-bytes", "65536"])
    let receipts = try fixture.receipts(count: 1_000)
    #expect(receipts.count == 1_000 && receipts.allSatisfy { $0.outcome == .suppressed })
    #expect(ingest.counter("blocked") > 0)
    #expect(ingest.stop() == nil)
    #expect(try fixture.committed() == 1)
  }

  @Test
  func `answers for a token whose device was removed, and for the next owner's as before`() throws {
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
