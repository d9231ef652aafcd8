// SPDX-License-Identifier: Apache-2.0
package import APNS
package import Settings

/// The simulator's settings after validation.
package struct SimulatorSettings: Sendable {
  package var listen: Endpoint
  package var listenSandbox: Endpoint
  package var listenManagement: Endpoint
  package var listenManagementSandbox: Endpoint
  package var admin: Endpoint
  package var certificate: String
  package var certificateKey: String
  package var keys: String?
  package var tokens: String?
  package var environment: Environment
  package var loops: Int
  package var maxConcurrentStreams: UInt32
  /// One stream until the first valid provider token.
  package var primes: Bool
  /// One stream after a 4xx (other than 410) until the next 200.
  package var dropsLimit: Bool
  package var acceptsUnknownTokens: Bool
  package var latency: LatencyModel
  package var recordLimit: Int
  /// Constant answers, nothing checked or recorded.
  package var isFast: Bool
  package var addressFile: String?
  package var drainTimeoutMilliseconds: Int64

  package static let table = SettingTable([
    .endpoint(
      "listen", default: "127.0.0.1:2197",
      "Address and port for pushes (TLS, HTTP/2); port 0 takes a free one."),
    .endpoint(
      "listen-sandbox", default: "127.0.0.1:2198",
      "Address and port of the sandbox. This and the next two default to free ports if --listen is given."
    ),
    .endpoint(
      "listen-management", default: "127.0.0.1:2196",
      "Address and port of channel management for production."),
    .endpoint(
      "listen-management-sandbox", default: "127.0.0.1:2195",
      "Address and port of channel management for the sandbox."),
    .endpoint(
      "admin", default: "127.0.0.1:2199",
      "Address and port of the admin API (plain HTTP), on a loopback address."),
    .path(
      "certificate", required: true, placeholder: "FILE",
      "PEM file of the server's certificate and its chain (martlet keys generate makes one)."),
    .path(
      "certificate-key", required: true, placeholder: "FILE",
      "PEM file of the certificate's private key."),
    .path(
      "keys", placeholder: "FILE",
      "JSON list of the public keys whose provider tokens are accepted; more come by PUT /keys."),
    .path(
      "tokens", placeholder: "FILE",
      "JSON list of declared device tokens, such as unregistered ones; more come by PUT /tokens."),
    .choice(
      "environment", of: ["production", "sandbox"], default: "production",
      "Which gateway --listen plays; the sandbox adds apns-unique-id to its answers."),
    .integer("loops", default: 1, in: 1...64, "Threads that serve connections."),
    .integer(
      "max-concurrent-streams", default: 1_000, in: 1...1_000_000,
      "Requests that one connection may have open."),
    .boolean(
      "priming", default: true,
      "Allow one open request on a new connection until one with a valid provider token came."),
    .boolean(
      "limit-drop", default: false,
      "After an error other than 410 allow one open request until the next success, as APNs does."),
    .choice(
      "registry", of: ["auto", "declared"], default: "auto",
      "auto: every device token that was not declared is active; declared: it is a bad one."),
    .text(
      "latency", default: "0ms", placeholder: "TIME",
      "How long an answer takes: 20ms, or lognormal:P50,P99 such as lognormal:20ms,200ms."),
    .integer(
      "record-limit", default: 1_000_000, in: 0...100_000_000,
      "Requests that GET /requests can report; later ones are only counted."),
    .choice(
      "profile", of: ["full", "fast"], default: "full",
      "fast: constant answers, nothing checked or recorded, for benchmarks of clients."),
    .path(
      "address-file", placeholder: "FILE",
      "Writes the JSON line with the addresses to this file as well once they are open."),
    .duration(
      "drain-timeout", default: "5s", in: 0...600_000,
      "How long a stop waits for open requests to be answered."),
  ])

  package init(_ values: SettingValues) throws(SettingErrors) {
    listen = values.endpoint("listen")
    listenSandbox = try Self.further("listen-sandbox", values)
    listenManagement = try Self.further("listen-management", values)
    listenManagementSandbox = try Self.further("listen-management-sandbox", values)
    admin = values.endpoint("admin")
    guard Self.isLoopback(admin.host) else {
      throw values.error("admin", "must be a loopback address, not \(admin.host)")
    }
    certificate = values.text("certificate")
    certificateKey = values.text("certificate-key")
    keys = values.optionalText("keys")
    tokens = values.optionalText("tokens")
    environment = values.text("environment") == "sandbox" ? .sandbox : .production
    loops = values.integer("loops")
    maxConcurrentStreams = UInt32(values.integer("max-concurrent-streams"))
    isFast = values.text("profile") == "fast"
    primes = values.boolean("priming") && !isFast
    dropsLimit = values.boolean("limit-drop")
    acceptsUnknownTokens = values.text("registry") == "auto"
    guard let latency = LatencyModel(values.text("latency")) else {
      throw values.error("latency", "is neither a time nor lognormal:P50,P99")
    }
    self.latency = latency
    recordLimit = values.integer("record-limit")
    addressFile = values.optionalText("address-file")
    drainTimeoutMilliseconds = values.milliseconds("drain-timeout")
  }

  /// A listener beside the first: several simulators on one machine must not want the same ports.
  private static func further(
    _ name: String, _ values: SettingValues
  ) throws(SettingErrors) -> Endpoint {
    guard values.isGiven("listen"), !values.isGiven(name) else { return values.endpoint(name) }
    return Endpoint(host: values.endpoint("listen").host, port: 0)
  }

  private static func isLoopback(_ host: String) -> Bool {
    host == "localhost" || host.hasPrefix("127.")
  }
}
