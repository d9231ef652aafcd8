// SPDX-License-Identifier: Apache-2.0
package import Bytes
import EventLoop
import Glibc
import JSON
import Kafka
package import ServiceKit

/// Every process of the pipeline on this machine, as children of this one: for `up`, the demo and
/// tests.
package final class LocalPipeline {
  /// What to run, and how.
  package struct Plan: Sendable {
    /// Where keys, logs and the database are; made if it is not there.
    package var folder: String
    package var senders = 1
    /// A cluster that runs already, or nil to run an embedded broker.
    package var kafka: String?
    package var topicPrefix = "push."
    /// The file of the key that keeps provider tokens secret on their topic, if there is one.
    package var tokenKey: String?
    /// Signing keys to make.
    package var credentials: [KeyFolder.Credential]
    /// Settings that every process of the pipeline gets, such as `--kafka.linger.ms=5`.
    package var kafkaFlags: [String] = []
    /// Further arguments by executable, such as `apns-simulator`.
    package var extra: [String: [String]] = [:]
    /// Further variables by process, such as `feedback`; `NAME=value` each.
    package var environment: [String: [String]] = [:]
    /// Arguments of the embedded broker.
    package var brokerFlags: [String] = []

    package init(folder: String, credentials: [KeyFolder.Credential]) {
      self.folder = folder
      self.credentials = credentials
    }
  }

  package let plan: Plan
  package let processes: ProcessTree
  package let keys: KeyFolder
  /// `host:port` of the Kafka cluster, once `start` has returned.
  package private(set) var kafka = ""
  /// `host:port` of the simulator's pushes and of its admin API.
  package private(set) var gateway = ""
  package private(set) var gatewayAdmin = ""
  /// A properties file with which `martlet channels` finds the simulator.
  package var channelSettings: String { "\(plan.folder)/channels.properties" }
  package var database: String { "\(plan.folder)/tokens.db" }

  package init(_ plan: Plan, log: Logger) throws(SystemError) {
    self.plan = plan
    keys = KeyFolder("\(plan.folder)/keys")
    processes = try ProcessTree(log: log)
  }

  /// The file that a process's output goes to.
  package func logFile(_ name: String) -> String { "\(plan.folder)/logs/\(name).log" }

  /// The names of the sending processes.
  package var senderNames: [String] { (0..<plan.senders).map { "sender-\($0 + 1)" } }

  /// Starts everything, and returns when the broker and the simulator have their addresses.
  ///
  /// Throws when a program is missing or does not start; what did start is stopped then.
  package func start() throws {
    do {
      try prepareFolder()
      try startBroker()
      try startGateway()
      try startServices()
    } catch {
      processes.stopAll()
      throw error
    }
  }

  /// Stops everything in order; returns the names of processes that had to be killed.
  @discardableResult package func stop() -> [String] { processes.stopAll() }

  private func prepareFolder() throws {
    for folder in [plan.folder, "\(plan.folder)/logs"] {
      guard mkdir(folder, 0o700) == 0 || errno == EEXIST else {
        throw ServiceFailure("cannot make \(folder): \(SystemError.meaning(of: errno))")
      }
    }
    if !File.exists(keys.credentials) { try keys.generate(plan.credentials) }
  }

  private func startBroker() throws {
    if let cluster = plan.kafka {
      kafka = cluster
      return
    }
    let file = "\(plan.folder)/broker.address"
    try File.remove(file)
    // Not started again: what it held is gone, and the others would wait for nothing.
    try startProgram(
      "broker", "martlet",
      ["broker", "--address-file", file, "--topic-prefix", plan.topicPrefix] + plan.brokerFlags,
      stage: 0,
      restarts: false)
    kafka = try address(in: file, of: "broker").trimmingNewline
  }

  private func startGateway() throws {
    let file = "\(plan.folder)/simulator.address"
    try File.remove(file)
    // Fixed ports, so that the simulator keeps its address when it is started again.
    let (push, admin) = (try Self.freePort(), try Self.freePort())
    let channels = try Self.freePort()
    try startProgram(
      "simulator", "apns-simulator",
      [
        "--listen", "127.0.0.1:\(push)", "--admin", "127.0.0.1:\(admin)", "--listen-management",
        "127.0.0.1:\(channels)", "--certificate", keys.certificate, "--certificate-key",
        keys.certificateKey, "--keys", keys.gatewayKeys, "--address-file", file,
      ], stage: 1)
    _ = try address(in: file, of: "simulator")
    gateway = "127.0.0.1:\(push)"
    gatewayAdmin = "127.0.0.1:\(admin)"
    let key = plan.tokenKey.map { ["token-key = \($0)"] } ?? []
    let lines =
      [
        "# For martlet channels … --config on this machine.", "kafka = \(kafka)",
        "topic-prefix = \(plan.topicPrefix)", "channels-gateway = 127.0.0.1:\(channels)",
        "gateway-name = localhost", "gateway-roots = \(keys.root)",
      ] + key + [""]
    try File.write(channelSettings, Array(lines.joined(separator: "\n").utf8))
  }

  private func startServices() throws {
    try startProgram(
      "signer", "martlet-signer", common + sealing + ["--credentials", keys.credentials], stage: 2)
    try startFeedback("feedback", database: database)
    for name in senderNames { try startSender(name) }
    try startProgram("ingest", "martlet-ingest", common, stage: 4)
  }

  private var sealing: [String] { plan.tokenKey.map { ["--token-key", $0] } ?? [] }

  private var common: [String] {
    ["--kafka", kafka, "--topic-prefix", plan.topicPrefix] + plan.kafkaFlags
  }

  /// Starts a further sending process under a name that no other has had.
  package func startSender(_ name: String) throws {
    try startProgram(
      name, "martlet-sender",
      common + sealing + [
        "--gateway", gateway, "--sandbox-gateway", gateway, "--gateway-roots", keys.root,
        "--gateway-name", "localhost",
      ], stage: 3)
  }

  /// Starts a feedback process with a database of its own, as on another host, under a name that no other has
  /// had.
  package func startFeedback(_ name: String, database: String) throws {
    try startProgram(name, "martlet-feedback", common + ["--database", database], stage: 2)
  }

  private func startProgram(
    _ name: String, _ executable: String, _ arguments: [String], stage: Int, restarts: Bool = true
  ) throws {
    let path = ChildProcess.sibling(executable)
    guard access(path, X_OK) == 0 else {
      throw ServiceFailure("\(path) is missing; it belongs beside this program")
    }
    var program = ChildProgram(
      name, path: path, arguments: arguments + (plan.extra[executable] ?? []),
      logFile: logFile(name), restarts: restarts, stage: stage)
    program.environment = plan.environment[name] ?? []
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
        throw ServiceFailure("\(name) ended with status \(status); see \(logFile(name))")
      }
      usleep(10_000)
    }
    throw ServiceFailure("\(name) did not start within 20 s; see \(logFile(name))")
  }

  package static func freePort() throws -> UInt16 {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    guard descriptor >= 0 else { throw SystemError.last("cannot open a socket") }
    defer { close(descriptor) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let code = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, size) == 0 ? getsockname(descriptor, $0, &size) : -1
      }
    }
    guard code == 0 else { throw SystemError.last("cannot find a free port") }
    return UInt16(bigEndian: address.sin_port)
  }
}

extension String {
  fileprivate var trimmingNewline: String { hasSuffix("\n") ? String(dropLast()) : self }
}
