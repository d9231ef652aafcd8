// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import BrokerCore

/// Produce, Fetch and what a log keeps: `PartitionLog`, `ProducerState`, `LogStorage`, and the codecs of `Unfolding`.
@Suite struct RecordTests {
  private var desk = Desk()

  private func batch(_ keys: [String], producer: Int64 = -1, epoch: Int16 = 0, sequence: Int32 = -1)
    -> [UInt8]
  {
    Batches.batch(keys.map { ($0, "value") }, producer: producer, epoch: epoch, sequence: sequence)
  }

  @Test func `the checksum is Castagnoli's`() {
    #expect(CRC32C.checksum(Array("123456789".utf8)[...]) == 0xE306_9283)
    #expect(CRC32C.checksum([]) == 0)
  }

  @Test mutating func `records come back with their offsets`() {
    desk.create("t")
    #expect(desk.produce("t", batch(["a", "b"]))["BaseOffset"] == 0)
    #expect(desk.produce("t", batch(["c"]))["BaseOffset"] == 2)
    let all = desk.records(desk.answer(1, Desk.fetchRequest("t", from: 0), version: 11))
    #expect(all.map(\.name) == ["a", "b", "c"] && all.map(\.offset) == [0, 1, 2])
    // A batch is sent as a whole.
    let rest = desk.records(desk.answer(1, Desk.fetchRequest("t", from: 1), version: 11))
    #expect(rest.map(\.offset) == [0, 1, 2])
    let one = desk.answer(1, Desk.fetchRequest("t", from: 0, most: 1), version: 11)
    #expect(desk.records(one).map(\.offset) == [0, 1])
  }

  @Test mutating func `what is wrong is refused with Kafka's errors`() {
    desk.create("t")
    desk.create("table", ["cleanup.policy": "compact"])
    desk.create("small", ["max.message.bytes": "10"])
    var broken = batch(["a"])
    broken[70] ^= 1
    #expect(desk.produce("t", broken)["Error"] == 2)
    #expect(desk.produce("t", [UInt8](repeating: 0, count: 80))["Error"] == 43)
    #expect(desk.produce("small", batch(["a"]))["Error"] == 10)
    #expect(desk.produce("none", batch(["a"]))["Error"] == 3)
    #expect(desk.produce("t", batch(["a"]), index: 1)["Error"] == 3)
    #expect(desk.produce("t", batch(["a"]), broker: 2)["Error"] == 6)
    let keyless = desk.produce("table", Batches.batch([("k", "v"), (nil, "v"), (nil, nil)]))
    #expect(keyless["Error"] == 87)
    #expect(keyless["RecordErrors"].list.map { $0["BatchIndex"].int } == [1, 2])
    desk.storage.capacity = 10
    #expect(desk.produce("t", batch(["a"]))["Error"] == 56)
    #expect(desk.node.storageProblem != nil)
    desk.storage.capacity = .max
    #expect(desk.produce("t", batch(["a"]))["BaseOffset"] == 0)
    #expect(desk.node.storageProblem == nil)
    #expect(desk.ask(0, ["Acks": 0, "Topics": []]) == .silent)
  }

  @Test mutating func `a repeated batch is acknowledged once more, a gap is refused`() {
    desk.create("t")
    let first = batch(["a", "b"], producer: 7, sequence: 0)
    #expect(desk.produce("t", first)["BaseOffset"] == 0)
    #expect(desk.produce("t", batch(["c"], producer: 7, sequence: 2))["BaseOffset"] == 2)
    let again = desk.produce("t", first)
    #expect(again["Error"].int == 0 && again["BaseOffset"] == 0)
    #expect(desk.produce("t", batch(["e"], producer: 7, sequence: 4))["Error"] == 45)
    #expect(desk.produce("t", batch(["e"], producer: 7, epoch: 1, sequence: 0))["BaseOffset"] == 3)
    #expect(desk.produce("t", batch(["d"], producer: 7, sequence: 3))["Error"] == 47)
    // Sequence numbers begin again behind the largest one.
    #expect(desk.produce("t", batch(["x"], producer: 8, sequence: .max))["Error"].int == 0)
    #expect(desk.produce("t", batch(["y"], producer: 8, sequence: 0))["Error"].int == 0)
  }

