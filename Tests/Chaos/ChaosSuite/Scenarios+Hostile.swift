// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Feedback
import Kafka
import LabCommand
import Records
import ServiceKit
import Waiting

/// Well-formed but hostile records: numbers at the ends of their ranges, and forged responses.
extension Scenario {
  static let hostile = [
    Scenario(
      name: "hostile-records",
      summary:
        "records of the right form with numbers at the ends of their ranges in every topic, and tombstones of provider"
        + " tokens",
      sendersStay: true, isShort: true, bound: .none("hostile records affect no other records")
    ) { rig in
      let writer = try HostileWriter(rig)
      defer { writer.close() }
      try rig.turns(afterBetween: 300, and: 1_000) { _ in
        try writer.writeExtremes()
        rig.compareOffsets()
      }
      try awaitTokens(rig)
    },
    Scenario(
      name: "forged-410",
      summary:
        "for 2,000 registered devices, records on the feedback topic that say 410; then as many that say they are an import"
        + " of last year, and the same again",
      feedbackFlags: ["--bad-token-limit", "1000"],
      sendersStay: true, bound: .none("no push is sent differently")
    ) { rig in
      let writer = try HostileWriter(rig)
      defer { writer.close() }
      try writer.register(2_000)
      try rig.turns(afterBetween: 300, and: 1_000) { _ in
        try writer.forgeAnswers()
        try writer.forgeAnswers(isImport: true)
        try writer.forgeAnswers()
      }
      let isSaid = try rig.pump(
        until: { rig.occurrences("feedback", FeedbackLog.badTokenWave) > 0 }, within: 60_000)
      if !isSaid { rig.problem("a wave of 410s raised no alarm") }
      // Reverts what was recorded before it was a wave: the audit compares the database with the gateway.
      let tables = TableAudit(rig.kafka, rig.place.names)
      var unexpected = -1
      let isClean = try rig.pump(
        until: {
          try rig.readGateway()
          unexpected = try tables.invalidDifferences(rig.databases, rig.auditor.invalid).unexpected
          return unexpected == 0
        }, within: 60_000)
      if !isClean { rig.problem("\(unexpected) devices are invalid that the gateway knows") }
    },
  ]
}

/// Writes records like an attacker with write access to a topic.
final class HostileWriter {
  private typealias Forged = (topic: String, key: String, value: String?)

  private static let app = "com.example.hostile"
  private static let extremes: [Int64] = [
    .min, .min + 1, -1, 0, 1, OutsideTime.last / 1_000, OutsideTime.last, OutsideTime.last + 1,
    .max - 1, .max,
  ]
  /// One of the load's credentials, and an unused one.
  private static let environments = ["any", "production"]

  private let rig: ChaosRig
  private let producer: KafkaProducer
  private let names: TopicNames
  private var devices: [DeviceKey] = []
  private var sent: [UInt: String] = [:]
  private var nextTag: UInt = 1

  init(_ rig: ChaosRig) throws {
    self.rig = rig
    names = rig.place.names
    producer = try KafkaProducer(rig.kafka)
  }

  func close() { producer.close() }

  /// Registers devices of an app that the load does not use.
  func register(_ count: Int) throws {
    for number in 0..<count {
      let digits = String(UInt64(number) + 1, radix: 16)
      let token = String(repeating: "0", count: 64 - digits.count) + digits
      let device = DeviceKey(token: token, app: Self.app, environment: .production)
      devices.append(device)
      let record = DeviceRecord(
        device: device, event: .registered(at: WallClock.milliseconds() - 60_000))
      try write(names.devices, record.key, record.value)
    }
    try flush()
  }

  /// Forges responses of APNs that all of them are invalid, now or within the last year.
  func forgeAnswers(isImport: Bool = false) throws {
    let now = WallClock.milliseconds()
    for (number, device) in devices.enumerated() {
      let at = isImport ? now - Int64(number % 365) * 86_400_000 : now
      let record = FeedbackRecord(
        device: device, topic: Self.app, status: 410, reason: "Unregistered",
        timestamp: rig.random.next() % 2 == 0 ? now : OutsideTime.last, apnsID: "", sentAt: now,
        at: at, isImported: isImport)
      try write(names.feedback, record.key, record.value)
    }
    rig.countFault("\(devices.count) answers that APNs did not give")
    try flush()
  }

