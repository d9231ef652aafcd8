// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Glibc
import LabCommand
import ServiceKit
import Synchronization

/// The guarantees of groups and brokers: named members, commits in a rebalance, records that survive the broker.
extension Scenario {
  static let promised = [
    Scenario(
      name: "static-member",
      summary: "SIGKILL of a sender with an instance id, back within its session", senders: 1,
      senderFlags: ["--instance-id", "chaos-1"], sessionMilliseconds: 45_000,
      bound: DuplicateBound(
        seconds: 0.5, reason: "what it had in flight, and completed since its last commit (200 ms)")
    ) { rig in
      for turn in rig.turns(rig.options.kills) {
        try rig.pump(between: 500, and: 2_000)
        let mark = rig.mark()
        try rig.kill("sender-1")
        // The process tree waits up to 10 s before it restarts a process that keeps dying.
        guard try rig.pump(until: { rig.isRunning("sender-1") }, within: 60_000) else {
          return rig.problem("sender-1 was not started again")
        }
        // With the same name, it gets its partitions back without waiting for the old session to expire.
        let limit: UInt64 = 10_000
        let isBack = try rig.pump(
          until: { rig.occurrences("sender-1", ServiceKitLog.partitionsAssigned) >= turn + 2 },
          within: limit)
        if !isBack {
          rig.problem("a static member did not get its partitions back within \(limit) ms")
        }
        try rig.awaitRecovery(of: mark)
      }
    },
    Scenario(
      name: "commit-in-rebalance", summary: "senders join and leave; every handover commits first",
      bound: .none("the broker accepts the last commit of a member that gives up partitions")
    ) { rig in
      for turn in rig.turns(rig.options.kills) {
        let name = "joiner-\(turn + 1)"
        rig.countFault("\(name) joins and leaves")
        try rig.pipeline.startSender(name)
        try rig.awaitPartitions(of: name)
        try rig.pump(between: 500, and: 2_000)
        rig.compareOffsets()
        try rig.stopForGood(name)
        rig.compareOffsets()
      }
      let joiners = (1...rig.options.kills).map { "joiner-\($0)" }
      for name in rig.senders + joiners
      where rig.occurrences(name, ServiceKitLog.lastOffsetsLost) > 0 {
        rig.problem("\(name) could not commit in a rebalance")
      }
    },
    Scenario(
      name: "broker-restart",
      summary:
        "SIGKILL of the embedded broker, or a restart of one of the cluster's; its disk stays",
      need: .brokerRestart,
      bound: DuplicateBound(
        seconds: 1, reason: "what could not be committed if a partition moves meanwhile")
    ) { rig in
      try rig.turns(afterBetween: 1_000, and: 3_000) { _ in
        rig.countFault("broker restart")
        if rig.isEmbedded { try rig.kill("broker") } else { try restartBroker(rig) }
        rig.compareOffsets()
      }
    },
  ]

  /// Runs the command that restarts a broker, under load.
  private static func restartBroker(_ rig: ChaosRig) throws {
    guard let command = rig.options.restartCommand else { return }
    let status = Atomic<Int32>(.min)
    let runner = try LoopThread(name: "restart-broker") {
      status.store(system(command), ordering: .releasing)
    }
    let hasEnded = try rig.pump(
      until: { status.load(ordering: .acquiring) != .min }, within: 120_000)
    guard hasEnded else { throw ServiceFailure("the command that restarts a broker never ends") }
    runner.join()
    guard status.load(ordering: .acquiring) == 0 else {
      throw ServiceFailure("the command that restarts a broker failed")
    }
  }
}
