// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Records
import Store
import TestSupport
import Testing

@testable import API

/// `DELETE /v1/notifications/{id}`, and `send_at` over HTTP.
@Suite(.onOwnThread) struct CancellationTests {
  @Test func `a cancellation is on push.schedule when it is answered`() throws {
    let fixture = try APIFixture()
    let before = WallClock.milliseconds()
    let answer = try fixture.send(
      "DELETE", "notifications/order%3A1?app=com.example.shop&environment=sandbox", key: "shop")
    #expect(answer.status == 202, "\(answer.text)")
    let record = try #require(
      try fixture.kafka.read(fixture.kafka.name("schedule"), count: 1).first)
    let key = ScheduleKey(app: "com.example.shop", environment: .sandbox, id: "order:1")
    #expect(record.key == key.description)
    let value = try Array((record.value ?? "").utf8).withUnsafeBytes { try ScheduleRecord($0) }
    guard case .cancellation(let cancellation) = value else { return #expect(Bool(false)) }
    #expect(cancellation.by == "key shop" && cancellation.at >= before)
  }

  @Test func `refusals name what is wrong`() throws {
    let fixture = try APIFixture()
    func status(_ path: String, key: String? = "all") throws -> Int {
      try fixture.send("DELETE", path, key: key).status
    }
    #expect(try status("notifications/a") == 400)
    #expect(try status("notifications/a?app=a.b&environment=x") == 400)
    #expect(try status("notifications/a%0Ab?app=a.b") == 400)
    #expect(try status("notifications/a?app=a.b&app=a.c") == 400)
    #expect(try status("notifications/a?app=a.b", key: "shop") == 403)
    #expect(try status("notifications/a?app=a.b", key: nil) == 401)
    #expect(try status("notifications?app=a.b") == 405)
  }

  @Test(arguments: [false, true])
  func `a request that waits is said to be scheduled, and a cancelled one so`(_ isApart: Bool)
    throws
  {
    let folder = TemporaryFolder()
    let (devices, schedule) = (folder.file("devices.db"), folder.file("schedule.db"))
    _ = try TokenStore(devices, now: 0)
    let store = try ScheduleStore(TokenStore(isApart ? schedule : devices, now: 0))
    func entry(
      _ key: ExactText, _ kind: ScheduleRow.Kind = .request(due: 9_000, written: 5)
    ) -> ScheduledEntry {
      ScheduledEntry(key: key, row: ScheduleRow(offset: 1, identity: 0, kind: kind), value: "S1")
    }
    try store.put(
      1,
      [
        entry("com.example.shop:sandbox:a", .cancellation(at: 5, keptUntil: 9_000)),
        entry("com.example.shop:production:b"), entry("com.example.news:production:b"),
      ])
    try store.setPosition(1, 2)
    let fixture = try APIFixture(
      ["--database", devices] + (isApart ? ["--schedule-database", schedule] : []))
    func answer(_ path: String, key: String = "shop") throws -> (status: Int, text: String) {
      let answer = try fixture.send("GET", "notifications/\(path)", key: key)
      return (answer.status, answer.text.filter { $0 != "\n" })
    }
    let cancelled = try answer("a").text
    #expect(
      cancelled
        == #"{"outcomes":[],"has_more":false,"schedule":[{"app":"com.example.shop","environment":"sandbox","state":"cancelled","cancelled_at":5}]}"#
    )
    let waiting =
      #"{"outcomes":[],"has_more":false,"schedule":[{"app":"com.example.shop","environment":"production","state":"scheduled","send_at":9000}]}"#
    #expect(try answer("b").text == waiting)
    #expect(try answer("b?app=com.example.shop", key: "all").text == waiting)
    #expect(try answer("b?app=com.example.news").status == 403)
    #expect(try answer("c").status == 404)
    // This key names no app.
    let unknown = try answer("b", key: "all")
    #expect(unknown.status == 404 && unknown.text.contains("?app="))
  }

  @Test func `a request of an app for which the schedule was not searched is not called unknown`()
    throws
  {
    let folder = TemporaryFolder()
    let database = folder.file("tokens.db")
    let store = try ScheduleStore(TokenStore(database, now: 0))
    let row = ScheduleRow(offset: 1, identity: 0, kind: .request(due: 9_000, written: 5))
    try store.put(1, [ScheduledEntry(key: "z:production:a", row: row, value: "S1")])
    try store.setPosition(1, 2)
    let hundred = (0..<100).map { "\"a\($0)\"" }.joined(separator: ",")
    let keys = [("many", "\(hundred),\"z\""), ("every", #""a0","*""#)].map { name, apps in
      #"{"name":"\#(name)","sha256":"\#(APIFixture.digest(name))","apps":[\#(apps)]}"#
    }
    let fixture = try APIFixture(
      ["--database", database], keys: "[\(keys.joined(separator: ","))]")
    for key in ["many", "every"] {
      let unknown = try fixture.send("GET", "notifications/a", key: key)
      #expect(unknown.status == 404 && unknown.text.contains("?app="), "\(key): \(unknown.text)")
      #expect(try fixture.send("GET", "notifications/a?app=z", key: key).status == 200)
    }
  }

  @Test func `a time that is too far ahead is refused at once`() throws {
    let fixture = try APIFixture()
    func send(_ seconds: Int64) throws -> String {
      let body =
        #"{"app":"com.example.shop","token":"abcd","payload":{"aps":{"badge":1}},"#
        + #""send_at":\#(WallClock.milliseconds() / 1_000 + seconds)}"#
      let client = try fixture.begin(
        "Content-Type: application/json\r\nContent-Length: \(body.utf8.count)")
      client.send(body)
      return client.receive()
    }
    #expect(try send(3_600).hasPrefix("HTTP/1.1 202 Accepted\r\n"))
    #expect(try send(31 * 86_400).hasPrefix("HTTP/1.1 409 Conflict\r\n"))
  }
}
