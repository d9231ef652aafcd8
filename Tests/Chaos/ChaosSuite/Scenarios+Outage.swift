// SPDX-License-Identifier: Apache-2.0
import Glibc
import LabCommand
import Records
import ServiceKit

/// A gateway that rejects everything, or does not respond at all, for a while.
extension Scenario {
  /// The most that all senders together may send during an outage, as seconds of traffic: what was in flight with its
  /// immediate retries, and probes. Without a bound it would be three times the outage.
  private static let outageSeconds = 2.0

  static let gatewayOutages = [
    Scenario(
      name: "gateway-outage", summary: "the gateway answers 503 to everything for 3 to 8 s",
      sendersStay: true, isShort: true, bound: .none("a refused push was not delivered")
    ) { rig in
      for _ in rig.turns(rig.options.kills) {
        try rig.pump(between: 1_000, and: 2_000)
        rig.compareOffsets()
        rig.countFault("gateway: 503 for all")
        try rig.addGatewayFaults([
          ["id": "service_unavailable", "status": 503, "reason": "ServiceUnavailable"]
        ])
        // Each failed probe doubles the pause, so recovery from a long outage takes long.
        try rig.pump(between: 3_000, and: rig.options.isShort ? 4_000 : 8_000)
        try rig.clearGatewayFaults()
        let mark = rig.mark()
        try rig.awaitRecovery(of: mark)
      }
      try judgeOutages(rig)
    },
    Scenario(
      name: "gateway-silence",
      summary: "SIGSTOP of the gateway for 2 to 8 s: connections stay open and nothing comes back",
      senderFlags: ["--request-timeout", "3s"], sendersStay: true,
      bound: DuplicateBound(
        seconds: 4,
        reason:
          "what is sent until the silence is noticed (the request time-out, 3 s here): the gateway"
          + " finds it in its sockets when it wakes up")
    ) { rig in
      for _ in rig.turns(rig.options.kills) {
        try rig.pump(between: 1_000, and: 2_000)
        rig.compareOffsets()
        rig.signal("simulator", SIGSTOP)
        try rig.pump(between: 2_000, and: 8_000)
        rig.signal("simulator", SIGCONT)
        let mark = rig.mark()
        try rig.awaitRecovery(of: mark)
      }
    },
  ]

  /// An outage must cause neither dead letters nor a storm of retries.
  private static func judgeOutages(_ rig: ChaosRig) throws {
    try rig.readGateway()
    // The load itself has bad requests and tokens, which ingest rejects, so senders never see them.
    if !rig.auditor.senderDeadLetters.isEmpty {
      rig.problem("an outage made dead letters: \(rig.auditor.senderDeadLetters)")
    }
    let refused = rig.auditor.unavailable
    let perSecond = Double(rig.readers.notifications) / rig.load.seconds
    let most = Int(perSecond * outageSeconds) * rig.faults
    rig.log(ChaosLog.outageConnects, ["refused": "\(refused)", "bound": "\(most)"])
    if refused == 0 { rig.problem("no push ever met the outage") }
    if refused > most {
      rig.problem("the gateway had to refuse \(refused) requests, and the bound is \(most)")
    }
  }
}
