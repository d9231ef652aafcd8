// SPDX-License-Identifier: Apache-2.0
public import Contract
public import GatewayModel
import ServiceKit
public import Settings

/// The simulator's settings after validation.
public struct SimulatorSettings: DeclaredSettings, Sendable {
  @Declared(
    .path(
      "dev", use: .folder, placeholder: "FOLDER",
      "For test suites: makes what is missing in this folder (root, certificates, a signing key), takes free ports,"
        + " prints all of it as one JSON line, and exits when standard input closes.")) private
    var devPath: String?

  @Declared(
    .list(
      "dev-names", placeholder: "NAMES",
      "More host names or addresses for the certificate that --dev makes, besides localhost and the loopback addresses:"
        + " those of a container, for instance.")) private var devNames: [String]

  @Declared(
    .endpoint(
      "listen", default: "127.0.0.1:2197",
      "Address and port for pushes (TLS, HTTP/2); port 0 takes a free one."))
  public var listen: Endpoint

  @Declared(
    .list(
      "listen-also", placeholder: "HOSTS",
      "More addresses for pushes with the port of --listen, such as 127.0.0.2,127.0.0.3."))
  public var alsoListen: [String]

  @Declared(
    .endpoint(
      "listen-sandbox", default: "127.0.0.1:2198",
      "Address and port of the sandbox. This and the next two default to free ports if --listen is given."
    )) public var listenSandbox: Endpoint

  @Declared(
    .endpoint(
      "listen-management", default: "127.0.0.1:2196",
      "Address and port of channel management for production.")) public var listenManagement:
    Endpoint

  @Declared(
    .endpoint(
      "listen-management-sandbox", default: "127.0.0.1:2195",
      "Address and port of channel management for the sandbox."))
  public var listenManagementSandbox: Endpoint

  @Declared(
    .endpoint(
      "admin", default: "127.0.0.1:2199",
      "Address and port of the admin API (plain HTTP), on a loopback address.")) public var admin:
    Endpoint

  @Declared(
    .choice(
      "environment", of: ["production", "sandbox"], default: "production",
      "Gateway that --listen simulates; the sandbox adds apns-unique-id to its answers.")) private
    var environmentName: String

  @Declared(
    .path(
      "address-file", use: .output, placeholder: "FILE",
      "File for the JSON line with the addresses, written when all listeners are open."))
  public var addressFile: String?

  @Declared(
    .path(
      "certificate", placeholder: "FILE",
      "PEM file of the server's certificate and its chain (martlet keys generate writes one). Needed without --dev."
    )) private var certificatePath: String?

  @Declared(
    .path(
      "certificate-key", placeholder: "FILE",
      "PEM file of the certificate's private key. Needed without --dev.")) private
    var certificateKeyPath: String?

  @Declared(
    .path(
      "client-roots", placeholder: "FILE",
      "PEM file of the authorities whose client certificates are accepted; without it none are requested."
    )) public var clientRoots: String?

  @Declared(
    .path(
      "keys", placeholder: "FILE",
      "JSON list of the public keys whose provider tokens are accepted; PUT /keys adds more."))
  public var keys: String?

  @Declared(
    .path(
      "tokens", placeholder: "FILE",
      "JSON list of declared device tokens, such as unregistered ones; PUT /tokens adds more."))
  public var tokens: String?

  @Declared(.integer("loops", default: 1, in: 1...64, "Threads that serve connections."))
  public var loops: Int

  @Declared(
    .text(
      "latency", default: "0ms", placeholder: "TIME",
      "Latency of an answer: 20ms, or lognormal:P50,P99 such as lognormal:20ms,200ms.")) private
    var latencyText: String

  @Declared(
    .integer(
      "record-limit", default: 1_000_000, in: 0...100_000_000,
      "Requests that GET /requests can report; later ones are only counted."))
  public var recordLimit: Int

  @Declared(
    .integer(
      "record-details", default: 10_000, in: 0...10_000_000,
      "Requests whose header fields and body are also kept: the newest ones.")) public
    var detailLimit: Int

  @Declared(
    .choice(
      "profile", of: [ProfileControl.full, ProfileControl.fast] + GatewayProfile.all.map(\.name),
      default: ProfileControl.full,
      "fast: constant answers, nothing checked or recorded, for benchmarks of clients. Others: switches and faults that"
        + " show one kind of error in clients; --profiles lists them.")) private
    var profileName: String

  @Declared(
    .path(
      "faults", placeholder: "FILE",
      "JSON script of faults (docs/simulator.md); POST /faults adds more.")) public
    var faults: String?

  @Declared(
    .integer(
      "fault-seed", placeholder: "NUMBER",
      "Seed of the faults' random draws: the same seed replays a run. By default the script's, else 1."
    )) private var faultSeedNumber: Int?

  @Declared(
    .endpoint(
      "in-front-of",
      "Real gateway, such as api.sandbox.push.apple.com:443: pushes are relayed to it, its answers go to the client, and"
        + " both gateways' answers are compared."))
  public var inFrontOf: Endpoint?

  @Declared(
    .path(
      "in-front-of-root", placeholder: "FILE",
      "PEM file of the authorities that may vouch for the real gateway; by default the system's."))
  public var inFrontOfRoot: String?

  @Declared(
    .path(
      "comparison", use: .output, placeholder: "FILE",
      "File that the lines of the comparison are appended to; by default standard output.")) public
    var comparison: String?

