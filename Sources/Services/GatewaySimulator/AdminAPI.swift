// SPDX-License-Identifier: Apache-2.0
import APNS
import Bytes
import HTTPServer
import JSON
import ServiceKit
import Synchronization
import Telemetry

/// The admin port: what the gateway has received, and what it knows.
final class AdminAPI: Sendable {
  private let world: GatewayWorld
  private let loops: [LoopShare]
  /// What the counters showed at the last reset: loops alone write their counters.
  private let baseline = Mutex<[String: Int]>([:])

  private static let bodyLimit = 256 << 20

  init(_ world: GatewayWorld, _ loops: [LoopShare]) {
    self.world = world
    self.loops = loops
  }

  /// Starts listening; the server lives as long as the result.
  func serve(host: String, port: UInt16) throws(HTTPServerError) -> HTTPServer {
    try HTTPServer(host: host, port: port, bodyLimit: Self.bodyLimit, routes: routes)
  }

  private var routes: [HTTPRoute] {
    [
      HTTPRoute("GET", "/health") { _ in .json("{\"status\":\"ok\"}\n") },
      HTTPRoute("GET", "/counters") { [self] _ in .json(counters()) },
      HTTPRoute("GET", "/requests") { [self] _ in .jsonLines(report()) },
      HTTPRoute("PUT", "/keys") { [self] request in
        change(request) { value throws(GatewayFileError) in
          let keys = try GatewayFiles.keys(value, folder: ".")
          world.add(keys)
          return keys.count
        }
      },
      HTTPRoute("PUT", "/tokens") { [self] request in
        change(request) { value throws(GatewayFileError) in
          let tokens = try GatewayFiles.tokens(value)
          world.declare(tokens)
          return tokens.count
        }
      },
      HTTPRoute("POST", "/reset") { [self] _ in
        reset()
        return .json("{\"status\":\"ok\"}\n")
      },
    ]
  }

  private func change(
    _ request: HTTPRequest, _ apply: (JSONValue) throws(GatewayFileError) -> Int
  ) -> HTTPResponse {
    do {
      let count = try apply(try JSONDocument(request.body).root)
      return .json("{\"accepted\":\(count)}\n")
    } catch {
      let answer: JSONValue = ["error": .string("\(error)")]
      return .json(String(decoding: answer.text + [10], as: UTF8.self), status: 400)
    }
  }

  /// Forgets what was received and which tokens were declared; keys stay.
  private func reset() {
    world.forgetTokens()
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

  private func counters() -> String {
    let sums = sums()
    let base = baseline.withLock { $0 }
    var object = JSONObject()
    for key in GatewayCounter.allCases {
      let name = SnakeCase.text("\(key)")
      let taken = key.kind == .total ? base[name] ?? 0 : 0
      object.append(name, .integer(Int64((sums[name] ?? 0) - taken)))
    }
    object.append("recorded", .integer(Int64(loops.reduce(0) { $0 + $1.log.count })))
    var reasons = JSONObject()
    for reason in Reason.allCases {
      let count = (sums[reason.name] ?? 0) - (base[reason.name] ?? 0)
      if count > 0 { reasons.append(reason.name, .integer(Int64(count))) }
    }
    object.append("reasons", .object(reasons))
    return String(decoding: JSONValue.object(object).text + [10], as: UTF8.self)
  }

  /// Every recorded request, loop after loop, each in the order of arrival.
  private func report() -> @Sendable () -> [UInt8]? {
    let cursor = ReportCursor(loops)
    return { cursor.next() }
  }
}
