// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Kafka
import Records
import TestSupport
import Testing

@testable import Sender

/// Devices that are removed, or registered for another user, while pushes to them wait.
@Suite struct DeviceReleaseTests {
  private static func device(_ number: Int) -> DeviceKey {
    DeviceKey(token: SenderRig.token(number), app: SenderRig.app, environment: .production)
  }

  /// What feedback says of a device.
  private func tell(
    _ rig: SenderRig, _ device: DeviceKey, _ release: DeviceRelease?, isGone: Bool = false
  ) throws {
    let topic = try rig.producer.topic(named: rig.names.invalidTokens)
    let record = release.map {
      InvalidTokenRecord(
        device: device, invalidSince: $0.at, reason: DeviceRelease.removedReason, at: $0.at)
    }
    try rig.fixture.produce(
      rig.producer, topic, key: device.description,
      value: isGone ? record.map { String(decoding: $0.value, as: UTF8.self) } : nil,
      headers: release.map { [KafkaHeader("\(DeviceRelease.header)", $0.text)] } ?? [])
  }

  @Test
  func
    `what waits on a retry topic is not sent to the next owner of the device, nor to a removed one`()
    throws
  {
    let rig = try SenderRig(hasToken: true)
    try rig.addFaults(
      (1...3).map {
        #"{"id":"any_answer","status":429,"reason":"TooManyRequests","#
          + #""when":{"token":"\#(SenderRig.token($0))","times":1}}"#
      }.joined(separator: ",").withBrackets)
    try rig.startSender()
    try rig.sendMany(1..<4)
    // All three wait for five seconds.
    #expect(try rig.fixture.read(rig.names.retries(.seconds5), count: 3).count == 3)
    let now = WallClock.milliseconds()
    try tell(rig, Self.device(1), DeviceRelease(.ownerChanged, at: now))
    try tell(rig, Self.device(2), DeviceRelease(.removed, at: now), isGone: true)
    try rig.send(SenderRig.token(1), SenderRig.envelope(id: SenderRig.id(11), created: now + 1))
    try rig.send(SenderRig.token(2), SenderRig.envelope(id: SenderRig.id(12), created: now + 1))
    let receipts = try rig.receipts(5)
    let byID = Dictionary(
      grouping: receipts, by: { $0.apnsID.map { "\($0)" } ?? "" }
    ).mapValues { $0[0] }
    func receipt(_ number: Int) -> Receipt? { byID[SenderRig.id(number)] }
    #expect(receipt(1)?.outcome == .suppressed && receipt(1)?.reason == "owner_changed")
    #expect(receipt(2)?.outcome == .suppressed && receipt(2)?.reason == "removed")
    #expect(receipt(3)?.outcome == .delivered && receipt(3)?.attempts == 2)
    #expect(receipt(11)?.outcome == .delivered, "it was requested for the new owner")
    #expect(receipt(12)?.reason == "removed")
  }

  @Test
  func `a sender that starts later knows what was said before, and what is usable again`() throws {
    let rig = try SenderRig(hasToken: true)
    let now = WallClock.milliseconds()
    try tell(rig, Self.device(1), DeviceRelease(.removed, at: now), isGone: true)
    try tell(rig, Self.device(2), DeviceRelease(.removed, at: now), isGone: true)
    try tell(rig, Self.device(2), DeviceRelease(.ownerChanged, at: now))
    try rig.sendMany(1..<3)
    try rig.startSender()
    let receipts = try rig.receipts(2)
    let outcomes = Dictionary(
      uniqueKeysWithValues: receipts.map { ($0.token ?? "", $0.reason ?? "\($0.outcome)") })
    #expect(outcomes == [SenderRig.token(1): "removed", SenderRig.token(2): "delivered"])
  }

  @Test func `a time ahead of ours ends nothing that is requested after its record`() throws {
    let rig = try SenderRig(hasToken: true)
    let now = WallClock.milliseconds()
    try tell(rig, Self.device(1), DeviceRelease(.ownerChanged, at: now + 240_000))
    let created = WallClock.milliseconds() + 1
    try rig.send(SenderRig.token(1), SenderRig.envelope(id: SenderRig.id(1), created: created))
    try rig.startSender()
    #expect(try rig.receipts(1).map(\.outcome) == [.delivered])
  }
}

extension String {
  fileprivate var withBrackets: String { "[\(self)]" }
}
