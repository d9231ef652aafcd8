// SPDX-License-Identifier: Apache-2.0
import Glibc
import OperatorCommand
import ServiceKit

/// What only a real cluster can show. Written for one; there was none where Martlet is developed.
extension Scenario {
  static let realCluster = [
    Scenario(
      name: "static-member",
      summary: "SIGKILL of a sender with an instance id, back within its session",
      need: .realCluster(why: "the embedded broker does not know static members"), senders: 1,
      senderFlags: ["--instance-id", "chaos-1"],
      bound: DuplicateBound(
        embeddedSeconds: 0, embeddedReason: "not run",
        realSeconds: 0.5,
        realReason: "what it had in flight, and completed since its last commit (200 ms)")
    ) { rig in
      for turn in 0..<rig.options.kills {
        try rig.pump(between: 500, and: 2_000)
        let mark = rig.mark()
        try rig.kill("sender-1")
        // Back under its name, it gets its partitions without waiting for the dead one's session to end.
        let limit = UInt64(rig.options.sessionMilliseconds) / 2
        let isBack = try rig.awaitLog(
          "sender-1", "partitions assigned", count: turn + 2, within: limit)
        if !isBack {
          rig.problem("a static member did not get its partitions back within \(limit) ms")
        }
        try rig.awaitRecovery(of: mark)
      }
    },
    Scenario(
      name: "commit-in-rebalance", summary: "senders join and leave; every handover commits first",
      need: .realCluster(why: "the embedded broker refuses commits during a rebalance"),
      bound: .none("a real broker takes the last commit of whoever gives partitions up")
    ) { rig in
      for turn in 0..<rig.options.kills {
        let name = "joiner-\(turn + 1)"
        rig.countFault("\(name) joins and leaves")
        try rig.pipeline.startSender(name)
        let hasJoined = try rig.awaitLog(name, "partitions assigned", count: 1, within: 60_000)
        if !hasJoined { rig.problem("\(name) got no partitions within 60 s") }
        try rig.pump(between: 500, and: 2_000)
        try rig.stopForGood(name)
      }
      for name in rig.senders where rig.occurrences(name, "last offsets were not committed") > 0 {
        rig.problem("\(name) could not commit in a rebalance")
      }
    },
    Scenario(
      name: "broker-restart", summary: "a broker of the cluster is restarted, with its disk",
      need: .brokerRestart(why: "the embedded broker keeps nothing over its end"),
      bound: DuplicateBound(
        embeddedSeconds: 0, embeddedReason: "not run",
        realSeconds: 1, realReason: "what could not be committed if a partition moves meanwhile")
    ) { rig in
      for _ in 0..<rig.options.kills {
        try rig.pump(between: 1_000, and: 3_000)
        let mark = rig.mark()
        rig.countFault("broker restart")
        guard let command = rig.options.restartCommand, system(command) == 0 else {
          throw ServiceFailure("the command that restarts a broker failed")
        }
        try rig.awaitRecovery(of: mark)
      }
    },
  ]
}
