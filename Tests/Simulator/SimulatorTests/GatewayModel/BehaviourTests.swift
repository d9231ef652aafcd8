// SPDX-License-Identifier: Apache-2.0
import GatewayModel
import Testing

@Suite struct BehaviourTests {
  private let switches = Behaviour.table.filter(\.isSwitch)

  @Test func `no name stands twice`() {
    #expect(Set(Behaviour.table.map(\.name)).count == Behaviour.table.count)
  }

  @Test func `the table's defaults are the rules' defaults`() throws {
    for behaviour in switches {
      var rules = GatewayRules()
      #expect(rules.text(of: behaviour.name) == behaviour.standard, "\(behaviour.name)")
      try rules.set(behaviour.name, behaviour.standard)
      #expect(rules == GatewayRules(), "\(behaviour.name)")
    }
  }

  @Test func `every value of every switch is taken and read back`() throws {
    for behaviour in switches {
      for value in Self.values(of: behaviour) {
        var rules = GatewayRules()
        try rules.set(behaviour.name, value)
        #expect(rules.text(of: behaviour.name) == value, "\(behaviour.name)")
        if value != behaviour.standard { #expect(rules != GatewayRules(), "\(behaviour.name)") }
      }
    }
  }

  private static func values(of behaviour: Behaviour) -> [String] {
    switch behaviour.kind {
    case .boolean: ["true", "false"]
    case .choice(let words): words
    case .count(let range): ["\(range.lowerBound)", "\(range.upperBound)"]
    case .duration: ["0s", "90s", "1h"]
    case .list: ["path,topic", "topic,path"]
    case .fixed: []
    }
  }

  @Test(arguments: [
    ("priming", "maybe"), ("throttle", "fast"), ("max-concurrent-streams", "0"),
    ("max-concurrent-streams", "many"), ("idle-timeout", "soon"), ("checks", "path,taste"),
    ("checks", "path,path"), ("nonsense", "1"), ("storage", "two"),
  ])
  func `a wrong value is refused by name and changes nothing`(name: String, value: String) {
    var rules = GatewayRules()
    let error = #expect(throws: BehaviourError.self) { try rules.set(name, value) }
    #expect(error?.name == name)
    #expect(rules == GatewayRules())
  }

  @Test func `every check is in the standard order, once`() {
    #expect(Set(PushCheck.standardOrder) == Set(PushCheck.allCases))
    #expect(PushCheck.standardOrder.count == PushCheck.allCases.count)
  }
}
