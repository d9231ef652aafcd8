// SPDX-License-Identifier: Apache-2.0

/// Profiles with faults at the start and end of connections.
extension GatewayProfile {
  static let connections: [GatewayProfile] = [
    GatewayProfile(
      "polite-goaway",
      does: """
        Every 20th request brings a notice and then the GOAWAY with the last stream id; open requests are answered
        """,
      catches: """
        Open requests counted as failed; new requests on a connection that takes no more; a pool that opens no other one
        """,
      rules: [
        #"{"id": "goaway_form", "form": "two_step", "then": "drain", "when": {"every": 20}}"#
      ]),
    GatewayProfile(
      "impolite-goaway",
      does:
        "Every 20th request brings a GOAWAY that excludes this request, and the connection closes at once.",
      catches: """
        Requests above the last stream id that are lost (they were not processed: sending them again is safe), and open \
        ones below it that are reported as delivered
        """,
      rules: [
        #"{"id": "goaway_form", "form": "below", "then": "close", "when": {"every": 20}}"#
      ]),
    GatewayProfile(
      "goaway-left-open",
      does: "Every 20th request brings a GOAWAY with `Shutdown`; the socket stays open and silent.",
      catches:
        "Waiting for the gateway to close; requests that are sent on the old connection and never answered",
      rules: [#"{"id": "goaway_shutdown", "when": {"every": 20}}"#]),
    GatewayProfile(
      "silent-connection",
      does:
        "Every 20th request silences its connection: no answer, no PING acknowledgement, no end.",
      catches:
        "Requests without a deadline; a dead connection that is not noticed because nothing sends PINGs",
      rules: [#"{"id": "black_hole", "what": "everything", "when": {"every": 20}}"#]),
    GatewayProfile(
      "broken-connections", does: "One request in twenty breaks its connection with a TCP reset.",
      catches:
        "Requests that were open and are neither repeated nor reported; a pool that keeps a dead connection",
      rules: [#"{"id": "connection_lost", "with": "reset", "when": {"probability": 0.05}}"#]),
    GatewayProfile(
      "dropped-idle",
      does: "A connection without a request for two seconds falls silent, without an end.",
      catches:
        "The first request after a pause, sent on a connection that nobody has tested, waits for ever",
      rules: [#"{"id": "idle_connection", "with": "silence", "when": {"idle": "2s"}}"#]),
    GatewayProfile(
      "slow-handshake", does: "A TLS handshake takes a second.",
      catches:
        "A new connection for every request; requests that time out while they wait for a connection",
      rules: [#"{"id": "tls_failure", "tls": "slow", "delay": "1s"}"#]),
    GatewayProfile(
      "refused-credential",
      does: "Every connection gets a GOAWAY with `BadCertificate` and last stream id 0.",
      catches:
        "Reconnecting without a pause; a reason in the GOAWAY's debug data that nobody is told",
      rules: [#"{"id": "goaway_credential"}"#]),
  ]
}
