// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Kafka
import SenderDecisions
import ServiceKit
import TestSupport
import Testing

/// Every window of apns-ids is full, and its partition moves again and again: what a sender holds stays bounded.
@Suite(.serialized) struct FullWindowTests {
  /// The most that a sender may ever have resident (docs/guarantees.md), in MiB.
  private static let mebibytes = 96
  /// Of each of the two lanes.
  private static let partitions = 6
  private static let recordsEach = 25_000
  /// The embedded broker takes a second less for each rebalance, and three for a group's first; it forgets a member
  /// whose session ends while it waits for that. Such a one asks again after `max.poll.interval.ms` and three seconds.
  private static let sessionMilliseconds = 4_000
  private static let flags = [
    "--loops", "2", "--dedup-window", "20000", "--dedup-rebuild", "60s",
    "--kafka.consumer.session.timeout.ms=\(sessionMilliseconds)",
    "--kafka.consumer.heartbeat.interval.ms=300", "--kafka.consumer.max.poll.interval.ms=10000",
  ]

  @Test func `windows of 20,000 ids through 20 rebalances: a sender's memory stays bounded`() throws
  {
    let count = Self.partitions * Self.recordsEach
    let lanes = "notifications=\(Self.partitions),notifications.bulk=\(Self.partitions)"
    let rig = try PipelineRig(broker: ["--partitions", lanes])
    try rig.startSimulator()
    try rig.start("martlet-signer")
    // They compress well: what a reader holds of a batch is far more than what Kafka does.
    try rig.produceNotifications(0..<count, padding: 1_000)
    try rig.produceNotifications(count..<2 * count, lane: .bulk, padding: 1_000)
    // All of it was sent before, by whoever owned the partitions then.
    try rig.commitEnds(
      of: [rig.names.notifications(.first), rig.names.notifications(.bulk)], by: .sender,
      sessionMilliseconds: Self.sessionMilliseconds)
    try rig.start("martlet-sender", Self.flags)
    let stays = rig["martlet-sender"]
    try #require(isWhole(stays), "\(stays.output.suffix(3_000))")
    // Its own first assignment, and twenty rebalances: each process that joins and leaves makes two.
    var turn = 0
    while assignments(stays) < 21, turn < 20 {
      turn += 1
      let name = "sender-\(turn)"
      try rig.start("martlet-sender", Self.flags, as: name)
      try #require(rig[name].prints(ServiceKitLog.partitionsAssigned))
      // Some leave while they still read, some when they have read all.
      if turn % 3 == 0 { #expect(isWhole(rig[name]), "\(rig[name].output.suffix(3_000))") }
      expectBounded(rig[name], name)
      let before = assignments(stays)
      try #require(rig.stop(name) == 0)
      #expect(eventually { assignments(stays) > before })
    }
    #expect(assignments(stays) >= 21)
    // The newest are known, and nothing else was ever sent.
    try rig.produceNotifications(count - 1_000..<count)
    try rig.produceNotifications(2 * count - 1_000..<2 * count, lane: .bulk)
    #expect(
      eventually(withinMilliseconds: 120_000) { stays.counter("deduplicated") == 2_000 },
      "\(stays.output.suffix(3_000))")
    #expect(stays.counter("taken") == 2_000)
    #expect(stays.counter("dedup_rebuilds_late") == 0)
    expectBounded(stays, "martlet-sender")
    rig.stop()
  }

  private func assignments(_ sender: BuiltProgram) -> Int {
    sender.output.split(separator: "\n").count {
      $0.contains(ServiceKitLog.partitionsAssigned.rawValue)
    }
  }

  /// Whether every window of the lanes is known to a sender that has not had one before.
  private func isWhole(_ sender: BuiltProgram) -> Bool {
    eventually(pauseMilliseconds: 50) {
      sender.output.contains(SenderLog.windowsRebuilt.rawValue)
    }
  }

  private func expectBounded(_ sender: BuiltProgram, _ name: String) {
    let peak = sender.peakMebibytes
    #expect(peak > 0 && peak <= Self.mebibytes, "\(name) had \(peak) MiB of \(Self.mebibytes)")
    print("\(name): at most \(peak) MiB resident")
  }
}
