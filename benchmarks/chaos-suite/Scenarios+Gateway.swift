// SPDX-License-Identifier: Apache-2.0
import Glibc
import JSON
import OperatorCommand

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
    },
    Scenario(
      name: "gateway-faults",
      summary: "GOAWAYs, resets, silence, 429, 503, moving limits, odd frames",
      senderFlags: ["--request-timeout", "3s"], isShort: true,
      bound: DuplicateBound(
        embeddedSeconds: 1,
        embeddedReason: "requests that the gateway processed and whose answers it never gave",
        realSeconds: 1, realReason: "the same")
    ) { rig in
      // Each kind at least once, in an order that the seed chooses.
      let kinds = troubles.shuffled(using: &rig.random)
      for turn in 0..<max(rig.options.kills, kinds.count) {
        let (name, rules) = kinds[turn % kinds.count]
        rig.countFault("gateway: \(name)")
        try rig.addGatewayFaults(rules)
        try rig.pump(between: 700, and: 1_500)
        try rig.clearGatewayFaults()
        let mark = rig.mark()
        if turn % kinds.count == kinds.count - 1 { try rig.awaitRecovery(of: mark) }
      }
    },
  ]

  /// Rules of the simulator (docs/faults.md), by what they do together.
  static let troubles: [(name: String, rules: JSONValue)] = [
    (
      "connections leave",
      [
        ["id": "F10", "form": "below", "behind": 3, "when": ["probability": 0.01]],
        ["id": "F10", "form": "two_step", "when": ["probability": 0.005]],
        ["id": "F10", "form": "text", "then": "close", "when": ["probability": 0.005]],
        ["id": "F09", "when": ["probability": 0.005]],
      ]
    ),
    (
      "streams are reset",
      [
        [
          "id": "F07", "codes": ["REFUSED_STREAM", "INTERNAL_ERROR", "CANCEL"],
          "when": ["probability": 0.05],
        ]
      ]
    ),
    (
      "connections break",
      [
        ["id": "F11", "when": ["probability": 0.005]],
        ["id": "F11", "at": "answer", "with": "end", "when": ["probability": 0.005]],
      ]
    ),
    (
      "silence",
      [
        ["id": "F12", "what": "everything", "when": ["probability": 0.002]],
        ["id": "F25", "when": ["probability": 0.01]],
      ]
    ),
    // Three such answers to one push would put it off by a quarter of an hour.
    ("503", [["id": "F23", "when": ["probability": 0.02]]]),
    (
      "429",
      [
        [
          "id": "F01", "status": 429, "reason": "TooManyRequests",
          "when": ["probability": 0.05],
        ]
      ]
    ),
    (
      "the stream limit moves",
      [
        [
          "id": "F06", "at": "answer", "limits": [1, 0, 1_000], "hold": "300ms",
          "when": ["every": 10],
        ]
      ]
    ),
    ("odd frames", [["id": "F15", "when": ["probability": 0.2]]]),
  ]
}
