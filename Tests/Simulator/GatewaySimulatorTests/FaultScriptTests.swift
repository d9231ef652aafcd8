// SPDX-License-Identifier: Apache-2.0
import APNS
import Faults
import GatewaySimulator
import JSON
import Testing

/// How scripts and the `FaultFields` of their rules are read, and that runs can be replayed.
@Suite struct FaultScriptTests {
  private func read(_ text: String) throws -> FaultScript {
    try FaultScript(JSONDocument(text).root)
  }

  @Test func `every fault can be named without more`() throws {
    // Three of them say nothing without one more word.
    let more = [
      "any_answer": ",\"status\":500",
      "dead_address": ",\"when\":{\"address\":\"127.0.0.2\"}",
      "wrong_clock": ",\"skew\":\"-30m\"", "provider_token_refused": ",\"renewal\":\"wedge\"",
      "header_limits": ",\"table_size\":0",
    ]
    for fault in Fault.all {
      let script = try read("[{\"id\":\"\(fault)\"\(more[fault.name] ?? "")}]")
      #expect(script.rules.count == 1)
      #expect(script.rules[0].fault == fault)
      #expect(script.rules[0].name == fault.name)
      #expect(fault.stages.contains(script.rules[0].stage))
    }
  }

  @Test func `a fault is named or numbered, and reports use the name`() throws {
    let script = try read("[{\"id\":\"goaway_shutdown\"},{\"id\":\"F09\"}]")
    #expect(script.rules.map(\.fault) == [.goAwayShutdown, .goAwayShutdown])
    #expect(script.rules.map(\.name) == ["goaway_shutdown", "goaway_shutdown"])
    #expect(Fault.all.map { Fault($0.number) } == Fault.all)
  }

