// SPDX-License-Identifier: Apache-2.0
import Contract
import Crypto
public import EventLoop
import GatewayModel
import Glibc
import HTTPServer
import Records
public import ServiceKit
public import Settings

/// `apns-simulator`: behaves like the Apple Push Notification service and records the pushes it receives. Loops
/// (`SimulatorLoop`) serve the pushes; the admin API has its own thread.
public enum SimulatorService: Service {
  public static let name = "apns-simulator"
  public static let summary = """
    Plays the APNs gateway on this machine: TLS, HTTP/2, the checks and the answers of the real one, and \
    a report of everything it received on its admin port.
    """
  public static let table = SimulatorSettings.table

  public static func settings(_ values: SettingValues) throws(SettingErrors) -> SimulatorSettings {
    try SimulatorSettings(values)
  }

  public static func isQuiet(_ settings: SimulatorSettings) -> Bool { settings.devFolder != nil }

  public static func run(
    _ settings: SimulatorSettings, _ context: ServiceContext
  ) throws(ServiceFailure) {
    do {
      let simulator = try Simulator(settings, context)
      try simulator.announce(to: settings.addressFile)
      context.reportReady()
      if settings.devFolder == nil {
        context.signals.waitForStop()
      } else {
        InputEnd.wait(STDIN_FILENO, or: context.signals)
      }
      simulator.wait()
    } catch {
      throw ServiceFailure(error)
    }
  }
}

/// A running gateway; tests can also run one in their own process.
public final class Simulator {
  /// The address for pushes.
  public let address: SocketAddress
  public let sandboxAddress: SocketAddress
  public let managementAddress: SocketAddress
  public let sandboxManagementAddress: SocketAddress
  public let adminPort: UInt16
  private let adminHost: String
  private let devFolder: DevFolder?
  private let admin: HTTPServer
  private var threads: [GatewayThread] = []

  /// Opens the ports and starts the loops. They stop on `context.signals`.
  public init(_ settings: SimulatorSettings, _ context: ServiceContext) throws {
    devFolder = settings.devFolder
    try devFolder?.complete()
    let trust = try settings.clientRoots.map {
      ClientTrust(roots: try File.read($0), admitsBroken: settings.rules.badCertificate != .alert)
    }
    let identity = try TLSIdentity.load(
      certificate: settings.certificate, key: settings.certificateKey)
    let tls = try TLSContext.server(identity: identity, clientTrust: trust)
    let faults = try Self.faults(settings, identity)
    let world = try Self.world(settings, trust)
    let profiles = try ProfileControl(settings, world, faults)
    let relay = try RelayPlan(settings)
    let shares = (0..<settings.loops).map { _ in
      LoopShare(
        world: world, faults: faults, relay: relay,
        log: RequestLog(
          limit: settings.recordLimit / settings.loops,
          detailLimit: settings.detailLimit / settings.loops, types: settings.rules.pushTypes))
    }
    adminHost = settings.admin.numericHost
    admin = try AdminAPI(
      world, faults, profiles, shares,
      keysFolder: settings.keys.map { GatewayFiles.folder(of: $0) } ?? "."
    ).serve(host: adminHost, port: settings.admin.port)
    adminPort = admin.port
    var plans = try Self.listeners(settings)
    for (number, share) in shares.enumerated() {
      var listeners: [GatewayListener] = []
      for place in plans.indices {
        let socket = try Socket.listening(on: plans[place].address, sharesPort: settings.loops > 1)
        // Loops after the first share its port.
        if let bound = socket.localAddress { plans[place].address = bound }
        for other in plans.indices where plans[other].samePortAs == place {
          plans[other].address = plans[other].address.with(port: plans[place].address.port)
        }
        listeners.append(
          GatewayListener(
            socket, at: plans[place].address, sharesPort: settings.loops > 1, plans[place].role))
      }
      context.counters.add(share.counters)
      let loop = try SimulatorLoop(
        settings, context, share, tls: tls, listeners: listeners, name: "gateway-\(number)")
      threads.append(try GatewayThread(name: "gateway-\(number)", loop))
    }
    address = plans[0].address
    sandboxAddress = plans[1].address
    managementAddress = plans[2].address
    sandboxManagementAddress = plans[3].address
  }

