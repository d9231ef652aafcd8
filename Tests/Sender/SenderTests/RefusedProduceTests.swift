// SPDX-License-Identifier: Apache-2.0
import Contract
import EmbeddedKafka
import EventLoop
import Kafka
import Records
import TestSupport
import Testing

@testable import Sender

/// A broker that does not take what a sender writes: whatever it is, nothing stays open for ever.
@Suite(.serialized) struct RefusedProduceTests {
  private static let count = 200

  /// A sender that has everything to do at once, and whose first produce requests are answered like that.
  private func refusing(
    _ faults: [EmbeddedBroker.Fault], loops: Int = 1
  ) throws -> (rig: SenderRig, sender: RunningService) {
    let rig = try SenderRig(partitions: 2, embedded: true, hasToken: true)
    try rig.sendMany(0..<Self.count)
    rig.fixture.broker!.inject(faults, into: .produce)
    return (rig, try rig.startSender(loops: loops))
  }

  /// Every receipt once, every offset committed, nothing sent again by the next sender.
  private func expectWhole(_ rig: SenderRig, _ sender: RunningService) throws {
    #expect(try rig.receipts(of: 0..<Self.count).count == Self.count)
    #expect(try eventually { try rig.committed() == Self.count })
    #expect(eventually { sender.counter("open_records") == 0 })
    #expect(sender.counter("refused_by_kafka") > 0)
    #expect(sender.stop() == nil)
    let next = try rig.startSender()
    try rig.sendMany(Self.count..<Self.count + 1)
    #expect(try rig.receipts(of: Self.count...Self.count).count == 1)
    #expect(next.counter("delivered") == 1)
    #expect(try rig.receipts(afterMilliseconds: 500).count == Self.count + 1)
  }

  @Test(arguments: [1, 2])
  func `receipts that are too large together are written in smaller records`(loops: Int) throws {
    // The batch, the record alone, its halves.
    let (rig, sender) = try refusing(Array(repeating: .messageTooLarge, count: 5), loops: loops)
    try expectWhole(rig, sender)
  }

  @Test func `what a topic does not take for another reason waits until it does`() throws {
    let (rig, sender) = try refusing(Array(repeating: .invalidRecord, count: 4))
    try expectWhole(rig, sender)
  }

  /// As of a topic for receipts that is compacted, or a cluster that does not take the codec.
  @Test func `what a topic never takes is told of for as long as that lasts`() throws {
    let (rig, sender) = try refusing(Array(repeating: .invalidRecord, count: 10_000))
    expectEventually { sender.counter("producers_refused") == 1 }
    let before = sender.counter("refused_by_kafka")
    var told: Set<Int> = []
    expectEventually(pauseMilliseconds: 1) {
      told.insert(sender.counter("producers_refused"))
      return sender.counter("refused_by_kafka") > before + 3
    }
    #expect(!told.contains(0))
    rig.fixture.broker!.clearFaults(of: .produce)
    try expectWhole(rig, sender)
  }

  @Test func `a missing right to write is waited out and counted`() throws {
    let (rig, sender) = try refusing(Array(repeating: .topicNotAuthorized, count: 3))
    try expectWhole(rig, sender)
  }

  @Test func `a dead letter that its topic does not take is cut until it does`() throws {
    let rig = try SenderRig(partitions: 1, embedded: true, hasToken: true)
    try rig.send("no device", String(repeating: "x", count: 100_000))
    _ = rig.producer.flush(timeoutMilliseconds: 30_000)
    rig.fixture.broker!.inject(Array(repeating: .messageTooLarge, count: 4), into: .produce)
    let sender = try rig.startSender()
    let letters = try rig.fixture.read(rig.names.deadLetters, count: 1)
    try #require(letters.count == 1)
    #expect(letters[0].value?.utf8.count == DeadLetterHeader.longest)
    let detail = letters[0].headers.first { $0.name == DeadLetterHeader.detail }
    let text = String(decoding: detail?.value ?? [], as: UTF8.self)
    #expect(text.contains("(value cut to 1024 of 65536 bytes)") && DeadLetterCut.isRemarked(text))
    #expect(try eventually { try rig.committed() == 1 })
    #expect(sender.stop() == nil)
  }
}
