// SPDX-License-Identifier: Apache-2.0
import Contract
import EmbeddedKafka
import EventLoop
import Kafka
import Records
import ServiceKit
import Store
import Telemetry
import TestSupport
import Testing

@testable import API

/// `/v1/campaigns`.
@Suite(.onOwnThread) struct CampaignsTests {
  private static let app = "com.example.shop"

  private static func body(
    _ name: String, app: String = app, more: String = "", payload: String = #"{"aps":{"badge":1}}"#
  ) -> String {
    #"{"campaign":"\#(name)","request":{"app":"\#(app)","payload":\#(payload)},"audience":{}\#(more)}"#
  }

  private static func campaign(
    _ name: String, app: String = app, _ state: CampaignProgress.State = .running
  ) throws -> CampaignRecord {
    var campaign = try Array(body(name, app: app).utf8).withUnsafeBytes { bytes in
      try CampaignRecord(
        json: bytes, at: WallClock.milliseconds(), by: "key old", parser: JSONParser())
    }
    (campaign.progress.revision, campaign.progress.state) = (1, state)
    (campaign.progress.total, campaign.progress.addressed) = (100, 60)
    (campaign.progress.cursor, campaign.outcomes) = (
      "abcd", CampaignCounts([("delivered", 30), ("rejected", 10)])
    )
    campaign.rates = CampaignRates(at: WallClock.milliseconds(), addressed: 5, outcomes: 3)
    return campaign
  }

  private static func entry(_ campaign: CampaignRecord) -> ScheduledEntry {
    ScheduledEntry(
      key: "\(campaign.key)",
      row: ScheduleRow(offset: 1, identity: 0, kind: .campaign(revision: 1)),
      value: String(decoding: campaign.value, as: UTF8.self))
  }

  private static func fixture(
    _ campaigns: [CampaignRecord] = [], _ kind: DatabaseKind = .sqlite
  ) throws -> APIFixture {
    let folder = TemporaryFolder()
    let location = try kind.location(in: folder)
    let store = try ScheduleStore(TokenStore(location, now: 0))
    try store.put(1, campaigns.map(entry))
    try store.setPosition(1, 2)
    let api = try APIFixture(["--database", location], in: folder)
    // It begins by reading what was asked of campaigns.
    #expect(try eventually { try api.send("GET", "campaigns", key: "operator").status == 200 })
    return api
  }

  private static func records(_ fixture: APIFixture, _ topic: String, _ count: Int) throws
    -> [ReadRecord]
  {
    try fixture.kafka.read(fixture.kafka.name(topic), count: count)
  }

