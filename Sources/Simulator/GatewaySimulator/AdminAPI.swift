// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import GatewayModel
import Glibc
import HTTPServer
import Records
import ServiceKit
import Synchronization
import Telemetry

/// The admin API: reports what the gateway has received and knows, and controls it.
final class AdminAPI: Sendable {
  let world: GatewayWorld
  private let faults: FaultControl
  let profiles: ProfileControl
  /// The folder that relative paths in `PUT /keys` start from: that of the keys file, as in the file itself.
  private let keysFolder: String
  let loops: [LoopShare]
  /// The counters at the last reset, because only loops write their counters.
  private let baseline = Mutex<[String: Int]>([:])
  private let questions = Atomic(0)

  private static let bodyLimit = 256 << 20
  /// The time that loops have to report their connections, in steps of half a millisecond.
  private static let patience = 4_000

  /// - Parameter keysFolder: The folder of the keys file; the working directory if there is none.
  init(
    _ world: GatewayWorld, _ faults: FaultControl, _ profiles: ProfileControl,
    _ loops: [LoopShare], keysFolder: String = "."
  ) {
    self.world = world
    self.profiles = profiles
    self.keysFolder = keysFolder
    self.faults = faults
    self.loops = loops
  }

  /// Starts listening; the server runs until the result is released.
  func serve(host: String, port: UInt16) throws(HTTPServerError) -> HTTPServer {
    try HTTPServer(host: host, port: port, bodyLimit: Self.bodyLimit, routes: routes)
  }

  var routes: [HTTPRoute] { reports + changes + commands + FaultRoutes.routes(faults, world) }

  /// The routes that report the gateway's state.
  private var reports: [HTTPRoute] {
    [
      HTTPRoute("GET", "/health") { _ in .json("{\"status\":\"ok\"}\n") },
      HTTPRoute("GET", "/counters") { [self] _ in Self.answer(counters()) },
      HTTPRoute("GET", "/requests") { [self] _ in .jsonLines(ReportCursor(loops).next) },
      HTTPRoute("GET", "/delivered") { [self] in delivered($0) },
      HTTPRoute("GET", "/connections") { [self] _ in connections() },
      HTTPRoute("GET", "/channels") { [self] _ in channels() },
      HTTPRoute("GET", "/profile") { [self] _ in profile() },
      HTTPRoute("GET", "/behaviours") { _ in .text(BehaviourReport.text) },
      HTTPRoute("GET", "/profiles") { _ in Self.answer(ProfileReport.json) },
    ]
  }

  /// The routes that change what the gateway knows.
  private var changes: [HTTPRoute] {
    [
      change("/keys") { [self] value throws(GatewayFileError) in
        let keys = try GatewayFiles.keys(value, folder: keysFolder)
        world.add(keys)
        return keys.count
      },
      change("/tokens") { [self] value throws(GatewayFileError) in
        let tokens = try GatewayFiles.tokens(value)
        world.declare(tokens)
        return tokens.count
      },
      change("/certs") { [self] value throws(GatewayFileError) in
        let certificates = try GatewayFiles.certificates(value)
        world.declare(certificates: certificates)
        return certificates.count
      },
      change("/apps") { [self] value throws(GatewayFileError) in
        let apps = try GatewayFiles.apps(value)
        world.channels.withLock { channels in
          for entry in apps { channels.enable(entry.app, entry.broadcast) }
        }
        return apps.count
      },
      change("/profile") { [self] value throws(GatewayFileError) in try setProfile(value) },
    ]
  }

  /// The routes that control the gateway.
  private var commands: [HTTPRoute] {
    [
      HTTPRoute("POST", "/tokens/*") { [self] in changeToken($0) },
      HTTPRoute("POST", "/clock/advance") { [self] in advanceClock($0) },
      HTTPRoute("POST", "/provider-tokens/expire") { [self] in expireProviderTokens($0) },
      HTTPRoute("POST", "/connections/*") { [self] in sendGoAway($0) },
      HTTPRoute("POST", "/reset") { [self] _ in
        do { try reset() } catch { return Self.problem("\(error)", status: 500) }
        return .json("{\"status\":\"ok\"}\n")
      },
    ]
  }

  private func change(
    _ path: String, _ apply: @escaping @Sendable (JSONValue) throws(GatewayFileError) -> Int
  ) -> HTTPRoute {
    HTTPRoute("PUT", path) { [self] request in
      do {
        let count = try apply(try JSONDocument(request.body).root)
        wake()
        return .json("{\"accepted\":\(count)}\n")
      } catch {
        return Self.problem("\(error)")
      }
    }
  }

  static func problem(_ text: String, status: Int = 400) -> HTTPResponse {
    let answer: JSONValue = ["error": .string(text)]
    return .json(String(decoding: answer.text + [10], as: UTF8.self), status: status)
  }

  static func answer(_ value: JSONValue) -> HTTPResponse {
    .json(String(decoding: value.text + [10], as: UTF8.self))
  }

  /// Makes every loop check for changes.
  func wake() { for loop in loops { loop.commands.post(.wake) } }

  /// The connections of every loop that answers within two seconds.
  func openConnections() -> [ConnectionReport] {
    let question = questions.add(1, ordering: .relaxed).newValue
    for loop in loops { loop.commands.post(.report(question)) }
    var list: [ConnectionReport] = []
    for loop in loops {
      for _ in 0..<Self.patience {
        if let found = loop.reports.list(for: question) {
          list += found
          break
        }
        usleep(500)
      }
    }
    return list.sorted { $0.id < $1.id }
  }

  /// Restores the initial state, including the profile; keys and fault rules that were added stay.
  private func reset() throws {
    world.reset()
    try profiles.restart()
    faults.restartConnections(after: world.connectionCount)
    wake()
    for loop in loops { loop.log.clear() }
    let sums = sums()
    baseline.withLock { $0 = sums }
  }

  private func sums() -> [String: Int] {
    var sums: [String: Int] = [:]
    for loop in loops {
      for number in loop.counters.numbers { sums[number.name, default: 0] += number.value }
      for reason in Reason.allCases where loop.reasons[reason] > 0 {
        sums[reason.name, default: 0] += loop.reasons[reason]
      }
    }
    return sums
  }

  private func counters() -> JSONValue {
    let sums = sums()
    let base = baseline.withLock { $0 }
    var object = JSONObject()
    for key in SimulatorMetrics.allCases {
      let name = SnakeCase.text("\(key)")
      let taken = key.row.kind == .total ? base[name] ?? 0 : 0
      object.append(name, .integer(Int64((sums[name] ?? 0) - taken)))
    }
    object.append("recorded", .integer(Int64(loops.reduce(0) { $0 + $1.log.count })))
    let store = world.withExchange { ($0.store.count, $0.store.overwritten, $0.store.expired) }
    object.append("waiting", .integer(Int64(store.0)))
    object.append("overwritten", .integer(Int64(store.1)))
    object.append("expired_in_store", .integer(Int64(store.2)))
    var reasons = JSONObject()
    for reason in Reason.allCases {
      let count = (sums[reason.name] ?? 0) - (base[reason.name] ?? 0)
      if count > 0 { reasons.append(reason.name, .integer(Int64(count))) }
    }
    object.append("reasons", .object(reasons))
    return .object(object)
  }
}