  @Test func `a script has a seed names and conditions`() throws {
    let script = try read(
      """
      {"about": "words", "seed": 77, "rules": [
        {"id": "service_unavailable", "name": "outage", "about": "why", "at": "request", "status": 503,
         "reason": "ServiceUnavailable",
         "when": {"environment": "sandbox", "app": "com.example", "push_type": "voip",
                  "from": "1s", "until": "2m", "every": 3, "from_count": 5, "until_count": 50,
                  "probability": 0.25, "times": 9, "connection": 2, "token_prefix": "AB"}}]}
      """)
    #expect(script.seed == 77)
    let rule = try #require(script.rules.first)
    #expect(rule.name == "outage")
    var matcher = FaultMatcher()
    matcher.environment = .sandbox
    matcher.app = Array("com.example".utf8)
    matcher.pushType = .voip
    (matcher.fromTime, matcher.untilTime) = (1_000, 120_000)
    (matcher.every, matcher.fromCount, matcher.untilCount) = (3, 5, 50)
    (matcher.probability, matcher.times, matcher.connection) = (0.25, 9, 2)
    (matcher.token, matcher.isTokenPrefix) = (Array("ab".utf8), true)
    #expect(rule.matcher == matcher)
    #expect(
      rule.action
        == .answer(FaultAnswer(status: 503, body: .reason("ServiceUnavailable", more: ""))))
  }

  @Test(arguments: [
    ("5", "the script must be an object"),
    ("{}", "the script has no list of rules"),
    ("{\"rules\":[],\"sead\":1}", "the script.sead is not known here"),
    ("{\"rules\":[],\"seed\":-1}", "the script.seed must be a whole number from 0 to"),
    ("[{}]", "rules[0].id is missing"),
    ("[{\"id\":\"stream_limit_low\"},{\"id\":\"F29\"}]", "rules[1].id is not a fault: F29"),
    (
      "[{\"id\":\"goaway_shutdwon\"}]",
      "rules[0].id is not a fault: goaway_shutdwon (did you mean goaway_shutdown?)"
    ),
    (
      "[{\"id\":\"stream_limit_low\",\"limt\":1}]",
      "rules[0] (stream_limit_low).limt is not known here"
    ),
    (
      "[{\"id\":\"stream_limit_low\",\"id\":\"stream_limit_changes\"}]",
      "rules[0] (stream_limit_low).id occurs twice"
    ),
    ("[{\"id\":\"any_answer\"}]", "rules[0] (any_answer).status is missing"),
    (
      "[{\"id\":\"any_answer\",\"status\":99}]",
      "rules[0] (any_answer).status must be a whole number from 200"
    ),
    (
      "[{\"id\":\"any_answer\",\"status\":103}]",
      "rules[0] (any_answer).status must be a whole number from 200"
    ),
    (
      "[{\"id\":\"any_answer\",\"status\":400,\"reason\":\"a\\\"b\"}]",
      "rules[0] (any_answer).reason must be a word"
    ),
    (
      "[{\"id\":\"any_answer\",\"reason\":\"BadPath\",\"body\":\"x\"}]",
      "rules[0] (any_answer).body cannot be combined with reason"
    ),
    (
      "[{\"id\":\"any_answer\",\"status\":500,\"at\":\"idle\"}]",
      "rules[0] (any_answer).at must be one of request, not idle"
    ),
    (
      "[{\"id\":\"gone_timestamp\",\"timestamp\":\"soon\"}]",
      "rules[0] (gone_timestamp).timestamp must be missing"
    ),
    (
      "[{\"id\":\"unexpected_answer\",\"form\":\"odd\"}]",
      "rules[0] (unexpected_answer).form must be one of unknown_reason"
    ),
    (
      "[{\"id\":\"stream_limit_low\",\"raise_after\":5}]",
      "rules[0] (stream_limit_low).raise_after must be a text"
    ),
    (
      "[{\"id\":\"stream_limit_low\",\"raise_after\":\"5\"}]",
      "rules[0] (stream_limit_low).raise_after must be a time"
    ),
    (
      "[{\"id\":\"added_latency\",\"time\":\"9223372036854775807ms\"}]",
      "rules[0] (added_latency).time must be a time such as 250ms, 30s or 15m, of ten years at most"
    ),
    (
      "[{\"id\":\"stream_limit_low\",\"when\":{\"token\":\"ab\"}}]",
      "rules[0] (stream_limit_low).when looks at a request, and there is none at the stage connection"
    ),
    (
      "[{\"id\":\"stream_limit_changes\",\"limits\":[]}]",
      "rules[0] (stream_limit_changes).limits must be a list"
    ),
    (
      "[{\"id\":\"stream_limit_changes\",\"limits\":[-1]}]",
      "rules[0] (stream_limit_changes).limits must be whole numbers"
    ),
    (
      "[{\"id\":\"stream_limit_changes\",\"limits\":[0]}]",
      "rules[0] (stream_limit_changes).hold must say for how long"
    ),
    (
      "[{\"id\":\"stream_reset\",\"codes\":[\"OOPS\"]}]",
      "rules[0] (stream_reset).codes must be error codes"
    ),
    (
      "[{\"id\":\"goaway_form\",\"code\":\"OOPS\"}]",
      "rules[0] (goaway_form).code must be an error code"
    ),
    (
      "[{\"id\":\"black_hole\",\"what\":\"settings\",\"at\":\"request\"}]",
      "rules[0] (black_hole).what can be settings at the stage ready only"
    ),
    (
      "[{\"id\":\"unusual_frames\",\"forms\":[\"loud\"]}]",
      "rules[0] (unusual_frames).forms must be among"
    ),
    (
      "[{\"id\":\"tls_failure\",\"certificate\":\"a.pem\"}]",
      "rules[0] (tls_failure).certificate and certificate_key belong together"
    ),
    (
      "[{\"id\":\"dead_address\"}]",
      "rules[0] (dead_address).when.address must say which address is dead"
    ),
    (
      "[{\"id\":\"dead_address\",\"when\":{\"address\":\"127.0.0.2\",\"nth\":1}}]",
      "rules[0] (dead_address).when may only have environment, address, from and until"
    ),
    ("[{\"id\":\"wrong_clock\"}]", "rules[0] (wrong_clock).skew is missing"),
    (
      "[{\"id\":\"wrong_clock\",\"skew\":\"-3653d\"}]",
      "rules[0] (wrong_clock).skew must be a time with a sign"
    ),
    (
      "[{\"id\":\"gone_timestamp\",\"timestamp\":\"+9223372036854775807ms\"}]",
      "rules[0] (gone_timestamp).timestamp must be missing, a time with a sign"
    ),
    (
      "[{\"id\":\"provider_token_refused\"}]",
      "rules[0] (provider_token_refused) needs one of renewal"
    ),
    (
      "[{\"id\":\"wrong_clock\",\"skew\":\"1h\",\"when\":{\"environment\":\"sandbox\"}}]",
      "rules[0] (wrong_clock).when may only have from and until"
    ),
    ("[{\"id\":\"header_limits\"}]", "rules[0] (header_limits) needs table_size"),
    (
      "[{\"id\":\"service_unavailable\",\"when\":{\"probability\":2}}]",
      "rules[0] (service_unavailable).when.probability must be"
    ),
    (
      "[{\"id\":\"service_unavailable\",\"when\":{\"nht\":2}}]",
      "rules[0] (service_unavailable).when.nht is not known here"
    ),
    (
      "[{\"id\":\"service_unavailable\",\"when\":{\"nth\":0}}]",
      "rules[0] (service_unavailable).when.nth must be a whole number"
    ),
    (
      "[{\"id\":\"service_unavailable\",\"when\":[]}]",
      "rules[0] (service_unavailable).when must be an object"
    ),
    (
      "[{\"id\":\"service_unavailable\",\"when\":{\"token\":\"xy\"}}]",
      "rules[0] (service_unavailable).when.token must be hexa"
    ),
    (
      "[{\"id\":\"service_unavailable\",\"when\":{\"push_type\":\"fax\"}}]",
      "rules[0] (service_unavailable).when.push_type is not known: fax"
    ),
    (
      "[{\"id\":\"service_unavailable\",\"when\":{\"environment\":\"test\"}}]",
      "rules[0] (service_unavailable).when.environment must be production or sandbox, not test"
    ),
    (
      "[{\"id\":\"service_unavailable\",\"when\":{\"idle\":\"1s\"}}]",
      "rules[0] (service_unavailable).when.idle cannot be used at the stage request"
    ),
    (
      "[{\"id\":\"service_unavailable\",\"when\":{\"errors\":3}}]",
      "rules[0] (service_unavailable).when.errors cannot be used at the stage request"
    ),
    (
      "[{\"id\":\"service_unavailable\",\"when\":{\"connects_per_minute\":3}}]",
      "rules[0] (service_unavailable).when.connects_per_minute cannot be used at the stage request"
    ),
  ])
  func `a script that is wrong is refused with what is wrong`(text: String, words: String) throws {
    let error = #expect(throws: FaultScriptError.self) { try read(text) }
    #expect(error?.description.hasPrefix(words) == true, "\(error?.description ?? "")")
  }

  @Test func `the admin API adds reports and removes rules`() throws {
    let rig = try FaultRig(
      "[{\"id\":\"any_answer\",\"name\":\"one\",\"status\":500,\"when\":{\"nth\":1}}]")
    let client = try rig.client()
    #expect(try client.send(client.push).status == 500)
    let report = try rig.gateway.json("/faults")
    #expect(report["seed"]?.int == 1)
    let rule = try #require(report["rules"]?.array?.first)
    #expect(rule["id"]?.string == "any_answer")
    #expect(rule["name"]?.string == "one")
    #expect(rule["at"]?.string == "request")
    #expect(rule["seen"]?.int == 1)
    #expect(rule["fired"]?.int == 1)
    let refused = try rig.gateway.admin("POST", "/faults", "[{\"id\":\"F99\"}]")
    #expect(refused == "{\"error\":\"rules[0].id is not a fault: F99\"}\n")
    #expect(
      try rig.gateway.admin("POST", "/faults", "{\"seed\":2,\"rules\":[]}") == "{\"accepted\":0}\n")
    #expect(try rig.fired == [1])
    #expect(try rig.gateway.admin("DELETE", "/faults") == "{\"removed\":1}\n")
    #expect(try rig.fired == [])
    #expect(try client.send(client.push).status == 200)
  }

  /// The same script, seed and requests: the same answers, in another process's life as well.
  @Test func `a run can be replayed over the wire`() throws {
    func run(seed: UInt64) throws -> [UInt16] {
      let rig = try FaultRig(
        """
        [{"id":"any_answer","status":500,"when":{"probability":0.3}},
         {"id":"service_unavailable","when":{"probability":0.3}},
         {"id":"stream_reset","codes":["REFUSED_STREAM","CANCEL"],"when":{"probability":0.2}}]
        """
      ) { $0.faultSeed = seed }
      let client = try rig.client()
      return try (0..<60).map { _ in try client.send(client.push).status }
    }
    let first = try run(seed: 5)
    #expect(Set(first) == [0, 200, 500, 503])
    #expect(try run(seed: 5) == first)
    #expect(try run(seed: 6) != first)
  }

  @Test func `every example is a rule of its fault`() throws {
    for fault in Fault.all {
      #expect(try read("[\(FaultsPage.example(fault))]").rules.map(\.fault) == [fault])
    }
  }

  @Test func `the ready made scripts are good`() throws {
    let names = try ReadyMadeScripts.names()
    #expect(names.count >= 6)
    var seen: Set<String> = []
    for name in names {
      let script = try FaultScript(GatewayFiles.json(name))
      #expect(!script.rules.isEmpty, "\(name)")
      if name.hasSuffix("everything.json") { seen = Set(script.rules.map(\.fault.name)) }
    }
    #expect(seen == Set(Fault.all.map(\.name)))
  }
}