  @Test func `a campaign is started as martlet campaign start does it`() throws {
    let fixture = try Self.fixture()
    let before = WallClock.milliseconds()
    let body = Self.body(
      "spring-sale",
      more: #","first":{"percent":1,"wait_seconds":120},"stop":{"rejected_percent":2}"#)
    let answer = try fixture.send("POST", "campaigns", body, key: "pacer")
    #expect(answer.status == 202 && answer.text.hasPrefix(#"{"status":202}"#), "\(answer)")
    let record = try #require(try Self.records(fixture, "schedule", 1).first)
    #expect(record.key == "campaign:spring-sale:\(Self.app):production")
    let campaign = try Array(try #require(record.value).utf8).withUnsafeBytes {
      try CampaignRecord($0, parser: JSONParser())
    }
    #expect(campaign.by == "key pacer" && campaign.at >= before && campaign.progress == .init())
    #expect(campaign.plan.trial == .init(share: 0.01, wait: 120_000))
    #expect(campaign.audience.app == Self.app)
  }

  @Test(arguments: DatabaseKind.allCases)
  func `campaigns are listed and read with their progress, as far as the key may`(
    _ kind: DatabaseKind
  ) throws {
    let other = try Self.campaign("other", app: "com.example.news", .done)
    let fixture = try Self.fixture([try Self.campaign("sale"), other], kind)
    let answer = try fixture.send("GET", "campaigns/sale", key: "pacer")
    #expect(answer.status == 200 && !answer.text.contains("abcd"), "\(answer)")
    let sale = try APIFixture.json(answer.text)
    #expect(sale["state"] == "running" && sale["paused"] == false && sale["by"] == "key old")
    #expect(sale["total"] == 100 && sale["addressed"] == 60)
    #expect(sale["outcomes"]?["rejected"] == 10 && sale["rejected_percent"]?.anyNumber == 25)
    #expect(sale["outcomes_per_second"]?.anyNumber == 3 && sale["seconds_left"] == 20)
    #expect(sale["request"] == nil)
    func names(_ key: String) throws -> [String?] {
      let list = try fixture.send("GET", "campaigns", key: key)
      let json = try APIFixture.json(list.text)
      #expect(list.status == 200 && json["has_more"] == false)
      return (json["campaigns"]?.array ?? []).map { $0["campaign"]?.string }
    }
    #expect(try names("pacer") == ["sale"])
    #expect(try Set(names("operator")) == ["sale", "other"])
    #expect(try fixture.send("GET", "campaigns/other", key: "pacer").status == 404)
    #expect(try fixture.send("GET", "campaigns/other", key: "operator").status == 200)
    #expect(try fixture.send("GET", "campaigns/unknown", key: "operator").status == 404)
  }

  @Test func `a campaign is paused, resumed and cancelled as martlet campaign does it`() throws {
    let fixture = try Self.fixture([try Self.campaign("sale")])
    func change(_ method: String, _ path: String) throws -> Int {
      try fixture.send(method, "campaigns/sale\(path)", key: "pacer").status
    }
    func isPaused(_ wanted: Bool) throws -> Bool {
      try eventually {
        let sale = try fixture.send("GET", "campaigns/sale", key: "pacer")
        return try APIFixture.json(sale.text)["paused"]?.bool == wanted
      }
    }
    #expect(try change("POST", "/pause") == 202)
    #expect(try isPaused(true))
    #expect(try change("POST", "/resume") == 202)
    #expect(try isPaused(false))
    #expect(try change("DELETE", "") == 202)
    let records = try Self.records(fixture, "controls", 3)
    try #require(records.count == 3)
    #expect(
      records.map(\.key) == Array(repeating: "campaign:sale:\(Self.app):production", count: 3))
    #expect(records[1].value == nil)
    let controls = records.map { record in
      Array((record.value ?? "").utf8).withUnsafeBytes { ControlRecord.campaign($0)?.control }
    }
    #expect(controls[0] == CampaignControl(isPaused: true))
    #expect(controls[2] == CampaignControl(cancelledBy: "key pacer"))
    // It stays cancelled, also before the scheduler has seen that.
    #expect(try eventually { try change("POST", "/resume") == 409 })
    #expect(try change("POST", "/pause") == 409)
    #expect(try change("DELETE", "") == 202)
  }

  @Test func `a change that Kafka has is not refused because the schedule is read anew by then`()
    throws
  {
    let folder = TemporaryFolder()
    let location = folder.file("tokens.db")
    let store = try ScheduleStore(TokenStore(location, now: 0))
    try store.put(1, [Self.entry(try Self.campaign("sale"))])
    try store.setPosition(1, 2)
    let fixture = try APIFixture(["--database", location], in: folder, embedded: true)
    func send(_ method: String, _ path: String, _ body: String? = nil) throws -> Int {
      try fixture.send(method, path, body, key: "pacer").status
    }
    #expect(try eventually { try send("GET", "campaigns/sale") == 200 })
    #expect(try send("PUT", "paces/app/\(Self.app)", #"{"rate":"9/s"}"#) == 202)
    try #require(fixture.kafka.broker).setRoundTrip(milliseconds: 5_000)
    let client = try RawClient(port: fixture.port)
    client.send(
      "POST /v1/campaigns/sale/pause HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer pacer\r\nConnection: close\r\n\r\n"
    )
    expectEventually { fixture.value(of: "martlet_api_requests_in_flight", []) == .integer(1) }
    try store.startOver(1)
    let answer = client.receive()
    #expect(RawClient.status(answer) == 202, "\(answer)")
    #expect(try send("POST", "campaigns/sale/resume") == 503, "nothing was written")
  }

