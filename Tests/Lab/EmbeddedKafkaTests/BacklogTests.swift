// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import EmbeddedKafka

@Suite struct BacklogTests {
  private let mebibyte = 1 << 20
  private var backlog = Backlog()

  init() {
    backlog.add(BrokerTopic("read", partitions: 2, reader: "readers"))
    backlog.add(BrokerTopic("ring", partitions: 1))
    backlog.add(BrokerTopic("table", partitions: 1, reader: "readers", isTable: true))
    backlog.add(BrokerTopic("lane", partitions: 1, reader: "readers", spillsInto: ["read"]))
  }

  private mutating func append(
    _ topic: String, _ partition: Int = 0, at offset: Int64, records: Int = 10, bytes: Int,
    start: Int64 = 0
  ) {
    backlog.note(
      .appended(
        .init(
          topic: topic, partition: partition, records: records, bytes: bytes, offset: offset,
          start: start)))
  }

  private mutating func commit(_ topic: String, _ offset: Int64, by group: String = "readers") {
    backlog.note(.committed(topic: topic, partition: 0, offset: offset, group: group))
  }

  @Test mutating func `a partition has room until its unread bytes would be more than it keeps`() {
    append("read", at: 0, bytes: 3 * mebibyte)
    #expect(backlog.hasRoom("read", 0, bytes: 2 * mebibyte))
    #expect(!backlog.hasRoom("read", 0, bytes: 2 * mebibyte + 1))
    #expect(backlog.hasRoom("read", 1, bytes: 5 * mebibyte))
    #expect(backlog.filled.isEmpty)
  }

  @Test mutating func `a commit makes room for whole batches, and only the reader's does`() {
    append("read", at: 0, bytes: 3 * mebibyte)
    append("read", at: 10, bytes: 2 * mebibyte)
    commit("read", 20, by: "others")
    commit("read", 9)
    #expect(backlog.unread("read", 0) == 5 * mebibyte)
    commit("read", 10)
    #expect(backlog.unread("read", 0) == 2 * mebibyte)
    commit("read", 5)
    #expect(backlog.unread("read", 0) == 2 * mebibyte)
  }

  @Test mutating func `a batch that is larger than a partition finds room in an empty one`() {
    #expect(backlog.hasRoom("read", 0, bytes: 9 * mebibyte))
  }

  @Test mutating func `the number of batches is bounded, too`() {
    for offset in 0..<Backlog.mostBatches {
      append("read", at: Int64(offset), records: 1, bytes: 1)
    }
    #expect(!backlog.hasRoom("read", 0, bytes: 1))
    commit("read", 50_000)
    #expect(backlog.hasRoom("read", 0, bytes: 1))
    #expect(backlog.unread("read", 0) == 50_000)
  }

  @Test mutating func `a table keeps everything, whatever is committed`() {
    append("table", at: 0, bytes: 5 * mebibyte)
    commit("table", 10)
    #expect(!backlog.hasRoom("table", 0, bytes: 1))
  }

  @Test mutating func `a ring and an unknown topic always have room`() {
    append("ring", at: 0, bytes: 9 * mebibyte)
    #expect(backlog.hasRoom("ring", 0, bytes: mebibyte))
    #expect(backlog.hasRoom("unknown", 7, bytes: mebibyte))
    #expect(backlog.hasRoom("read", 7, bytes: mebibyte))
    append("unknown", at: 0, bytes: 1)
    #expect(backlog.records == 20)
  }

  @Test mutating func `what leaves a ring is counted, and is no loss`() {
    append("ring", at: 0, bytes: 5 * mebibyte)
    append("ring", at: 10, bytes: mebibyte, start: 10)
    let hasPassed = backlog.passed == 10 && backlog.filled == ["ring"]
    #expect(hasPassed && backlog.losses.isEmpty)
  }

  @Test mutating func `a record that goes before it was committed is a loss, once`() {
    append("read", at: 0, bytes: 5 * mebibyte)
    append("read", at: 10, bytes: 5 * mebibyte)
    commit("read", 4)
    append("read", at: 20, bytes: mebibyte, start: 10)
    append("read", at: 30, bytes: mebibyte, start: 10)
    #expect(backlog.losses == [.init(topic: "read", partition: 0, records: 6)])
  }

  @Test mutating func `a lane is withheld while what it spills into is half full`() {
    append("read", at: 0, bytes: 5 * mebibyte / 2)
    #expect(!backlog.isWithheld("lane"))
    append("read", at: 10, bytes: 1)
    #expect(backlog.isWithheld("lane") && !backlog.isWithheld("read"))
    commit("read", 20)
    #expect(!backlog.isWithheld("lane"))
    append("lane", at: 0, bytes: 1)
    #expect(backlog.end("lane", 0) == 10 && backlog.end("lane", 1) == nil)
  }
}

@Suite struct BrokerEventTests {
  @Test func `a log says what was appended and committed`() {
    let appended = BrokerEvent(
      "Broker 1: Log append push.requests [3] 12 messages, 3456 bytes at offset 100"
        + " (log now 7..112, original start 0)")
    #expect(
      appended
        == .appended(
          .init(
            topic: "push.requests", partition: 3, records: 12, bytes: 3456, offset: 100, start: 7)))
    #expect(
      BrokerEvent("Topic push.requests [0] committing offset 5 for group martlet-ingest")
        == .committed(topic: "push.requests", partition: 0, offset: 5, group: "martlet-ingest"))
  }

  @Test(arguments: [
    "", "Broker", "Broker 1: Received ProduceRequestV7 from 127.0.0.1:1",
    "Topic things [0] returning offset 5 for END: Success", "Topic ", "Broker 1: Log append x [",
    "Broker 99999999999999999999: Log append things [0] 1 messages",
  ])
  func `other lines of librdkafka say nothing`(_ line: String) { #expect(BrokerEvent(line) == nil) }
}
