// SPDX-License-Identifier: Apache-2.0

import Contract
import EventLoop
import Testing

@testable import Records

/// Payloads as they stand in requests.
@Suite struct PayloadTests {
  private let reader = RequestReader()

  private func request(
    _ payload: some Sequence<UInt8>, _ type: PushType, isBroadcast: Bool = false
  ) -> [UInt8] {
    let target = isBroadcast ? #""channel":"dHN0LXNyY2gtY2hubA==""# : #""token":"abcdef01""#
    let name = String(decoding: UnsafeRawBufferPointer(type.name), as: UTF8.self)
    let start = #"{"app":"com.example.app",\#(target),"type":"\#(name)","payload":"#
    return Array(start.utf8) + payload + [UInt8(ascii: "}")]
  }

  private func read(_ request: [UInt8]) throws(RequestError) {
    try request.withUnsafeBytes { bytes in
      Result { () throws(RequestError) in _ = try reader.read(bytes) }
    }.get()
  }

  /// What stands in a payload, whether the rules of its type take it or not.
  private func facts(_ text: String) -> PayloadFacts? {
    do throws(RequestError) {
      try read(request(text.utf8, .voip))
    } catch {
      if case .malformed = error.problem {
        Issue.record("\(text): \(error)")
        return nil
      }
    }
    return reader.facts
  }

  private func error(_ text: String, _ type: PushType, isBroadcast: Bool = false) -> RequestError? {
    do throws(RequestError) {
      try read(request(text.utf8, type, isBroadcast: isBroadcast))
      return nil
    } catch { return error }
  }

  private func problem(
    _ text: String, _ type: PushType, isBroadcast: Bool = false
  ) -> RequestError.Problem? {
    error(text, type, isBroadcast: isBroadcast)?.problem
  }

  /// The keys inside `aps`, and those inside `sound`.
  static let names: [(String, PayloadKey)] = [
    ("alert", .alert), ("badge", .badge), ("sound", .sound),
    ("content-available", .contentAvailable), ("mutable-content", .mutableContent),
    ("category", .category), ("content-changed", .contentChanged), ("timestamp", .timestamp),
    ("event", .event), ("content-state", .contentState), ("attributes-type", .attributesType),
    ("attributes", .attributes), ("input-push-token", .inputPushToken),
    ("input-push-channel", .inputPushChannel), ("stale-date", .staleDate),
    ("dismissal-date", .dismissalDate), ("relevance-score", .relevanceScore),
  ]

  static let values: [(String, PayloadValue)] = [
    ("null", .null), ("false", .no), ("true", .yes), ("0", .zero), ("-0", .zero), ("0.0", .zero),
    ("1", .one), ("1.0", .one), ("10e-1", .one), ("2", .count), ("2.0", .count),
    ("1795000000", .count), ("1e3", .count), ("-1", .negative), ("-0.5", .negative),
    ("0.5", .fraction), ("1.5", .decimal), ("1e400", .decimal), ("-1e400", .negative),
    ("\"x\"", .text), ("\"\"", .text), ("[]", .array), ("[1,{}]", .array), ("{}", .object),
    ("{\"a\":[]}", .object),
  ]

  @Test func `payloads show what stands at each key, whatever it is`() {
    for (name, key) in Self.names {
      for (text, value) in Self.values {
        for payload in [
          #"{"aps":{"\#(name)":\#(text)}}"#,
          #"{ "x" : [1] , "aps" : { "y":{} , "\#(name)" : \#(text) , "z":null } }"#,
        ] {
          guard let facts = facts(payload) else { continue }
          #expect(facts[.aps] == .object)
          #expect(facts[key] == value, "\(payload)")
          for other in PayloadKey.allCases where other != key && other != .aps {
            #expect(facts[other] == .absent, "\(payload) \(other)")
          }
        }
      }
    }
  }

