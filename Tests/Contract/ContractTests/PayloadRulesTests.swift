// SPDX-License-Identifier: Apache-2.0

import Contract
import Testing

@Suite struct PayloadRulesTests {
  /// What is wrong, as a dead letter says it; nil for a payload that passes.
  private func problem(
    _ facts: PayloadFacts, _ type: PushType, isBroadcast: Bool = false, isPass: Bool = false
  ) -> String? {
    do throws(RequestError) {
      try PayloadRules.check(facts, type: type, isBroadcast: isBroadcast, isPass: isPass)
      return nil
    } catch { return error.description }
  }

  private func facts(_ values: [(PayloadKey, PayloadValue)]) -> PayloadFacts {
    var facts = PayloadFacts(members: 1)
    facts[.aps] = .object
    for (key, value) in values { facts[key] = value }
    return facts
  }

  /// Expects exactly these values of a key to pass, all others to be refused at its path.
  private func expectOnly(
    _ allowed: Set<PayloadValue>, at key: PayloadKey, _ type: PushType,
    in rest: [(PayloadKey, PayloadValue)], isBroadcast: Bool = false
  ) {
    for value in PayloadValue.allCases {
      let found = problem(facts(rest + [(key, value)]), type, isBroadcast: isBroadcast)
      if allowed.contains(value) {
        #expect(found == nil, "\(key) \(value)")
      } else {
        #expect(found?.hasPrefix("\(key.path): ") == true, "\(key) \(value): \(found ?? "passed")")
      }
    }
  }

  private static let texts: Set<PayloadValue> = [.text, .start, .update, .end]
  private static let nothing: Set<PayloadValue> = [.absent, .null]
  private static let times: Set<PayloadValue> = [.zero, .one, .count, .fraction, .decimal]

  @Test func `the rules keep every value of every key apart from the others`() {
    for key in PayloadKey.allCases {
      for value in PayloadValue.allCases {
        var facts = PayloadFacts()
        facts[key] = .end
        facts[key] = value
        for other in PayloadKey.allCases {
          #expect(facts[other] == (other == key ? value : .absent))
        }
      }
    }
  }

  // MARK: alert

  @Test func `the rules let an alert pass with a text, a badge or a sound, and not with none (V3)`()
  {
    #expect(problem(facts([(.alert, .text)]), .alert) == nil)
    #expect(problem(facts([(.alert, .object)]), .alert) == nil)
    #expect(problem(facts([(.badge, .zero)]), .alert) == nil)
    #expect(problem(facts([(.sound, .text)]), .alert) == nil)
    for rest in [[], [(PayloadKey.alert, PayloadValue.null)], [(.contentAvailable, .one)]] {
      let found = problem(facts(rest), .alert)
      #expect(found?.hasPrefix("payload.aps: has none of alert, badge and sound") == true)
    }
    #expect(problem(PayloadFacts(), .alert) == "payload.aps: is required for type alert")
    var text = PayloadFacts()
    text[.aps] = .text
    #expect(problem(text, .alert) == "payload.aps: must be an object for type alert")
  }

  @Test func `the rules let the pushes of a Wallet pass be empty`() {
    #expect(problem(PayloadFacts(), .alert, isPass: true) == nil)
    #expect(problem(facts([]), .alert, isPass: true) == nil)
    #expect(problem(facts([(.badge, .text)]), .alert, isPass: true) != nil)
  }

  @Test func `the rules hold alert and badge to their types`() {
    expectOnly(
      Self.texts.union(Self.nothing).union([.object]), at: .alert, .alert, in: [(.badge, .one)])
    expectOnly(
      Self.nothing.union([.zero, .one, .count]), at: .badge, .alert, in: [(.alert, .text)])
  }

  @Test func `the rules let an alert wake the app as well (V4)`() {
    #expect(problem(facts([(.alert, .text), (.contentAvailable, .one)]), .alert) == nil)
  }

  @Test func `the rules take a sound by name, or as the object of a critical alert (V7)`() {
    let alert = (PayloadKey.alert, PayloadValue.text)
    expectOnly(Self.texts.union(Self.nothing), at: .sound, .alert, in: [alert], except: .object)
    let sound = [alert, (PayloadKey.sound, PayloadValue.object)]
    expectOnly([.zero, .one], at: .soundCritical, .alert, in: sound)
    let critical = sound + [(.soundCritical, .one)]
    expectOnly(Self.texts.union(Self.nothing), at: .soundName, .alert, in: critical)
    expectOnly(
      Self.nothing.union([.zero, .one, .fraction]), at: .soundVolume, .alert, in: critical)
  }