  /// Bodies may come long after their heads, and all at once.
  @Test func `one key's starts leave another's questions room, whenever their bodies come`() throws
  {
    let folder = TemporaryFolder()
    let location = folder.file("tokens.db")
    try ScheduleStore(TokenStore(location, now: 0)).setPosition(1, 2)
    let fixture = try APIFixture(["--database", location], in: folder, embedded: true) {
      $0.ackTimeoutMilliseconds = 60_000
    }
    #expect(try eventually { try fixture.send("GET", "campaigns", key: "operator").status == 200 })
    let beyond = 2
    let starts = try (0..<QueryWorker.share + beyond).map { number -> (RawClient, String) in
      let body = Self.body("c\(number)")
      let client = try RawClient(port: fixture.port)
      client.send(
        "POST /v1/campaigns HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer pacer\r\n"
          + "Expect: 100-continue\r\nContent-Type: application/json\r\n"
          + "Content-Length: \(body.utf8.count)\r\n\r\n")
      #expect(client.receive(until: "\r\n\r\n").hasPrefix("HTTP/1.1 100 "))
      return (client, body)
    }
    func unavailable() -> Int {
      let count = fixture.value(of: "martlet_api_http_requests_total", ["unavailable"])
      return if case .integer(let number)? = count { number } else { 0 }
    }
    let before = unavailable()
    // None of them ends.
    try #require(fixture.kafka.broker).setDown()
    for (client, body) in starts { client.send(body) }
    expectEventually { unavailable() == before + beyond }
    expectEventually {
      fixture.value(of: "martlet_api_requests_in_flight", []) == .integer(QueryWorker.share)
    }
    fixture.context.signals.requestFastShutdown()
  }

  @Test func `requests of removed keys end, also where Kafka refuses the record at first`() throws {
    let fixture = try APIFixture(embedded: true)
    // In its batch, and alone.
    fixture.kafka.broker?.inject([.invalidRecord, .invalidRecord], into: .produce)
    let left = #"[{"name":"all","sha256":"\#(APIFixture.digest("all"))","apps":["*"]}]"#
    try Files.replace(fixture.folder.file("keys"), left)
    let keys = try Self.records(fixture, "controls", 4).compactMap(\.key)
    #expect(keys.sorted() == ["operator", "pacer", "shop", "slow"].map { "holder:key \($0)" })
  }

  @Test func `a campaign that a host whose clock is ahead has started can be cancelled`() throws {
    var campaign = try Self.campaign("sale")
    campaign.at += 60_000
    let fixture = try Self.fixture([campaign])
    #expect(try fixture.send("DELETE", "campaigns/sale", key: "pacer").status == 202)
    let record = try #require(try Self.records(fixture, "controls", 1).first)
    let control = Array((record.value ?? "").utf8).withUnsafeBytes { ControlRecord.campaign($0) }
    #expect(control?.at == campaign.at)
  }

  @Test func `what a name is already used for is a conflict`() throws {
    let known = [
      try Self.campaign("sale"), try Self.campaign("over", .stopped),
      try Self.campaign("gone", .cancelled), try Self.campaign("other", app: "com.example.news"),
    ]
    let fixture = try Self.fixture(known)
    for name in ["sale", "over"] {
      let answer = try fixture.send("POST", "campaigns", Self.body(name), key: "pacer")
      #expect(answer.status == 409 && answer.text.contains("key old"), "\(answer)")
    }
    // Another app's campaign of the name is nobody's business.
    #expect(try fixture.send("POST", "campaigns", Self.body("other"), key: "pacer").status == 202)
    for (method, path) in [("POST", "over/pause"), ("POST", "over/resume"), ("DELETE", "over")] {
      let answer = try fixture.send(method, "campaigns/\(path)", key: "pacer")
      #expect(answer.status == 409 && answer.text.contains("it is stopped"), "\(answer)")
    }
    #expect(try fixture.send("DELETE", "campaigns/gone", key: "pacer").status == 202)
    for (method, path) in [("POST", "other/pause"), ("DELETE", "other"), ("DELETE", "unknown")] {
      #expect(try fixture.send(method, "campaigns/\(path)", key: "pacer").status == 404)
    }
  }

