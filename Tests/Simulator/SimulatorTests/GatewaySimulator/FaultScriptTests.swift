// SPDX-License-Identifier: Apache-2.0
import Contract
import GatewayModel
import GatewaySimulator
import Records
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
      "dead_address": #","when":{"address":"127.0.0.2"}"#,
      "wrong_clock": #","skew":"-30m""#, "provider_token_refused": #","renewal":"wedge""#,
      "header_limits": ",\"table_size\":0",
    ]
    for fault in Fault.all {
      let script = try read(#"[{"id":"\#(fault)"\#(more[fault.name] ?? "")}]"#)
      #expect(script.rules.count == 1)
      #expect(script.rules[0].fault == fault)
      #expect(script.rules[0].name == fault.name)
      #expect(fault.stages.contains(script.rules[0].stage))
    }
  }

  @Test func `a fault is named or numbered, and reports use the name`() throws {
    let script = try read(#"[{"id":"goaway_shutdown"},{"id":"F09"}]"#)
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
    (#"{"rules":[],"sead":1}"#, "the script.sead is not known here"),
    (#"{"rules":[],"seed":-1}"#, "the script.seed must be a whole number from 0 to"),
    ("[{}]", "rules[0].id is missing"),
    (#"[{"id":"stream_limit_low"},{"id":"F29"}]"#, "rules[1].id is not a fault: F29"),
    (
      #"[{"id":"goaway_shutdwon"}]"#,
      "rules[0].id is not a fault: goaway_shutdwon (did you mean goaway_shutdown?)"
    ),
  ])
  func `a script that is wrong is refused with what is wrong`(text: String, words: String) throws {
    let error = #expect(throws: FaultScriptError.self) { try read(text) }
    #expect(error?.description.hasPrefix(words) == true, "\(error?.description ?? "")")
  }

  /// Faults, the other members of their rules, and what is said of a rule.
  private static let mistakes: [(String, String, String)] = [
    ("stream_limit_low", #","limt":1"#, ".limt is not known here"),
    ("stream_limit_low", #","id":"stream_limit_changes""#, ".id occurs twice"),
    ("any_answer", "", ".status is missing"),
    ("any_answer", #","status":99"#, ".status must be a whole number from 200"),
    ("any_answer", #","status":103"#, ".status must be a whole number from 200"),
    ("any_answer", #","status":400,"reason":"a\"b""#, ".reason must be a word"),
    ("any_answer", #","reason":"BadPath","body":"x""#, ".body cannot be combined with reason"),
    ("any_answer", #","status":410,"timestamp":"-1h""#, ".timestamp stands in an answer's body"),
    ("any_answer", #","status":500,"at":"idle""#, ".at must be one of request, not idle"),
    ("gone_timestamp", #","timestamp":"soon""#, ".timestamp must be missing"),
    ("unexpected_answer", #","form":"odd""#, ".form must be one of unknown_reason"),
    ("stream_limit_low", #","raise_after":5"#, ".raise_after must be a text"),
    ("stream_limit_low", #","raise_after":"5""#, ".raise_after must be a time"),
    (
      "added_latency", #","time":"9223372036854775807ms""#,
      ".time must be a time such as 250ms, 30s or 15m, of ten years at most"
    ),
    (
      "stream_limit_low", #","when":{"token":"ab"}"#,
      ".when looks at a request, and there is none at the stage connection"
    ),
    ("stream_limit_changes", #","limits":[]"#, ".limits must be a list"),
    ("stream_limit_changes", #","limits":[-1]"#, ".limits must be whole numbers"),
    ("stream_limit_changes", #","limits":[0]"#, ".hold must say for how long"),
    ("stream_reset", #","codes":["OOPS"]"#, ".codes must be error codes"),
    ("goaway_form", #","code":"OOPS""#, ".code must be an error code"),
    (
      "black_hole", #","what":"settings","at":"request""#,
      ".what can be settings at the stage ready only"
    ),
    ("unusual_frames", #","forms":["loud"]"#, ".forms must be among"),
    ("tls_failure", #","certificate":"a.pem""#, ".certificate and certificate_key belong together"),
    ("dead_address", "", ".when.address must say which address is dead"),
    (
      "dead_address", #","when":{"address":"127.0.0.2","nth":1}"#,
      ".when may only have environment, address, from and until"
    ),
    ("wrong_clock", "", ".skew is missing"),
    ("wrong_clock", #","skew":"-3653d""#, ".skew must be a time with a sign"),
    (
      "gone_timestamp", #","timestamp":"+9223372036854775807ms""#,
      ".timestamp must be missing, a time with a sign"
    ),
    ("provider_token_refused", "", " needs one of renewal"),
    (
      "wrong_clock", #","skew":"1h","when":{"environment":"sandbox"}"#,
      ".when may only have from and until"
    ),
    ("header_limits", "", " needs table_size"),
    ("service_unavailable", #","when":{"probability":2}"#, ".when.probability must be"),
    ("service_unavailable", #","when":{"nht":2}"#, ".when.nht is not known here"),
    ("service_unavailable", #","when":{"nth":0}"#, ".when.nth must be a whole number"),
    ("service_unavailable", #","when":[]"#, ".when must be an object"),
    ("service_unavailable", #","when":{"token":"xy"}"#, ".when.token must be hexa"),
    ("service_unavailable", #","when":{"push_type":"fax"}"#, ".when.push_type is not known: fax"),
    (
      "service_unavailable", #","when":{"environment":"test"}"#,
      ".when.environment must be production or sandbox, not test"
    ),
    (
      "service_unavailable", #","when":{"idle":"1s"}"#,
      ".when.idle cannot be used at the stage request"
    ),
    (
      "service_unavailable", #","when":{"errors":3}"#,
      ".when.errors cannot be used at the stage request"
    ),
    (
      "service_unavailable", #","when":{"connects_per_minute":3}"#,
      ".when.connects_per_minute cannot be used at the stage request"
    ),
  ]

  @Test(arguments: mistakes)
  func `a rule that is wrong is refused with its place, its fault and what is wrong`(
    fault: String, members: String, words: String
  ) throws {
    let text = #"[{"id":"\#(fault)"\#(members)}]"#
    let error = #expect(throws: FaultScriptError.self) { try read(text) }
    let said = error?.description ?? ""
    #expect(said.hasPrefix("rules[0] (\(fault))\(words)"), "\(said)")
  }

  @Test func `the admin API adds reports and removes rules`() throws {
    let rig = try FaultRig(#"[{"id":"any_answer","name":"one","status":500,"when":{"nth":1}}]"#)
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
    let refused = try rig.gateway.admin("POST", "/faults", #"[{"id":"F99"}]"#)
    #expect(refused == "{\"error\":\"rules[0].id is not a fault: F99\"}\n")
    #expect(
      try rig.gateway.admin("POST", "/faults", #"{"seed":2,"rules":[]}"#) == "{\"accepted\":0}\n")
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
