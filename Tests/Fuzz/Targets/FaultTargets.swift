// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import GatewayModel
import Records

@testable import GatewaySimulator
@testable import HTTPServer

extension FuzzTarget {
  /// Fault scripts of the simulator: every accepted rule names a moment that its fault has, reads as the same when
  /// it is written again, stands in the report, and can be played at any time.
  static func faultScript() -> FuzzTarget {
    let parser = JSONParser()
    return FuzzTarget("fault-script") { bytes in
      guard let value = try? parser.parse(bytes) else { return nil }
      do throws(FaultScriptError) {
        let script = try FaultScript(value)
        for rule in script.rules where !rule.fault.stages.contains(rule.stage) {
          return "a rule at a moment that its fault does not have"
        }
        guard let again = try? parser.parse(value.text), try FaultScript(again) == script else {
          return "a script says something else when it is written again"
        }
        return misreported(script, parser) ?? misplayed(script, parser)
      } catch {
        return error.description.isEmpty ? "refused without words" : nil
      }
    }
  }

  /// What the admin port tells about the rules. Those about TLS are left out: they read certificates.
  private static func misreported(_ script: FaultScript, _ parser: JSONParser) -> String? {
    let rules = script.rules.filter { if case .tls = $0.action { false } else { true } }
    let control = FaultControl(seed: script.seed ?? 1, identity: nil)
    guard (try? control.add(rules)) != nil else { return "rules without files are refused" }
    let report = FaultRoutes.routes(control, GatewayWorld()).first { $0.takes("GET") }?.handler(
      HTTPRequest(method: "GET", path: "/faults", query: [], body: []))
    guard case .bytes(let body) = report?.body, let told = try? parser.parse(body),
      let list = told["rules"]?.array
    else { return "a report that is no JSON" }
    let isWhole = list.elementsEqual(rules) {
      $0["id"]?.string == $1.fault.name && $0["name"]?.string == $1.name
        && $0["at"]?.string == "\($1.stage)"
    }
    return isWhole ? nil : "the report tells of other rules"
  }

  /// Events of every kind, near the start and much later.
  private static func misplayed(_ script: FaultScript, _ parser: JSONParser) -> String? {
    let start: UInt64 = 1_000
    var engine = FaultEngine(seed: script.seed ?? 1)
    engine.add(script.rules, at: start)
    for elapsed: UInt64 in [0, 1, 1_500, 90_000, 1 << 40] {
      for stage in FaultStage.allCases {
        var event = FaultEvent(
          stage, time: start + elapsed, address: "127.0.0.1", connection: 1, age: elapsed,
          idle: elapsed)
        if stage == .request || stage == .answer {
          event.request = FaultRequest(
            token: Array("00ab".utf8), topic: Array("com.example.app".utf8), pushType: .alert,
            status: 400, isBadDeviceToken: true, streamID: 1, headerListSize: 400)
        }
        if stage == .standing {
          let held = engine.standing(event).map { ($0.action, engine.matcher(of: $0)) }
          let skew = StandingFaults(held).clockSkew
          let limit = 315_576_000_000 * Int64(script.rules.count)
          if !(-limit...limit).contains(skew) { return "a clock that is off by \(skew) ms" }
          continue
        }
        for case .answer(let answer) in engine.decide(event).map(\.action) {
          if let problem = misspelt(answer, parser) { return problem }
        }
      }
    }
    let isCounted = engine.counts.allSatisfy {
      $0.fired <= $0.seen && $0.fired <= $0.rule.matcher.times ?? .max
    }
    return isCounted ? nil : "a rule that fired too often"
  }

  private static func misspelt(_ answer: FaultAnswer, _ parser: JSONParser) -> String? {
    if !(200...999).contains(answer.status) { return "an answer with status \(answer.status)" }
    let body = answer.bytes(now: 1_795_224_000_000)
    guard case .reason(let reason, _) = answer.body else { return nil }
    return (try? parser.parse(body))?["reason"]?.string == reason
      ? nil : "an answer that does not say its reason"
  }
}
