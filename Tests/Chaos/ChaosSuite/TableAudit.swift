// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Kafka
import LabCommand
import Records
import ServiceKit
import Store

/// Checks other than those of single notifications: provider tokens and the database of invalid tokens.
struct TableAudit {
  private let kafka: KafkaConfiguration
  private let names: TopicNames
  private let parser = JSONParser()

  init(_ kafka: KafkaConfiguration, _ names: TopicNames) {
    self.kafka = kafka
    self.names = names
  }

  /// Calls `body` with every record of a topic, from its start to its current end.
  private func forEach(_ topic: String, _ body: (KafkaRecord) -> Void) throws {
    let tail = try KafkaTail(kafka, topic: topic, from: .beginning)
    defer { tail.close() }
    var batch = KafkaBatch(capacity: 500)
    let deadline = MonotonicClock.milliseconds() + 120_000
    var count = 1
    while count > 0 || !tail.isCaughtUp {
      guard MonotonicClock.milliseconds() < deadline else {
        throw ServiceFailure("\(topic) cannot be read to its end")
      }
      count = tail.poll(into: &batch, timeoutMilliseconds: 50)
      for index in 0..<count { body(batch[index]) }
      batch.release()
    }
  }

  /// Finds requests that Kafka has without a known offset, and tells the ledger. Returns how many are missing.
  func place(_ unplaced: [(partition: Int32, text: [UInt8])], in ledger: DemoLedger) throws -> Int {
    guard !unplaced.isEmpty else { return 0 }
    var wanted: [[UInt8]: Int] = [:]
    for request in unplaced { wanted[request.text, default: 0] += 1 }
    try forEach(names.requests) { record in
      guard let count = wanted[Array(record.value)], count > 0,
        !ledger.knows(partition: record.partition, offset: record.offset)
      else { return }
      wanted[Array(record.value)] = count - 1
      let ids = RequestLine.ids(
        record.value, topic: names.requests, partition: record.partition, offset: record.offset,
        parser: parser)
      ledger.produced(partition: record.partition, offset: record.offset, ids: ids)
    }
    return wanted.values.reduce(0, +)
  }

  /// The records of the provider tokens' topic, checked as of now.
  func mints() throws -> MintAudit {
    var audit = MintAudit(now: WallClock.seconds())
    try forEach(names.providerTokens) { record in
      let token = try? ProviderTokenRecord(record.value, parser: parser)
      audit.read(
        String(decoding: record.key, as: UTF8.self),
        token.map { $0.isRemoved ? .withdrawn : .token(issuedAt: $0.issuedAt) } ?? .nothing)
    }
    return audit
  }

  /// Differences between the invalid tokens in the database and those in `push.invalid-tokens`, read from its start, as
  /// text.
  func databaseDifferences(_ path: String) throws -> [String] {
    var replayed: [[UInt8]: Int64] = [:]
    try forEach(names.invalidTokens) { record in
      let key = Array(record.key)
      if record.value.baseAddress == nil {
        replayed[key] = nil
      } else if let entry = try? InvalidTokenRecord(record.value, parser: parser) {
        // A device removed by the application is not invalid.
        let isRemoved = entry.reason.utf8.elementsEqual(DeviceRelease.removedReason.utf8)
        replayed[key] = isRemoved ? nil : entry.invalidSince
      }
    }
    var differences: [String] = []
    var stored = 0
    for entry in try TokenStoreReader(path).invalidDevices() {
      stored += 1
      let device = entry.device
      let key = DeviceKey(
        token: device.token, app: device.app, environment: device.environment
      ).bytes
      if replayed[key] != entry.since {
        differences.append(
          "\(device.token.prefix(8))…: \(entry.since) in the database,"
            + " \(replayed[key].map { "\($0)" } ?? "nothing") on the topic")
      }
    }
    if stored != replayed.count {
      differences.append("\(stored) in the database, \(replayed.count) on the topic")
    }
    return differences
  }

  /// Devices that must be invalid but are not so in any database, and the reverse.
  func invalidDifferences(
    _ paths: [String], _ expected: Set<DemoGateway.Device>
  ) throws -> (missing: Int, unexpected: Int) {
    var stored: Set<DemoGateway.Device> = []
    for path in paths {
      for entry in try TokenStoreReader(path).invalidDevices() {
        stored.insert(DemoGateway.Device(token: entry.device.token, app: entry.device.app))
      }
    }
    return (expected.subtracting(stored).count, stored.subtracting(expected).count)
  }
}
