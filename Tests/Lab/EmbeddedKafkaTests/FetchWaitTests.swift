// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Kafka
import Testing

@testable import EmbeddedKafka

/// How long a reader waits for the embedded broker.
@Suite struct FetchWaitTests {
  private var backlog = Backlog()

  init() {
    backlog.add(BrokerTopic("things", partitions: 2, reader: "readers"))
    backlog.add(BrokerTopic("lane", partitions: 1, reader: "readers", spillsInto: ["things"]))
  }

  private mutating func append(
    _ topic: String = "things", at offset: Int64, records: Int = 10, bytes: Int = 100
  ) {
    backlog.note(
      .appended(
        .init(
          topic: topic, partition: 0, records: records, bytes: bytes, offset: offset, start: 0)))
  }

  /// A Fetch request of version 11 for the partitions of a topic from these offsets on, that would wait for 500 ms.
  private func request(_ offsets: [Int64], of topic: String = "things") -> [UInt8] {
    var writer = FieldWriter()
    writer.string("reader")
    for field: Int32 in [-1, 500, 1, 1 << 20] { writer.int32(field) }
    writer.raw([0])
    writer.int32(0)
    writer.int32(-1)
    writer.array([topic]) { writer, topic in
      writer.string(topic)
      writer.array(Array(offsets.enumerated())) { writer, place in
        writer.int32(Int32(place.offset))
        writer.int32(-1)
        writer.int64(place.element)
        writer.int64(-1)
        writer.int32(1 << 20)
      }
    }
    writer.array([Int32]()) { writer, _ in writer.int32(0) }
    writer.string("")
    return writer.bytes
  }

  /// How much longer it waits, and what has become of its body.
  private func ask(
    _ body: [UInt8], waited: Int64 = 0, apart: Int64 = 1_000
  ) -> (wait: Int32, body: [UInt8]) {
    var body = body
    let (wait, _) = body.withUnsafeMutableBytes {
      RequestBody($0, version: 11).adaptFetch(to: backlog, waited: waited, apart: apart)
    }
    return (wait, body)
  }

  /// The wait that the broker reads in a request.
  private func ownWait(_ body: [UInt8]) -> Int32 {
    var reader = FieldReader(body)
    _ = reader.string()
    reader.skip(4)
    return reader.int32()
  }

  @Test mutating func `a reader waits for a record, and no longer than it asks for`() {
    append(at: 0)
    let body = request([10, 0])
    #expect(ask(body).wait == 500)
    #expect(ask(body).body == body)
    #expect(ask(body, waited: 499).wait == 1)
    #expect(ask(body, waited: 500).wait == 0)
    #expect(ownWait(ask(body, waited: 500).body) == 0)
    append(at: 10)
    #expect(ask(body, waited: 7).wait == 0)
    #expect(ownWait(ask(body, waited: 7).body) == 0)
  }

  @Test mutating func `one that keeps up is answered at intervals, one that is behind at once`() {
    append(at: 0)
    append(at: 10)
    let next = request([10, 0])
    #expect(ask(next, apart: 0).wait > 0)
    #expect(ask(next, apart: Int64(ask(next, apart: 0).wait)).wait == 0)
    #expect(ask(next, waited: 500, apart: 0).wait == 0)
    #expect(ask(request([5, 0]), apart: 0).wait == 0)
  }

  @Test mutating func `what is not there is answered at once`() {
    append(at: 0)
    #expect(ask(request([0], of: "others")).wait == 0)
    #expect(ask(request([10, 0, 0])).wait == 0)
    #expect(ask(request([11, 0])).wait == 0)
  }

  @Test mutating func `a withheld lane has nothing`() {
    append("lane", at: 0)
    append(at: 0, bytes: 3 << 20)
    let body = request([0], of: "lane")
    #expect(ask(body).wait == 500)
    #expect(ask(body, waited: 500).body != body)
    backlog.note(.committed(topic: "things", partition: 0, offset: 10, group: "readers"))
    #expect(ask(body).wait == 0)
  }

  @Test func `a body that is cut short is answered`() {
    let body = request([0])
    for count in 0..<body.count { #expect(ask(Array(body[..<count])).wait <= 500) }
  }

  @Test func `a record reaches a reader that waits`() throws {
    let broker = try EmbeddedBroker([.init("things", partitions: 1)])
    var configuration = KafkaConfiguration(bootstrap: broker.bootstrap, clientID: "reader")
    configuration.consumer = [("fetch.wait.max.ms", "60000"), ("socket.timeout.ms", "120000")]
    let tail = try KafkaTail(configuration, topic: "things", from: .beginning)
    defer { tail.close() }
    let producer = try KafkaProducer(configuration)
    defer { producer.close() }
    let topic = try producer.topic(named: "things")
    var batch = KafkaBatch(capacity: 10)
    for number in 1...3 {
      _ = producer.produce(topic, key: nil, value: [1], tag: 0)
      #expect(producer.flush(timeoutMilliseconds: 10_000))
      let deadline = MonotonicClock.milliseconds() + 20_000
      while batch.count < number, MonotonicClock.milliseconds() < deadline {
        _ = tail.poll(into: &batch, timeoutMilliseconds: 100)
      }
      #expect(batch.count == number)
    }
    batch.release()
  }
}
