// SPDX-License-Identifier: Apache-2.0

import Contract
import Testing

/// Topics, lanes and outcomes.
@Suite struct RequestContractTests {
  @Test func `a group reads the topics of its work`() {
    let topics = TopicNames().all
    let read = Dictionary(grouping: topics) { $0.readerGroup ?? "" }.mapValues { $0.map(\.name) }
    #expect(read["martlet-ingest"] == ["push.requests", "push.campaign-requests"])
    #expect(read["martlet-sender"]?.count == 5)
    #expect(read["martlet-feedback"] == ["push.feedback", "push.devices"])
    #expect(read["martlet-signer"] == ["push.token-requests"])
    #expect(read["martlet-scheduler"] == ["push.schedule"])
  }

  @Test func `topic names carry a prefix of the user's choice`() {
    let names = TopicNames(prefix: "test-1.")
    #expect(names.all.allSatisfy { $0.name.hasPrefix("test-1.") })
    #expect(names.notifications(.bulk) == "test-1.notifications.bulk")
    #expect(names.retries == ["5s", "1m", "15m"].map { "test-1.retries.\($0)" })
  }

  @Test func `outcomes and tiers are read back from what they print`() {
    for outcome in Outcome.allCases { #expect(Outcome(outcome.description.utf8.span) == outcome) }
    #expect(Outcome("lost".utf8.span) == nil)
    #expect(RetryTier.allCases.map(\.delay) == [5_000, 60_000, 900_000])
  }
}

@Suite struct RequestRulesTests {
  private func problem(_ body: () throws(RequestError) -> Void) -> RequestError.Problem? {
    do throws(RequestError) {
      try body()
      return nil
    } catch { return error.problem }
  }

  @Test func `the rules accept names made of letters, digits, dots, hyphens and underscores`() {
    func check(_ name: String) -> RequestError.Problem? {
      problem { () throws(RequestError) in try RequestRules.checkName(name.utf8.span, .app) }
    }
    #expect(check("com.example.App-2_x") == nil)
    #expect(check("") == .emptyText)
    for (bad, character, place) in [
      ("com example", "a blank", 3), ("a\tb", "U+0009", 1), ("a/b", "\"/\"", 1),
      ("é", "\"é\"", 0), ("a\u{0}", "U+0000", 1), ("a\u{202E}", "U+202E", 1),
    ] {
      #expect(check(bad) == .forbiddenCharacter(character, at: place))
    }
    #expect(check(String(repeating: "a", count: 256)) == .tooLong(bytes: 256, limit: 255))
  }

  @Test func `the rules hold a topic to the bundle id and the suffix of its type`() {
    func check(_ topic: String, _ type: PushType) -> RequestError.Problem? {
      problem { () throws(RequestError) in
        try RequestRules.checkTopic(topic.utf8.span, app: "com.example.app".utf8.span, type: type)
      }
    }
    for type in PushType.allCases {
      #expect(check("com.example.app" + type.topicSuffix.description, type) == nil)
    }
    #expect(
      check("com.example.app.voip", .alert) == .topicDoesNotMatch(expected: "com.example.app"))
    #expect(check("com.example.app", .voip) == .topicDoesNotMatch(expected: "com.example.app.voip"))
    #expect(check("com.example.apq.voip", .voip) != nil)
    #expect(check("com.apple.mgmt.External.1f", .mdm) == nil)
  }

  @Test func `bound ids, collapse ids, priorities, expirations and payloads`() {
    func id(_ count: Int) -> RequestError.Problem? {
      let text = String(repeating: "i", count: count)
      return problem { () throws(RequestError) in try RequestRules.checkID(text.utf8.span) }
    }
    #expect(id(0) == .emptyText)
    #expect(id(128) == nil)
    #expect(id(129) == .tooLong(bytes: 129, limit: 128))
    func collapse(_ text: String) -> RequestError.Problem? {
      problem { () throws(RequestError) in
        try RequestRules.checkText(text.utf8.span, .collapseID, most: 64)
      }
    }
    #expect(collapse("daily offer é") == nil)
    #expect(collapse("") == .emptyText)
    for (bad, character, place) in [
      (" a", "a blank", 0), ("a ", "a blank", 1), ("a\nb", "U+000A", 1), ("a\tb", "U+0009", 1),
      ("\u{7F}", "U+007F", 0), ("a\u{85}", "U+0085", 1), ("\u{9F}b", "U+009F", 0),
    ] {
      #expect(collapse(bad) == .forbiddenCharacter(character, at: place))
    }
    #expect(collapse("a\u{A0}b") == nil)
    #expect(collapse(String(repeating: "c", count: 64)) == nil)
    #expect(collapse(String(repeating: "c", count: 65)) == .tooLong(bytes: 65, limit: 64))
    func expiration(_ seconds: Int64) -> RequestError.Problem? {
      problem { () throws(RequestError) in try RequestRules.checkExpiration(seconds) }
    }
    #expect(expiration(0) == nil)
    #expect(expiration(-1) == .negative)
    #expect(expiration(300) == .notATime(300) && expiration(999_999_999) == .notATime(999_999_999))
    #expect(expiration(1_000_000_000) == nil)
    let words = "\(RequestError(.expiration, .notATime(300)))"
    #expect(
      words
        == "expiration: 300 is a time in 1970; a number of seconds from the request on goes in expires_in"
    )
    #expect(expiration(1_795_224_000_000) == .notSeconds(1_795_224_000_000))
    func expiresIn(_ seconds: Int64) -> RequestError.Problem? {
      problem { () throws(RequestError) in try RequestRules.checkExpiresIn(seconds) }
    }
    #expect(expiresIn(0) == nil && expiresIn(31_536_000) == nil)
    #expect(expiresIn(-1) == .notDuration(-1, limit: 31_536_000))
    #expect(expiresIn(1_795_224_000) == .notDuration(1_795_224_000, limit: 31_536_000))
    #expect(RequestRules.expiration(in: 60, created: 1_795_224_000_000) == 1_795_224_060)
    #expect(RequestRules.expiration(in: 60, created: 1_795_224_000_001) == 1_795_224_061)
    #expect(RequestRules.expiration(in: 0, created: 1_795_224_000_001) == 0)
    func payload(_ bytes: Int, _ type: PushType) -> RequestError.Problem? {
      problem { () throws(RequestError) in try RequestRules.checkPayload(bytes, type: type) }
    }
    #expect(payload(4_096, .alert) == nil)
    #expect(payload(4_097, .alert) == .tooLong(bytes: 4_097, limit: 4_096))
    #expect(payload(5_120, .voip) == nil)
  }

  @Test func `violations of the rules are messages that name the field`() {
    let error = RequestError(.priority, .priorityNotAllowed(7, .alert, [10, 5, 1]), offset: 12)
    #expect(
      error.description == "priority: 7 is not allowed for type alert; use 10 or 5 or 1 (byte 12)")
    #expect(
      RequestError(nil, .unknownField("colour")).description
        == "colour: is not a field of a request")
    #expect(RequestError(nil, .empty).description == "request: is empty")
  }
}
