// SPDX-License-Identifier: Apache-2.0
import Contract
import Kafka
import Records
import ServiceKit
import Settings
import TestSupport
import Testing

@testable import OperatorCommand

/// Dead letters as the processes write them.
enum Letter {
  static let token = String(repeating: "0a1b2c3d", count: 8)
  static let id = "8f2c1c9e-0b5c-5d7e-9a3f-1f2e3d4c5b6a"
  static let request =
    #"{"app":"com.example.app","token":"\#(token)","payload":{"aps":{"alert":"x"},"n":1.0}}"#

  static func notification(
    lane: String = "transactional", expiration: String = "", target: String? = nil,
    more: [String] = []
  ) -> String {
    let isChannel = target != nil
    let fields =
      [
        "M2", lane, "production", "com.example.app",
        isChannel ? "com.example.app.push-type.liveactivity" : "com.example.app",
        isChannel ? "liveactivity" : "alert", "10", isChannel ? "0" : expiration, id,
        "1763686184123", "order-1", "3", "1763686184456", "InternalServerError",
      ] + (target.map { ["target=\($0)"] } ?? []) + more
    return fields.joined(separator: "\t") + "\n" + #"{"aps":{"alert":"x"}}"#
  }

  static func headers(
    _ stage: String, _ reason: String, origin: String, detail: String = "words", at: Int64 = 1_000,
    more: [(String, String)] = []
  ) -> [KafkaHeader] {
    let all = [
      ("martlet-reason", reason), ("martlet-detail", detail), ("martlet-stage", stage),
      ("martlet-attempts", "3"), ("martlet-origin", origin), ("martlet-at", "\(at)"),
    ]
    return (all + more).map { KafkaHeader($0.0, $0.1) }
  }

  static func entry(
    _ value: String?, _ stage: String, _ reason: String, origin: String, detail: String = "words",
    at: Int64 = 1_000, more: [(String, String)] = []
  ) -> DeadLetterEntry {
    DeadLetterEntry(
      partition: 2, offset: 9, timestamp: at, key: Array(token.utf8),
      value: value.map { Array($0.utf8) },
      headers: headers(stage, reason, origin: origin, detail: detail, at: at, more: more))
  }
}

@Suite struct MomentTextTests {
  @Test(
    arguments: [
      ("2h", 1_800_000_000_000 - 7_200_000), ("0", 1_800_000_000_000),
      ("1970-01-01T00:00:00Z", 0), ("1970-01-02", 86_400_000),
      ("2026-11-21T04:21:58Z", 1_795_234_918_000), ("2026-11-21T04:21:58.250Z", 1_795_234_918_250),
      ("2026-11-21T04:21Z", 1_795_234_860_000), ("2024-02-29", 1_709_164_800_000),
      ("0000-01-01", -62_167_219_200_000),
      ("2000-02-29", 951_782_400_000),
    ] as [(String, Int64)])
  func `a moment is a time, a date or a span ago`(text: String, expected: Int64) {
    #expect(MomentText.milliseconds(of: text, now: 1_800_000_000_000) == expected)
  }

  @Test(arguments: [
    "", "yesterday", "2026-13-01", "2026-02-29", "2026-11-31", "2026-11-21T04:21:58",
    "2026-11-21T24:00:00Z", "2026-11-21T04:60:00Z", "2026-11-21T04Z", "2026-11-21T04:21:58.2Z",
    "26-11-21", "2026-11-21Z", "-2h", "2h ago", "2026-1a-21", "2026-11-21T", "20240-2-29",
  ])
  func `other texts are no moment`(text: String) {
    #expect(MomentText.milliseconds(of: text, now: 0) == nil)
  }
}

@Suite struct DeadLetterFilterTests {
  private let parser = JSONParser()
  private let letter = Letter.entry(
    Letter.notification(), "sender", "retries_exhausted", origin: "push.notifications/3/17")
  private let bad = Letter.entry(
    Letter.request, "ingest", "invalid_request", origin: "push.requests/0/5", at: 2_000)

  private func filter(_ change: (inout DeadLetterFilter) -> Void) -> [Bool] {
    var filter = DeadLetterFilter()
    change(&filter)
    return [letter, bad].map { filter.matches($0, parser) }
  }

