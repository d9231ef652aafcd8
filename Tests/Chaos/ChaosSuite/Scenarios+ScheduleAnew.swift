// SPDX-License-Identifier: Apache-2.0
import Contract
import Kafka
import ServiceKit
import Waiting

/// The schedule's topic is recreated while the database has the scheduled requests.
extension Scenario {
  static let scheduleAnew = Scenario(
    name: "schedule-anew",
    summary:
      "push.schedule is deleted and created again while requests wait in the scheduler's database",
    hasScheduler: true, sendersStay: true,
    bound: .none("what is released twice has the same apns-id: it ends as deduplicated")
  ) { rig in
    let load = try ScheduledLoad(rig.kafka, rig.place.names, seed: rig.random.next())
    defer { load.close() }
    for _ in rig.turns(rig.options.kills) {
      try load.produce(200)
      let mark = rig.mark()
      guard try isTaken(rig) else {
        return rig.problem("the scheduler did not read its topic within 60 s")
      }
      try makeAnew(rig)
      try rig.pump(between: 1_000, and: 3_000)
      try rig.awaitRecovery(of: mark)
    }
    try load.finish(rig)
  }

  /// Waits until the database has everything requested so far: what only the topic has is lost with it.
  private static func isTaken(_ rig: ChaosRig) throws -> Bool {
    let names = rig.place.names
    let admin = try KafkaAdmin(rig.kafka)
    defer { admin.close() }
    let requests = try partitions(of: names.requests, admin)
    let schedule = try partitions(of: names.schedule, admin)
    let ends = try admin.watermarks(requests, timeoutMilliseconds: 10_000).map(\.high)
    return try rig.pump(
      until: {
        let committed = try admin.groupOffsets(
          names.group(.ingest), requests, timeoutMilliseconds: 10_000)
        guard zip(committed, ends).allSatisfy({ $1 == 0 || ($0.offset ?? 0) >= $1 }) else {
          return false
        }
        return try admin.lag(of: names.group(.scheduler), schedule, timeoutMilliseconds: 10_000)
          .values.allSatisfy { $0.records == 0 }
      }, within: 60_000)
  }

  private static func partitions(of topic: String, _ admin: KafkaAdmin) throws -> [TopicPartition] {
    let count = try admin.partitionCounts(timeoutMilliseconds: 10_000)[topic] ?? 0
    return (0..<Int32(count)).map { TopicPartition(topic: topic, partition: $0) }
  }

  private static func makeAnew(_ rig: ChaosRig) throws {
    let name = rig.place.names.schedule
    let admin = try KafkaAdmin(rig.kafka)
    defer { admin.close() }
    let count = try partitions(of: name, admin).count
    rig.countFault("push.schedule is made anew")
    if let error = try admin.deleteTopics([name], timeoutMilliseconds: 30_000).first?.error {
      throw ServiceFailure("push.schedule cannot be deleted: \(error)")
    }
    let topic = KafkaTopicSpecification(
      name, partitions: count, replication: 0, configuration: ["cleanup.policy": "compact"])
    // Brokers delete a topic some time after they have responded.
    let isMade = try rig.pump(
      until: { try admin.createTopics([topic], timeoutMilliseconds: 30_000).first?.error == nil },
      within: 30_000)
    if !isMade { throw ServiceFailure("push.schedule cannot be created again") }
  }
}
