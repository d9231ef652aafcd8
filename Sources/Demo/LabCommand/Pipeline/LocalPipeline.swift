// SPDX-License-Identifier: Apache-2.0
public import EventLoop
import Glibc
import Kafka
import Records
public import ServiceKit
import Telemetry

/// Every process of the pipeline on this machine, as children of this one, for `up`, the demo and tests.
public final class LocalPipeline {
  /// The processes to run, and their options.
  public struct Plan: Sendable {
    /// The folder of keys, logs and the database; created if missing.
    public var folder: String
    public var senders = 1
    /// An existing cluster; nil to run an embedded broker.
    public var kafka: String?
    /// The embedded broker's port; 0 uses a free one, nil the usual one if it is free.
    public var kafkaPort: UInt16? = 0
    /// The size in bytes above which a process's log is rotated, keeping the previous one. nil: never.
    public var logLimit: Int?
    public var topicPrefix = "push."
    /// The file of the key that encrypts provider tokens on their topic, if any.
    public var tokenKey: String?
    /// Signing keys to generate.
    public var credentials: [KeyFolder.Credential]
    /// Settings passed to every process of the pipeline, such as `--kafka.linger.ms=5`.
    public var kafkaFlags: [String] = []
    /// Further arguments by executable, such as `apns-simulator`.
    public var extra: [String: [String]] = [:]
    /// Further environment variables by process, such as `feedback`; `NAME=value` each.
    public var environment: [String: [String]] = [:]
    /// Whether there is a web page with the state of the processes.
    public var hasConsole = false
    /// Whether the HTTP API accepts requests.
    public var hasAPI = false
    /// Whether requests can be scheduled.
    public var hasScheduler = false
    /// The file of webhook subscriptions, if any.
    public var subscriptions: String?
    /// A file in the format of /etc/hosts with the address of `localhost`, the gateways' name for senders.
    public var gatewayHosts: String?
    /// The number of brokers that the embedded broker simulates.
    public var brokers = 1
    /// Further arguments of the embedded broker.
    public var brokerFlags: [String] = []

    public init(folder: String, credentials: [KeyFolder.Credential]) {
      self.folder = folder
      self.credentials = credentials
    }
  }

  private static let kafkaPort: UInt16 = 9_092
  private static let apiPort: UInt16 = 8_080
  /// A trial detects a killed process sooner than a cluster, where hosts may be slow.
  private static let session = "--kafka.consumer.session.timeout.ms=6000"

  public let plan: Plan
  public let processes: ProcessTree
  public let keys: KeyFolder
  /// The Kafka cluster as `host:port`, once `start` has returned.
  public private(set) var kafka = ""
  /// `host:port` of the simulator's production and sandbox gateways and of its admin API.
  public private(set) var gateway = ""
  public private(set) var sandboxGateway = ""
  public private(set) var gatewayAdmin = ""
  /// The web page's address; nil if there is none.
  private var console: String?
  /// The HTTP API's base URL and a key for it; nil if there is none.
  private(set) var api: (url: String, key: String)?
  /// The simulator's channel management addresses.
  private var channels = (production: "", sandbox: "")
  /// The output of the processes.
  let journal = ProcessJournal()
  /// The status pages in the file of addresses; nil before there is one.
  private var writtenPages: [String]?
  /// The lock that keeps other pipelines out of the folder.
  private var lock: FolderLock?
  /// The claims that keep other pipelines from this one's ports.
  private var claims: [PortClaim] = []
  /// A properties file that `martlet channels` uses to find the simulator.
  public var channelSettings: String { "\(plan.folder)/channels.properties" }
  /// A properties file that a further sender uses to join the others.
  public var senderSettings: String { "\(plan.folder)/sender.properties" }
  /// A file for shells: the addresses as the documentation names them, and the programs' location.
  public var shellFile: String { "\(plan.folder)/env" }
  public var database: String { "\(plan.folder)/tokens.db" }
  public var scheduleDatabase: String { "\(plan.folder)/schedule.db" }
  /// The file with every address, for scripts, while the pipeline runs. A process's status page is added when the
  /// process is ready.
  public var addressesFile: String { "\(plan.folder)/addresses.json" }
  /// Every address by name, in the order of the processes.
  var addresses: [(name: String, address: String)] {
    [
      ("kafka", kafka), ("gateway", gateway), ("sandbox_gateway", sandboxGateway),
      ("channels_gateway", channels.production),
      ("sandbox_channels_gateway", channels.sandbox), ("gateway_admin", gatewayAdmin),
    ] + (api.map { [("api", $0.url), ("api_key", $0.key)] } ?? [])
      + (console.map { [("console", "http://\($0)")] } ?? [])
  }

