// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Kafka
import Records
import Synchronization
import TestSupport
import Testing

@testable import Sender

/// What APNs may say to a broadcast.
@Suite struct BroadcastReasonTests {
  private static let channel = "dHN0LXNyY2gtY2hubA=="

  private func broadcast(_ rig: SenderRig, _ number: Int) throws {
    let line = [
      "M2", "transactional", "production", SenderRig.app,
      SenderRig.app + ".push-type.liveactivity", "liveactivity", "10", "0", SenderRig.id(number),
      "\(WallClock.milliseconds())", "goal", "", "", "", "target=channel",
    ].joined(separator: "\t")
    try rig.send(Self.channel, line + "\n" + #"{"aps":{"timestamp":1,"event":"end"}}"#)
  }

  /// Answers requests one after another with these reasons, then with 200.
  private func script(_ reasons: [Reason]) -> ScriptedGateway.Script {
    let next = Counter()
    var script = ScriptedGateway.Script()
    script.reply = { _, _ in
      let number = next.take()
      guard number < reasons.count else { return .answer(200) }
      let reason = reasons[number]
      return .answer(Int(reason.rule.status), "{\"reason\":\"\(reason.name)\"}")
    }
    return script
  }

  private final class Counter: Sendable {
    private let count = Mutex(0)
    func take() -> Int {
      count.withLock {
        $0 += 1
        return $0 - 1
      }
    }
  }

  @Test func `a reason about a channel ends a broadcast, and nothing else`() throws {
    let reasons: [Reason] = [
      .featureNotEnabled, .missingChannelId, .badChannelId, .channelNotRegistered,
      .badRequestParams, .badRequestPayload, .missingPushType, .cannotCreateChannelConfig,
      .missingChannelQueueSize,
    ]
    let rig = try SenderRig()
    let gateways = try rig.gateways([script(reasons)])
    try rig.publishToken()
    try rig.startSender(for: gateways)
    for number in reasons.indices { try broadcast(rig, number) }
    let refused = try rig.receipts(reasons.count)
    #expect(refused.allSatisfy { $0.outcome == .rejected && $0.channel == Self.channel })
    #expect(refused.allSatisfy { $0.attempts == 1 && $0.token == nil })
    #expect(Set(refused.compactMap(\.reason)) == Set(reasons.map(\.name)))
    // The credential still serves, and no device was said to be dead.
    try rig.sendMany(1, from: 100)
    let last = try rig.receipts(reasons.count + 1)
    #expect(last.filter { $0.outcome == .delivered }.count == 1)
    let admin = try KafkaAdmin(rig.fixture.configuration)
    defer { admin.close() }
    for partition in 0..<Int32(4) {
      let place = TopicPartition(topic: rig.names.feedback, partition: partition)
      #expect(try admin.watermarks(place, timeoutMilliseconds: 30_000).high == 0)
    }
  }
}
