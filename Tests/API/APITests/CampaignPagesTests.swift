// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Records
import Store
import Synchronization
import TestSupport
import Testing

@testable import API

/// `GET /v1/campaigns` over thousands of large campaigns: pages, turns, and what they cost.
@Suite(.onOwnThread) struct CampaignPagesTests {
  private static let (app, other) = ("com.example.shop", "com.example.news")

  /// Many campaigns whose requests are large, in a database; every tenth is of another app.
  private static func fixture(
    _ count: Int, bytes: Int = 55_000, tags: Int = 0, flags: [String] = [], keys: String? = nil
  ) throws -> APIFixture {
    let folder = TemporaryFolder()
    let location = folder.file("d.db")
    let devices = try TokenStore(location, now: 0)
    try devices.setComplete(at: 1)
    let store = try ScheduleStore(devices)
    let padding = String(repeating: "x", count: bytes)
    let words = (0..<tags).map { "\"\($0)\(String(repeating: "t", count: 250))\"" }
      .joined(separator: ",")
    let audience = tags > 0 ? #"{"tags_any":[\#(words)]}"# : "{}"
    let entries = (0..<count).map { number in
      let name = "c\(String(100_000 + number).dropFirst())"
      let json =
        #"{"campaign":"\#(name)","at":1795000000000,"by":"key a","request":{"app":"\#(number % 10 == 9 ? other : app)","#
        + #""payload":{"x":"\#(padding)"}},"audience":\#(audience),"#
        + #""progress":{"revision":1,"state":"running","addressed":0}}"#
      return ScheduledEntry(
        key: "campaign:\(name):\(number % 10 == 9 ? other : app):production",
        row: ScheduleRow(offset: Int64(number), identity: 0, kind: .campaign(revision: 1)),
        value: "M1\n" + json)
    }
    for start in stride(from: 0, to: count, by: 500) {
      try store.transaction { () throws(StoreError) in
        try store.put(1, Array(entries[start..<min(count, start + 500)]))
        try store.setPosition(1, Int64(count))
      }
    }
    let api = try APIFixture(["--database", location] + flags, keys: keys, in: folder)
    try expectEventually { try api.send("GET", "campaigns?limit=1", key: "operator").status == 200 }
    return api
  }

  private static func names(_ json: JSONValue) -> [String] {
    (json["campaigns"]?.array ?? []).compactMap { $0["campaign"]?.string }
  }

  @Test func `each campaign of the key's apps is on one page`() throws {
    let fixture = try Self.fixture(330, bytes: 100)
    func all(_ key: String, _ limit: Int) throws -> [[String]] {
      var (pages, after): ([[String]], String?) = ([], nil)
      while true {
        let path = "campaigns?limit=\(limit)" + (after.map { "&after=\($0)" } ?? "")
        let answer = try fixture.send("GET", path, key: key)
        #expect(answer.status == 200, "\(answer)")
        let json = try APIFixture.json(answer.text)
        pages.append(Self.names(json))
        guard json["has_more"] == true else { return pages }
        after = try #require(json["after"]?.string)
      }
    }
    let everything = (0..<330).map { "c\(String(100_000 + $0).dropFirst())" }
    let own = everything.enumerated().filter { $0.offset % 10 != 9 }.map(\.element)
    for limit in [1, 50, 100, 297, 1_000] {
      let pages = try all("pacer", limit)
      #expect(pages.flatMap(\.self) == own, "\(limit)")
      #expect(pages.dropLast().allSatisfy { $0.count == limit })
    }
    #expect(try all("operator", 330).map(\.count) == [330])
    // Without a limit.
    let usual = try APIFixture.json(try fixture.send("GET", "campaigns", key: "operator").text)
    #expect(Self.names(usual).count == CampaignPage.usualLimit && usual["has_more"] == true)
    for query in ["limit=0", "limit=1001", "limit=x", "after=", "limit=1&limit=2"] {
      #expect(try fixture.send("GET", "campaigns?\(query)", key: "pacer").status == 400, "\(query)")
    }
    #expect(try fixture.send("GET", "campaigns?after=zzz", key: "pacer").text.contains("[]"))
  }

  @Test func `a page ends at a megabyte, however long its campaigns are`() throws {
    let fixture = try Self.fixture(400, bytes: 10, tags: 20)
    let answer = try fixture.send("GET", "campaigns?limit=1000", key: "operator")
    let json = try APIFixture.json(answer.text)
    #expect(json["has_more"] == true && Self.names(json).count > 100)
    #expect(answer.text.utf8.count < 2 * CampaignScan.mostBytes)
  }

