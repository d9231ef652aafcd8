// SPDX-License-Identifier: Apache-2.0
import Contract
import Kafka
import Records
import ServiceKit
import TestSupport
import Testing

@testable import Ingest

/// Requests on topics of topfreegames/pusher.
@Suite struct PusherTopicTests {
  private static let token = String(repeating: "ab", count: 32)

  private func offset(
    _ fixture: IngestFixture, _ topic: String, partitions count: Int32 = 2
  ) throws -> Int64 {
    let admin = try KafkaAdmin(fixture.kafka.configuration)
    defer { admin.close() }
    let partitions = (0..<count).map { TopicPartition(topic: topic, partition: $0) }
    return try admin.groupOffsets(
      fixture.names.group(.ingest), partitions, timeoutMilliseconds: 5_000
    ).reduce(0) { $0 + max($1.offset ?? 0, 0) }
  }

  @Test func `requests of pusher's topics are sent beside Martlet's own, and committed`() throws {
    let fixture = try IngestFixture()
    let single = try fixture.kafka.createTopic("push-game_apns-single", partitions: 2)
    let massive = try fixture.kafka.createTopic("push-game_apns-massive", partitions: 2)
    for (topic, alert) in [(single, "one"), (massive, "many")] {
      try fixture.produce(
        topic,
        #"{"DeviceToken":"\#(Self.token)","Payload":{"aps":{"alert":"\#(alert)"}},"metadata":{"id":7}}"#
      )
    }
    try fixture.produce(fixture.names.requests, IngestFixture.request())
    let ingest = try fixture.start([
      "--pusher-topic", "\(single)=com.game,\(massive)=com.game.two", "--pusher-environment",
      "sandbox",
    ])
    let records = try fixture.read(fixture.names.notifications(.first), count: 3)
    #expect(
      eventually { (try? offset(fixture, single)) == 1 && (try? offset(fixture, massive)) == 1 })
    #expect(ingest.stop() == nil)
    // The third and fourth field of an envelope are environment and app, the ninth its apns-id.
    let lines = records.map { ($0.value ?? "").split(separator: "\n").map(String.init) }
    let fields = lines.map { line in
      line[0].split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
    }
    let sent = zip(fields, lines).map { "\($0[3]) \($0[2]) \($1[1])" }
    #expect(
      Set(sent) == [
        #"com.game sandbox {"M":{"id":7},"aps":{"alert":"one"}}"#,
        #"com.game.two sandbox {"M":{"id":7},"aps":{"alert":"many"}}"#,
        #"com.example.app production {"aps":{"alert":"x"}}"#,
      ])
    // Three records at the same offsets of three topics are three notifications.
    #expect(Set(fields.map { $0[8] }).count == 3)
  }

  @Test func `what is no request of pusher becomes a dead letter with its own origin`() throws {
    let fixture = try IngestFixture()
    let topic = try fixture.kafka.createTopic("push-game_apns", partitions: 1)
    // A request of Martlet with an id before it: nothing of that may stand in the letters.
    try fixture.produce(
      fixture.names.requests, IngestFixture.request(#","id":"known","priority":7"#))
    try fixture.produce(topic, key: "k", "not a notification")
    try fixture.produce(topic, #"{"DeviceToken":"xyz","Payload":{"aps":{"badge":1}}}"#)
    try fixture.produce(topic, #"{"DeviceToken":"\#(Self.token)","Payload":{}}"#)
    let ingest = try fixture.start(["--pusher-topic", "\(topic)=com.game"])
    let letters = try fixture.read(fixture.names.deadLetters, count: 4)
    #expect(eventually { (try? offset(fixture, topic, partitions: 1)) == 3 })
    #expect(ingest.stop() == nil)
    let read = letters.map { record in
      DeadLetter { name in
        record.headers.last { $0.name == name }.map {
          String(decoding: $0.value, as: UTF8.self)
        }
      }
    }.filter { $0.origin?.topic == topic }.sorted { $0.origin!.offset < $1.origin!.offset }
    #expect(
      read.map(\.reason) == ["invalid_request", "invalid_token", "invalid_request"])
    #expect(read.map(\.detail)[0].hasPrefix("request: is not valid JSON"))
    #expect(read.map(\.detail)[1].hasPrefix("token: has no hexadecimal digit"))
    #expect(read.map(\.detail)[2].hasPrefix("payload.aps: is required"))
    #expect(read.allSatisfy { $0.requestID == nil })
    #expect(letters.contains { $0.key == "k" && $0.value == "not a notification" })
    #expect(try fixture.receipts(count: 1).compactMap(\.id) == ["known"])
  }

  @Test func `a topic that does not exist ends ingest`() throws {
    let fixture = try IngestFixture()
    let ingest = try fixture.start(["--pusher-topic", "\(fixture.kafka.prefix)none=com.game"])
    let isOver = eventually { ingest.context.signals.isStopping || ingest.hasEnded }
    #expect(isOver)
    #expect(ingest.stop()?.description.contains("none does not exist") == true)
  }
}
