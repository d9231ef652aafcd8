// SPDX-License-Identifier: Apache-2.0
import Glibc
import LabCommand
import Records

/// A gateway that becomes unavailable.
extension Scenario {
  static let gatewayFaults = [
    Scenario(
      name: "gateway-restart", summary: "SIGKILL of the gateway; it comes back on its port",
      sendersStay: true,
      bound: DuplicateBound(
        seconds: 1,
        reason: "requests whose answers were lost with the gateway: their outcome is unknown")
    ) { rig in
      try rig.turns(afterBetween: 500, and: 2_000) { _ in
        try rig.killGateway()
      }
    },
    Scenario(
      name: "gateway-faults",
      summary: "GOAWAYs, resets, silence, 429, 503, moving limits, odd frames",
      senderFlags: ["--request-timeout", "3s"], sendersStay: true, isShort: true,
      bound: DuplicateBound(
        seconds: 1, reason: "requests that the gateway processed and whose answers it never gave")
    ) { rig in
      // Each kind at least once, in an order chosen by the seed.
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

  /// Rules of the simulator (docs/simulator.md), grouped by effect: every kind that a gateway in service may show.
  /// Omitted: `goaway_credential`, `wrong_clock` and `provider_token_refused` (their pushes wait longer than a run
  /// lasts), `early_answer` (a valid push answered with 413) and `dead_address` (it needs several addresses); the
  /// sender's tests cover those.
  static let troubles: [(name: String, rules: JSONValue)] = [
    // `stream_limit_low` and other faults at `connection` need new connections, so old ones end here as well.
    (
      "connections leave",
      [
        ["id": "goaway_form", "form": "below", "behind": 3, "when": ["probability": 0.01]],
        ["id": "goaway_form", "form": "below", "last": 0, "when": ["probability": 0.003]],
        ["id": "goaway_form", "form": "twice", "when": ["probability": 0.003]],
        ["id": "goaway_form", "form": "two_step", "when": ["probability": 0.005]],
        ["id": "goaway_form", "form": "text", "then": "close", "when": ["probability": 0.005]],
        ["id": "goaway_shutdown", "when": ["probability": 0.005]],
        ["id": "stream_ids_exhausted", "when": ["stream_id": 301]],
      ]
    ),
    (
      "connections end after errors or a pause, and new ones are few, slow and narrow",
      [
        ["id": "error_disconnect", "with": "reset", "when": ["errors": 2]],
        ["id": "idle_connection", "when": ["idle": "50ms"]],
        ["id": "connection_lost", "when": ["probability": 0.005]],
        [
          "id": "stream_limit_low", "limit": 1, "raise_after": "500ms",
          "when": ["probability": 0.5],
        ],
        ["id": "connection_lost", "at": "connection", "when": ["probability": 0.3]],
        ["id": "tls_failure", "tls": "slow", "delay": "200ms", "when": ["probability": 0.3]],
        ["id": "tls_failure", "tls": "expired", "when": ["probability": 0.2]],
        ["id": "connect_refused", "when": ["connects_per_minute": 300]],
        ["id": "header_limits", "table_size": 0, "when": ["probability": 0.5]],
      ]
    ),
    (
      "windows close, answers are slow",
      [
        [
          "id": "flow_control", "at": "request", "window": 100, "hold": "300ms",
          "when": ["probability": 0.02],
        ],
        [
          "id": "added_latency", "profile": "bimodal", "fast": "1ms", "slow": "1s", "share": 0.1,
          "when": ["probability": 0.5],
        ],
      ]
    ),
    (
      "unexpected answers",
      [
        ["id": "gone_timestamp", "timestamp": "-1h", "when": ["probability": 0.01]],
        ["id": "gone_timestamp", "timestamp": "+5m", "when": ["probability": 0.005]],
        [
          "id": "unexpected_answer", "form": "unknown_reason", "status": 400,
          "when": ["probability": 0.01],
        ],
        [
          "id": "unexpected_answer", "form": "extra_keys", "status": 400,
          "when": ["probability": 0.01],
        ],
        [
          "id": "unexpected_answer", "form": "broken", "status": 400, "when": ["probability": 0.01],
        ],
        ["id": "unexpected_answer", "form": "huge", "status": 400, "when": ["probability": 0.01]],
        ["id": "reason_spelling", "spelling": "Service Unavailable", "when": ["every": 50]],
      ]
    ),
    (
      "streams are reset",
      [
        [
          "id": "stream_reset",
          "codes": ["REFUSED_STREAM", "INTERNAL_ERROR", "CANCEL", "ENHANCE_YOUR_CALM"],
          "when": ["probability": 0.05],
        ],
        [
          "id": "stream_reset", "codes": ["NO_ERROR", "CANCEL"], "moment": "after_answer",
          "when": ["probability": 0.05],
        ],
        ["id": "lost_answer", "with": "reset", "when": ["probability": 0.01]],
      ]
    ),
    (
      "connections break",
      [
        ["id": "connection_lost", "when": ["probability": 0.005]],
        ["id": "connection_lost", "at": "answer", "with": "end", "when": ["probability": 0.005]],
      ]
    ),
    (
      "silence",
      [
        ["id": "black_hole", "what": "everything", "when": ["probability": 0.002]],
        ["id": "black_hole", "what": "answers", "when": ["probability": 0.01]],
        ["id": "lost_answer", "when": ["probability": 0.01]],
      ]
    ),
    // Three such responses in a row to one push delay it by 15 minutes. At random that would happen to one push in
    // 125,000, about one run in a hundred; every 50th request is a different push each time.
    ("503", [["id": "service_unavailable", "when": ["every": 50]]]),
    (
      "429",
      [
        [
          "id": "any_answer", "status": 429, "reason": "TooManyRequests",
          "when": ["probability": 0.05],
        ]
      ]
    ),
    (
      "the stream limit moves",
      [
        [
          "id": "stream_limit_changes", "at": "answer", "limits": [1, 0, 1_000], "hold": "300ms",
          "when": ["every": 10],
        ]
      ]
    ),
    ("odd frames", [["id": "unusual_frames", "when": ["probability": 0.2]]]),
  ]
}