  private func expectOnly(
    _ allowed: Set<PayloadValue>, at key: PayloadKey, _ type: PushType,
    in rest: [(PayloadKey, PayloadValue)], except other: PayloadValue
  ) {
    for value in PayloadValue.allCases where value != other {
      let found = problem(facts(rest + [(key, value)]), type)
      #expect((found == nil) == allowed.contains(value), "\(key) \(value): \(found ?? "passed")")
    }
  }

  @Test func `the rules name the type that a payload without one most likely is of`() {
    func cure(_ values: [(PayloadKey, PayloadValue)]) -> String {
      problem(facts(values), .alert) ?? ""
    }
    #expect(cure([(.contentAvailable, .one)]).hasSuffix(#"add "type":"background" to the request"#))
    #expect(cure([(.contentAvailable, .text)]).contains(#""type":"background""#))
    #expect(
      cure([(.contentChanged, .yes)]).hasSuffix(
        #"add "type":"widgets" or "type":"controls" to the request"#))
    #expect(
      cure([(.event, .update), (.contentState, .object)]).contains(#""type":"liveactivity""#))
    #expect(cure([(.event, .start), (.attributesID, .text)]).contains(#""type":"nowplaying""#))
    var device = PayloadFacts(members: 1)
    device[.mdm] = .text
    #expect(problem(device, .alert)?.contains(#""type":"mdm""#) == true)
    var misspelled = facts([])
    misspelled.oddities.misspelled.insert(.contentAvailable)
    #expect(problem(misspelled, .alert)?.contains(#""type":"background""#) == true)
    #expect(
      problem(misspelled, .background)
        == #"payload.aps.content-available: is required for type background; the key there is spelled in another way: write "content-available""#
    )
  }

  // MARK: background

  @Test func `the rules want content-available 1 of a background push and nothing to show (V2)`() {
    expectOnly([.one], at: .contentAvailable, .background, in: [])
    for key in [PayloadKey.alert, .badge, .sound] {
      for value in PayloadValue.allCases {
        let found = problem(facts([(.contentAvailable, .one), (key, value)]), .background)
        let wanted = value.isGiven ? "\(key.path): is not allowed for type background" : nil
        #expect(found == wanted)
      }
    }
    #expect(problem(PayloadFacts(), .background) == "payload.aps: is required for type background")
  }

  // MARK: Live Activities

  private static let update: [(PayloadKey, PayloadValue)] = [
    (.timestamp, .count), (.event, .update), (.contentState, .object),
  ]
  private static let start: [(PayloadKey, PayloadValue)] = [
    (.timestamp, .count), (.event, .start), (.contentState, .object), (.alert, .object),
    (.attributesType, .text), (.attributes, .object),
  ]

  @Test func `the rules want timestamp, event and content-state of a Live Activity (V8)`() {
    #expect(problem(facts(Self.update), .liveactivity) == nil)
    expectOnly(Self.times, at: .timestamp, .liveactivity, in: Self.update)
    expectOnly([.update, .end], at: .event, .liveactivity, in: Self.update, refused: .start)
    expectOnly([.object], at: .contentState, .liveactivity, in: Self.update)
    // With the end it is only advised.
    let end = [(PayloadKey.timestamp, PayloadValue.count), (.event, .end)]
    expectOnly(Self.nothing.union([.object]), at: .contentState, .liveactivity, in: end)
    expectOnly(Self.times.union(Self.nothing), at: .staleDate, .liveactivity, in: end)
    expectOnly(Self.times.union(Self.nothing), at: .dismissalDate, .liveactivity, in: end)
    expectOnly(
      Self.times.union(Self.nothing).union([.negative]), at: .relevanceScore, .liveactivity,
      in: end)
    #expect(problem(PayloadFacts(), .liveactivity)?.hasPrefix("payload.aps: is required") == true)
  }

  /// As above for `event`, whose value `start` is refused for what else it needs.
  private func expectOnly(
    _ allowed: Set<PayloadValue>, at key: PayloadKey, _ type: PushType,
    in rest: [(PayloadKey, PayloadValue)], refused: PayloadValue
  ) {
    for value in PayloadValue.allCases {
      let found = problem(facts(rest + [(key, value)]), type)
      let path = value == refused ? "payload.aps.alert: " : "\(key.path): "
      #expect(allowed.contains(value) ? found == nil : found?.hasPrefix(path) == true, "\(value)")
    }
  }

  @Test func `the rules want alert, attributes-type and attributes of a start (V8)`() {
    let type = PushType.liveactivity
    #expect(problem(facts(Self.start), type) == nil)
    expectOnly(Self.texts.union([.object]), at: .alert, type, in: Self.start)
    expectOnly(Self.texts, at: .attributesType, type, in: Self.start)
    expectOnly([.object], at: .attributes, type, in: Self.start)
    expectOnly(Self.nothing.union([.one]), at: .inputPushToken, type, in: Self.start)
    expectOnly(Self.nothing.union(Self.texts), at: .inputPushChannel, type, in: Self.start)
    let both = Self.start + [(.inputPushToken, .one), (.inputPushChannel, .text)]
    #expect(problem(facts(both), type)?.hasPrefix("payload.aps.input-push-channel: ") == true)
    for key in [PayloadKey.inputPushToken, .inputPushChannel] {
      let found = problem(facts(Self.update + [(key, .one)]), type)
      #expect(found == "\(key.path): is only allowed with event start")
    }
  }

  @Test func `the rules start no Live Activity by broadcast (V8)`() {
    let type = PushType.liveactivity
    #expect(problem(facts(Self.update), type, isBroadcast: true) == nil)
    #expect(problem(facts(Self.update + [(.event, .end)]), type, isBroadcast: true) == nil)
    let found = problem(facts(Self.start), type, isBroadcast: true)
    #expect(found?.hasPrefix("payload.aps.event: must be update or end on a channel") == true)
  }

  // MARK: The other types

  @Test(arguments: [PushType.widgets, .controls])
  func `the rules want content-changed of widgets and controls (V9)`(type: PushType) {
    expectOnly([.yes], at: .contentChanged, type, in: [])
    #expect(problem(PayloadFacts(), type) == "payload.aps: is required for type \(type)")
  }

  @Test func `the rules want a time, an event and a named session of a media push`() {
    let whole: [(PayloadKey, PayloadValue)] = [
      (.timestamp, .count), (.event, .start), (.attributes, .object), (.attributesID, .text),
    ]
    #expect(problem(facts(whole), .nowplaying) == nil)
    for event in [PayloadValue.update, .end] {
      #expect(problem(facts(whole + [(.event, event)]), .nowplaying) == nil)
    }
    for (key, _) in whole {
      let found = problem(facts(whole + [(key, .null)]), .nowplaying)
      #expect(found == "\(key): is required for type nowplaying")
    }
    for (key, words) in [
      (PayloadKey.timestamp, "a time in epoch seconds"), (.event, "start, update or end"),
      (.attributes, "an object"), (.attributesID, "a string"),
    ] {
      let found = problem(facts(whole + [(key, .array)]), .nowplaying)
      #expect(found == "\(key): must be \(words) for type nowplaying")
    }
  }

  @Test func `the rules want exactly one text of a device management push (V10)`() {
    var facts = PayloadFacts(members: 1)
    for value in PayloadValue.allCases {
      facts[.mdm] = value
      let found = problem(facts, .mdm)
      #expect(value.isText ? found == nil : found?.hasPrefix("payload.mdm: ") == true, "\(value)")
    }
    facts[.mdm] = .text
    facts.members = 2
    #expect(
      problem(facts, .mdm) == "payload.mdm: must be the only member of the payload for type mdm")
  }

  @Test(arguments: [PushType.location, .voip, .complication, .fileprovider, .pushtotalk])
  func `the rules leave the app's own bodies alone, but an aps is an object`(type: PushType) {
    #expect(problem(PayloadFacts(), type) == nil)
    #expect(problem(facts([]), type) == nil)
    #expect(problem(facts([(.sound, .count), (.badge, .text)]), type) == nil)
    for value in PayloadValue.allCases where value.isGiven && value != .object {
      var facts = PayloadFacts(members: 1)
      facts[.aps] = value
      #expect(problem(facts, type) == "payload.aps: must be an object for type \(type)")
    }
  }
}
