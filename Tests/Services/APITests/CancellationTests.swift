// SPDX-License-Identifier: Apache-2.0
import APNS
import Contract
import EventLoop
import Records
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

  @Test func `a time that is too far ahead is refused at once`() throws {
    let fixture = try APIFixture()
    func send(_ seconds: Int64) throws -> Int {
      let body =
        #"{"app":"a.b","token":"abcd","payload":{"aps":{"badge":1}},"#
        + #""send_at":\#(WallClock.milliseconds() / 1_000 + seconds)}"#
      return try fixture.send("POST", "notifications", body).status
    }
    #expect(try send(3_600) == 202)
    #expect(try send(31 * 86_400) == 400)
  }
}
