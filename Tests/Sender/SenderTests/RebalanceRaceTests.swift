// SPDX-License-Identifier: Apache-2.0
import ConsumerGroup
import Contract
import EventLoop
import Kafka
import Records
import TestSupport
import Testing

@testable import Sender

/// Rebalances under load.
@Suite(.serialized) struct RebalanceRaceTests {
  /// The assignment races the loops: members come and go while thousands of records are in flight. After each
  /// look at the group's offsets, every record below one, and every record that its map calls done, has its
  /// receipt.
  @Test
  func
    `from one sender to four and back under load: nothing is lost, no commit passes an open record`()
    throws
  {
    let rig = try SenderRig(simulator: ["--latency", "20ms"], hasToken: true)
    let audit = try CommitAudit(rig)
    try rig.startSender()
    let count = 12_000
    var others: [RunningService] = []
    let begun = MonotonicClock.milliseconds()
    var sent = 0
    var haveLeft = false
    while sent < count {
      // 600 records per second, for twenty seconds.
      let due = min(count, Int(MonotonicClock.milliseconds() - begun) * 600 / 1_000)
      while sent < due {
        try audit.send(sent)
        sent += 1
      }
      if others.isEmpty, sent > 2_400 {
        for _ in 0..<3 { others.append(try rig.startSender()) }
      }
      if !haveLeft, sent > 7_800 {
        haveLeft = true
        for other in others { other.requestStop() }
        for other in others { #expect(other.stop() == nil) }
      }
      try audit.look()
    }
    #expect(rig.producer.flush(timeoutMilliseconds: 30_000))
    let isAll = try eventually(pauseMilliseconds: 50) {
      try audit.look()
      return audit.receipts.count == count
    }
    #expect(isAll, "\(count - audit.receipts.count) of \(count) have no receipt")
    #expect(audit.problems.isEmpty, "\(audit.problems.prefix(5))")
    #expect(audit.looks > 20 && audit.highest > count / 2, "\(audit.looks), \(audit.highest)")
  }
}

/// Compares what the group commits with the receipts that are there.
private final class CommitAudit {
  private let rig: SenderRig
  private let admin: KafkaAdmin
  private let tail: KafkaTail
  private let parser = JSONParser()
  private let topic: KafkaTopic
  private var batch = KafkaBatch(capacity: 500)
  private var deliveries: [Kafka.Delivery] = []
  /// Which notification lies at an offset.
  private var numbers: [TopicPartition: [Int64: Int]] = [:]
  private(set) var receipts: Set<NotificationID> = []
  private(set) var problems: [String] = []
  private(set) var looks = 0
  /// The sum of the offsets last seen.
  private(set) var highest = 0
  private var receiptsRead: [Int32: Int64] = [:]
  private let partitions: [TopicPartition]

  init(_ rig: SenderRig) throws {
    self.rig = rig
    admin = try KafkaAdmin(rig.fixture.configuration)
    tail = try KafkaTail(rig.fixture.configuration, topic: rig.names.receipts, from: .beginning)
    topic = try rig.producer.topic(named: rig.names.notifications(.first))
    partitions = (0..<4).map {
      TopicPartition(topic: rig.names.notifications(.first), partition: $0)
    }
  }

  deinit {
    batch.release()
    tail.close()
    admin.close()
  }

  func send(_ number: Int) throws {
    let value = SenderRig.envelope(id: SenderRig.id(number))
    rig.fixture.withRecord(SenderRig.token(number), value) { key, value in
      _ = rig.producer.produce(topic, key: key, value: value, tag: UInt(number))
    }
  }

  func look() throws {
    learnOffsets()
    let offsets = try? admin.groupOffsets(
      rig.names.group(.sender), partitions, timeoutMilliseconds: 2_000)
    try readReceipts()
    guard let offsets else { return }
    looks += 1
    highest = offsets.reduce(0) { $0 + Int($1.offset ?? 0) }
    for entry in offsets { check(entry) }
  }

  private func learnOffsets() {
    deliveries.removeAll(keepingCapacity: true)
    deliveries += rig.producer.drainDeliveries()
    for delivery in deliveries where delivery.offset >= 0 {
      let partition = TopicPartition(
        topic: rig.names.notifications(.first), partition: delivery.partition)
      numbers[partition, default: [:]][delivery.offset] = Int(delivery.tag)
    }
  }

  /// Reads as far as the receipts topic goes now: what was committed before has its receipt below that.
  private func readReceipts() throws {
    let all = (0..<Int32(tail.partitions)).map {
      TopicPartition(topic: rig.names.receipts, partition: $0)
    }
    let ends = try admin.watermarks(all, timeoutMilliseconds: 30_000).map(\.high)
    _ = try eventually {
      _ = tail.poll(into: &batch, timeoutMilliseconds: 5)
      for index in 0..<batch.count {
        let record = batch[index]
        receiptsRead[record.partition] = record.offset + 1
        for receipt in try Receipt.all(in: record.value, parser: parser) {
          if let id = receipt.apnsID { receipts.insert(id) }
        }
      }
      batch.release()
      return ends.indices.allSatisfy { (receiptsRead[Int32($0)] ?? 0) >= ends[$0] }
    }
  }

  private func check(_ entry: CommittedOffset) {
    guard let offset = entry.offset else { return }
    var done = [0..<offset]
    if !entry.metadata.isEmpty {
      guard let map = try? OffsetMap.decode(entry.metadata, of: entry.partition, base: offset)
      else {
        problems.append(
          "\(entry.partition): no map: \(String(decoding: entry.metadata, as: UTF8.self))")
        return
      }
      done += map
    }
    for offset in done.joined() {
      guard let number = numbers[entry.partition]?[offset] else { continue }
      guard let id = NotificationID(SenderRig.id(number)), receipts.contains(id) else {
        problems.append("\(entry.partition): \(offset) is committed and has no receipt")
        return
      }
      // Checked once.
      numbers[entry.partition]?[offset] = nil
    }
  }
}
