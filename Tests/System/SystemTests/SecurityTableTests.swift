// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Kafka
import Records
import SenderDecisions
import TestSupport
import Testing

/// SECURITY.md, "Rights in Kafka": what whoever may write a topic can do there, and that each topic has a row.
@Suite(.serialized) struct SecurityTableTests {
  private static let app = "com.example.app"

  /// The topics in the first column of the table; `*` stands for any ending.
  private static func rows() throws -> [String] {
    let text = try Repository.text("SECURITY.md")
    let lines = text.split(separator: "\n").drop { !$0.hasPrefix("| topic | who may write it can") }
    return lines.dropFirst(2).prefix { $0.hasPrefix("|") }.flatMap { line in
      let cell = line.split(separator: "|")[0]
      return cell.split(separator: "`").filter { $0.hasPrefix("push.") }.map(String.init)
    }
  }

  @Test func `each topic has a row, and each row a topic`() throws {
    let rows = try Self.rows()
    func covers(_ row: String, _ topic: String) -> Bool {
      row.hasSuffix("*") ? topic.hasPrefix(row.dropLast()) : row == topic
    }
    // With lanes of somebody's own.
    let lanes = try Lanes(["a", "b", "c"].map { .init($0, weight: 1, maxAge: 3_600_000) })
    for lanes in [Lanes.standard, lanes] {
      let topics = TopicNames(lanes: lanes).all.map(\.name)
      for topic in topics { #expect(rows.contains { covers($0, topic) }, "\(topic) has no row") }
      for row in rows { #expect(topics.contains { covers(row, $0) }, "\(row) is no topic") }
    }
    #expect(Set(rows).count == rows.count)
  }

  // MARK: What a writer can do

  private let rig: PipelineRig
  private var database: String { rig.folder.file("tokens.sqlite") }

  init() throws { rig = try PipelineRig() }

  private func write(
    _ topic: String, _ key: String, _ value: String?, _ headers: [KafkaHeader] = []
  ) throws {
    let producer = try KafkaProducer(rig.configuration)
    defer { producer.close() }
    let result = producer.produce(
      try producer.topic(named: topic), key: Array(key.utf8), value: value.map { Array($0.utf8) },
      headers: headers, tag: 0)
    guard case .queued = result else { throw KafkaFixtureTimeout() }
    try #require(producer.flush(timeoutMilliseconds: 30_000))
  }

  private static func request(_ id: String, _ target: String, more: String = "") -> String {
    #"{"id":"\#(id)","app":"\#(app)",\#(target),"payload":{"aps":{"alert":"x"}}\#(more)}"#
  }

  private func send(_ id: String, to target: String, more: String = "") throws {
    try write(rig.names.requests, id, Self.request(id, target, more: more))
  }

  private static func token(_ number: Int) -> String { #""token":"\#(PipelineRig.token(number))""# }

  private static func device(_ number: Int, _ more: String) -> String {
    #"{\#(token(number)),"app":"\#(app)","environment":"production"\#(more)}"#
  }

  private static func deviceKey(_ number: Int) -> String {
    "\(PipelineRig.token(number)):\(app):production"
  }

  private static func envelope(_ number: Int, _ id: String, lane: String, retry: String) -> String {
    "M2\t\(lane)\tproduction\t\(app)\t\(app)\talert\t10\t\t\(PipelineRig.id(number))\t"
      + "\(WallClock.milliseconds())\t\(id)\t\(retry)\n{\"aps\":{}}"
  }

  /// The outcomes of a request, once there are some.
  private func outcomes(
    _ id: String, withinMilliseconds limit: UInt64 = 60_000
  ) throws -> [String] {
    var found: [String] = []
    _ = try rig.read(
      rig.names.receipts, withinMilliseconds: limit,
      { record in
        for line in (record.value ?? "").split(separator: "\n") {
          guard let receipt = try? JSONDocument(String(line)).root, receipt["id"]?.string == id,
            let outcome = receipt["outcome"]?.string
          else { continue }
          found.append(outcome)
        }
      }, until: { found.contains { $0 != "addressed" } })
    return found
  }

  private func records(_ topic: String, _ key: String) throws -> Int {
    var count = 0
    try rig.configuration.read(
      topic, { if $0.key.elementsEqual(key.utf8) { count += 1 } }, until: { $0.isCaughtUp })
    return count
  }

  @Test func `whoever may write a topic can do there what its row says`() throws {
    try rig.startSimulator()
    try rig.startServices()
    try rig.start(
      "martlet-scheduler",
      ["--database", rig.folder.file("schedule.sqlite"), "--devices", database])
    try rig.awaitServices()
    let claims: [(topics: [String], show: () throws -> Void)] = [
      ([rig.names.requests], requests), ([rig.names.campaignRequests], campaignRequests),
      (rig.names.notifications, notifications),
      (rig.names.retries, retries), ([rig.names.providerTokens], providerTokens),
      ([rig.names.tokenRequests], tokenRequests), ([rig.names.controls], controls),
      ([rig.names.schedule, rig.names.audiences], schedule), ([rig.names.receipts], receipts),
      ([rig.names.feedback], feedback), ([rig.names.devices], devices),
      ([rig.names.invalidTokens], invalidTokens), ([rig.names.deadLetters], deadLetters),
    ]
    #expect(Set(claims.flatMap(\.topics)) == Set(rig.names.all.map(\.name)))
    for claim in claims { try claim.show() }
    rig.stop()
  }

  private func requests() throws {
    try send("r1", to: Self.token(1))
    #expect(try outcomes("r1") == ["delivered"])
    // Another's request id.
    try send("r1", to: Self.token(1))
    try expectEventually { try outcomes("r1").contains("deduplicated") }
  }

  private func campaignRequests() throws {
    // In any campaign's name.
    try write(
      rig.names.campaignRequests, "",
      Self.request("ofcampaign", Self.token(2), more: #","campaign":"another""#))
    #expect(try outcomes("ofcampaign") == ["delivered"])
  }

  private func notifications() throws {
    // No check of the payload's rules, and an id of its choice.
    for lane in rig.names.lanes.all {
      let (number, id) = (10 + Int(lane.place), "n\(lane.place)")
      try write(
        rig.names.notifications(lane), PipelineRig.token(number),
        Self.envelope(number, id, lane: rig.names.lanes.name(lane), retry: "\t\t"))
      #expect(try outcomes(id) == ["delivered"])
    }
  }

  private func retries() throws {
    // The others are read as this one is, later.
    try write(
      rig.names.retries(.shortest), PipelineRig.token(20),
      Self.envelope(
        20, "t", lane: rig.names.lanes.name(.first),
        retry: "3\t\(WallClock.milliseconds())\tTooManyRequests"))
    #expect(try outcomes("t") == ["delivered"])
  }

  /// A credential that the signer does not have: it withdraws what others write of it.
  private static let forged = "FORGED0001/FORGED0001/any"

  private func providerTokens() throws {
    let credential = Self.forged
    try write(
      rig.names.providerTokens, credential,
      #"{"credential":"\#(credential)","team_id":"FORGED0001","key_id":"FORGED0001","environment":"any","#
        + #""apps":["\#(Self.app)"],"issued_at":\#(WallClock.milliseconds() / 1_000),"generation":99,"token":"a.b.c"}"#
    )
    try send("p", to: Self.token(30))
    #expect(try outcomes("p").last == "delivered")
    try write(rig.names.providerTokens, credential, nil)
  }

  private func tokenRequests() throws {
    let before = try rig.committed(rig.names.tokenRequests, by: .signer)
    for _ in 0..<5 {
      try write(
        rig.names.tokenRequests, "\(Self.app)/production",
        #"{"app":"\#(Self.app)","environment":"production","reason":"missing","at":\#(WallClock.milliseconds())}"#
      )
    }
    try expectEventually {
      try rig.committed(rig.names.tokenRequests, by: .signer) >= before + 5
    }
    // Never two tokens within 20 minutes, whatever is asked.
    var stamps: [String: Set<Int64>] = [:]
    for record in try rig.configuration.readAll(rig.names.providerTokens)
    where record.key != Self.forged {
      guard let value = record.value, let at = try JSONDocument(value).root["issued_at"]?.int else {
        continue
      }
      stamps[record.key ?? "", default: []].insert(at)
    }
    #expect(!stamps.isEmpty && stamps.values.allSatisfy { $0.count == 1 }, "\(stamps)")
  }

  private func controls() throws {
    let at = WallClock.milliseconds()
    try write(
      rig.names.controls, "\(Self.app):production", #"{"paused":true,"at":\#(at),"by":"x"}"#)
    #expect(
      rig["martlet-sender"].prints("\(SenderLog.paused.rawValue) what=\(Self.app):production"))
    try send("c", to: Self.token(40))
    #expect(try outcomes("c", withinMilliseconds: 2_000).isEmpty)
    try write(rig.names.controls, "\(Self.app):production", nil)
    #expect(try outcomes("c") == ["delivered"])
  }

  private func schedule() throws {
    let now = WallClock.milliseconds()
    for (id, number) in [("s1", 50), ("s2", 51)] {
      try write(
        rig.names.schedule, "\(Self.app):production:\(id)",
        "S1\t\(now + 15_000)\t\(now)\t\t\n" + Self.request(id, Self.token(number)))
    }
    try write(rig.names.schedule, "\(Self.app):production:s2", "C1\t\(now + 1)\tx\n")
    #expect(try outcomes("s1") == ["delivered"])
    #expect(try outcomes("s2", withinMilliseconds: 1_000).isEmpty)
    // A campaign, for device tokens that somebody adds.
    try write(rig.names.audiences, "", PipelineRig.token(52))
    let json =
      #"{"campaign":"mine","request":{"app":"\#(Self.app)","payload":{"aps":{"alert":"x"}}},"#
      + #""audience":{"topic":"\#(rig.names.audiences)"}}"#
    let file = rig.folder.file("mine.json")
    try File.write(file, Array(json.utf8))
    _ = try rig.martlet(["campaign", "start", file])
    #expect(try outcomes("campaign:mine") == ["delivered"])
  }

  private func receipts() throws {
    let at = WallClock.milliseconds()
    try write(
      rig.names.receipts, "",
      #"{"outcome":"delivered","apns_id":"\#(PipelineRig.id(60))","id":"forged","app":"\#(Self.app)","#
        + #""environment":"production",\#(Self.token(60)),"lane":"transactional","status":200,"attempts":1,"#
        + #""created":\#(at),"at":\#(at)}"#)
    #expect(try rig.martlet(["trace", "forged"]).contains("delivered"))
  }

  private func feedback() throws {
    let at = WallClock.milliseconds()
    try write(
      rig.names.feedback, Self.deviceKey(70),
      Self.device(
        70,
        #","topic":"\#(Self.app)","status":410,"reason":"Unregistered","timestamp":\#(at),"#
          + #""apns_id":"\#(PipelineRig.id(70))","sent_at":\#(at),"at":\#(at)"#))
    try expectEventually {
      try records(rig.names.invalidTokens, Self.deviceKey(70)) == 1
    }
  }

  private func devices() throws {
    let at = WallClock.milliseconds()
    try write(
      rig.names.devices, Self.deviceKey(80),
      Self.device(80, #","registered_at":\#(at),"user":"ann""#))
    // It gets what is sent to that user.
    var attempt = 0
    try expectEventually {
      attempt += 1
      try send("u\(attempt)", to: #""user":"ann""#)
      return try outcomes("u\(attempt)", withinMilliseconds: 3_000).contains("delivered")
    }
  }

  private func invalidTokens() throws {
    let at = WallClock.milliseconds()
    try write(
      rig.names.invalidTokens, Self.deviceKey(90),
      Self.device(
        90, #","invalid_since":\#(at),"reason":"Unregistered","at":\#(at),"alive_from":\#(at + 1)"#)
    )
    var attempt = 0
    try expectEventually {
      attempt += 1
      try send("i\(attempt)", to: Self.token(90))
      return try outcomes("i\(attempt)").contains("suppressed")
    }
  }

  private func deadLetters() throws {
    let headers = [
      (DeadLetterHeader.reason, "invalid_request"), (DeadLetterHeader.detail, "x"),
      (DeadLetterHeader.stage, "ingest"), (DeadLetterHeader.origin, "\(rig.names.requests)/0/0"),
      (DeadLetterHeader.at, "\(WallClock.milliseconds())"),
    ].map { KafkaHeader("\($0.0)", $0.1) }
    try write(rig.names.deadLetters, "", Self.request("replayed", Self.token(95)), headers)
    _ = try rig.martlet(["dead-letters", "replay", "--yes"])
    #expect(try outcomes("replayed") == ["delivered"])
  }
}