  private static func faults(
    _ settings: SimulatorSettings, _ identity: TLSIdentity
  ) throws -> FaultControl {
    var script: FaultScript?
    if let path = settings.faults {
      let value = try GatewayFiles.json(path)
      do { script = try FaultScript(value) } catch {
        throw ServiceFailure("\(path): \(error)")
      }
    }
    let faults = FaultControl(seed: settings.faultSeed ?? script?.seed ?? 1, identity: identity)
    try faults.add(script?.rules ?? [])
    return faults
  }

  private static func world(
    _ settings: SimulatorSettings, _ trust: ClientTrust?
  ) throws -> GatewayWorld {
    GatewayWorld(
      keys: try settings.keys.map {
        try GatewayFiles.keys(GatewayFiles.json($0), folder: GatewayFiles.folder(of: $0))
      } ?? [],
      tokens: try settings.tokens.map { try GatewayFiles.tokens(GatewayFiles.json($0)) } ?? [],
      rules: settings.rules, latency: settings.latency, trust: trust)
  }

  private static func listeners(_ settings: SimulatorSettings) throws -> [ListenerPlan] {
    let device = ListenerRole(environment: settings.environment, service: .device)
    var plans = try [
      ListenerPlan(address("listen", settings.listen), device),
      ListenerPlan(
        address("listen-sandbox", settings.listenSandbox),
        ListenerRole(environment: .sandbox, service: .device)),
      ListenerPlan(
        address("listen-management", settings.listenManagement),
        ListenerRole(environment: .production, service: .management)),
      ListenerPlan(
        address("listen-management-sandbox", settings.listenManagementSandbox),
        ListenerRole(environment: .sandbox, service: .management)),
    ]
    for host in settings.alsoListen {
      guard let address = SocketAddress(numeric: host, port: settings.listen.port) else {
        throw ServiceFailure("--listen-also needs numeric addresses, not \(host)")
      }
      plans.append(ListenerPlan(address, device, samePortAs: 0))
    }
    return plans
  }

  private static func address(_ name: String, _ endpoint: Endpoint) throws -> SocketAddress {
    guard let address = SocketAddress(numeric: endpoint.numericHost, port: endpoint.port) else {
      throw ServiceFailure("--\(name) needs a numeric address, not \(endpoint.host)")
    }
    return address
  }

  /// The addresses, and with `--dev` the files that a client needs.
  var line: JSONObject {
    var line = JSONObject()
    line.append("listening", .string("\(address)"))
    line.append("sandbox", .string("\(sandboxAddress)"))
    line.append("management", .string("\(managementAddress)"))
    line.append("sandbox_management", .string("\(sandboxManagementAddress)"))
    line.append("admin", .string("\(adminHost):\(adminPort)"))
    devFolder?.describe(&line)
    return line
  }

  /// Prints `line` as JSON, and writes it to `path`.
  func announce(to path: String?) throws {
    let text = JSONValue.object(line).text
    if let path { try File.write(path, text + [10]) }
    StandardOutput.line(String(decoding: text, as: UTF8.self))
  }

  /// Waits for the loops to end.
  public func wait() {
    for thread in threads { thread.join() }
    threads = []
  }
}

/// A loop's thread that an array can hold.
private final class GatewayThread {
  private var thread: LoopThread?

  init(name: String, _ loop: sending SimulatorLoop) throws(SystemError) {
    thread = try Self.start(name, loop)
  }

  private static func start(
    _ name: String, _ loop: sending SimulatorLoop
  ) throws(SystemError) -> LoopThread {
    try LoopThread(name: name) { loop.run() }
  }

  func join() { thread.take()?.join() }
}
