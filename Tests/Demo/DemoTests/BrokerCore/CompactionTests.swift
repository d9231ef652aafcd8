// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import BrokerCore

@Suite struct CompactionTests {
  private var desk = Desk()

  private mutating func compact() -> Int {
    var runs = 0
    while let found = desk.node.compaction(at: desk.now) {
      var run = found.run
      while desk.node.step(&run, found.partition, desk.storage) {}
      runs += 1
    }
    return runs
  }

  private mutating func all() -> [Record] {
    desk.records(desk.answer(1, Desk.fetchRequest("t", from: 0, most: 1 << 30), version: 11))
  }

  @Test mutating func `the newest record of each key stays, with its offset`() {
    desk.create("t", ["cleanup.policy": "compact", "segment.bytes": "1024"])
    for round in 0..<50 {
      _ = desk.produce(
        "t", Batches.batch((0..<5).map { ("key-\($0)", "round \(round)") }, time: desk.now.time))
    }
    let before = desk.storage.size
    #expect(compact() == 1)
    #expect(desk.storage.size < before / 5)
    let left = all()
    #expect(left.map(\.offset) == left.map(\.offset).sorted())
    var newest: [String: Int64] = [:]
    for record in left { newest[record.name] = record.offset }
    #expect(newest == ["key-0": 245, "key-1": 246, "key-2": 247, "key-3": 248, "key-4": 249])
    #expect(compact() == 0)
    // A reader in the middle of what is gone goes on behind it.
    let rest = desk.records(desk.answer(1, Desk.fetchRequest("t", from: 7), version: 11))
    #expect(rest.first.map { $0.offset > 7 } == true)
  }

  @Test mutating func `a tombstone stays for its time`() {
    desk.create(
      "t",
      ["cleanup.policy": "compact", "segment.bytes": "1024", "delete.retention.ms": "1000"])
    _ = desk.produce("t", Batches.batch([("gone", "x"), ("kept", "y")], time: desk.now.time))
    _ = desk.produce("t", Batches.batch([("gone", nil)], time: desk.now.time))
    func fill(_ desk: inout Desk) {
      for _ in 0..<40 {
        _ = desk.produce("t", Batches.batch([("filler", "0123456789")], time: desk.now.time))
      }
    }
    fill(&desk)
    _ = compact()
    #expect(Set(all().map(\.name)) == ["gone", "kept", "filler"])
    #expect(all().filter { $0.name == "gone" && !$0.isTombstone }.isEmpty)
    desk.now.time += 2_000
    fill(&desk)
    _ = compact()
    #expect(Set(all().map(\.name)) == ["kept", "filler"])
  }

  @Test mutating func `a tombstone stays while an older batch cannot be read`() {
    desk.create(
      "t",
      ["cleanup.policy": "compact", "segment.bytes": "1024", "delete.retention.ms": "1000"])
    // Not gzip, but the broker reads none.
    var packed = Batches.batch([("gone", "x")], time: desk.now.time)
    packed[22] = 1
    BatchHeader.seal(&packed)
    #expect(desk.produce("t", packed)["Error"].int == 0)
    _ = desk.produce("t", Batches.batch([("gone", nil)], time: desk.now.time))
    for _ in 0..<40 {
      _ = desk.produce("t", Batches.batch([("filler", "0123456789")], time: desk.now.time))
    }
    desk.now.time += 2_000
    #expect(compact() == 1)
    #expect(all().first.map { $0.name == "gone" && $0.isTombstone } == true)
  }

  /// The batch with its records as an LZ4 frame, in which the run of the letter a is a match.
  private func packed(_ batch: [UInt8]) throws -> [UInt8] {
    let body = batch[BatchHeader.size...]
    let start = try #require(body.firstIndex(of: UInt8(ascii: "a")))
    let last = try #require(body.lastIndex(of: UInt8(ascii: "a")))
    func rest(_ count: Int) -> [UInt8] {
      guard count >= 15 else { return [] }
      return Array(repeating: 255, count: (count - 15) / 255) + [UInt8((count - 15) % 255)]
    }
    func token(_ literals: Int, _ match: Int) -> UInt8 {
      UInt8(min(literals, 15) << 4 | min(match, 15))
    }
    // A match has at least four bytes.
    let (head, tail, match) = (body[...start], body[(last + 1)...], last - start - 4)
    var block = [token(head.count, match)] + rest(head.count)
    block += head
    block += [1, 0]
    block += rest(match)
    block.append(token(tail.count, 0))
    block += rest(tail.count)
    block += tail
    var packed = Array(batch.prefix(BatchHeader.size))
    packed[22] = 3
    packed += [0x04, 0x22, 0x4D, 0x18, 0x60, 0x40, 0x82]
    packed += [UInt8(block.count & 0xFF), UInt8(block.count >> 8), 0, 0]
    packed += block
    packed += [0, 0, 0, 0]
    BatchHeader.seal(&packed)
    return packed
  }