  @Test
  func `a campaign is the one of its app and environment, which are named where it is needed`()
    throws
  {
    let known = [
      try Self.campaign("sale"), try Self.campaign("sale", app: "com.example.news", .done),
    ]
    let fixture = try Self.fixture(known)
    func answer(_ query: String, key: String, _ method: String = "GET") throws -> (Int, JSONValue) {
      let answer = try fixture.send(method, "campaigns/sale\(query)", key: key)
      return (answer.status, try APIFixture.json(answer.text))
    }
    #expect(try answer("", key: "pacer").1["app"] == .string(Self.app))
    let both = try answer("", key: "operator")
    #expect(both.0 == 400 && both.1["field"] == "app")
    let news = try answer("?app=com.example.news", key: "operator")
    #expect(news.0 == 200 && news.1["state"] == "done")
    #expect(try answer("?app=com.example.news", key: "pacer").0 == 404)
    #expect(try answer("?app=\(Self.app)&environment=sandbox", key: "operator").0 == 404)
    #expect(try answer("?app=\(Self.app)&environment=production", key: "operator").0 == 200)
    // What was asked is answered with how it stands; no scheduler has noted it here.
    let changed = try answer("?app=\(Self.app)", key: "operator", "DELETE")
    #expect(changed.0 == 202 && changed.1["confirmed"] == false && changed.1["addressed"] == 60)
    #expect(changed.1["without_outcome"] == 20 && changed.1["state"] == "running")
  }

