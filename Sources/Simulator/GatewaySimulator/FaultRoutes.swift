// SPDX-License-Identifier: Apache-2.0
import GatewayModel
import HTTPServer
import Records

/// The routes of the admin API for faults.
enum FaultRoutes {
  static func routes(_ faults: FaultControl, _ world: GatewayWorld) -> [HTTPRoute] {
    [
      HTTPRoute("GET", "/faults") { _ in AdminAPI.answer(report(faults)) },
      HTTPRoute("POST", "/faults") { request in
        do {
          let script = try FaultScript(JSONDocument(request.body).root)
          try faults.add(script.rules, after: world.connectionCount, seed: script.seed)
          faults.waitForLoops()
          return .json("{\"accepted\":\(script.rules.count)}\n")
        } catch {
          return AdminAPI.problem("\(error)")
        }
      },
      HTTPRoute("DELETE", "/faults") { _ in
        let count = faults.removeAll()
        faults.waitForLoops()
        return .json("{\"removed\":\(count)}\n")
      },
    ]
  }

  private static func report(_ faults: FaultControl) -> JSONValue {
    var object = JSONObject()
    object.append("seed", .integer(Int64(truncatingIfNeeded: faults.seed)))
    if let root = faults.root {
      object.append("root", .string(String(decoding: root, as: UTF8.self)))
    }
    let rules = faults.counts.map { count -> JSONValue in
      [
        "id": .string(count.rule.fault.name), "name": .string(count.rule.name),
        "title": .string(count.rule.fault.title), "at": .string("\(count.rule.stage)"),
        "profile": count.rule.profile.map { .string($0) } ?? .null,
        "seed": .integer(Int64(truncatingIfNeeded: count.seed)),
        "seen": .integer(Int64(count.seen)), "fired": .integer(Int64(count.fired)),
      ]
    }
    object.append("rules", .array(rules))
    return .object(object)
  }
}
