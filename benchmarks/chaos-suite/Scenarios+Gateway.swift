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
      for _ in rig.turns(rig.options.kills) {
        try rig.pump(between: 500, and: 2_000)
        rig.compareOffsets()
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
      for turn in rig.turns(max(rig.options.kills, kinds.count)) {
        let (name, rules) = kinds[turn % kinds.count]
        rig.countFault("gateway: \(name)")
        try rig.addGatewayFaults(rules)
        try rig.pump(between: 700, and: 1_500)
        rig.compareOffsets()
        try rig.clearGatewayFaults()
        let mark = rig.mark()
        if turn % kinds.count == kinds.count - 1 { try rig.awaitRecovery(of: mark) }
      }
    },
  ]

  /// Rules of the simulator (docs/faults.md), by what they do together: every class that a gateway in service
  /// may show. Not here: what refuses a credential or takes a clock for wrong (F08, F20, F21: the pushes wait
  /// for longer than a run lasts), F16 (a sound push answered 413) and F18 (it needs several addresses); the
  /// tests of the sender have those.
  static let troubles: [(name: String, rules: JSONValue)] = [
    // F05, F13 at `connection` and the like need new connections: these come with ends of old ones.
    (
      "connections leave",
      [
        ["id": "F10", "form": "below", "behind": 3, "when": ["probability": 0.01]],
        ["id": "F10", "form": "below", "last": 0, "when": ["probability": 0.003]],
        ["id": "F10", "form": "twice", "when": ["probability": 0.003]],
        ["id": "F10", "form": "two_step", "when": ["probability": 0.005]],
        ["id": "F10", "form": "text", "then": "close", "when": ["probability": 0.005]],
        ["id": "F09", "when": ["probability": 0.005]],
        ["id": "F28", "when": ["stream_id": 301]],
      ]
    ),
    (
      "connections end after errors or a pause, and new ones are few, slow and narrow",
      [
        ["id": "F24", "with": "reset", "when": ["errors": 2]],
        ["id": "F27", "when": ["idle": "50ms"]],
        ["id": "F11", "when": ["probability": 0.005]],
        ["id": "F05", "limit": 1, "raise_after": "500ms", "when": ["probability": 0.5]],
        ["id": "F11", "at": "connection", "when": ["probability": 0.3]],
        ["id": "F17", "tls": "slow", "delay": "200ms", "when": ["probability": 0.3]],
        ["id": "F17", "tls": "expired", "when": ["probability": 0.2]],
        ["id": "F19", "when": ["connects_per_minute": 300]],
        ["id": "F26", "table_size": 0, "when": ["probability": 0.5]],
      ]
    ),
    (
      "windows close, answers are slow",
      [
        [
          "id": "F13", "at": "request", "window": 100, "hold": "300ms",
          "when": ["probability": 0.02],
        ],
        [
          "id": "F14", "profile": "bimodal", "fast": "1ms", "slow": "1s", "share": 0.1,
          "when": ["probability": 0.5],
        ],
      ]
    ),
    (
      "answers that nobody expects",
      [
        ["id": "F02", "timestamp": "-1h", "when": ["probability": 0.01]],
        ["id": "F02", "timestamp": "+5m", "when": ["probability": 0.005]],
        ["id": "F03", "form": "unknown_reason", "status": 400, "when": ["probability": 0.01]],
        ["id": "F03", "form": "extra_keys", "status": 400, "when": ["probability": 0.01]],
        ["id": "F03", "form": "broken", "status": 400, "when": ["probability": 0.01]],
        ["id": "F03", "form": "huge", "status": 400, "when": ["probability": 0.01]],
        ["id": "F04", "spelling": "Service Unavailable", "when": ["probability": 0.02]],
      ]
    ),
    (
      "streams are reset",
      [
        [
          "id": "F07",
          "codes": ["REFUSED_STREAM", "INTERNAL_ERROR", "CANCEL", "ENHANCE_YOUR_CALM"],
          "when": ["probability": 0.05],
        ],
        [
          "id": "F07", "codes": ["NO_ERROR", "CANCEL"], "moment": "after_answer",
          "when": ["probability": 0.05],
        ],
        ["id": "F25", "with": "reset", "when": ["probability": 0.01]],
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
        ["id": "F12", "what": "answers", "when": ["probability": 0.01]],
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
