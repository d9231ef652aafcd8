// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Kafka
import ServiceKit
import Waiting

/// Malformed records, written directly to every topic.
extension Scenario {
  static let poison = Scenario(
    name: "poison",
    summary: "garbage keys, headers and values, 1 MiB, empty, tombstones in every topic",
    sendersStay: true, isShort: true, bound: .none("invalid records affect no other records")
  ) { rig in
    let writer = try PoisonWriter(rig)
    defer { writer.close() }
    try rig.turns(afterBetween: 300, and: 1_000) { _ in
      try writer.write(rig)
      rig.compareOffsets()
    }
  }
}

/// Writes one malformed record of each kind to every topic.
final class PoisonWriter {
  private struct Dose {
    let key: [UInt8]?
    let value: [UInt8]?
    var headers: [KafkaHeader] = []
  }

  private let producer: KafkaProducer
  private let topics: [(name: String, topic: KafkaTopic, isJudged: Bool)]
  private let compacted: Set<String>
  private var nextTag: UInt = 1

  init(_ rig: ChaosRig) throws {
    var kafka = rig.kafka!
    kafka.producer.append(("message.max.bytes", "4000000"))
    let producer = try KafkaProducer(kafka)
    self.producer = producer
    let names = rig.place.names
    // Tables, requests for tokens, receipts and dead letters have no dead letters: their consumers ignore and count bad
    // entries.
    let judged =
      [names.requests] + names.notifications + names.retries + [names.feedback, names.devices]
    let ignored = [
      names.invalidTokens, names.providerTokens, names.tokenRequests, names.receipts,
      names.deadLetters,
    ]
    topics = try (judged + ignored).map { ($0, try producer.topic(named: $0), judged.contains($0)) }
    // The broker rejects records without a key there.
    compacted = Set(names.all.filter { $0.cleanup == .compact }.map(\.name))
  }

  func write(_ rig: ChaosRig) throws {
    var mustEnd: [UInt: String] = [:]
    var planted: [UInt: String] = [:]
    for (name, topic, isJudged) in topics {
      for dose in doses(&rig.random) where dose.key != nil || !compacted.contains(name) {
        let tag = nextTag
        nextTag += 1
        // A tombstone in a compacted topic deletes a key.
        let isTombstone = dose.value == nil && name == rig.place.names.devices
        if isJudged, !isTombstone { mustEnd[tag] = name }
        planted[tag] = name
        try produce(dose, topic, tag)
      }
    }
    rig.countFault("\(nextTag - 1) records of poison so far")
    guard producer.flush(timeoutMilliseconds: 60_000) else {
      throw ServiceFailure("the broker did not take the poison within 60 s")
    }
    for delivery in producer.drainDeliveries() {
      if let error = delivery.refused { throw error }
      guard let name = planted[delivery.tag], delivery.offset >= 0 else { continue }
      rig.auditor.poisoned(
        DeadLetterOrigin(topic: name, partition: delivery.partition, offset: delivery.offset),
        mustEnd: mustEnd[delivery.tag] != nil)
    }
  }

  private func produce(_ dose: Dose, _ topic: KafkaTopic, _ tag: UInt) throws {
    let result = producer.produce(
      topic, key: dose.key, value: dose.value, headers: dose.headers, tag: tag)
    if case .refused(let error) = result { throw error }
    guard case .queued = result else { throw ServiceFailure("the producer is full of poison") }
  }

  private func doses(_ random: inout SeededGenerator) -> [Dose] {
    func noise(_ count: Int) -> [UInt8] {
      (0..<count).map { _ in UInt8(truncatingIfNeeded: random.next() >> 32) }
    }
    let garbled = noise(40)
    return [
      Dose(key: noise(20), value: noise(200)),
      Dose(key: nil, value: []),
      Dose(key: Array(repeating: UInt8(ascii: "f"), count: 1 << 20), value: noise(10)),
      Dose(key: noise(8), value: nil),
      Dose(key: Array("k".utf8), value: Array(repeating: UInt8(ascii: "{"), count: 1 << 20)),
      Dose(key: Array(repeating: 0xFF, count: 3_000), value: Array("M2\ttransactional\t".utf8)),
      Dose(
        key: Array("zz".utf8), value: Array("{\"app\":\"\u{0}\",\"token\":".utf8),
        headers: [KafkaHeader("", garbled), KafkaHeader("martlet-attempts", garbled)]),
      Dose(key: Array("00ff".utf8), value: [0x0A]),
      Dose(key: Array("00ff".utf8), value: Array("M3\n{}".utf8)),
    ]
  }

  func close() { producer.close() }
}
