// SPDX-License-Identifier: Apache-2.0
import Contract
import Kafka
import Records
import TestSupport
import Testing

@Suite struct TraceParentTests {
  private static let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

  private func request(_ fixture: IngestFixture, _ value: String, _ trace: String) throws {
    _ = try fixture.kafka.produce(
      fixture.producer, fixture.producer.topic(named: fixture.names.requests), key: nil,
      value: value, headers: [KafkaHeader("other", "x"), KafkaHeader("traceparent", trace)])
  }

  @Test func `a request's trace goes along to its notification, dead letter and receipt`() throws {
    let fixture = try IngestFixture()
    try request(fixture, IngestFixture.request(), Self.trace)
    try request(fixture, IngestFixture.request(#","id":"p7","priority":7"#), Self.trace)
    let ingest = try fixture.start()
    let notification = try #require(
      try fixture.read(fixture.names.notifications(.first), count: 1).first)
    let value = Array((notification.value ?? "").utf8)
    let envelope = try Envelope.parse(value.span)
    value.withUnsafeBytes {
      #expect(envelope.carried(in: $0)[.traceParent].elementsEqual(Self.trace.utf8))
    }
    let letter = try #require(try fixture.read(fixture.names.deadLetters, count: 1).first)
    #expect(letter.headers.contains(KafkaHeader("traceparent", Self.trace)))
    #expect(try fixture.receipts(count: 1).map(\.traceParent) == [Self.trace])
    #expect(ingest.stop() == nil)
    #expect(ingest.counter("invalid_trace_parents") == 0)
  }

  @Test func `what is no trace is dropped and counted, and the request goes on`() throws {
    let fixture = try IngestFixture()
    try request(fixture, IngestFixture.request(), Self.trace.uppercased())
    try request(fixture, IngestFixture.request(), "")
    let ingest = try fixture.start()
    let notifications = try fixture.read(fixture.names.notifications(.first), count: 2)
    for notification in notifications {
      let value = Array((notification.value ?? "").utf8)
      #expect(try Envelope.parse(value.span).carried.isEmpty)
    }
    #expect(notifications.count == 2)
    #expect(ingest.stop() == nil)
    #expect(ingest.counter("invalid_trace_parents") == 2)
  }
}