  /// The time that a stop waits for responses to open requests.
  public var drainTimeoutMilliseconds: Int64 = 5_000

  @Declared(
    .boolean(
      "behaviours", "Print every behaviour, its source and its values, and exit.")) private
    var printsBehaviours: Bool

  @Declared(
    .boolean(
      "profiles", "Print every profile, what it does and what it catches, and exit.")) private
    var printsProfiles: Bool

  @Declared(CommonSettings.pushTypes) private var pushTypeTexts: [String]

  var devFolder: DevFolder?
  public var certificate = ""
  public var certificateKey = ""
  public var environment = Environment.production
  /// Whether responses are constant and nothing is checked or recorded.
  public var isFast = false
  /// The profile; nil for `full` and `fast`. `rules` and `latency` do not include its switches.
  public var profile: GatewayProfile?
  /// Names of behaviours, and `latency`, that were set along with the profile and override it.
  var givenSwitches: Set<String> = []
  /// The seed of the faults; nil uses the script's.
  public var faultSeed: UInt64?
  public var rules = GatewayRules()
  public var latency = LatencyModel.none

  public static let table = SettingTable(declaredBy: Self.self, more: behaviours)

  public init() {}

  public static let behaviours: [Setting] = Behaviour.table.compactMap { behaviour in
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

  public init(_ values: SettingValues) throws(SettingErrors) {
    self = Self.reading(values)
    environment = environmentName == "sandbox" ? .sandbox : .production
    isFast = profileName == ProfileControl.fast
    profile = GatewayProfile(profileName)
    let switches = Behaviour.table.filter(\.isSwitch).map(\.name) + ["latency"]
    givenSwitches = Set(switches.filter { values.isGiven($0) })
    faultSeed = faultSeedNumber.map { UInt64($0) }
    guard alsoListen.count <= Self.mostAddresses else {
      throw values.error("listen-also", "takes at most \(Self.mostAddresses) addresses")
    }
    try checkComparison(values)
    try readFiles(values)
    listenSandbox = further(listenSandbox, "listen-sandbox", values)
    listenManagement = further(listenManagement, "listen-management", values)
    listenManagementSandbox = further(listenManagementSandbox, "listen-management-sandbox", values)
    guard Self.isLoopback(admin.host) else {
      throw values.error("admin", "must be a loopback address, not \(admin.host)")
    }
    rules = try Self.rules(values)
    guard let latency = LatencyModel(latencyText) else {
      throw values.error("latency", "is neither a time nor lognormal:P50,P99")
    }
    self.latency = latency
  }

  private func checkComparison(_ values: SettingValues) throws(SettingErrors) {
    if isFast, inFrontOf != nil {
      throw values.error("in-front-of", "cannot be combined with --profile fast")
    }
    if let endpoint = inFrontOf, endpoint.port == 0 || endpoint.host.isEmpty {
      throw values.error("in-front-of", "must be a host and a port from 1 to 65535")
    }
    for name in ["in-front-of-root", "comparison"] where values.isGiven(name) && inFrontOf == nil {
      throw values.error(name, "needs --in-front-of")
    }
  }

  /// The gateway's own files: those of `--dev` unless others are set.
  private mutating func readFiles(_ values: SettingValues) throws(SettingErrors) {
    guard devPath != nil || devNames.isEmpty else { throw values.error("dev-names", "needs --dev") }
    devFolder = devPath.map { DevFolder(path: $0, names: devNames) }
    if let devFolder {
      clientRoots = clientRoots ?? devFolder.root
      keys = keys ?? devFolder.gatewayKeys
      if !values.isGiven("listen") { listen = Endpoint(host: listen.host, port: 0) }
      if !values.isGiven("admin") { admin = Endpoint(host: admin.host, port: 0) }
    }
    guard let certificate = certificatePath ?? devFolder?.certificate else {
      throw values.error(
        "certificate",
        "is required; give --certificate FILE or MARTLET_CERTIFICATE, or --dev FOLDER")
    }
    guard let key = certificateKeyPath ?? devFolder?.certificateKey else {
      throw values.error(
        "certificate-key",
        "is required; give --certificate-key FILE or MARTLET_CERTIFICATE_KEY, or --dev FOLDER")
    }
    (self.certificate, certificateKey) = (certificate, key)
  }

  private static func rules(_ values: SettingValues) throws(SettingErrors) -> GatewayRules {
    var rules = GatewayRules()
    rules.pushTypes = try PushTypes(values)
    for behaviour in Behaviour.table where behaviour.isSwitch && values.isGiven(behaviour.name) {
      guard let text = values.written(behaviour.name) else { continue }
      do throws(BehaviourError) {
        try rules.set(behaviour.name, text)
      } catch {
        throw values.error(behaviour.name, error.problem)
      }
    }
    return rules
  }

  /// The settings of a further listener: several simulators on one machine must not use the same ports.
  private func further(_ endpoint: Endpoint, _ name: String, _ values: SettingValues) -> Endpoint {
    guard values.isGiven("listen") || devFolder != nil, !values.isGiven(name) else {
      return endpoint
    }
    return Endpoint(host: listen.host, port: 0)
  }

  private static let mostAddresses = 8

  private static func isLoopback(_ host: String) -> Bool {
    host == "localhost" || host.hasPrefix("127.")
  }
}
