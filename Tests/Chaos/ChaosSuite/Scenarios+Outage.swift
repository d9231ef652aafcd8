// SPDX-License-Identifier: Apache-2.0
import Glibc
import JSON
import LabCommand
import ServiceKit

/// A gateway that refuses everything, or says nothing at all, for a while.
extension Scenario {
  /// The most that all senders together may send into an outage, as seconds of traffic for each: what was on its way
  /// with its prompt retries, and probes. Without a bound it would be three times the outage.
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
        // Each failed probe doubles the pause, so what a long outage shows takes long to recover from.
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
      senderFlags: ["--request-timeout", "3s"],
      sendersStay: true,
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

  /// An outage makes no dead letters and no storm.
  private static func judgeOutages(_ rig: ChaosRig) throws {
    try rig.readGateway()
    // The load has bad requests and tokens of its own: ingest refuses them, and no sender sees them.
    if !rig.auditor.senderDeadLetters.isEmpty {
      rig.problem("an outage made dead letters: \(rig.auditor.senderDeadLetters)")
    }
    let refused = rig.auditor.unavailable
    let perSecond = Double(rig.readers.notifications) / rig.load.seconds
    let most = Int(perSecond * outageSeconds) * rig.faults
    rig.log.info(
      "connection attempts during an outage", ["refused": "\(refused)", "bound": "\(most)"])
    if refused == 0 { rig.problem("no push ever met the outage") }
    if refused > most {
      rig.problem("the gateway had to refuse \(refused) requests, and the bound is \(most)")
    }
  }
}
