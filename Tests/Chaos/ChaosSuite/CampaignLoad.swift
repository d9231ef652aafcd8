// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Kafka
import LabCommand
import Records
import ServiceKit
import Store
import Telemetry

/// Campaigns to registered devices, half of which are in their audience, and what the gateway received.
final class CampaignLoad {
  private static let app = "com.example.shop"
  private static let devices = 3_000

  private let producer: KafkaProducer
  private let topics: (devices: KafkaTopic, schedule: KafkaTopic, controls: KafkaTopic)
  /// The device tokens of the audience.
  private var tokens: [String] = []
  private var campaigns: [String] = []
  private let database: String
  /// The campaign's number by `apns-id`.
  private var expected: [NotificationID: Int] = [:]

  init(_ rig: ChaosRig) throws {
    producer = try KafkaProducer(rig.kafka)
    let names = rig.place.names
    topics = (
      try producer.topic(known: names.devices), try producer.topic(known: names.schedule),
      try producer.topic(known: names.controls)
    )
    database = rig.pipeline.scheduleDatabase
  }

  /// Registers the devices, and waits until they are in the database of device tokens.
  func register(_ rig: ChaosRig) throws {
    let now = WallClock.milliseconds()
    for number in 0..<Self.devices {
      let digits = String(number, radix: 16)
      let token = "ca" + String(repeating: "0", count: 62 - digits.count) + digits
      let isWanted = number % 2 == 0
      if isWanted { tokens.append(token) }
      let record = DeviceRecord(
        device: DeviceKey(token: token, app: Self.app, environment: .production),
        event: .registered(at: now), details: DeviceDetails(tags: isWanted ? "wanted" : nil))
      try producer.write(topics.devices, record.key, record.value)
    }
    let path = rig.pipeline.database
    let isThere = try rig.pump(
      until: {
        let audience = Audience(
          app: Self.app, environment: .production, type: "alert", tagsAny: ["wanted"])
        return (try? AudienceReader(path).count(audience)) == self.tokens.count
      }, within: 60_000)
    if !isThere { throw ServiceFailure("the devices were not registered within a minute") }
  }

  /// Starts a campaign to the audience.
  func start() throws {
    let campaign = try campaign("chaos-\(campaigns.count)")
    for id in try ids(campaign) { expected[id] = campaigns.count }
    campaigns.append(campaign.name)
    try producer.write(topics.schedule, Array("\(campaign.key)".utf8), campaign.value)
  }

  private func campaign(_ name: String, more: String = "") throws -> CampaignRecord {
    let json =
      #"{"campaign":"\#(name)","request":{"app":"\#(Self.app)","payload":{"aps":{"alert":"x"}}},"#
      + #""audience":{"tags_any":["wanted"]}\#(more)}"#
    return try Array(json.utf8).withUnsafeBytes { bytes in
      try CampaignRecord(
        json: bytes, at: WallClock.milliseconds(), by: "chaos", parser: JSONParser())
    }
  }

  /// Starts a campaign with a pace, and cancels it after some pushes: nothing more may be sent then.
  func cancelOne(_ rig: ChaosRig) throws {
    let campaign = try campaign("chaos-paced", more: #","pace":"20/s""#)
    let ids = Set(try ids(campaign))
    func count() throws -> Int { try seen(rig, ids).count }
    try producer.write(topics.schedule, Array("\(campaign.key)".utf8), campaign.value)
    let hasBegun = try rig.pump(every: 500, until: { try count() >= 20 }, within: 60_000)
    if !hasBegun { return rig.problem("a campaign with a pace sent nothing within a minute") }
    let author = ControlRecord.Author(at: WallClock.milliseconds(), by: "chaos", reason: nil)
    try producer.write(
      topics.controls, Array("\(campaign.key)".utf8),
      ControlRecord.value(.init(key: "cancelled", value: .bool(true)), by: author))
    try rig.pump(3_000)
    let sent = try count()
    // Longer than the devices already addressed would take.
    try rig.pump(35_000)
    let afterwards = try count()
    if afterwards != sent {
      rig.problem("a campaign that was cancelled sent \(afterwards - sent) pushes more")
    }
    rig.log(ChaosLog.paceCancelled, ["sent": "\(sent)", "of": "\(ids.count)"])
  }

  /// The `apns-id` of each push, as ingest derives it.
  private func ids(_ campaign: CampaignRecord) throws -> [NotificationID] {
    let reader = RequestReader(types: .any, lanes: .standard)
    reader.takesCampaigns = true
    var naming = NotificationNaming()
    let value = campaign.request(tokens: Array("\"\(tokens[0])\"".utf8))
    try value.withUnsafeBytes { bytes in
      naming.begin(try reader.read(bytes), topic: [], partition: 0, offset: 0)
    }
    return tokens.map { token in Array(token.utf8).withUnsafeBytes { naming.id($0) } }
  }

  /// Waits until every device of every campaign has been sent to, and checks what the gateway received.
  func finish(_ rig: ChaosRig) throws {
    let isDone = try rig.pump(
      every: 2_000, until: { missing(try self.seen(rig, Set(expected.keys))) == 0 },
      within: 120_000)
    // Pushes sent twice show up here.
    try rig.pump(5_000)
    let seen = try self.seen(rig, Set(expected.keys))
    try judge(seen, rig)
    if !isDone { rig.problem("\(missing(seen)) pushes of campaigns were not sent") }
  }

  /// The number of times that the gateway received each push.
  private func seen(_ rig: ChaosRig, _ known: Set<NotificationID>) throws -> [NotificationID: Int] {
    nonisolated(unsafe) var seen: [NotificationID: Int] = [:]
    try rig.forEachGatewayRequest { request in
      guard let id = request.id, known.contains(id) else { return }
      seen[id, default: 0] += 1
    }
    return seen
  }

  private func missing(_ seen: [NotificationID: Int]) -> Int { expected.count - seen.count }

  /// Checks what the gateway received; returns text for the log.
  private func judge(_ seen: [NotificationID: Int], _ rig: ChaosRig) throws {
    for (number, name) in campaigns.enumerated() {
      let lost = expected.count { $0.value == number && seen[$0.key] == nil }
      if lost > 0 { rig.problem("\(name): \(lost) of \(tokens.count) devices were not sent to") }
    }
    let known = try TokenStoreReader(database).campaigns().compactMap { entry in
      var text = entry.value
      return text.withUTF8 { try? CampaignRecord(UnsafeRawBufferPointer($0), parser: JSONParser()) }
    }
    for campaign in known
    where campaign.progress.addressed != tokens.count && campaign.progress.state != .cancelled {
      rig.problem(
        "\(campaign.name) says that it addressed \(campaign.progress.addressed) of \(tokens.count)")
    }
    if known.count(where: { $0.progress.state != .cancelled }) != campaigns.count {
      rig.problem("the schedule has \(known.count) of \(campaigns.count) campaigns")
    }
    rig.log(
      ChaosLog.campaigns,
      [
        "campaigns": "\(campaigns.count)", "devices": "\(expected.count)",
        "repeats": "\(seen.values.reduce(0) { $0 + $1 - 1 })",
      ])
  }

  func close() { producer.close() }
}