  @Test func `payloads show the events by name, also where the name is escaped`() {
    let events: [(String, PayloadValue)] = [
      ("start", .start), ("update", .update), ("end", .end), ("Start", .text), ("", .text),
      ("\\u0065nd", .end),
    ]
    for (text, value) in events {
      #expect(facts(#"{"aps":{"event":"\#(text)"}}"#)?[.event] == value)
    }
    #expect(facts(#"{"aps":{"\u0065vent":"end"}}"#)?[.event] == .end)
  }

  @Test func `payloads are looked into at the objects of sound and alert`() {
    let sound = facts(#"{"aps":{"sound":{"critical":1,"name":"a.caf","volume":0.5,"x":[]}}}"#)
    #expect(sound?[.sound] == .object)
    #expect(sound?[.soundCritical] == .one)
    #expect(sound?[.soundName] == .text)
    #expect(sound?[.soundVolume] == .fraction)
    for (alert, isText) in [
      (#""hello""#, true), (#"{"title":"t"}"#, true), (#"{"subtitle":"t"}"#, true),
      (#"{"body":"b","x":{}}"#, true), (#"{"loc-key":"k"}"#, true),
      (#"{"title-loc-key":"k"}"#, true), (#"{"subtitle-loc-key":"k"}"#, true),
      (#"{"title":{"loc-key":"k"}}"#, true), (#"{"launch-image":"i"}"#, false), ("{}", false),
      (#"{"title":null}"#, false), ("null", false), (#""""#, false), (#"{"title":""}"#, false),
      (#"{"title":"","body":"b"}"#, true), (#"{"body":7}"#, false), (#"{"Title":"t"}"#, false),
    ] {
      #expect(facts("{\"aps\":{\"alert\":\(alert)}}")?.hasAlertText == isText, "\(alert)")
    }
  }

  @Test
  func `payloads know the interruption levels that there are, and times that count milliseconds`() {
    for (level, isOdd) in [
      ("\"passive\"", false), ("\"active\"", false), ("\"time-sensitive\"", false),
      ("\"critical\"", false), ("null", false), ("\"Active\"", true), ("\"urgent\"", true),
      ("1", true), ("{\"a\":1}", true),
    ] {
      let text = "{\"aps\":{\"alert\":\"x\",\"interruption-level\":\(level)}}"
      #expect(facts(text)?.hasOddLevel == isOdd, "\(level)")
      #expect(problem(text, .alert) == nil)
    }
    #expect(problem(#"{"aps":{"interruption-level":"a","interruption-level":"a"}}"#, .voip) != nil)
    #expect(problem(#"{"aps":{"alert":"x","interruption-level":"\x"}}"#, .alert) != nil)
    func update(_ name: String, _ time: String) -> RequestError.Problem? {
      let times = name == "timestamp" ? "" : "\"timestamp\":1795000000,"
      return problem("{\"aps\":{\(times)\"event\":\"end\",\"\(name)\":\(time)}}", .liveactivity)
    }
    for (name, key) in Self.names where [.timestamp, .staleDate, .dismissalDate].contains(key) {
      #expect(update(name, "1795000000") == nil)
      #expect(update(name, "1795000000.25") == nil)
      #expect(update(name, "1e-400") == nil)
      let long = "1" + String(repeating: "0", count: 400)
      for late in ["1795000000000", "1.795e12", "1795000000000.5", "1e400", long] {
        #expect(update(name, late) == .payload(key, .notSeconds))
      }
    }
  }

  /// What the rules say of a payload, by the type of its push.
  private func warnings(_ text: String, _ type: PushType = .alert) -> [String] {
    request(text.utf8, type).withUnsafeBytes { bytes in
      do throws(RequestError) {
        return try reader.read(bytes).warnings.all.map(\.code)
      } catch {
        Issue.record("\(text): \(error)")
        return []
      }
    }
  }

  @Test(arguments: [
    (#""alert":"""#, "empty-alert:aps.alert"),
    (#""alert":{}"#, "empty-alert:aps.alert"),
    (#""alert":{"title":"","body":null}"#, "empty-alert:aps.alert"),
    (#""alert":{"title":"t","body":7}"#, "wrong-type:aps.alert.body"),
    (#""alert":{"title":"t","body":{"loc-key":"k"}}"#, "wrong-type:aps.alert.body"),
    (#""alert":{"title":"t","subtitle":["s"]}"#, "wrong-type:aps.alert.subtitle"),
    (#""alert":{"title":"t","launch-image":1}"#, "wrong-type:aps.alert.launch-image"),
    (#""alert":{"loc-key":"k","loc-args":[1,2]}"#, "wrong-type:aps.alert.loc-args"),
    (#""alert":{"loc-key":"k","loc-args":["a",null]}"#, "wrong-type:aps.alert.loc-args"),
    (#""alert":{"loc-key":"k","loc-args":"a"}"#, "wrong-type:aps.alert.loc-args"),
    (
      #""alert":{"title-loc-key":"k","title-loc-args":[{}]}"#, "wrong-type:aps.alert.title-loc-args"
    ),
    (#""alert":{"title":"t","loc-args":["a"]}"#, "arguments-without-key:aps.alert.loc-args"),
    (#""alert":{"title":"t","titleLocArgs":["a"]}"#, "misspelled-key:aps.alert.title-loc-args"),
    (#""alert":{"title":"t","loc_key":"k"}"#, "misspelled-key:aps.alert.loc-key"),
    (#""alert":{"title":"t","sound":"s"}"#, "misplaced-key:aps.sound"),
    (#""alert":{"title":"t","threadId":"s"}"#, "misplaced-key:aps.thread-id"),
    (#""alert":"x","title":"t""#, "misplaced-key:aps.alert.title"),
    (#""alert":"x","loc-key":"t""#, "misplaced-key:aps.alert.loc-key"),
    (#""alert":"x","thread_id":"t""#, "misspelled-key:aps.thread-id"),
    (#""alert":"x","threadID":"t""#, "misspelled-key:aps.thread-id"),
    (#""alert":"x","thread-id":7"#, "wrong-type:aps.thread-id"),
    (#""alert":"x","target-content-id":[]"#, "wrong-type:aps.target-content-id"),
    (#""alert":"x","filter-criteria":{}"#, "wrong-type:aps.filter-criteria"),
    (#""alert":"x","url-args":"a""#, "wrong-type:aps.url-args"),
    (#""alert":"x","mutable_content":1"#, "misspelled-key:aps.mutable-content"),
    (#""alert":"x","mutable-content":"1""#, "wrong-type:aps.mutable-content"),
    (#""alert":"x","mutable-content":true"#, "wrong-type:aps.mutable-content"),
    (#""alert":"x","contentAvailable":1"#, "misspelled-key:aps.content-available"),
    (#""alert":"x","content-available":"1""#, "wrong-type:aps.content-available"),
    (#""alert":"x","content-available":true"#, "wrong-type:aps.content-available"),
    (#""alert":"x","Badge":1"#, "misspelled-key:aps.badge"),
    (#""alert":"x","interruptionLevel":"active""#, "misspelled-key:aps.interruption-level"),
    (
      #""alert":"x","interruption-level":"critical""#,
      "critical-without-sound:aps.interruption-level"
    ),
    (
      #""alert":"x","interruption-level":"critical","sound":{"critical":0}"#,
      "critical-without-sound:aps.interruption-level"
    ),
    (#""alert":"x","interruption-level":"loud""#, "unknown-level:aps.interruption-level"),
    (#""alert":"x","sound":{"critical":1,"Volume":1}"#, "misspelled-key:aps.sound.volume"),
    (#""badge":1,"category":"C""#, "category-without-alert:aps.category"),
    (#""alert":"x","category":7"#, "wrong-type:aps.category"),
    (#""alert":"x","relevance-score":"1""#, "score-out-of-range:aps.relevance-score"),
    (#""alert":"x","content-state":{}"#, "other-type:aps.content-state"),
  ])
  func `payloads with a mistake that devices ignore name it, and nothing else`(
    aps: String, code: String
  ) {
    #expect(warnings("{\"aps\":{\(aps)}}") == [code])
    #expect(warnings(#"{ "x" : [ 1 ] , "aps" : { \#(aps) , "own" : { } } }"#) == [code])
  }

  @Test func `payloads with members of aps beside it name them, and the app's own are free`() {
    for (member, name) in [
      (#""alert":"x""#, "alert"), (#""Sound":"x""#, "sound"), ("\"badge\":1", "badge"),
      ("\"content_available\":1", "content-available"), (#""threadId":"x""#, "thread-id"),
      ("\"mutable-content\":1", "mutable-content"),
    ] {
      let code = "outside-aps:aps.\(name)"
      #expect(warnings(#"{"aps":{"alert":"x"},\#(member)}"#) == [code])
      #expect(warnings(#"{\#(member),"aps":{"badge":1}}"#) == [code])
    }
    for member in [
      #""category":"x""#, #""title":"x""#, "\"alert\":null", "\"alerts\":1", "\"body\":1",
      #""event":"x""#, #""a":{"alert":1}"#, "\"content-availability-of-it\":1",
      "\"\(String(repeating: "-", count: 400))\":1",
      "\"thread-id-\(String(repeating: "x", count: 50))\":1",
    ] {
      #expect(warnings(#"{"aps":{"alert":"x"},\#(member)}"#).isEmpty, "\(member)")
      #expect(warnings(#"{"aps":{"alert":"x","own":1,"thread":2}}"#).isEmpty)
    }
  }

  @Test func `payloads of a Live Activity may have texts that are looked up`() {
    func update(_ more: String) -> [String] {
      warnings(
        #"{"aps":{"timestamp":1795000000,"event":"update","content-state":{},\#(more)}}"#,
        .liveactivity)
    }
    let alert = #""alert":{"title":{"loc-key":"k","loc-args":["a"]},"body":"b","sound":"s"}"#
    #expect(update(alert).isEmpty)
    #expect(update(#""stale_date":1795000000"#) == ["misspelled-key:aps.stale-date"])
    #expect(update(#""alert":{"title":7}"#) == ["wrong-type:aps.alert.title"])
    #expect(update(#""relevanceScore":7"#) == ["misspelled-key:aps.relevance-score"])
    #expect(
      warnings(#"{"aps":{"content-available":1},"alert":"x"}"#, .background) == [
        "outside-aps:aps.alert"
      ])
    #expect(warnings(#"{"aps":{"alert":"","thread_id":1},"alert":1}"#, .voip).isEmpty)
  }

  @Test func `payloads with a mistake are refused by a reader that is told so`() {
    let strict = RequestReader(refusesWarnings: true)
    func problem(_ text: String) -> String? {
      request(text.utf8, .alert).withUnsafeBytes { bytes in
        do throws(RequestError) {
          _ = try strict.read(bytes)
          return nil
        } catch { return error.description }
      }
    }
    #expect(problem(#"{"aps":{"alert":"x","thread-id":"y"}}"#) == nil)
    #expect(
      problem(#"{"aps":{"alert":"x","thread_id":"y"}}"#)
        == #"payload.aps.thread-id: is spelled in another way there, which devices ignore; the key is "thread-id" (misspelled-key, refused by --payload-rules refuse)"#
    )
  }

  @Test func `count the members of the top level, and find mdm there`() {
    #expect(facts("{}")?.members == 0)
    let facts = facts(#"{"mdm":"magic","a":{"b":1,"c":2}}"#)
    #expect(facts?.members == 2)
    #expect(facts?[.mdm] == .text)
    #expect(facts?[.aps] == .absent)
  }

  @Test func `payloads with a key twice in aps, known or not, are refused with its path (V14)`() {
    for (name, _) in Self.names + [("unknown", .aps), ("x", .aps)] {
      let text = #"{"aps":{"\#(name)":null,"other":1,"\#(name)":null}}"#
      #expect(problem(text, .voip) == .payloadDuplicate("payload.aps.\(name)"))
    }
    #expect(problem(#"{"aps":{},"aps":{}}"#, .voip) == .payloadDuplicate("payload.aps"))
    #expect(problem(#"{"mdm":"a","mdm":"a"}"#, .mdm) == .payloadDuplicate("payload.mdm"))
    let sound = #"{"aps":{"alert":"x","sound":{"critical":1,"critical":0}}}"#
    #expect(problem(sound, .alert) == .payloadDuplicate("payload.aps.sound.critical"))
    // An escaped spelling is the same key.
    let escaped = error(#"{"aps":{"x":1,"\u0078":2}}"#, .voip)
    #expect(escaped?.description.contains("is given twice") == true)
    // The app's own members are its own affair.
    #expect(problem(#"{"x":1,"x":2}"#, .voip) == nil)
  }

  @Test func `payloads with thousands of keys in aps are judged as any other`() {
    let keys = (0..<500).map { "\"k\($0)\":0" }.joined(separator: ",")
    #expect(problem("{\"aps\":{\(keys)}}", .voip) == nil)
    #expect(problem(#"{"aps":{\#(keys),"k7":1}}"#, .voip) == .payloadDuplicate("payload.aps.k7"))
  }

  @Test func `payloads may have keys in aps that no rule names`() {
    #expect(problem(#"{"aps":{"alert":"x","summary-arg":"y","future":{"a":1}}}"#, .alert) == nil)
  }

  @Test(arguments: [
    (
      #"{"aps":{"alert":{"title":"T","body":"B"},"sound":"default","badge":3,"mutable-content":1},"img":"u"}"#,
      PushType.alert
    ),
    (#"{"aps":{"content-available":1},"v":42}"#, .background),
    (
      #"{"aps":{"timestamp":1795000000,"event":"start","content-state":{"p":0},"attributes-type":"RideAttributes","attributes":{"id":"r1"},"alert":{"title":"Ride","body":"Started"},"input-push-token":1}}"#,
      .liveactivity
    ),
    (
      #"{"aps":{"timestamp":1795000060,"event":"update","content-state":{"p":40},"stale-date":1795000600,"relevance-score":80}}"#,
      .liveactivity
    ),
    (#"{"aps":{"content-changed":true}}"#, .widgets),
    (#"{"aps":{"content-changed":true}}"#, .controls),
    (#"{"mdm":"PushMagic"}"#, .mdm),
    (
      #"{"aps":{"timestamp":1795000000,"event":"start","attributes":{"id":"s1","title":"T","x":{"id":""}}}}"#,
      .nowplaying
    ),
    (#"{"aps":{"timestamp":1795000000.5,"event":"end","attributes":{"id":"s1"}}}"#, .nowplaying),
    (#"{"aps":{}}"#, .pushtotalk),
    (#"{"call":"c1"}"#, .voip),
    (#"{"container-identifier":"c","domain":"d"}"#, .fileprovider),
    (#"{"aps":{"alert":"x","sound":{"critical":1,"name":"siren.caf","volume":1.0}}}"#, .alert),
  ])
  func `of Apple's own examples pass`(text: String, type: PushType) {
    #expect(problem(text, type) == nil)
  }

  @Test func `payloads that are no JSON object are refused`() {
    for text in ["", " ", "[]", "7", "\"x\"", "null", "{", "{}x", "{} {}", "{\"a\":tru}"] {
      #expect(error(text, .voip)?.field == .payload, "\(text)")
    }
  }

  @Test func `payloads are bound by the limit of their kind`() {
    func text(_ bytes: Int) -> String {
      #"{"aps":{"timestamp":1,"event":"end"},"x":""# + String(repeating: "x", count: bytes - 44)
        + #""}"#
    }
    #expect(text(4_096).utf8.count == 4_096)
    #expect(problem(text(4_096), .liveactivity) == nil)
    #expect(problem(text(4_097), .liveactivity) == .tooLong(bytes: 4_097, limit: 4_096))
    #expect(problem(text(5_120), .liveactivity, isBroadcast: true) == nil)
    #expect(
      problem(text(5_121), .liveactivity, isBroadcast: true)
        == .tooLong(bytes: 5_121, limit: 5_120))
    #expect(problem(text(5_120), .voip) == nil)
    #expect(problem(text(5_121), .voip) != nil)
  }
}