  @Test func `one key's questions about thousands of campaigns leave another's their turn`() throws
  {
    let fixture = try Self.fixture(3_000)
    let token = String(repeating: "ab", count: 32)
    func device() throws -> (status: Int, milliseconds: UInt64) {
      let began = MonotonicClock.milliseconds()
      let answer = try fixture.send("GET", "devices/\(token)?app=\(Self.other)", key: "all")
      return (answer.status, MonotonicClock.milliseconds() - began)
    }
    #expect(try device().status == 404)
    // A page ends where its campaigns' requests are eight megabytes, which are read and not told.
    let page = try APIFixture.json(
      try fixture.send("GET", "campaigns?limit=1000", key: "operator").text)
    #expect(page["has_more"] == true)
    #expect(
      (CampaignScan.mostRead / 60_000...CampaignScan.mostRead / 55_000).contains(
        Self.names(page).count))
    let before = Self.residentBytes
    let answers = Answers()
    for number in 0..<40 {
      let thread = try LoopThread(name: "list-\(number)") {
        [fixture = UncheckedFixture(fixture), answers] in
        let status =
          (try? fixture.value.send("GET", "campaigns?limit=1000", key: "operator").status) ?? 0
        answers.statuses.withLock { $0.append(status) }
      }
      thread.detach()
    }
    var times: [UInt64] = []
    while answers.count < 40, times.count < 200 {
      let answer = try device()
      #expect(answer.status == 404, "\(answer)")
      times.append(answer.milliseconds)
    }
    // Of a machine that pauses one or two may be slow.
    #expect(times.count { $0 >= 3_000 } <= max(1, times.count / 2), "\(times)")
    #expect(eventually { answers.count == 40 })
    // What there is no room for is refused at once, and nothing else happens to any.
    let statuses = answers.statuses.withLock { $0 }
    #expect(Set(statuses).isSubset(of: [200, 503]) && statuses.contains(200))
    #expect(Self.residentBytes - before < 200 << 20)
  }

  /// The statuses of answers, from several threads.
  private final class Answers: Sendable {
    let statuses = Mutex<[Int]>([])
    var count: Int { statuses.withLock { $0.count } }
  }

  private struct UncheckedFixture: @unchecked Sendable {
    let value: APIFixture
    init(_ value: APIFixture) { self.value = value }
  }

  /// Memory of this process.
  private static var residentBytes: Int {
    let text = try? File.text("/proc/self/statm")
    let pages = text?.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
    return pages * 4_096
  }

  @Test func `an app has no more open campaigns than it may`() throws {
    let fixture = try Self.fixture(CampaignRecord.mostOpen * 10 / 9 + 10, bytes: 10)
    func start(_ app: String) throws -> (status: Int, text: String) {
      try fixture.send(
        "POST", "campaigns",
        #"{"campaign":"new","request":{"app":"\#(app)","payload":{"aps":{"badge":1}}},"audience":{}}"#,
        key: "operator")
    }
    let refused = try start(Self.app)
    #expect(refused.status == 409 && refused.text.contains("1000 campaigns of \(Self.app)"))
    // Another app's are not counted.
    #expect(try start(Self.other).status == 202)
  }

  @Test func `a condition on a detail is as long as a detail may be`() throws {
    let fixture = try Self.fixture(1, bytes: 10)
    for (member, value) in [
      ("tags_any", "[\"T\"]"), ("tags_all", "[\"T\"]"), ("locale", "\"T\""),
      ("app_version", "\"T\""),
      ("bundle", "\"T\""),
    ] {
      func status(_ count: Int) throws -> Int {
        let text = value.replacing("T", with: String(repeating: "7", count: count))
        let body =
          #"{"campaign":"l\#(count)","request":{"app":"\#(Self.app)","payload":{"aps":{"badge":1}}},"audience":{"\#(member)":\#(text)}}"#
        return try fixture.send("POST", "campaigns", body, key: "operator").status
      }
      #expect(try status(256) == 202 && status(257) == 400, "\(member)")
    }
  }

  @Test func `another app's topic is refused in the same words, whether it exists or not`() throws {
    let fixture = try Self.fixture(1, bytes: 10)
    func answer(_ topic: String) throws -> (status: Int, text: String) {
      let body =
        #"{"campaign":"t","request":{"app":"\#(Self.app)","payload":{"aps":{"badge":1}}},"audience":{"topic":"\#(topic)"}}"#
      return try fixture.send("POST", "campaigns", body, key: "pacer")
    }
    let there = try answer(fixture.kafka.name("requests"))
    #expect(there.status == 400 && there.text.contains(#""field":"audience.topic""#), "\(there)")
    for topic in ["receipts", "audiencesx", "none"] {
      let other = try answer(fixture.kafka.name(topic))
      #expect(other.status == there.status && other.text == there.text)
    }
    #expect(try answer(fixture.kafka.name("audiences.none")).status == 202)
  }
}