  @Test func `each condition lets its own dead letters pass`() {
    #expect(filter { _ in } == [true, true])
    #expect(filter { $0.reason = "retries_exhausted" } == [true, false])
    #expect(filter { $0.reason = "no_credential" } == [false, false])
    #expect(filter { $0.stage = "ingest" } == [false, true])
    #expect(filter { $0.app = "com.example.app" } == [true, true])
    #expect(filter { $0.app = "com.example.other" } == [false, false])
    #expect(filter { $0.since = 1_500 } == [false, true])
    #expect(filter { $0.since = 1_000 } == [true, true])
    #expect(filter { $0.until = 2_000 } == [true, false])
    #expect(filter { $0.topic = "push.notifications" } == [true, false])
    #expect(filter { $0.topic = "push.requests" } == [false, true])
  }

  @Test func `conditions add up`() {
    #expect(filter { ($0.stage, $0.reason) = ("ingest", "retries_exhausted") } == [false, false])
  }

  @Test func `an app is found in a request only where the request can be read`() {
    let broken = Letter.entry("not json", "ingest", "invalid_request", origin: "t/0/1")
    #expect(broken.app(parser) == nil)
    let empty = Letter.entry(nil, "ingest", "invalid_request", origin: "t/0/1")
    #expect(empty.app(parser) == nil)
  }

  @Test func `the flags are read, and what is no time is named`() throws {
    func read(_ flags: [String]) throws -> DeadLetterFilter {
      try DeadLettersListCommand.settings(DeadLettersListCommand.values(flags)).filter
    }
    let all = try read([
      "--reason", "no_credential", "--stage", "sender", "--app", "a.b", "--since", "1970-01-02",
      "--until", "1970-01-03", "--topic", "notifications.bulk", "--limit", "7",
    ])
    #expect(all.reason == "no_credential")
    #expect(all.stage == "sender")
    #expect(all.app == "a.b")
    #expect(all.since == 86_400_000)
    #expect(all.until == 172_800_000)
    #expect(all.topic == "push.notifications.bulk")
    #expect(all.limit == 7)
    for stage in DeadLetterStage.allCases {
      #expect(try read(["--stage", stage.rawValue]).stage == stage.rawValue)
    }
    #expect(throws: SettingErrors.self) { try read(["--since", "yesterday"]) }
    #expect(throws: SettingErrors.self) { try read(["--reason", "bad_mood"]) }
  }
}

@Suite struct ReplayPlanTests {
  private let planner = ReplayPlanner(TopicNames(), JSONParser())

  private func plan(
    _ value: String?, _ stage: String, _ reason: String = "invalid_request",
    origin: String = "push.requests/3/17", detail: String = "words", now: Int64 = 5_000,
    more: [(String, String)] = []
  ) -> ReplayPlan {
    planner.plan(
      Letter.entry(value, stage, reason, origin: origin, detail: detail, more: more), now: now)
  }

  private func value(_ plan: ReplayPlan) -> String? {
    guard case .send(_, _, let value?) = plan else { return nil }
    return String(decoding: value, as: UTF8.self)
  }

