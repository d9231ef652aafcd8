// SPDX-License-Identifier: Apache-2.0
import LabCommand
import Records
import Waiting

/// The newest state wins, whatever happens.
extension Scenario {
  static let newestState = Scenario(
    name: "newest-state",
    summary:
      "100 Live Activities (`--activities`) with ten updates a second each, and a gateway that takes a tenth of that:"
      + " in turn SIGKILL of one of two senders, 3 s of 503s, and 5 s without a sender",
    senderFlags: ["--max-connections", "1"], hasActivities: true, mayWaitLong: true,
    bound: DuplicateBound(seconds: 0.5, reason: "as kill-sender")
  ) { rig in
    rig.load.perSecond = 10 * rig.options.activities
    var names = rig.senders
    for turn in rig.turns(max(3, rig.options.kills)) {
      try rig.pump(between: 1_000, and: 3_000)
      rig.compareOffsets()
      let mark = rig.mark()
      switch turn % 3 {
      case 0:
        let name = rig.random.pick(names)
        try rig.kill(name)
      case 1:
        rig.countFault("503s")
        try rig.addGatewayFaults([["id": "service_unavailable"]])
        try rig.pump(3_000)
        try rig.clearGatewayFaults()
      default:
        rig.countFault("no sender")
        for name in names { try rig.stopForGood(name) }
        try rig.pump(5_000)
        names = (1...2).map { "states-\(turn + 1)-\($0)" }
        for name in names { try rig.pipeline.startSender(name) }
      }
      try rig.awaitRecovery(of: mark)
    }
  }
}
