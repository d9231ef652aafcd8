// SPDX-License-Identifier: Apache-2.0
package import APNS
package import Gateway
package import Settings

/// The simulator's settings after validation.
package struct SimulatorSettings: Sendable {
  package var listen: Endpoint
  /// More hosts with the same port and role, numeric.
  package var alsoListen: [String]
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
  /// Authorities (PEM file) of client certificates; without it none are asked for.
  package var clientRoots: String?
  package var rules: GatewayRules
  package var latency: LatencyModel
  package var recordLimit: Int
  package var detailLimit: Int
  /// Constant answers, nothing checked or recorded.
  package var isFast: Bool
  package var addressFile: String?
  package var drainTimeoutMilliseconds: Int64
  /// A fault script.
  package var faults: String?
  /// nil takes the script's.
  package var faultSeed: UInt64?

  package static let table = SettingTable(listeners + credentials + traffic + behaviours)

  private static let listeners: [Setting] = [
    .endpoint(
      "listen", default: "127.0.0.1:2197",
      "Address and port for pushes (TLS, HTTP/2); port 0 takes a free one."),
    .text(
      "listen-also", placeholder: "HOSTS",
      "More addresses for pushes with the port of --listen, such as 127.0.0.2,127.0.0.3."),
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
    .choice(
      "environment", of: ["production", "sandbox"], default: "production",
      "Gateway that --listen simulates; the sandbox adds apns-unique-id to its answers."),
    .path(
      "address-file", use: .output, placeholder: "FILE",
      "File for the JSON line with the addresses, written when all listeners are open."),
  ]

  private static let credentials: [Setting] = [
    .path(
      "certificate", required: true, placeholder: "FILE",
      "PEM file of the server's certificate and its chain (martlet keys generate writes one)."),
    .path(
      "certificate-key", required: true, placeholder: "FILE",
      "PEM file of the certificate's private key."),
    .path(
      "client-roots", placeholder: "FILE",
      "PEM file of the authorities whose client certificates are accepted; without it none are requested."
    ),
    .path(
      "keys", placeholder: "FILE",
      "JSON list of the public keys whose provider tokens are accepted; PUT /keys adds more."),
    .path(
      "tokens", placeholder: "FILE",
      "JSON list of declared device tokens, such as unregistered ones; PUT /tokens adds more."),
  ]

  private static let traffic: [Setting] = [
    .integer("loops", default: 1, in: 1...64, "Threads that serve connections."),
    .text(
      "latency", default: "0ms", placeholder: "TIME",
      "Latency of an answer: 20ms, or lognormal:P50,P99 such as lognormal:20ms,200ms."),
    .integer(
      "record-limit", default: 1_000_000, in: 0...100_000_000,
      "Requests that GET /requests can report; later ones are only counted."),
    .integer(
      "record-details", default: 10_000, in: 0...10_000_000,
      "Requests whose header fields and body are also kept."),
    .choice(
      "profile", of: ["full", "fast"], default: "full",
      "fast: constant answers, nothing checked or recorded, for benchmarks of clients."),
    .path(
      "faults", placeholder: "FILE",
      "JSON script of faults (docs/faults.md); POST /faults adds more."),
    .integer(
      "fault-seed", placeholder: "NUMBER",
      "Seed of the faults' random draws: the same seed replays a run. By default the script's, else 1."
    ),
    .duration(
      "drain-timeout", default: "5s", in: 0...600_000,
      "How long a stop waits for open requests to be answered."),
    .boolean("limit-drop", "Same as --throttle=aggressive; --no-limit-drop is --throttle=off."),
    .boolean(
      "behaviours", "Print every behaviour, its source and its values, and exit."),
  ]

  /// A setting for each behaviour that can be switched.
  private static let behaviours: [Setting] = Behaviour.table.compactMap { behaviour in
    let kind: Setting.Kind
    switch behaviour.kind {
    case .boolean: kind = .boolean
    case .choice(let words): kind = .choice(words)
    case .count(let range): kind = .integer(range)
    case .duration(let range): kind = .duration(range)
    case .list: kind = .list
    case .fixed: return nil
    }
    return Setting(
      behaviour.name, kind, default: behaviour.standard,
      "\(behaviour.meaning) (\(behaviour.mark.rawValue))")
  }

  package init(_ values: SettingValues) throws(SettingErrors) {
    listen = values.endpoint("listen")
    alsoListen = (values.optionalText("listen-also") ?? "")
      .split(separator: ",").map { String($0) }
    guard alsoListen.count <= Self.mostAddresses else {
      throw values.error("listen-also", "takes at most \(Self.mostAddresses) addresses")
    }
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
    clientRoots = values.optionalText("client-roots")
    isFast = values.text("profile") == "fast"
    rules = try Self.rules(values)
    guard let latency = LatencyModel(values.text("latency")) else {
      throw values.error("latency", "is neither a time nor lognormal:P50,P99")
    }
    self.latency = latency
    recordLimit = values.integer("record-limit")
    detailLimit = values.integer("record-details")
    addressFile = values.optionalText("address-file")
    faults = values.optionalText("faults")
    faultSeed = values.optionalInteger("fault-seed").map { UInt64($0) }
    drainTimeoutMilliseconds = values.milliseconds("drain-timeout")
  }

  private static func rules(_ values: SettingValues) throws(SettingErrors) -> GatewayRules {
    var rules = GatewayRules()
    for behaviour in Behaviour.table where behaviour.isSwitch && values.isGiven(behaviour.name) {
      do throws(BehaviourError) {
        try rules.set(behaviour.name, text(behaviour, values))
      } catch {
        throw values.error(behaviour.name, error.problem)
      }
    }
    if values.isGiven("limit-drop"), !values.isGiven("throttle") {
      rules.throttle = values.boolean("limit-drop") ? .aggressive : .off
    }
    return rules
  }

  private static func text(_ behaviour: Behaviour, _ values: SettingValues) -> String {
    switch behaviour.kind {
    case .boolean: values.boolean(behaviour.name) ? "true" : "false"
    case .count: "\(values.integer(behaviour.name))"
    case .duration: "\(values.milliseconds(behaviour.name))ms"
    case .list: values.list(behaviour.name).joined(separator: ",")
    case .choice, .fixed: values.text(behaviour.name)
    }
  }

  /// A listener beside the first: several simulators on one machine must not want the same ports.
  private static func further(
    _ name: String, _ values: SettingValues
  ) throws(SettingErrors) -> Endpoint {
    guard values.isGiven("listen"), !values.isGiven(name) else { return values.endpoint(name) }
    return Endpoint(host: values.endpoint("listen").host, port: 0)
  }

  private static let mostAddresses = 8

  private static func isLoopback(_ host: String) -> Bool {
    host == "localhost" || host.hasPrefix("127.")
  }
}
