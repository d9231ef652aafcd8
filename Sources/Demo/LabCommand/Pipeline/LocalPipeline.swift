// SPDX-License-Identifier: Apache-2.0
public import Bytes
import CommandKit
import EventLoop
import Glibc
import JSON
import Kafka
public import ServiceKit
import Telemetry

/// Every process of the pipeline on this machine, as children of this one: for `up`, the demo and
/// tests.
public final class LocalPipeline {
  /// The processes to run, and their options.
  public struct Plan: Sendable {
    /// The folder of keys, logs and the database; made if it is not there.
    public var folder: String
    public var senders = 1
    /// A cluster that runs already, or nil to run an embedded broker.
    public var kafka: String?
    /// The embedded broker's port; 0 takes a free one, nil the usual one if it is free.
    public var kafkaPort: UInt16? = 0
    /// Bytes of a process's log above which it starts again, the last ones kept beside it. nil: never.
    public var logLimit: Int?
    public var topicPrefix = "push."
    /// The file of the key that keeps provider tokens secret on their topic, if there is one.
    public var tokenKey: String?
    /// Signing keys to make.
    public var credentials: [KeyFolder.Credential]
    /// Settings that every process of the pipeline gets, such as `--kafka.linger.ms=5`.
    public var kafkaFlags: [String] = []
    /// Further arguments by executable, such as `apns-simulator`.
    public var extra: [String: [String]] = [:]
    /// Further variables by process, such as `feedback`; `NAME=value` each.
    public var environment: [String: [String]] = [:]
    /// True if a web page shows how the processes are doing.
    public var hasConsole = false
    /// True if requests are taken over HTTP.
    public var hasAPI = false
    /// True if requests may have a time.
    public var hasScheduler = false
    /// The file of subscriptions to webhooks, if there are any.
    public var subscriptions: String?
    /// A file in the format of /etc/hosts: senders know the gateways as `localhost`, and it says where that is.
    public var gatewayHosts: String?
    /// Brokers that the embedded broker pretends to be.
    public var brokers = 1
    /// Further arguments of the embedded broker.
    public var brokerFlags: [String] = []

    public init(folder: String, credentials: [KeyFolder.Credential]) {
      self.folder = folder
      self.credentials = credentials
    }
  }

  /// The port that clients of Kafka use if none is named.
  private static let kafkaPort: UInt16 = 9_092
  private static let apiPort: UInt16 = 8_080
  /// A killed process of a trial is missed sooner than one on a cluster, where hosts are slow.
  private static let session = "--kafka.consumer.session.timeout.ms=6000"