  public init(_ plan: Plan, log: Logger) throws(SystemError) {
    self.plan = plan
    // The files of settings name what is in it.
    keys = KeyFolder(File.absolute("\(plan.folder)/keys"))
    processes = try ProcessTree(log: log)
  }

  public func logFile(_ name: String) -> String { "\(plan.folder)/logs/\(name).log" }

  /// The names of the sending processes.
  public var senderNames: [String] { (0..<plan.senders).map { "sender-\($0 + 1)" } }

  /// Starts everything, and returns once the broker and the simulator have their addresses.
  ///
  /// Throws if a program is missing or does not start, after stopping the others.
  public func start() throws {
    do {
      try prepareFolder()
      try startBroker()
      try startGateway()
      try startServices()
      try writeAddresses()
    } catch {
      stop()
      throw error
    }
  }

  /// Stops everything in order; returns the names of processes that had to be killed.
  @discardableResult public func stop() -> [String] {
    // An address without a listener is worse than no address.
    if lock != nil {
      for file in [addressesFile, shellFile] { try? File.remove(file) }
    }
    let killed = processes.stopAll()
    lock = nil
    claims = []
    return killed
  }

  /// Writes the file of addresses if it is out of date: a restarted process has its status page elsewhere.
  func writeAddresses() throws {
    let pages = statusPages
    guard pages.map(\.url) != writtenPages else { return }
    var object = JSONObject()
    for (name, address) in addresses { object.append(name, .string(address)) }
    object.append(
      "metrics", .object(JSONObject(pages.map { .init(key: $0.process, value: .string($0.url)) })))
    try File.write(addressesFile, JSONValue.object(object).text + [10])
    try File.write(shellFile, Array(shellLines.joined(separator: "\n").utf8))
    writtenPages = pages.map(\.url)
  }

  private var shellLines: [String] {
    let programs = ChildProcess.sibling("martlet").split(separator: "/").dropLast()
      .reduce("") { "\($0)/\($1)" }
    let variables = [("KAFKA", kafka)] + (api.map { [("API", $0.url), ("API_KEY", $0.key)] } ?? [])
    return [
      "# The pipeline that martlet up runs here, for a shell: . FILE",
      "export PATH=\(ShellWord.quoted(programs)):\"$PATH\"",
    ] + variables.map { "export \($0)=\(ShellWord.quoted($1))" } + [""]
  }

  /// The address of each process's status page, by name.
  var statusPages: [(process: String, url: String)] {
    journal.statusPages.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
  }

  private func prepareFolder() throws {
    for folder in [plan.folder, "\(plan.folder)/logs"] { try File.makeFolder(folder) }
    try DiskRoom(plan.folder).demand()
    lock = try FolderLock(plan.folder)
    // Without credentials the other files are those of a start that was killed.
    if !File.exists(keys.credentials) { try keys.generate(plan.credentials, overwrite: true) }
  }

