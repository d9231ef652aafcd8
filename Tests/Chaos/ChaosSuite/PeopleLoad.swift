// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Kafka
import LabCommand
import Records
import ServiceKit
import Store
import Telemetry
import Waiting

/// Requests to users, half of them scheduled, and what the gateway and the receipts report.
final class PeopleLoad {
  private static let app = "com.example.shop"
  private static let users = 300

  private let producer: KafkaProducer
  private let topics: (devices: KafkaTopic, requests: KafkaTopic)
  private var naming = RequestNaming()
  /// The devices of each user.
  private var tokens: [[String]] = []
  /// The pushes of a request, by its `id`.
  private var expected: [String: [NotificationID]] = [:]

  init(_ rig: ChaosRig) throws {
    producer = try KafkaProducer(rig.kafka)
    let names = rig.place.names
    topics = (try producer.topic(known: names.devices), try producer.topic(known: names.requests))
  }

  func close() { producer.close() }

  /// Registers up to three devices per user, and waits until they are in the database of device tokens.
  func register(_ rig: ChaosRig) throws {
    let now = WallClock.milliseconds()
    for user in 0..<Self.users {
      let devices = (0..<user % 4).map { device in
        let digits = String(user * 4 + device, radix: 16)
        return "be" + String(repeating: "0", count: 62 - digits.count) + digits
      }
      tokens.append(devices)
      for token in devices {
        let record = DeviceRecord(
          device: DeviceKey(token: token, app: Self.app, environment: .production),
          event: .registered(at: now), details: DeviceDetails(user: "user-\(user)", tags: "people"))
        try producer.write(topics.devices, record.key, record.value)
      }
    }
    let count = tokens.reduce(0) { $0 + $1.count }
    let audience = Audience(
      app: Self.app, environment: .production, type: "alert", tagsAny: ["people"])
    let path = rig.pipeline.database
    let isThere = try rig.pump(
      until: { (try? AudienceReader(path).count(audience)) == count }, within: 60_000)
    if !isThere { throw ServiceFailure("the devices were not registered within a minute") }
  }

  /// Produces requests to one or two users each; every second one is due within eight seconds.
  func produce(_ count: Int, random: inout SeededGenerator) throws {
    for _ in 0..<count {
      let id = "people-\(expected.count)"
      let first = Int(random.next() % UInt64(Self.users))
      let users = random.next() % 4 == 0 ? [first, (first + 1) % Self.users] : [first]
      let names = users.map { "\"user-\($0)\"" }.joined(separator: ",")
      let due = WallClock.milliseconds() + Int64(random.next() % 8_000)
      let time =
        random.next() % 2 == 0 ? #","send_at":"\#(Timestamp.text(milliseconds: due))""# : ""
      let rest = #""app":"\#(Self.app)","id":"\#(id)","payload":{"aps":{"alert":"x"}}"#
      let devices = users.flatMap { tokens[$0] }
      expected[id] = try devices.map { try naming.id(#"{"token":"\#($0)",\#(rest)}"#, $0) }
      try producer.write(
        topics.requests, Array(id.utf8), Array(#"{"users":[\#(names)],\#(rest)\#(time)}"#.utf8))
    }
  }

  /// Waits until every request has its pushes and its summary, and checks them.
  func finish(_ rig: ChaosRig) throws {
    var seen: [NotificationID: Int] = [:]
    _ = try rig.pump(
      every: 2_000,
      until: {
        seen = try look(rig)
        return expected.allSatisfy { id, pushes in
          rig.auditor.summaries[id] != nil && pushes.allSatisfy { seen[$0] != nil }
        }
      }, within: 120_000)
    // Pushes sent twice show up here.
    try rig.pump(5_000)
    seen = try look(rig)
    for (id, pushes) in expected {
      let lost = pushes.count { seen[$0] == nil }
      if lost > 0 { rig.problem("\(id): \(lost) of \(pushes.count) devices were not sent to") }
      let said = rig.auditor.summaries[id] ?? []
      if Set(said) != [pushes.count] {
        rig.problem("\(id) is for \(pushes.count) devices, and its summaries say \(said)")
      }
    }
    rig.log(
      ChaosLog.people,
      [
        "requests": "\(expected.count)", "devices": "\(seen.count)",
        "repeats": "\(seen.values.reduce(0) { $0 + $1 - 1 })",
        "summaries": "\(rig.auditor.summaries.values.reduce(0) { $0 + $1.count })",
      ])
  }

  /// The number of times that the gateway received each push.
  private func look(_ rig: ChaosRig) throws -> [NotificationID: Int] {
    nonisolated(unsafe) var seen: [NotificationID: Int] = [:]
    let known = Set(expected.values.joined())
    try rig.forEachGatewayRequest { request in
      guard let id = request.id, known.contains(id) else { return }
      seen[id, default: 0] += 1
    }
    return seen
  }
}