  @Test mutating func `Fetch waits for its bytes or its time, and no longer`() {
    desk.create("t")
    let size = batch(["a"]).count
    let request = Desk.fetchRequest("t", from: 0, minBytes: Int64(size) + 1)
    #expect(desk.ask(1, request, version: 11, from: 5) == .later)
    #expect(desk.node.nextDeadline == 500)
    _ = desk.produce("t", batch(["a"]))
    #expect(desk.node.takeReplies(desk.storage).isEmpty)
    _ = desk.produce("t", batch(["b"]))
    let replies = desk.node.takeReplies(desk.storage)
    #expect(replies.map(\.connection) == [ConnectionID(5)])
    #expect(desk.records(replies[0].body).map(\.name) == ["a", "b"])
    #expect(desk.ask(1, Desk.fetchRequest("t", from: 2), version: 11, from: 5) == .later)
    desk.now.ticks = 499
    desk.node.tick(at: desk.now, desk.storage)
    #expect(desk.node.takeReplies(desk.storage).isEmpty)
    desk.now.ticks = 500
    desk.node.tick(at: desk.now, desk.storage)
    #expect(desk.node.takeReplies(desk.storage).count == 1)
    // Nobody waits where something is wrong, or wants no wait.
    let beyond = desk.answer(1, Desk.fetchRequest("t", from: 9), version: 11)
    #expect(beyond["Topics"].list[0]["Partitions"].list[0]["Error"] == 1)
    #expect(
      desk.records(desk.answer(1, Desk.fetchRequest("t", from: 2, wait: 0), version: 11)).isEmpty)
    #expect(desk.ask(1, Desk.fetchRequest("t", from: 2), version: 11, from: 6) == .later)
    desk.node.disconnected(.init(6), at: desk.now)
    _ = desk.produce("t", batch(["c"]))
    #expect(desk.node.takeReplies(desk.storage).isEmpty)
  }

  @Test mutating func `an answer to Fetch has what several requests of a turn append`() {
    desk.create("t")
    #expect(desk.ask(1, Desk.fetchRequest("t", from: 0), version: 11, from: 5) == .later)
    for name in ["a", "b", "c"] { _ = desk.produce("t", batch([name])) }
    let replies = desk.node.takeReplies(desk.storage)
    #expect(replies.map { desk.records($0.body).map(\.name) } == [["a", "b", "c"]])
  }

  private mutating func offset(_ topic: String, time: Int64) -> Int64 {
    desk.answer(
      2,
      [
        "Topics": [
          [
            "Name": .text(topic),
            "Partitions": [["Index": 0, "LeaderEpoch": -1, "Time": .int(time)]],
          ]
        ]
      ]
    )["Topics"].list[0]["Partitions"].list[0]["Offset"].int
  }

  @Test mutating func `offsets are found by time`() {
    desk.create("t")
    for time: Int64 in [1_000, 2_000, 3_000] {
      _ = desk.produce("t", Batches.batch([("a", "1"), ("b", "2")], time: time))
    }
    #expect(offset("t", time: -2) == 0 && offset("t", time: -1) == 6)
    #expect(offset("t", time: 0) == 0 && offset("t", time: 1_001) == 1)
    #expect(offset("t", time: 1_002) == 2 && offset("t", time: 3_001) == 5)
    #expect(offset("t", time: 3_002) == -1 && offset("t", time: -3) == 5)
  }

  @Test mutating func `a batch that does not tell its newest time gets it`() {
    desk.create("t")
    var untold = Batches.batch([("a", "1"), ("b", "2")], time: 5_000)
    untold.put(-1, 8, at: 35)
    BatchHeader.seal(&untold)
    #expect(desk.produce("t", untold)["Error"].int == 0)
    #expect(offset("t", time: 5_001) == 1 && offset("t", time: 5_002) == -1)
    let stored = desk.records(desk.answer(1, Desk.fetchRequest("t", from: 0), version: 11))
    #expect(stored.map(\.time) == [5_000, 5_001])
  }

  @Test mutating func `LogAppendTime is the broker's`() {
    desk.create("t", ["message.timestamp.type": "LogAppendTime"])
    #expect(desk.produce("t", batch(["a", "b"]))["Time"].int == desk.now.time)
    let records = desk.records(desk.answer(1, Desk.fetchRequest("t", from: 0), version: 11))
    #expect(records.map(\.time) == [desk.now.time, desk.now.time])
  }

  @Test mutating func `old and many records go by whole segments`() {
    desk.create("t", ["segment.bytes": "1024", "retention.bytes": "3000", "retention.ms": "5000"])
    for _ in 0..<100 {
      _ = desk.produce("t", Batches.batch([("key", "0123456789")], time: desk.now.time))
    }
    desk.node.retain(at: desk.now, desk.storage)
    let low = offset("t", time: -2)
    #expect(low > 0 && desk.storage.size >= 3_000 && desk.storage.size < 4_200)
    let early = desk.answer(1, Desk.fetchRequest("t", from: low - 1), version: 11)
    #expect(early["Topics"].list[0]["Partitions"].list[0]["Error"] == 1)
    desk.now.time += 6_000
    desk.node.retain(at: desk.now, desk.storage)
    #expect(offset("t", time: -2) == 100 && desk.storage.size == 0)
    #expect(desk.produce("t", batch(["a"]))["BaseOffset"] == 100)
  }

  @Test mutating func `a record with an old time is not gone at once`() {
    desk.create("t")
    desk.now.time = 30 * 86_400_000
    _ = desk.produce("t", Batches.batch([("key", "value")], time: 1_000))
    desk.now.time += 300_000
    desk.node.retain(at: desk.now, desk.storage)
    #expect(offset("t", time: -2) == 0)
    desk.now.time += 1
    desk.node.retain(at: desk.now, desk.storage)
    #expect(offset("t", time: -2) == 1)
  }

  @Test mutating func `DeleteRecords moves the start`() {
    desk.create("t")
    _ = desk.produce("t", batch(["a", "b", "c"]))
    func request(_ offset: Int64) -> Value {
      ["Topics": [["Name": "t", "Partitions": [["Index": 0, "Offset": .int(offset)]]]]]
    }
    let answer = desk.answer(21, request(2))["Topics"].list[0]["Partitions"].list[0]
    #expect(answer["LowWatermark"] == 2 && offset("t", time: -2) == 2)
    let wrong = desk.answer(21, request(4))["Topics"].list[0]["Partitions"].list[0]
    #expect(wrong["Error"] == 1)
  }

  @Test mutating func `a new leader begins an epoch, and its end is told`() {
    desk = Desk(brokers: 2)
    desk.create("t")
    _ = desk.produce("t", batch(["a", "b"]))
    let isLed = desk.node.setLeader(.init("t", 0), broker: 2, desk.storage)
    #expect(isLed)
    #expect(desk.produce("t", batch(["c"]))["Error"] == 6)
    #expect(desk.produce("t", batch(["c"]), broker: 2)["BaseOffset"] == 2)
    let end = desk.answer(
      23,
      [
        "Topics": [
          ["Name": "t", "Partitions": [["Index": 0, "CurrentEpoch": -1, "LeaderEpoch": 0]]]
        ]
      ],
      broker: 2)["Topics"].list[0]["Partitions"].list[0]
    #expect(end["LeaderEpoch"] == 0 && end["EndOffset"] == 2)
  }

  @Test mutating func `there is no slower store, and no offset in it`() {
    desk.create("t")
    _ = desk.produce("t", batch(["a"]))
    let found = desk.answer(
      2,
      [
        "Topics": [
          ["Name": "t", "Partitions": [["Index": 0, "LeaderEpoch": -1, "Time": -5]]]
        ]
      ])["Topics"].list[0]["Partitions"].list[0]
    #expect(found["Offset"] == -1 && found["Error"].int == 0)
  }
}