  private func startBroker() throws {
    if let cluster = plan.kafka {
      kafka = cluster
      return
    }
    let file = "\(plan.folder)/broker.address"
    try File.remove(file)
    // A fixed port, so that the broker keeps its address after a restart.
    var port = plan.kafkaPort ?? usual(Self.kafkaPort) ?? 0
    if port == 0 { port = try freePort(ofRun: plan.brokers) }
    try startProgram(
      "broker", LabProgram.file,
      [
        "broker", "--address-file", file, "--topic-prefix", plan.topicPrefix, "--port", "\(port)",
        "--dir", "\(plan.folder)/kafka", "--brokers", "\(plan.brokers)",
      ] + plan.brokerFlags, stage: 0)
    kafka = try address(in: file, of: "broker")
  }

  private func startGateway() throws {
    let file = "\(plan.folder)/simulator.address"
    try File.remove(file)
    // Fixed ports, so that the simulator keeps its address after a restart.
    let local = try (0..<5).map { _ in "127.0.0.1:\(try freePort())" }
    (gateway, sandboxGateway, gatewayAdmin) = (local[0], local[1], local[2])
    channels = (local[3], local[4])
    try startProgram(
      "simulator", "apns-simulator",
      [
        "--listen", gateway, "--listen-sandbox", sandboxGateway, "--admin", gatewayAdmin,
        "--listen-management", channels.production, "--listen-management-sandbox",
        channels.sandbox, "--certificate", keys.certificate, "--certificate-key",
        keys.certificateKey, "--keys", keys.gatewayKeys, "--address-file", file,
      ], stage: 1)
    _ = try address(in: file, of: "simulator")
    let key = plan.tokenKey.map { ["token-key = \(File.absolute($0))"] } ?? []
    let lines =
      [
        "# For martlet channels … --config on this machine.", "kafka = \(kafka)",
        "topic-prefix = \(plan.topicPrefix)", "channels-gateway = \(channels.production)",
        "sandbox-channels-gateway = \(channels.sandbox)",
        "gateway-name = localhost", "gateway-roots = \(keys.root)",
      ] + key + [""]
    try File.write(channelSettings, Array(lines.joined(separator: "\n").utf8))
  }

  /// Writes the settings of a further sender, which would connect to Apple without the gateway.
  private func writeSenderSettings() throws {
    let flags = common + sealing + gatewayFlags + (plan.extra["martlet-sender"] ?? [])
    var lines = ["# For a further martlet-sender … --config on this machine."]
    var rest = flags[...]
    while let flag = rest.popFirst() {
      let name = flag.drop { $0 == "-" }
      if let equals = name.firstIndex(of: "=") {
        lines.append("\(name[..<equals]) = \(name[name.index(after: equals)...])")
      } else if let value = rest.popFirst() {
        lines.append("\(name) = \(value)")
      }
    }
    try File.write(senderSettings, Array((lines.joined(separator: "\n") + "\n").utf8))
  }

  private func startServices() throws {
    try writeSenderSettings()
    try startProgram(
      "signer", "martlet-signer", common + sealing + ["--credentials", keys.credentials], stage: 2)
    try startFeedback("feedback", database: database)
    for name in senderNames { try startSender(name) }
    try startProgram("ingest", "martlet-ingest", common, stage: 4)
    if plan.hasScheduler { try startScheduler("scheduler", database: scheduleDatabase) }
    if plan.hasAPI { try startAPI() }
    if let file = plan.subscriptions {
      try startProgram(
        "webhooks", "martlet-webhooks", common + ["--subscriptions", file, "--allow-http"], stage: 5
      )
    }
    if plan.hasConsole { try startConsole() }
  }

  private func startAPI() throws {
    let (text, entries) = ("\(plan.folder)/api-key", "\(plan.folder)/api-keys.json")
    if !File.exists(text) {
      let key = APIKeyEntry.freshKey()
      try File.remove(entries)
      try APIKeyEntry.add(
        APIKeyEntry(name: "local", apps: ["*"], paces: true, campaigns: true).json(of: key),
        named: "local", to: entries)
      try File.write(text, Array(key.utf8))
    }
    // A fixed port, so that it keeps its address after a restart.
    let port = try usual(Self.apiPort) ?? freePort()
    try startProgram(
      "api", "martlet-api",
      common + [
        "--listen", "127.0.0.1:\(port)", "--keys", entries, "--database", database,
      ] + (plan.hasScheduler ? ["--schedule-database", scheduleDatabase] : []), stage: 5)
    api = ("http://127.0.0.1:\(port)", try File.text(text))
  }