  public let plan: Plan
  public let processes: ProcessTree
  public let keys: KeyFolder
  /// `host:port` of the Kafka cluster, once `start` has returned.
  public private(set) var kafka = ""
  /// `host:port` of the simulator's pushes, in production and in the sandbox, and of its admin API.
  public private(set) var gateway = ""
  public private(set) var sandboxGateway = ""
  public private(set) var gatewayAdmin = ""
  /// The web page's address; nil without one.
  private var console: String?
  /// The HTTP API's base URL and a key for it; nil without one.
  private(set) var api: (url: String, key: String)?
  /// The simulator's channel management in both environments.
  private var channels = (production: "", sandbox: "")
  /// The output of the processes, as it comes.
  let journal = ProcessJournal()
  /// The status pages that stand in the file of addresses; nil before there is one.
  private var writtenPages: [String]?
  /// Keeps other pipelines out of the folder.
  private var lock: FolderLock?
  /// Keep other pipelines from the usual ports that this one has.
  private var claims: [PortClaim] = []
  /// A properties file with which `martlet channels` finds the simulator.
  public var channelSettings: String { "\(plan.folder)/channels.properties" }
  /// A properties file with which a further sender joins the others.
  public var senderSettings: String { "\(plan.folder)/sender.properties" }
  /// A file for a shell to read: the addresses as documents name them, and where the programs are.
  public var shellFile: String { "\(plan.folder)/env" }
  public var database: String { "\(plan.folder)/tokens.db" }
  public var scheduleDatabase: String { "\(plan.folder)/schedule.db" }
  /// The file that has every address for scripts, as long as the pipeline runs. That of a process's status pages comes
  /// when the process is ready.
  public var addressesFile: String { "\(plan.folder)/addresses.json" }
  /// Every address by its name, in the order of the processes.
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
    keys = KeyFolder("\(plan.folder)/keys")
    processes = try ProcessTree(log: log)
  }

  /// The file that a process's output goes to.
  public func logFile(_ name: String) -> String { "\(plan.folder)/logs/\(name).log" }

  /// The names of the sending processes.
  public var senderNames: [String] { (0..<plan.senders).map { "sender-\($0 + 1)" } }

  /// Starts everything, and returns when the broker and the simulator have their addresses.
  ///
  /// Throws when a program is missing or does not start; what did start is stopped then.
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
    // An address without a listener is worse than none.
    if lock != nil {
      for file in [addressesFile, shellFile] { try? File.remove(file) }
    }
    let killed = processes.stopAll()
    lock = nil
    claims = []
    return killed
  }

  /// Writes the file of addresses if it does not say how things are: a process that was started again has its status
  /// pages elsewhere.
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
    let variables =
      [("KAFKA", kafka)] + (api.map { [("API", $0.url), ("API_KEY", $0.key)] } ?? [])
    return [
      "# The pipeline that martlet up runs here, for a shell: . FILE",
      "export PATH=\(ShellWord.quoted(programs)):\"$PATH\"",
    ] + variables.map { "export \($0)=\(ShellWord.quoted($1))" } + [""]
  }

  /// The address of each process's status pages, by name.
  var statusPages: [(process: String, url: String)] {
    journal.statusPages.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
  }

  private func prepareFolder() throws {
    for folder in [plan.folder, "\(plan.folder)/logs"] {
      guard mkdir(folder, 0o700) == 0 || errno == EEXIST else {
        throw ServiceFailure("cannot create \(folder): \(SystemError.meaning(of: errno))")
      }
    }
    try DiskRoom(plan.folder).demand()
    lock = try FolderLock(plan.folder)
    if !File.exists(keys.credentials) { try keys.generate(plan.credentials) }
  }

  private func startBroker() throws {
    if let cluster = plan.kafka {
      kafka = cluster
      return
    }
    let file = "\(plan.folder)/broker.address"
    try File.remove(file)
    // A fixed port, so that the broker keeps its address when it is started again.
    var port = plan.kafkaPort ?? usual(Self.kafkaPort) ?? 0
    if port == 0 { port = try FreePorts.first(ofRun: plan.brokers) }
    try startProgram(
      "broker", LabProgram.file,
      [
        "broker", "--address-file", file, "--topic-prefix", plan.topicPrefix, "--port", "\(port)",
        "--dir", "\(plan.folder)/kafka", "--brokers", "\(plan.brokers)",
      ] + plan.brokerFlags, stage: 0)
    kafka = try address(in: file, of: "broker").trimmingNewline
  }

  private func startGateway() throws {
    let file = "\(plan.folder)/simulator.address"
    try File.remove(file)
    // Fixed ports, so that the simulator keeps its address when it is started again.
    let local = try FreePorts.find(5).map { "127.0.0.1:\($0)" }
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
    let key = plan.tokenKey.map { ["token-key = \($0)"] } ?? []
    let lines =
      [
        "# For martlet channels … --config on this machine.", "kafka = \(kafka)",
        "topic-prefix = \(plan.topicPrefix)", "channels-gateway = \(channels.production)",
        "sandbox-channels-gateway = \(channels.sandbox)",
        "gateway-name = localhost", "gateway-roots = \(keys.root)",
      ] + key + [""]
    try File.write(channelSettings, Array(lines.joined(separator: "\n").utf8))
  }

  /// Writes the settings of a further sender: without the gateway it would connect to Apple.
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
        APIKeyEntry(name: "local", apps: ["*"], mayChange: true).json(of: key), named: "local",
        to: entries)
      try File.write(text, Array(key.utf8))
    }
    // Fixed, so that it keeps its address when it is started again.
    let port = try usual(Self.apiPort) ?? FreePorts.find(1)[0]
    try startProgram(
      "api", "martlet-api",
      common + [
        "--listen", "127.0.0.1:\(port)", "--keys", entries, "--database", database,
      ] + (plan.hasScheduler ? ["--schedule-database", scheduleDatabase] : []), stage: 5)
    api = ("http://127.0.0.1:\(port)", String(decoding: try File.read(text), as: UTF8.self))
  }

  /// That port, if nobody listens there and no other pipeline is about to.
  private func usual(_ port: UInt16) -> UInt16? {
    guard let claim = PortClaim.take(port), FreePorts.isFree(port) else { return nil }
    claims.append(claim)
    return port
  }

  private func startConsole() throws {
    // Fixed, so that it keeps its address when it is started again.
    let address = "127.0.0.1:\(try FreePorts.find(1)[0])"
    try startProgram(
      "console", "martlet", ["console", "--addresses", addressesFile, "--listen", address], stage: 5
    )
    console = address
  }

  private var sealing: [String] { plan.tokenKey.map { ["--token-key", $0] } ?? [] }

  private var common: [String] {
    ["--kafka", kafka, "--topic-prefix", plan.topicPrefix]
      + (plan.kafka == nil ? [Self.session] : []) + plan.kafkaFlags
  }

  /// Starts a further sending process under a name that no other has had.
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

  /// Starts a feedback process with a database of its own, as on another host, under a name that no other has
  /// had.
  public func startFeedback(_ name: String, database: String) throws {
    try startProgram(name, "martlet-feedback", common + ["--database", database], stage: 2)
  }

  /// Starts a scheduler under a name that no other has had.
  public func startScheduler(_ name: String, database: String) throws {
    try startProgram(
      name, "martlet-scheduler", common + ["--database", database, "--devices", self.database],
      stage: 2)
  }

  private func startProgram(
    _ name: String, _ executable: String, _ arguments: [String], stage: Int, restarts: Bool = true
  ) throws {
    let path = ChildProcess.sibling(executable)
    guard access(path, X_OK) == 0 else {
      throw ServiceFailure("\(path) is missing; it must be in the same folder as this program")
    }
    // The journal reads what they say, whatever form the environment asks for.
    let form = ["--log-format", LogFormat.text.rawValue]
    var program = ChildProgram(
      name, path: path, arguments: arguments + form + (plan.extra[executable] ?? []),
      logFile: logFile(name), restarts: restarts, stage: stage)
    program.logLimit = plan.logLimit
    program.holdsStop = true
    program.environment = plan.environment[name] ?? []
    // What an earlier pipeline of this folder said is kept apart: what follows is about this one.
    rename(logFile(name), logFile(name) + ".1")
    journal.follow(name, logFile(name))
    try processes.start(program)
  }

  /// Waits for a child to write its address.
  private func address(in file: String, of name: String) throws -> String {
    let deadline = MonotonicClock.milliseconds() + 20_000
    while MonotonicClock.milliseconds() < deadline {
      if let bytes = try? File.read(file), !bytes.isEmpty {
        return String(decoding: bytes, as: UTF8.self)
      }
      if let status = processes.state(name)?.lastStatus {
        throw ending(of: name, status)
      }
      usleep(10_000)
    }
    throw ServiceFailure("\(name) did not start within 20 s; see \(logFile(name))")
  }
}

extension String {
  fileprivate var trimmingNewline: String { hasSuffix("\n") ? String(dropLast()) : self }
}