  /// Writes one record of each form for each extreme.
  func writeExtremes() throws {
    let token = String(repeating: "ee", count: 32)
    let device = "\"token\":\"\(token)\",\"app\":\"\(Self.app)\",\"environment\":\"production\""
    let key = "\(token):\(Self.app):production"
    for number in Self.extremes {
      var all: [Forged] = Self.environments.flatMap { forgedTokens($0, number) }
      all += [
        (
          names.feedback, key,
          "{\(device),\"topic\":\"a\",\"status\":400,\"reason\":\"BadDeviceToken\",\"timestamp\":\(number),\"sent_at\":\(number),\"at\":\(number)}"
        ),
        (names.devices, key, "{\(device),\"registered_at\":\(number)}"),
        (names.devices, key, "{\(device),\"removed_at\":\(number)}"),
        (
          names.receipts, "",
          "{\"outcome\":\"delivered\",\(device),\"created\":\(number),\"at\":\(number),\"attempts\":\(number)}"
        ),
        (
          names.notifications(.first), token,
          "M2\ttransactional\tproduction\t\(Self.app)\t\(Self.app)\talert\t10\t\(number)\t00000000-0000-0000-0000-00000000000e\t\(number)\t\t\(number)\t\(number)\t\n{}"
        ),
        (
          names.requests, token,
          "{\"app\":\"\(Self.app)\",\"token\":\"\(token)\",\"expiration\":\(number),\"priority\":\(number),\"payload\":{}}"
        ),
      ]
      for record in all {
        try write(record.topic, Array(record.key.utf8), record.value.map { Array($0.utf8) })
      }
    }
    rig.countFault("\(nextTag - 1) hostile records so far")
    try flush()
  }

  /// The forged records about a credential that signers and senders read. The last record is a tombstone.
  private func forgedTokens(_ environment: String, _ number: Int64) -> [Forged] {
    let credential = "DEMOTEAM01/DEMOKEY001/\(environment)"
    let subject = "\"credential\":\"\(credential)\""
    let token =
      "{\(subject),\"team_id\":\"DEMOTEAM01\",\"key_id\":\"DEMOKEY001\",\"environment\":\"\(environment)\",\"apps\":[\"*\"],"
      + "\"issued_at\":\(number),\"generation\":\(number)"
    return [
      (names.tokenRequests, credential, "{\(subject),\"reason\":\"missing\",\"at\":\(number)}"),
      (
        names.tokenRequests, credential,
        "{\(subject),\"reason\":\"ExpiredProviderToken\",\"at\":\(number)}"
      ),
      (names.providerTokens, credential, token + ",\"removed\":true}"),
      (names.providerTokens, credential, token + ",\"token\":\"a.b.c\"}"),
      (names.providerTokens, credential, nil),
    ]
  }

  private func write(_ name: String, _ key: [UInt8], _ value: [UInt8]?) throws {
    let topic = try producer.topic(known: name)
    sent[nextTag] = name
    let result = producer.produce(topic, key: key, value: value, tag: nextTag)
    nextTag += 1
    if case .refused(let error) = result { throw error }
    guard case .queued = result else { throw ServiceFailure("the producer is full") }
  }

  private func flush() throws {
    guard producer.flush(timeoutMilliseconds: 60_000) else {
      throw ServiceFailure("Kafka did not take hostile records within 60 s")
    }
    for delivery in producer.drainDeliveries() {
      if let error = delivery.refused { throw error }
      guard let name = sent.removeValue(forKey: delivery.tag), delivery.offset >= 0 else {
        continue
      }
      rig.auditor.poisoned(
        DeadLetterOrigin(topic: name, partition: delivery.partition, offset: delivery.offset),
        mustEnd: false)
    }
  }
}
