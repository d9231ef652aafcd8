// SPDX-License-Identifier: Apache-2.0
import APNS
import Faults
import GatewaySimulator
import JSON
import Testing

/// How scripts are read, and that runs can be replayed.
@Suite struct FaultScriptTests {
  private func read(_ text: String) throws -> FaultScript {
    try FaultScript(JSONDocument(text).root)
  }

  @Test func everyFaultCanBeNamedWithoutMore() throws {
    // Three of them say nothing without one more word.
    let more: [FaultID: String] = [
      .f01: ",\"status\":500", .f18: ",\"when\":{\"address\":\"127.0.0.2\"}",
      .f20: ",\"skew\":\"-30m\"", .f21: ",\"renewal\":\"wedge\"", .f26: ",\"table_size\":0",
    ]
    for id in FaultID.allCases {
      let script = try read("[{\"id\":\"\(id)\"\(more[id] ?? "")}]")
      #expect(script.rules.count == 1)
      #expect(script.rules[0].id == id)
      #expect(script.rules[0].name == id.name)
      #expect(id.stages.contains(script.rules[0].stage))
    }
  }

  @Test func aScriptHasASeedNamesAndConditions() throws {
    let script = try read(
      """
      {"about": "words", "seed": 77, "rules": [
        {"id": "F23", "name": "outage", "about": "why", "at": "request", "status": 503,
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
        == .answer(
          FaultAnswer(status: 503, body: .reason("ServiceUnavailable", more: ""))))
  }

  @Test(arguments: [
    ("5", "the script must be an object"),
    ("{}", "the script has no list of rules"),
    ("{\"rules\":[],\"sead\":1}", "the script.sead is not known here"),
    ("{\"rules\":[],\"seed\":-1}", "the script.seed must be a whole number from 0 to"),
    ("[{}]", "rules[0].id is missing"),
    ("[{\"id\":\"F05\"},{\"id\":\"F29\"}]", "rules[1].id is not one of F01 to F28: F29"),
    ("[{\"id\":\"F05\",\"limt\":1}]", "rules[0] (F05).limt is not known here"),
    ("[{\"id\":\"F05\",\"id\":\"F06\"}]", "rules[0] (F05).id stands twice"),
    ("[{\"id\":\"F01\"}]", "rules[0] (F01).status is missing"),
    ("[{\"id\":\"F01\",\"status\":99}]", "rules[0] (F01).status must be a whole number from 200"),
    ("[{\"id\":\"F01\",\"status\":103}]", "rules[0] (F01).status must be a whole number from 200"),
    (
      "[{\"id\":\"F01\",\"status\":400,\"reason\":\"a\\\"b\"}]",
      "rules[0] (F01).reason must be a word"
    ),
    (
      "[{\"id\":\"F01\",\"reason\":\"BadPath\",\"body\":\"x\"}]",
      "rules[0] (F01).body cannot stand next to reason"
    ),
    (
      "[{\"id\":\"F01\",\"status\":500,\"at\":\"idle\"}]",
      "rules[0] (F01).at must be one of request, not idle"
    ),
    ("[{\"id\":\"F02\",\"timestamp\":\"soon\"}]", "rules[0] (F02).timestamp must be missing"),
    ("[{\"id\":\"F03\",\"form\":\"odd\"}]", "rules[0] (F03).form must be one of unknown_reason"),
    ("[{\"id\":\"F05\",\"raise_after\":5}]", "rules[0] (F05).raise_after must be a text"),
    ("[{\"id\":\"F05\",\"raise_after\":\"5\"}]", "rules[0] (F05).raise_after must be a time"),
    (
      "[{\"id\":\"F05\",\"when\":{\"token\":\"ab\"}}]",
      "rules[0] (F05).when looks at a request, and there is none at the stage connection"
    ),
    ("[{\"id\":\"F06\",\"limits\":[]}]", "rules[0] (F06).limits must be a list"),
    ("[{\"id\":\"F06\",\"limits\":[-1]}]", "rules[0] (F06).limits must be whole numbers"),
    ("[{\"id\":\"F06\",\"limits\":[0]}]", "rules[0] (F06).hold must say for how long"),
    ("[{\"id\":\"F07\",\"codes\":[\"OOPS\"]}]", "rules[0] (F07).codes must be error codes"),
    ("[{\"id\":\"F10\",\"code\":\"OOPS\"}]", "rules[0] (F10).code must be an error code"),
    (
      "[{\"id\":\"F12\",\"what\":\"settings\",\"at\":\"request\"}]",
      "rules[0] (F12).what can be settings at the stage ready only"
    ),
    ("[{\"id\":\"F15\",\"forms\":[\"loud\"]}]", "rules[0] (F15).forms must be among"),
    (
      "[{\"id\":\"F17\",\"certificate\":\"a.pem\"}]",
      "rules[0] (F17).certificate and certificate_key belong together"
    ),
    ("[{\"id\":\"F18\"}]", "rules[0] (F18).when.address must say which address is dead"),
    (
      "[{\"id\":\"F18\",\"when\":{\"address\":\"127.0.0.2\",\"nth\":1}}]",
      "rules[0] (F18).when may only have environment, address, from and until"
    ),
    ("[{\"id\":\"F20\"}]", "rules[0] (F20).skew is missing"),
    ("[{\"id\":\"F20\",\"skew\":\"-3653d\"}]", "rules[0] (F20).skew must be a time with a sign"),
    (
      "[{\"id\":\"F02\",\"timestamp\":\"+9223372036854775807ms\"}]",
      "rules[0] (F02).timestamp must be missing, a time with a sign"
    ),
    ("[{\"id\":\"F21\"}]", "rules[0] (F21) needs one of renewal"),
    (
      "[{\"id\":\"F20\",\"skew\":\"1h\",\"when\":{\"environment\":\"sandbox\"}}]",
      "rules[0] (F20).when may only have from and until"
    ),
    ("[{\"id\":\"F26\"}]", "rules[0] (F26) needs table_size"),
    ("[{\"id\":\"F23\",\"when\":{\"probability\":2}}]", "rules[0] (F23).when.probability must be"),
    ("[{\"id\":\"F23\",\"when\":{\"nht\":2}}]", "rules[0] (F23).when.nht is not known here"),
    ("[{\"id\":\"F23\",\"when\":{\"nth\":0}}]", "rules[0] (F23).when.nth must be a whole number"),
    ("[{\"id\":\"F23\",\"when\":[]}]", "rules[0] (F23).when must be an object"),
    ("[{\"id\":\"F23\",\"when\":{\"token\":\"xy\"}}]", "rules[0] (F23).when.token must be hexa"),
    (
      "[{\"id\":\"F23\",\"when\":{\"push_type\":\"fax\"}}]",
      "rules[0] (F23).when.push_type is not known: fax"
    ),
    (
      "[{\"id\":\"F23\",\"when\":{\"environment\":\"test\"}}]",
      "rules[0] (F23).when.environment must be production or sandbox, not test"
    ),
    (
      "[{\"id\":\"F23\",\"when\":{\"idle\":\"1s\"}}]",
      "rules[0] (F23).when.idle cannot be used at the stage request"
    ),
    (
      "[{\"id\":\"F23\",\"when\":{\"errors\":3}}]",
      "rules[0] (F23).when.errors cannot be used at the stage request"
    ),
    (
      "[{\"id\":\"F23\",\"when\":{\"connects_per_minute\":3}}]",
      "rules[0] (F23).when.connects_per_minute cannot be used at the stage request"
    ),
  ])
  func whatIsWrongIsNamed(text: String, words: String) throws {
    let error = #expect(throws: FaultScriptError.self) { try read(text) }
    #expect(error?.description.hasPrefix(words) == true, "\(error?.description ?? "")")
  }

  @Test func theAdminAPIAddsReportsAndRemovesRules() throws {
    let rig = try FaultRig(
      "[{\"id\":\"F01\",\"name\":\"one\",\"status\":500,\"when\":{\"nth\":1}}]")
    let client = try rig.client()
    #expect(try client.send(client.push).status == 500)
    let report = try JSONDocument(try rig.gateway.admin("GET", "/faults")).root
    #expect(report["seed"]?.int == 1)
    let rule = try #require(report["rules"]?.array?.first)
    #expect(rule["id"]?.string == "F01")
    #expect(rule["name"]?.string == "one")
    #expect(rule["at"]?.string == "request")
    #expect(rule["seen"]?.int == 1)
    #expect(rule["fired"]?.int == 1)
    let refused = try rig.gateway.admin("POST", "/faults", "[{\"id\":\"F99\"}]")
    #expect(refused == "{\"error\":\"rules[0].id is not one of F01 to F28: F99\"}\n")
    #expect(
      try rig.gateway.admin("POST", "/faults", "{\"seed\":2,\"rules\":[]}")
        == "{\"accepted\":0}\n")
    #expect(try rig.fired == [1])
    #expect(try rig.gateway.admin("DELETE", "/faults") == "{\"removed\":1}\n")
    #expect(try rig.fired == [])
    #expect(try client.send(client.push).status == 200)
  }

  /// The same script, seed and requests: the same answers, in another process's life as well.
  @Test func aRunCanBeReplayedOverTheWire() throws {
    func run(seed: UInt64) throws -> [UInt16] {
      let rig = try FaultRig(
        """
        [{"id":"F01","status":500,"when":{"probability":0.3}},
         {"id":"F23","when":{"probability":0.3}},
         {"id":"F07","codes":["REFUSED_STREAM","CANCEL"],"when":{"probability":0.2}}]
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

  @Test func theExamplesOfThePageAreGoodAndCoverEveryFault() throws {
    let lines = try ReadyMadeScripts.page().split(separator: "\n").filter {
      $0.hasPrefix("{\"id\": ")
    }
    let examples = try lines.flatMap { line in
      // One example shows a rule in two lines.
      line.hasSuffix("}") ? try read("[\(line)]").rules : []
    }
    #expect(Set(examples.map(\.id)) == Set(FaultID.allCases))
  }

  @Test func theReadyMadeScriptsAreGood() throws {
    let names = try ReadyMadeScripts.names()
    #expect(names.count >= 6)
    var seen: Set<FaultID> = []
    for name in names {
      let script = try FaultScript(GatewayFiles.json(name))
      #expect(!script.rules.isEmpty, "\(name)")
      if name.hasSuffix("everything.json") { seen = Set(script.rules.map(\.id)) }
    }
    #expect(seen == Set(FaultID.allCases))
  }
}
