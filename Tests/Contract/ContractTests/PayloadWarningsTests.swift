// SPDX-License-Identifier: Apache-2.0

import Contract
import Testing

@Suite struct PayloadWarningsTests {
  private func facts(
    _ values: [(PayloadKey, PayloadValue)], hasText: Bool = true,
    _ change: (inout PayloadFacts) -> Void = { _ in }
  ) -> PayloadFacts {
    var facts = PayloadFacts(members: 1, hasAlertText: hasText)
    facts[.aps] = .object
    for (key, value) in values { facts[key] = value }
    change(&facts)
    return facts
  }

  private func codes(_ facts: PayloadFacts, _ type: PushType = .alert) -> [String] {
    let warnings = PayloadWarnings(facts, type: type)
    #expect(warnings.isEmpty == warnings.all.isEmpty)
    return warnings.all.map(\.code)
  }

  private static let alert = (PayloadKey.alert, PayloadValue.object)

  @Test func `a correct alert has no warning, whatever it has besides`() {
    #expect(codes(facts([Self.alert])).isEmpty)
    #expect(
      codes(
        facts([
          Self.alert, (.badge, .zero), (.sound, .object), (.soundCritical, .one),
          (.contentAvailable, .one), (.mutableContent, .one), (.category, .text),
          (.relevanceScore, .fraction),
        ]) {
          $0.hasCriticalLevel = true
          $0.oddities.given = PayloadMembers(.title, .body, .bodyKey, .bodyArguments)
        }
      ).isEmpty)
  }

  @Test func `every kind of value is judged at every key that is judged by value`() {
    for value in PayloadValue.allCases {
      func codes(_ key: PayloadKey) -> [String] { self.codes(facts([Self.alert, (key, value)])) }
      let isOdd = value.isGiven && value != .zero && value != .one
      #expect(codes(.mutableContent) == (isOdd ? ["wrong-type:aps.mutable-content"] : []))
      #expect(codes(.contentAvailable) == (isOdd ? ["wrong-type:aps.content-available"] : []))
      let isShare = !value.isGiven || value.isShare
      #expect(codes(.relevanceScore) == (isShare ? [] : ["score-out-of-range:aps.relevance-score"]))
      let isText = !value.isGiven || value.isText
      #expect(codes(.category) == (isText ? [] : ["wrong-type:aps.category"]))
      for key in [PayloadKey.contentState, .event, .contentChanged, .staleDate] {
        #expect(codes(key).map { $0.hasPrefix("other-type:") } == (value.isGiven ? [true] : []))
      }
    }
  }

  @Test func `what one member lacks in another is named`() {
    let textless = facts([(.badge, .one), (.mutableContent, .one)], hasText: false)
    #expect(codes(textless) == ["mutable-content-without-text:aps.mutable-content"])
    let category = facts([(.badge, .one), (.category, .text)], hasText: false)
    #expect(codes(category) == ["category-without-alert:aps.category"])
    for value in [PayloadValue.text, .object] {
      #expect(codes(facts([(.alert, value)], hasText: false)) == ["empty-alert:aps.alert"])
    }
    for sound in [PayloadValue.absent, .text, .object] {
      let critical = facts([Self.alert, (.sound, sound)]) { $0.hasCriticalLevel = true }
      #expect(codes(critical) == ["critical-without-sound:aps.interruption-level"])
    }
    #expect(
      codes(facts([Self.alert]) { $0.hasOddLevel = true })
        == ["unknown-level:aps.interruption-level"])
    let pairs: [(PayloadMember, PayloadMember)] = [
      (.titleArguments, .titleKey), (.subtitleArguments, .subtitleKey), (.bodyArguments, .bodyKey),
    ]
    for (arguments, key) in pairs {
      #expect(
        codes(facts([Self.alert]) { $0.oddities.given.insert(arguments) })
          == ["arguments-without-key:\(arguments.place)"])
      #expect(
        codes(facts([Self.alert]) { $0.oddities.given = PayloadMembers(arguments, key) }).isEmpty)
    }
  }

  @Test func `what the parser saw is named for the types that have the member`() {
    for member in PayloadMember.allCases {
      func codes(_ type: PushType, _ set: WritableKeyPath<PayloadOddities, PayloadMembers>)
        -> [String]
      {
        var values = [Self.alert]
        if type == .background { values = [(.contentAvailable, .one)] }
        return self.codes(facts(values) { $0.oddities[keyPath: set].insert(member) }, type)
      }
      let isOfAlert =
        member.rawValue <= PayloadMember.urlArguments.rawValue
        || member.rawValue >= PayloadMember.title.rawValue
      #expect(codes(.alert, \.misspelled) == (isOfAlert ? ["misspelled-key:\(member.place)"] : []))
      #expect(codes(.alert, \.mistyped) == (isOfAlert ? ["wrong-type:\(member.place)"] : []))
      #expect(codes(.alert, \.misplaced) == (isOfAlert ? ["misplaced-key:\(member.place)"] : []))
      #expect(codes(.alert, \.outside) == (isOfAlert ? ["outside-aps:\(member.place)"] : []))
      #expect(codes(.voip, \.misspelled).isEmpty)
      let isOfActivity =
        (PayloadMember.staleDate.rawValue...PayloadMember.bodyArguments.rawValue)
        .contains(member.rawValue) && member != .contentChanged
        || member == .alert || member == .relevanceScore
      #expect(!codes(.liveactivity, \.misspelled).isEmpty == isOfActivity, "\(member)")
    }
    // Those of a Live Activity may be objects.
    let structured = facts([Self.alert]) { $0.oddities.structured.insert(.title) }
    #expect(codes(structured) == ["wrong-type:aps.alert.title"])
    #expect(codes(structured, .liveactivity).isEmpty)
  }

  @Test func `every rule and member has a name of its own, and words`() {
    #expect(Set(PayloadRule.allCases.map(\.name)).count == PayloadRule.allCases.count)
    #expect(Set(PayloadMember.allCases.map(\.place)).count == PayloadMember.allCases.count)
    for member in PayloadMember.allCases {
      #expect(member.path == "payload.\(member.home).\(member.key)")
      for rule in PayloadRule.allCases {
        let warning = PayloadWarning(rule, member)
        #expect(!warning.detail.isEmpty && warning.code == "\(rule.name):\(member.place)")
        let error = RequestError(.payload, .ineffective(warning))
        #expect(error.description.hasPrefix("\(member.path): \(warning.detail)"))
      }
    }
  }

  @Test func `the list for receipts is bounded, and is recognized`() {
    var all = facts([(.alert, .text), (.category, .count)], hasText: false)
    for member in PayloadMember.allCases {
      all.oddities.misspelled.insert(member)
      all.oddities.misplaced.insert(member)
    }
    let list = PayloadWarnings(all, type: .alert).listText
    #expect(list.utf8.count <= PayloadWarnings.longestList && list.utf8.count > 180)
    func isList(_ text: String) -> Bool { PayloadWarnings.isList(Array(text.utf8).span) }
    #expect(isList(list))
    for text in [#"["a"]"#, #"["a","b-c:d.e"]"#] { #expect(isList(text), "\(text)") }
    for text in [
      "", "[]", "[", "]", #"["a""#, #""a"]"#, #"[""]"#, #"["a",]"#, #"[,"a"]"#, #"["a""b"]"#,
      #"["a" ]"#, #"["A"]"#, #"["a\\"]"#, #"["a"b]"#, #"[a]"#, #"["a",,"b"]"#, "[\"a\tb\"]",
      "[\"\(String(repeating: "a", count: 240))\"]",
    ] { #expect(!isList(text), "\(text)") }
  }
}