  @Test func `a pace beyond the app's quota is refused, and another app's is not`() throws {
    let fixture = try Self.fixture()
    let producer = try KafkaProducer(fixture.kafka.configuration)
    defer { producer.close() }
    let topic = try producer.topic(known: fixture.kafka.name("controls"))
    for number in 0..<PaceRoom.groupsOfAppAtMost {
      let subject = PaceSubject.group(Self.app, .production, "\(number)")
      try fixture.kafka.produce(producer, topic, key: subject.key, value: #"{"pace":"1/s"}"#)
    }
    func start(_ name: String, _ app: String) throws -> (status: Int, text: String) {
      let answer = try fixture.send(
        "POST", "campaigns", Self.body(name, app: app, more: #","pace":"5/s""#), key: "operator")
      return (answer.status, answer.text)
    }
    try expectEventually {
      let answer = try start("more", Self.app)
      return answer.status == 409
        && answer.text.contains("\(PaceRoom.groupsOfAppAtMost) groups of \(Self.app)")
    }
    #expect(try start("other", "com.example.news").status == 202)
    let put = try fixture.send(
      "PUT", "paces/group/x?app=\(Self.app)", #"{"rate":"5/s"}"#, key: "operator")
    #expect(put.status == 409 && put.text.contains("quota"))
    #expect(
      try fixture.send("PUT", "paces/lane/bulk", #"{"rate":"5/s"}"#, key: "operator").status == 202)
    #expect(
      try fixture.send("PUT", "paces/app/\(Self.app)", #"{"rate":"5/s"}"#, key: "operator").status
        == 202)
  }

  @Test func `a key needs the right to campaigns, and the app`() throws {
    let fixture = try Self.fixture([try Self.campaign("sale")])
    for (method, path) in [
      ("GET", ""), ("POST", ""), ("GET", "/sale"), ("DELETE", "/sale"), ("POST", "/sale/pause"),
      ("POST", "/sale/resume"),
    ] {
      let body = path.isEmpty && method == "POST" ? Self.body("x") : nil
      #expect(try fixture.send(method, "campaigns\(path)", body, key: "all").status == 403)
      #expect(try fixture.send(method, "campaigns\(path)", body, key: nil).status == 401)
    }
    let other = try fixture.send(
      "POST", "campaigns", Self.body("x", app: "com.example.news"), key: "pacer")
    #expect(other.status == 403 && other.text.contains(#""field":"app""#))
    // A topic of its own reaches another app's devices.
    let mdm =
      #"{"campaign":"x","request":{"app":"\#(Self.app)","type":"mdm","topic":"com.example.news","#
      + #""payload":{"mdm":"x"}},"audience":{}}"#
    #expect(try fixture.send("POST", "campaigns", mdm, key: "pacer").status == 403)
  }

  @Test func `refusals name what is wrong`() throws {
    let fixture = try Self.fixture()
    func answer(
      _ body: String?, _ method: String = "POST", _ path: String = "",
      type: String = "application/json"
    ) throws -> String {
      let answer = try fixture.send(method, "campaigns\(path)", body, key: "operator", type: type)
      let field = try APIFixture.json(answer.text)["field"]?.string
      return "\(answer.status)\(field.map { " \($0)" } ?? "")"
    }
    #expect(try answer("[") == "400")
    #expect(try answer("[]") == "400")
    #expect(try answer("{}") == "400 campaign")
    #expect(try answer(Self.body("a b")) == "400 campaign")
    #expect(try answer(Self.body("a", more: #","audiance":{}"#)) == "400 audiance")
    #expect(try answer(Self.body("a", more: #","audience":{}"#)) == "400 audience")
    let soon = Timestamp.text(milliseconds: WallClock.milliseconds() + 86_400_000).dropLast()
    let atlantis = #","send_at":"\#(soon)","time_zone":"Europe/Atlantis""#
    #expect(try answer(Self.body("a", more: atlantis)) == "400 time_zone")
    #expect(
      try answer(Self.body("a", more: #","stop":{"rejected_percent":0}"#))
        == "400 stop.rejected_percent")
    #expect(
      try answer(Self.body("a", more: #","first":{"percent":1,"wait_seconds":1}"#)) == "400 first")
    #expect(
      try answer(#"{"campaign":"a","request":{"app":"a.b"},"audience":{}}"#)
        == "400 request.payload")
    #expect(
      try answer(
        #"{"campaign":"a","request":{"app":"a.b","payload":{},"token":"ab"},"audience":{}}"#)
        == "400 request")
    #expect(
      try answer(#"{"campaign":"a","request":{"app":"a.b","payload":{}},"audience":{"tag":"x"}}"#)
        == "400 audience.tag")
    let long = Self.body(
      "a", payload: #"{"aps":{"alert":"\#(String(repeating: "x", count: 5_000))"}}"#)
    #expect(try answer(long) == "400 request.payload")
    let blanks = String(repeating: " ", count: CampaignsAPI.longestBody)
    #expect(try answer(Self.body("a") + blanks) == "413")
    #expect(try answer(Self.body("a"), type: "application/x-ndjson") == "415")
    #expect(try answer(nil, "PUT") == "405")
    #expect(try answer(nil, "PUT", "/a") == "405")
    #expect(try answer(nil, "GET", "/a/pause") == "405")
    #expect(try answer(nil, "POST", "/a/stop") == "404")
    #expect(try answer(nil, "POST", "/a/pause/b") == "404")
    #expect(try answer(nil, "GET", "/a%20b") == "400 name")
    #expect(try answer(nil, "GET", "/a?app=a&app=b") == "400 app")
  }

  @Test func `without a database nothing is known, and nothing is started`() throws {
    let fixture = try APIFixture()
    #expect(try fixture.send("GET", "campaigns", key: "operator").status == 503)
    let answer = try fixture.send("POST", "campaigns", Self.body("a"), key: "operator")
    #expect(answer.status == 503 && answer.text.contains("--database"))
  }
}