  @Test mutating func `a compressed batch loses its obsolete records before their tombstones go`()
    throws
  {
    desk.create(
      "t",
      ["cleanup.policy": "compact", "segment.bytes": "1024", "delete.retention.ms": "1000"])
    let large = String(repeating: "a", count: 2_000)
    let batch = try packed(Batches.batch([("gone", "x"), ("kept", large)], time: desk.now.time))
    #expect(batch.count < 200)
    #expect(desk.produce("t", batch)["Error"].int == 0)
    for _ in 0..<40 {
      _ = desk.produce("t", Batches.batch([("filler", "0123456789")], time: desk.now.time))
    }
    _ = desk.produce("t", Batches.batch([("gone", nil)], time: desk.now.time))
    for _ in 0..<40 {
      _ = desk.produce("t", Batches.batch([("filler", "0123456789")], time: desk.now.time))
    }
    desk.now.time += 2_000
    #expect(compact() == 1)
    #expect(Set(all().map(\.name)) == ["kept", "filler"])
  }

  @Test mutating func `a producer whose newest batches are compacted goes on after a restart`()
    throws
  {
    desk.create("t", ["cleanup.policy": "compact"])
    func batch(_ sequence: Int32) -> [UInt8] {
      Batches.batch([("k", "v")], producer: 7, epoch: 0, sequence: sequence)
    }
    var again = Desk(seed: 2)
    for entry in desk.node.journal { _ = again.node.restore(entry[...]) }
    // Of its batches 0 to 4 only the first is left.
    let header = try #require(BatchHeader(batch(0)[...]))
    again.node.restore(SegmentID(log: again.node.logs[0], base: 0), [header], at: again.now)
    #expect(again.produce("t", batch(0))["BaseOffset"] == 0)
    #expect(again.produce("t", batch(5))["Error"].int == 0)
    #expect(again.produce("t", batch(7))["Error"] == 45)
    #expect(again.produce("t", batch(6))["Error"].int == 0)
  }

  @Test mutating func `a time is looked up among the records that are left`() {
    desk.create("t", ["cleanup.policy": "compact", "segment.bytes": "1024"])
    _ = desk.produce("t", Batches.batch([("a", "x"), ("b", "x")], time: 1_000))
    for _ in 0..<40 { _ = desk.produce("t", Batches.batch([("b", "0123456789")], time: 5_000)) }
    #expect(compact() == 1)
    let asked: Value = ["Index": 0, "LeaderEpoch": -1, "Time": 1_001]
    let answer = desk.answer(2, ["Topics": [["Name": "t", "Partitions": [asked]]]])
    #expect(answer["Topics"].list[0]["Partitions"].list[0]["Time"] == 5_000)
  }

  @Test mutating func `young segments are left alone`() {
    desk.create(
      "t",
      ["cleanup.policy": "compact", "segment.bytes": "1024", "min.compaction.lag.ms": "5000"])
    for _ in 0..<40 {
      _ = desk.produce("t", Batches.batch([("a", "0123456789")], time: desk.now.time))
    }
    #expect(compact() == 0)
    desk.now.time += 5_000
    #expect(compact() == 1)
  }

  /// 20 times "abc", then "xyz".
  @Test func `LZ4 and Snappy are unfolded, damaged bytes are not`() {
    let text = Array(String(repeating: "abc", count: 20).utf8) + Array("xyz".utf8)
    // Literals abc, a match of 57 bytes three before, and the literals xyz.
    let frame: [UInt8] = [
      0x04, 0x22, 0x4D, 0x18, 0x60, 0x40, 0x82, 11, 0, 0, 0, 0x3F, 97, 98, 99, 3, 0, 38, 0x30, 120,
      121, 122, 0, 0, 0, 0,
    ]
    #expect(LZ4.unfold(frame[...], atMost: 100) == text)
    #expect(LZ4.unfold(frame[...], atMost: 50) == nil)
    let snappy: [UInt8] = [63, 0x08, 97, 98, 99, 0xE2, 3, 0, 0x08, 120, 121, 122]
    #expect(Snappy.unfold(snappy[...], atMost: 100) == text)
    for count in 0..<frame.count { _ = LZ4.unfold(frame[..<count], atMost: 100) }
    for count in 0..<snappy.count { _ = Snappy.unfold(snappy[..<count], atMost: 100) }
  }
}
