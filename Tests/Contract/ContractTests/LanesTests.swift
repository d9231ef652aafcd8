// SPDX-License-Identifier: Apache-2.0
import Contract
import Testing

@Suite struct LanesTests {
  private func rule(
    _ name: String, weight: Int32 = 1, maxAge: Int64 = 86_400_000, reserved: Int = 0
  ) -> Lanes.Rule {
    Lanes.Rule(name, weight: weight, maxAge: maxAge, reserved: reserved)
  }

  private func problem(_ rules: [Lanes.Rule]) -> String? {
    do throws(Lanes.Problem) {
      _ = try Lanes(rules)
      return nil
    } catch {
      return error.text
    }
  }

  @Test func `a lane is found by its whole name, up to sixteen bytes, and by nothing else`() throws
  {
    let names = ["a", "ab", "abcdefgh", "abcdefgh1", "abcdefghijklmnop", "a-b", "0", "b"]
    let lanes = try Lanes(names.map { rule($0) })
    for (place, name) in names.enumerated() {
      #expect(lanes.find(name) == Lane(place: UInt8(place)))
      #expect(lanes.name(Lane(place: UInt8(place))) == name)
      #expect(lanes.find(name + "q") == nil)
    }
    for other in ["", "A", "abc", "abcdefghijklmnopq", "a\0", "transactional"] {
      #expect(lanes.find(other) == nil, "\(other)")
    }
    #expect(lanes.all.map(\.place) == Array(0..<8))
  }

  @Test func `a list that cannot be used says what is wrong with it`() {
    #expect(problem([]) == "must be 1 to 8 lanes")
    #expect(problem((0..<9).map { rule("lane-\($0)") }) == "must be 1 to 8 lanes")
    #expect(problem([rule("a"), rule("a")]) == "a is given twice")
    for name in ["", "A", "a_b", "a b", "lane-of-17-bytes-"] {
      #expect(problem([rule(name)]) == "\"\(name)\" is not 1 to 16 of a-z, 0-9 and hyphen")
    }
    #expect(problem([rule("production")]) == "production is an environment")
    #expect(problem([rule("retries")]) == "retries are those of all lanes")
    for weight: Int32 in [0, -1, 1_001] {
      #expect(problem([rule("a", weight: weight)]) == "the weight must be 1 to 1000")
    }
    for reserved in [-1, 91] {
      #expect(problem([rule("a", reserved: reserved)]) == "the reserved share must be 0% to 90%")
    }
    #expect(
      problem([rule("a", reserved: 50), rule("b", reserved: 41)])
        == "reserves more than 90% of the streams")
    #expect(problem([rule("a", reserved: 50), rule("b", reserved: 40)]) == nil)
  }

  @Test func `a lane whose notifications would be too old for a retry topic is refused`() throws {
    #expect(throws: Lanes.Problem.self) {
      try Lanes([rule("a"), rule("b", maxAge: RetryTier.longest.delay - 1)]).checkAges()
    }
    try Lanes([rule("a", maxAge: RetryTier.longest.delay)]).checkAges()
    try Lanes.standard.checkAges()
  }

  @Test func `whoever only looks at records takes any name`() {
    #expect(Lanes.any.find("anything-else") == .first)
    #expect(Lanes.any.find("Not a name") == nil)
    #expect(Lanes.any.find("") == nil)
  }

  @Test func `the first lane's topic has no name behind it, and each other one's has`() throws {
    let names = TopicNames(
      prefix: "p.", lanes: try Lanes([rule("code"), rule("news"), rule("sale")]))
    #expect(
      names.notifications == ["p.notifications", "p.notifications.news", "p.notifications.sale"])
    #expect(names.all.map(\.name).filter { $0.contains("notifications") } == names.notifications)
    #expect(names.all.count == TopicNames(prefix: "p.").all.count + 1)
    // Also for who does not know the lanes.
    let others = TopicNames(prefix: "p.")
    #expect(names.notifications.allSatisfy(others.isOfLane))
    #expect(names.all.allSatisfy { others.isOwn($0.name) } && others.isOwn("p.retries.1h"))
    for topic in ["p.notificationsx", "notifications", "p.", "p.vips", "q.requests"] {
      #expect(!others.isOfLane(topic) && !others.isOwn(topic), "\(topic)")
    }
  }

  @Test func `tiers go from the shortest to the longest, each step once`() {
    #expect(RetryTier.shortest.previous == nil && RetryTier.longest.next == .longest)
    var tiers = [RetryTier.shortest]
    while tiers[tiers.count - 1] != .longest { tiers.append(tiers[tiers.count - 1].next) }
    #expect(tiers == RetryTier.allCases)
    #expect(RetryTier.fitting(0) == .shortest && RetryTier.fitting(.max) == .longest)
    for tier in tiers { #expect(RetryTier.fitting(tier.delay) == tier) }
  }
}
