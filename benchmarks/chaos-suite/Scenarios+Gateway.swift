// SPDX-License-Identifier: Apache-2.0
import Glibc
import JSON

/// A gateway that goes away.
extension Scenario {
  static let gatewayFaults = [
    Scenario(
      name: "gateway-restart", summary: "SIGKILL of the gateway; it comes back on its port",
      bound: DuplicateBound(
        embeddedSeconds: 1,
        embeddedReason:
          "requests whose answers were lost with the gateway: nobody knows their fate",
        realSeconds: 1, realReason: "the same")
    ) { rig in
      for _ in 0..<rig.options.kills {
        try rig.pump(between: 500, and: 2_000)
        let mark = rig.mark()
        try rig.killGateway()
        try rig.awaitRecovery(of: mark)
      }
    }
  ]
}