  /// Returns that port if nothing listens there and no other pipeline has claimed it.
  private func usual(_ port: UInt16) -> UInt16? {
    guard let claim = PortClaim.take(port), FreePorts.isFree(port) else { return nil }
    claims.append(claim)
    return port
  }

  /// Claims consecutive free ports, and returns the first.
  private func freePort(ofRun count: Int = 1) throws -> UInt16 {
    let run = try FreePorts.claim(count)
    claims += run.claims
    return run.first
  }

  private func startConsole() throws {
    // A fixed port, so that it keeps its address after a restart.
    let address = "127.0.0.1:\(try freePort())"
    try startProgram(
      "console", "martlet", ["console", "--addresses", addressesFile, "--listen", address], stage: 5
    )
    console = address
  }

  private var sealing: [String] { plan.tokenKey.map { ["--token-key", File.absolute($0)] } ?? [] }

  private var common: [String] {
    ["--kafka", kafka, "--topic-prefix", plan.topicPrefix]
      + (plan.kafka == nil ? [Self.session] : []) + plan.kafkaFlags
  }

  /// Starts a further sender under an unused name.
  public func startSender(_ name: String) throws {
    try startProgram(name, "martlet-sender", common + sealing + gatewayFlags, stage: 3)
  }

  private var gatewayFlags: [String] {
    var gateways = [gateway, sandboxGateway]
    var hosts: [String] = []
    if let file = plan.gatewayHosts {
      gateways = gateways.map { "localhost:\($0.split(separator: ":").last ?? "")" }
      hosts = ["--gateway-hosts", file]
    }
    return [
      "--gateway", gateways[0], "--sandbox-gateway", gateways[1], "--gateway-roots", keys.root,
      "--gateway-name", "localhost",
    ] + hosts
  }

  /// Starts a feedback process with its own database, as on another host, under an unused name.
  public func startFeedback(_ name: String, database: String) throws {
    try startProgram(name, "martlet-feedback", common + ["--database", database], stage: 2)
  }

  /// Starts a scheduler under an unused name.
  public func startScheduler(_ name: String, database: String) throws {
    try startProgram(
      name, "martlet-scheduler", common + ["--database", database, "--devices", self.database],
      stage: 2)
  }

  private func startProgram(
    _ name: String, _ executable: String, _ arguments: [String], stage: Int
  ) throws {
    let path = ChildProcess.sibling(executable)
    guard access(path, X_OK) == 0 else {
      throw ServiceFailure("\(path) is missing; it must be in the same folder as this program")
    }
    // The journal parses their output, whatever format the environment sets.
    let form = ["--log-format", LogFormat.text.rawValue]
    var program = ChildProgram(
      name, path: path, arguments: arguments + form + (plan.extra[executable] ?? []),
      logFile: logFile(name), stage: stage)
    program.logLimit = plan.logLimit
    program.holdsStop = true
    program.environment = plan.environment[name] ?? []
    // The output of an earlier pipeline in this folder is kept apart from this one's.
    rename(logFile(name), logFile(name) + ".1")
    journal.follow(name, logFile(name))
    try processes.start(program)
  }

  /// Waits for a child to write its address.
  private func address(in file: String, of name: String) throws -> String {
    let deadline = MonotonicClock.milliseconds() + 20_000
    while MonotonicClock.milliseconds() < deadline {
      if let line = try? File.text(file).split(separator: "\n").first { return String(line) }
      if let status = processes.state(name)?.lastStatus { throw ending(of: name, status) }
      usleep(10_000)
    }
    throw ServiceFailure("\(name) did not start within 20 s; see \(logFile(name))")
  }
}
