// SPDX-License-Identifier: Apache-2.0

/// Profiles with HTTP/2 faults: streams, flow control, header compression.
extension GatewayProfile {
  static let streams: [GatewayProfile] = [
    GatewayProfile(
      "cold-start",
      does: """
        A new connection takes one request until a provider token was accepted, and that answer takes half a second
        """,
      catches: """
        A burst before the SETTINGS came, whose refused requests are lost; a limit of 1 that is taken as lasting
        """,
      switches: [("priming", "true"), ("priming-ends", "success")],
      rules: [
        #"{"id": "added_latency", "profile": "slow_start", "initial": "500ms", "duration": "1s"}"#
      ]),
    GatewayProfile(
      "moving-limit",
      does: "After every 5th answer the stream limit is 1, 0 or 1000 in turn, for 300 ms.",
      catches:
        "A limit that is read once; a limit of 0 that is taken for none; requests above a lowered limit",
      rules: [
        #"{"id": "stream_limit_changes", "limits": [1, 0, 1000], "hold": "300ms", "at": "answer", "when": {"every": 5}}"#
      ]),
    GatewayProfile(
      "refused-streams", does: "One request in five gets RST_STREAM with REFUSED_STREAM.",
      catches:
        "Refused requests that are lost or reported as failed: they were not processed, sending again is safe",
      rules: [
        #"{"id": "stream_reset", "codes": ["REFUSED_STREAM"], "when": {"probability": 0.2}}"#
      ]),
    GatewayProfile(
      "reset-streams",
      does:
        "One request in ten gets RST_STREAM with INTERNAL_ERROR or CANCEL, another one after its status.",
      catches:
        "Requests that wait for ever; a connection that is given up for one stream; a status without its end",
      rules: [
        #"{"id": "stream_reset", "codes": ["INTERNAL_ERROR", "CANCEL"], "when": {"probability": 0.1}}"#,
        #"{"id": "stream_reset", "codes": ["INTERNAL_ERROR"], "moment": "after_status", "when": {"probability": 0.1}}"#,
      ]),
    GatewayProfile(
      "tiny-windows", does: "A body may be sent in pieces of 100 bytes only.",
      catches:
        "Bodies that end at the window; DATA above the window; a body that holds up every other request",
      rules: [#"{"id": "flow_control", "window": 100}"#]),
    GatewayProfile(
      "large-answers", does: "Every second request gets a 400 with a body of 8 KiB.",
      catches: """
        A client that never returns credit (WINDOW_UPDATE): with a window of 65,535 bytes its connection stands still \
        at the eighth of them
        """,
      rules: [#"{"id": "unexpected_answer", "form": "huge", "when": {"every": 2}}"#]),
    GatewayProfile(
      "early-answers", does: "A body above 1000 bytes is answered 413 before it has been sent.",
      catches: "An answer before the end of the request that is lost, or that ends the connection",
      rules: [#"{"id": "early_answer", "window": 1000}"#]),
    GatewayProfile(
      "no-header-table",
      does: "SETTINGS allow no compression table, and header lists of 2000 bytes only.",
      catches:
        "An encoder that uses its table nevertheless: the connection ends with COMPRESSION_ERROR",
      rules: [#"{"id": "header_limits", "table_size": 0, "header_list_limit": 2000}"#]),
    GatewayProfile(
      "indexed-secrets",
      does: """
        A provider token that was not sent as a never-indexed literal gets a 400 with `ProviderTokenIndexed` (no reason \
        of Apple's)
        """,
      catches: """
        Secrets in the compression table, where a guess can be compared with them; for those who forbid it: Apple's \
        pages advise against it and for it
        """,
      rules: [
        #"{"id": "any_answer", "status": 400, "reason": "ProviderTokenIndexed", "when": {"indexed": "authorization"}}"#
      ]),
  ]
}
