// SPDX-License-Identifier: Apache-2.0

/// Profiles with faulty responses and devices.
extension GatewayProfile {
  static let answers: [GatewayProfile] = [
    GatewayProfile(
      "slow-night", does: "One answer in five takes two seconds.",
      catches: """
        A timeout below the slowest answer, after which the user sees a notification twice; a late answer taken for that \
        of another request; one request at a time on a connection
        """,
      rules: [
        #"{"id": "added_latency", "profile": "bimodal", "fast": "50ms", "slow": "2s", "share": 0.2}"#
      ]),
    GatewayProfile(
      "overloaded", does: "Half of the requests get 503.",
      catches: "Retries without a pause or without an end; a 503 that is reported as final",
      rules: [#"{"id": "service_unavailable", "when": {"probability": 0.5}}"#]),
    GatewayProfile(
      "lost-answers",
      does: "A tenth of the requests is delivered, and the stream is reset in place of an answer.",
      catches: """
        A repeat under a new `apns-id`, which the user sees twice; under the same one `GET /delivered` marks a duplicate
        """,
      rules: [#"{"id": "lost_answer", "with": "reset", "when": {"probability": 0.1}}"#]),
    GatewayProfile(
      "strange-answers",
      does:
        "Answers with an empty or broken body, an unknown status, a proxy's page and rare spellings of reasons.",
      catches: "A reader that crashes, hangs, or takes what it cannot read for a success",
      rules: [
        #"{"id": "unexpected_answer", "form": "empty", "when": {"every": 3}}"#,
        #"{"id": "unexpected_answer", "form": "broken", "status": 500, "when": {"every": 4}}"#,
        #"{"id": "unexpected_answer", "form": "unknown_status", "when": {"every": 5}}"#,
        #"{"id": "unexpected_answer", "form": "foreign", "when": {"every": 7}}"#,
        #"{"id": "reason_spelling", "spelling": "Service Unavailable", "when": {"every": 11}}"#,
      ]),
    GatewayProfile(
      "gone-devices",
      does: "Every third request gets 410, with a timestamp of an hour ago or without one.",
      catches: """
        Sending to the token again; removing a token that was registered after the timestamp; a crash without one
        """,
      rules: [
        #"{"id": "gone_timestamp", "timestamp": "missing", "when": {"every": 6}}"#,
        #"{"id": "gone_timestamp", "timestamp": "-1h", "when": {"every": 3}}"#,
      ]),
    GatewayProfile(
      "busy-device", does: "More than one request per second to one device gets 429.",
      catches:
        "Bursts to one device; a 429 that stops other devices as well, or that is repeated at once",
      rules: [#"{"id": "too_many_requests", "when": {"token_rate": 1, "token_window": "1s"}}"#]),
    GatewayProfile(
      "odd-frames",
      does:
        "Answers in many small frames, with padding, CONTINUATION, trailers and a 103, and in another order.",
      catches:
        "A reader that expects one HEADERS and one DATA frame, or answers in the order of the requests",
      rules: [#"{"id": "unusual_frames"}"#]),
  ]
}