  @Test func `a request keeps its bytes, and the name that its place gave it`() {
    let named = #"{"id":"r1","app":"a","token":"ab","payload":{}}"#
    #expect(
      plan(named, "ingest")
        == .send(topic: "push.requests", key: Array(Letter.token.utf8), value: Array(named.utf8)))
    let nameless = #"{ "app":"a","payload":{ "x":1.0 }}"#
    #expect(
      value(plan(nameless, "ingest"))
        == #"{"id":"push.requests/3/17", "app":"a","payload":{ "x":1.0 }}"#)
    let own = #"{"apns_id":"x","app":"a"}"#
    #expect(value(plan(own, "ingest")) == own)
    #expect(value(plan("{ }", "ingest")) == #"{"id":"push.requests/3/17" }"#)
  }

  @Test
  func `of what was too large for its topic a request is handed in, and a notification sent`() {
    let request = #"{"id":"r1","app":"a","user":"ann","payload":{}}"#
    #expect(
      plan(request, "ingest", "record_too_large")
        == .send(topic: "push.requests", key: Array(Letter.token.utf8), value: Array(request.utf8)))
    let sent = plan(Letter.notification(), "ingest", "record_too_large")
    #expect(value(sent)?.hasPrefix("M2\ttransactional\t") == true)
    #expect(plan("S1\t1\t2\t\t\n{}", "ingest", "record_too_large") == .skip(.unreadable))
  }

  @Test(arguments: [
    "push.provider-tokens/0/1", "push.re quests/0/1", "a\u{0}b/0/1", "/0/1", "../0",
  ])
  func `a request goes to the topic of requests, whatever topic its origin names`(origin: String) {
    guard case .send(let topic, _, _) = plan("{\"x\":1}", "ingest", origin: origin) else {
      return #expect(Bool(false), "not replayed")
    }
    #expect(topic == "push.requests")
  }

  @Test func `of a good request only the token that was refused goes again`() throws {
    let request =
      #"{"app":"a.b","tokens":["\#(Letter.token)","xyz"],"payload":{"aps":{"badge":1.0},"z":"é"},"#
      + #""lane":"bulk","environment":"sandbox","priority":5,"expiration":0,"collapse_id":"c\"1","#
      + #""headers":{"apns-new-thing":"x\u0021"},"data":{ "k\u00e9" : "v\"" }}"#
    let again = plan(request, "ingest", "invalid_token", more: [("martlet-token", "xyz")])
    let text = try #require(value(again))
    #expect(text.contains(#""payload":{"aps":{"badge":1.0},"z":"é"}}"#))
    let document = try JSONDocument(text).root
    #expect(document["token"]?.string == "xyz")
    #expect(document["tokens"] == nil)
    #expect(document["id"]?.string == "push.requests/3/17")
    #expect(document["lane"]?.string == "bulk")
    #expect(document["environment"]?.string == "sandbox")
    #expect(document["priority"]?.int == 5)
    #expect(document["expiration"]?.int == 0)
    #expect(document["collapse_id"]?.string == #"c"1"#)
    #expect(document["headers"]?["apns-new-thing"]?.string == "x!")
    #expect(text.contains(#","data":{"k\u00e9":"v\""}"#))
    let named = #"{"id":"a\tb","app":"a.b","tokens":["ab","x"],"payload":{"aps":{"badge":1}}}"#
    let nameless = plan(
      request, "ingest", "invalid_token", origin: "nowhere", more: [("martlet-token", "xyz")])
    #expect(try JSONDocument(try #require(value(nameless))).root["id"] == nil)
    let kept = plan(named, "ingest", "invalid_token", more: [("martlet-token", "x")])
    #expect(value(kept)?.hasPrefix(#"{"app":"a.b","id":"a\tb","token":"x","#) == true)
    #expect(plan(named, "ingest", "invalid_token") == .skip(.unreadable))
  }

  @Test func `a notification is as new, with its id, its body and the dead letter it comes from`()
    throws
  {
    for lane in ["transactional", "bulk"] {
      let old = Letter.notification(lane: lane)
      let plan = plan(old, "sender", "retries_exhausted")
      guard case .send(let topic, let key, let bytes?) = plan else {
        Issue.record("\(plan)")
        continue
      }
      #expect(topic == (lane == "bulk" ? "push.notifications.bulk" : "push.notifications"))
      #expect(key == Array(Letter.token.utf8))
      let envelope = try Envelope.parse(bytes.span)
      #expect(envelope.attempt == 0)
      #expect(envelope.firstSeen == nil)
      #expect(envelope.created == 5_000)
      #expect(envelope.id == NotificationID(Letter.id))
      #expect(envelope.dedupKey != (try Envelope.parse(Array(old.utf8).span).dedupKey))
      bytes.withUnsafeBytes {
        #expect(envelope.carried(in: $0).bytes.elementsEqual("replay=2/9".utf8))
      }
      #expect(envelope.lastReason.isEmpty)
      #expect(String(decoding: bytes[envelope.requestID.indices], as: UTF8.self) == "order-1")
      #expect(
        String(decoding: bytes[envelope.bodyStart...], as: UTF8.self) == #"{"aps":{"alert":"x"}}"#)
    }
  }

  @Test
  func `what is carried stays, also of a later version; the mark is the new one`() throws {
    let more = ["zeta=", "apns-collapse-id=c", "replay=1/1", "later=a=b c", "apns-new-thing=x"]
    let again = plan(Letter.notification(more: more), "sender", "retries_exhausted")
    let line = try #require(value(again)).prefix { $0 != "\n" }
    #expect(
      line == "M2\ttransactional\tproduction\tcom.example.app\tcom.example.app\talert\t10\t\t"
        + "\(Letter.id)\t5000\torder-1\t\t\t\tzeta=\tapns-collapse-id=c\tlater=a=b c"
        + "\tapns-new-thing=x\treplay=2/9")
  }

  @Test func `a broadcast stays one`() throws {
    let again = plan(Letter.notification(target: "channel"), "sender", "no_credential")
    let text = try #require(value(again))
    #expect(try Envelope.parse(Array(text.utf8).span).target == .channel)
  }

  @Test func `a request whose id is null is named by its place, too`() throws {
    let plan = plan(#"{"id":null,"app":"a.b","token":"ab"}"#, "ingest", origin: "r/0/1")
    #expect(value(plan) == #"{"id":"r/0/1","id":null,"app":"a.b","token":"ab"}"#)
    let named = #"{"id":null,"id":"a","app":"a.b","token":"ab"}"#
    #expect(value(self.plan(named, "ingest", origin: "r/0/1")) == named)
  }

  @Test func `a dead letter that would end here again stays`() {
    #expect(plan("not json", "ingest") == .skip(.unreadable))
    #expect(plan(nil, "ingest") == .skip(.unreadable))
    #expect(plan("[]", "ingest") == .skip(.unreadable))
    #expect(plan("{}", "ingest", detail: "x (value cut to 65536 of 2000000 bytes)") == .skip(.cut))
    #expect(plan("garbage", "sender", "invalid_envelope") == .skip(.unreadable))
    #expect(
      plan(
        "{}", "feedback", origin: "push.devices/0/1",
        detail: "x (key cut to 65536 of 950000 bytes)") == .skip(.cut))
    // What a detail quotes is no remark.
    #expect(
      plan("{}", "ingest", detail: "(value cut to 65536 of 2 bytes) is no field") != .skip(.cut))
    #expect(plan(Letter.notification(expiration: "5"), "sender", now: 5_000) == .skip(.expired))
    #expect(value(plan(Letter.notification(expiration: "6"), "sender", now: 5_000)) != nil)
    #expect(value(plan(Letter.notification(expiration: "0"), "sender", now: 5_000)) != nil)
    #expect(plan("{}", "elsewhere") == .skip(.unknownStage))
    #expect(plan("{}", "feedback", origin: "other/0/1") == .skip(.unknownStage))
  }

  @Test(arguments: ["", "0a1b2", "xyz!"])
  func `a dead letter that ended for its key stays`(key: String) {
    let entry = DeadLetterEntry(
      partition: 2, offset: 9, timestamp: 1_000, key: Array(key.utf8),
      value: Array(Letter.notification().utf8),
      headers: Letter.headers("sender", "invalid_envelope", origin: "push.notifications/0/1"))
    #expect(planner.plan(entry, now: 5_000) == .skip(.unreadable))
  }

  @Test func `a dead letter of the scheduler or of feedback goes back to its topic`() {
    #expect(
      plan("S1", "scheduler", "invalid_schedule", origin: "push.schedule/0/1")
        == .send(topic: "push.schedule", key: Array(Letter.token.utf8), value: Array("S1".utf8)))
    #expect(plan("S1", "scheduler", origin: "push.devices/0/1") == .skip(.unknownStage))
    #expect(
      plan("{}", "feedback", "invalid_device", origin: "push.devices/0/1")
        == .send(topic: "push.devices", key: Array(Letter.token.utf8), value: Array("{}".utf8)))
    // A tombstone, which asks for a device to be forgotten, stays one.
    #expect(
      plan(nil, "feedback", "invalid_device", origin: "push.devices/0/1")
        == .send(topic: "push.devices", key: Array(Letter.token.utf8), value: nil))
  }
}
