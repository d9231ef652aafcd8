// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import GatewaySimulator
import HTTPClient
import Kafka
import Records
import ServiceKit
import TestSupport
import Testing

@testable import OperatorCommand
@testable import Sender

/// Broadcasts from Kafka to the gateway.
@Suite struct BroadcastTests {
  private func envelope(_ number: Int, expiration: String = "0") -> String {
    [
      "M2", "transactional", "production", SenderRig.app,
      SenderRig.app + ".push-type.liveactivity", "liveactivity", "10", expiration,
      SenderRig.id(number), "\(WallClock.milliseconds())", "goal-\(number)", "", "", "",
      "target=channel",
    ].joined(separator: "\t") + "\n"
      + #"{"aps":{"timestamp":1795000060,"event":"update","content-state":{"p":\#(number)}}}"#
  }

  private func admin(_ rig: SenderRig, _ path: String) throws -> String {
    try HTTPClient().get("http://127.0.0.1:\(rig.simulator.adminPort)\(path)").text
  }

  /// Makes a channel through the operator's command and returns its id.
  private func createChannel(_ rig: SenderRig, storesLast: Bool) throws -> String {
    let context = try ChannelsCreateCommand.context([
      "--app", SenderRig.app, "--topic-prefix", rig.fixture.prefix, "--kafka",
      rig.fixture.configuration.bootstrap, "--gateway-roots", rig.rootPath, "--storage-policy",
      storesLast ? "last" : "none", "--channels-gateway",
      "localhost:\(rig.simulator.managementAddress.port)",
    ])
    try ChannelsCreateCommand.run(ChannelsCreateCommand.settings(context.values), context)
    let channels = try JSONDocument(try admin(rig, "/channels")).root["channels"]?.array ?? []
    let policy: Int64 = storesLast ? 1 : 0
    let channel = channels.first { $0["storage_policy"]?.int == policy }
    return try #require(channel?["id"]?.string)
  }

  @Test
  func
    `broadcasts are published to their channel; receipts name it, refusals never touch a device token`()
    throws
  {
    let rig = try SenderRig(hasToken: true)
    let none = try createChannel(rig, storesLast: false)
    let last = try createChannel(rig, storesLast: true)
    try rig.startSender()
    try rig.send(none, envelope(1))
    try rig.send(last, envelope(2, expiration: "1999999999"))
    // The channel keeps nothing, so it takes no expiration; and one that does not exist.
    try rig.send(none, envelope(3, expiration: "1999999999"))
    try rig.send("dHN0LXNyY2gtY2hubA==", envelope(4))
    // A device token is served by the same connection.
    try rig.send(SenderRig.token(5), SenderRig.envelope(id: SenderRig.id(5)))
    let receipts = try rig.receipts(5)
    #expect(receipts.count == 5)
    func receipt(_ number: Int) -> Receipt? {
      receipts.first { $0.apnsID == NotificationID(SenderRig.id(number)) }
    }
    #expect(receipt(1)?.outcome == .delivered)
    #expect(receipt(1)?.channel == none)
    #expect(receipt(1)?.token == nil)
    #expect(receipt(2)?.outcome == .delivered)
    #expect(receipt(2)?.channel == last)
    #expect(receipt(3)?.outcome == .rejected)
    #expect(receipt(3)?.reason == "BadExpirationDate")
    #expect(receipt(4)?.outcome == .rejected)
    #expect(receipt(4)?.reason == "ChannelNotRegistered")
    #expect(receipt(4)?.channel == "dHN0LXNyY2gtY2hubA==")
    #expect(receipt(5)?.outcome == .delivered)
    #expect(receipt(5)?.token == SenderRig.token(5))
    let requests = try admin(rig, "/requests").split(separator: "\n")
    let publishes = requests.filter { $0.contains("\"channel\":\"\(none)\"") }
    #expect(publishes.count == 2)
    #expect(publishes.allSatisfy { $0.contains(SenderRig.id(1)) || $0.contains(SenderRig.id(3)) })
    let feedback = try KafkaTail(
      rig.fixture.configuration, topic: rig.names.feedback, from: .beginning)
    defer { feedback.close() }
    var batch = KafkaBatch(capacity: 10)
    #expect(
      eventually { feedback.poll(into: &batch, timeoutMilliseconds: 20) > 0 || feedback.isCaughtUp }
    )
    #expect(batch.count == 0)
    batch.release()
  }

  @Test func `go to a gateway of their own where one is set`() throws {
    let rig = try SenderRig(hasToken: true)
    let channel = try createChannel(rig, storesLast: false)
    // Pushes would find nobody there.
    let other = "localhost:\(rig.simulator.address.port)"
    try rig.startSender(["--gateway", "localhost:1", "--broadcast-gateway", other])
    try rig.send(channel, envelope(1))
    #expect(try rig.receipts(1).map(\.outcome) == [.delivered])
  }

  @Test func `broadcasts with a key that is no channel id are dead letters`() throws {
    let rig = try SenderRig(hasToken: true)
    try rig.startSender()
    try rig.send("not base64!", envelope(1))
    let letters = try rig.fixture.read(rig.names.deadLetters, count: 1)
    let detail = letters.first?.headers.first { $0.name == "martlet-detail" }?.value ?? []
    #expect(String(decoding: detail, as: UTF8.self).hasPrefix("key: has no base64 character"))
  }
}
