// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Kafka
import LabCommand
import Records
import ServiceKit
import Waiting

/// Pushes that wait for their pace while their devices are removed or change owner, and the gateway's view.
final class OwnersLoad {
  private static let app = "com.example.shop"
  private static let group = "owners"
  /// The devices of one turn; with `pace` they take 12 s.
  private static let devices = 240
  private static let pace = PaceRate("20/s")!
  /// The time until a change of a device is known everywhere, including by a killed process, in milliseconds.
  private static let notice: Int64 = 8_000

  private struct Push {
    /// When its device was removed or changed owner, in milliseconds since the epoch; nil if it must be sent.
    var releasedAt: Int64?
  }

  private let producer: KafkaProducer
  private let topics: (devices: KafkaTopic, requests: KafkaTopic)
  private var naming = RequestNaming()
  private var pushes: [NotificationID: Push] = [:]
  private var turn = 0

  init(_ rig: ChaosRig) throws {
    producer = try KafkaProducer(rig.kafka)
    let names = rig.place.names
    topics = (try producer.topic(known: names.devices), try producer.topic(known: names.requests))
    let group = try PaceSubject(.group, Self.group, of: Self.app, .production)
    let author = ControlRecord.Author(at: WallClock.milliseconds(), by: "chaos", reason: nil)
    try producer.write(
      try producer.topic(known: names.controls), Array(group.key.utf8),
      ControlRecord.value(Self.pace, by: author))
  }

  func close() { producer.close() }

  /// Registers devices, sends a push to each, and releases two thirds of them while their pushes wait.
  func begin(_ rig: ChaosRig) throws {
    let tokens = (0..<Self.devices).map { number in
      let digits = String(turn * Self.devices + number, radix: 16)
      return "0d" + String(repeating: "0", count: 62 - digits.count) + digits
    }
    turn += 1
    for token in tokens { try write(token, .registered(at: WallClock.milliseconds()), user: "ann") }
    try rig.pump(1_000)
    let ids = try tokens.map { token in
      let json =
        #"{"app":"\#(Self.app)","token":"\#(token)","id":"owners-\#(token.suffix(4))","#
        + #""group":"\#(Self.group)","payload":{"aps":{"alert":"x"}}}"#
      try producer.write(topics.requests, Array(token.utf8), Array(json.utf8))
      return try naming.id(json, token)
    }
    for id in ids { pushes[id] = Push() }
    // The requests must be read first: what is requested after a device's removal is for its next owner.
    try rig.pump(1_500)
    for (number, token) in tokens.enumerated() where number % 3 != 0 {
      let now = WallClock.milliseconds()
      if number % 3 == 1 {
        try write(token, .registered(at: now), user: "bob")
      } else {
        try write(token, .removed(at: now))
      }
      pushes[ids[number]]!.releasedAt = now
    }
  }

  private func write(_ token: String, _ event: DeviceRecord.Event, user: String? = nil) throws {
    let device = DeviceKey(token: token, app: Self.app, environment: .production)
    let record = DeviceRecord(
      device: device, event: event, details: user.map { DeviceDetails(user: $0) } ?? .none)
    try producer.write(topics.devices, record.key, record.value)
  }

  /// Waits until the kept devices have their pushes, and checks what the others were sent.
  func finish(_ rig: ChaosRig) throws {
    var seen: [NotificationID: Int64] = [:]
    let isDone = try rig.pump(
      every: 2_000,
      until: {
        seen = try look(rig)
        return pushes.allSatisfy { $0.value.releasedAt != nil || seen[$0.key] != nil }
      }, within: 120_000)
    if !isDone {
      let lost = pushes.count { $0.value.releasedAt == nil && seen[$0.key] == nil }
      rig.problem("\(lost) pushes to devices that were kept were not sent")
    }
    // Pushes that are still waiting.
    try rig.pump(15_000)
    seen = try look(rig)
    var released = 0
    for (id, push) in pushes {
      guard let releasedAt = push.releasedAt else { continue }
      released += 1
      if let sentAt = seen[id], sentAt > releasedAt + Self.notice {
        rig.problem("\(id) was sent \(sentAt - releasedAt) ms after its device was released")
      }
    }
    let unsent = pushes.count { $0.value.releasedAt != nil && seen[$0.key] == nil }
    if unsent == 0 { rig.problem("every push was sent before its device was released") }
    rig.log(
      ChaosLog.owners,
      ["pushes": "\(pushes.count)", "released": "\(released)", "unsent": "\(unsent)"])
  }

  /// The last time at which the gateway received each push, in milliseconds since the epoch.
  private func look(_ rig: ChaosRig) throws -> [NotificationID: Int64] {
    nonisolated(unsafe) var seen: [NotificationID: Int64] = [:]
    let known = pushes
    try rig.forEachGatewayRequest { request in
      guard let id = request.id, known[id] != nil else { return }
      seen[id] = max(seen[id] ?? 0, request.time)
    }
    return seen
  }
}
