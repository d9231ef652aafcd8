// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Records
import TestSupport
import Testing

@testable import API

/// `/v1/paces`.
@Suite(.onOwnThread) struct PacesTests {
  /// The answer to a question that changes until it says so; a change appears a moment after it was acknowledged.
  private func eventuallyReads(
    _ fixture: APIFixture, _ path: String, _ isExpected: (Int, JSONValue?) -> Bool
  ) throws -> Bool {
    try eventually {
      let answer = try fixture.send("GET", path, key: "operator")
      return isExpected(answer.status, try? APIFixture.json(answer.text))
    }
  }

  @Test func `a pace that was set is a record as martlet pace writes it, and is read back`() throws
  {
    let fixture = try APIFixture()
    let before = WallClock.milliseconds()
    for (path, subject) in [
      (
        "group/spring%20sale%2F1?app=com.example.app",
        PaceSubject.group("com.example.app", .production, "spring sale/1")
      ),
      ("lane/bulk", .lane("bulk")),
      ("app/com.example.app?environment=sandbox", .app("com.example.app", .sandbox)),
      ("device/com.example.app", .device("com.example.app", .production, .background)),
      ("device/com.example.app?push_type=alert", .device("com.example.app", .production, .alert)),
    ] {
      let rate = subject.kind == .device ? "2/h" : "200/s"
      let answer = try fixture.send(
        "PUT", "paces/\(path)", #"{"rate":"\#(rate)","reason":"slow start"}"#, key: "operator")
      #expect(answer.status == 202 && answer.text.hasPrefix(#"{"status":202}"#), "\(answer)")
      let isRead = try eventuallyReads(fixture, "paces/\(path)") { status, pace in
        status == 200 && pace?["rate"]?.string == rate && pace?["name"]?.string == subject.name
          && pace?["by"] == "key operator" && pace?["reason"] == "slow start"
          && pace?["at"]?.int ?? 0 >= before
      }
      #expect(isRead, "\(path)")
    }
    let records = try fixture.kafka.read(fixture.kafka.name("controls"), count: 5)
    let keys = records.compactMap { $0.key }.compactMap { PaceSubject(key: $0) }
    #expect(keys.count == 5 && keys.contains(.device("com.example.app", .production, .alert)))
    let value = try #require(records.first { $0.key == "pace:lane:bulk" }?.value)
    let rate = try Array(value.utf8).withUnsafeBytes { try ControlRecord.pace($0) }
    #expect(rate == PaceRate("200/s"))
    let list = try fixture.send("GET", "paces", key: "operator")
    #expect(try APIFixture.json(list.text)["paces"]?.array?.count == 5, "\(list.text)")
    // A key of one app sees what is of that.
    #expect(try fixture.send("GET", "paces", key: "pacer").text.hasPrefix(#"{"paces":[]}"#))
  }

  @Test func `a pace that was cleared is gone, and so is one that somebody else has overwritten`()
    throws
  {
    let fixture = try APIFixture()
    for name in ["a", "b"] {
      #expect(
        try fixture.send("PUT", "paces/group/\(name)?app=a.b", #"{"rate":"5/m"}"#, key: "operator")
          .status == 202)
    }
    #expect(try eventuallyReads(fixture, "paces/group/b?app=a.b") { status, _ in status == 200 })
    #expect(try fixture.send("DELETE", "paces/group/a?app=a.b", key: "operator").status == 202)
    #expect(try eventuallyReads(fixture, "paces/group/a?app=a.b") { status, _ in status == 404 })
    let tombstone = try fixture.kafka.read(fixture.kafka.name("controls"), count: 3).last
    #expect(tombstone?.key == "pace:group:a.b:production:a" && tombstone?.value == nil)
    try fixture.kafka.produce(
      fixture.kafka.name("controls"), key: "pace:group:a.b:production:b", value: "{")
    #expect(try eventuallyReads(fixture, "paces/group/b?app=a.b") { status, _ in status == 404 })
  }

  /// A character may have any number of marks.
  @Test func `of an author and a reason as long as a record the beginning is told`() throws {
    let fixture = try APIFixture()
    let long = "é" + String(repeating: "\u{301}", count: 100_000)
    try fixture.kafka.produce(
      fixture.kafka.name("controls"), key: "pace:app:com.example.shop:production",
      value: #"{"pace":"5/s","by":"\#(long)","reason":"\#(long)"}"#)
    #expect(
      try eventuallyReads(fixture, "paces/app/com.example.shop") { status, pace in
        let texts: [String?] = [pace?["by"]?.string, pace?["reason"]?.string]
        return status == 200 && texts.allSatisfy { $0?.utf8.count == PacesAPI.longestReason }
      })
  }

  @Test func `a key needs the right to paces, and the app or all of them`() throws {
    let fixture = try APIFixture()
    func status(_ method: String, _ path: String, _ key: String?) throws -> Int {
      try fixture.send(
        method, "paces" + path, method == "PUT" ? #"{"rate":"2/h"}"# : nil, key: key
      ).status
    }
    for method in ["GET", "PUT", "DELETE"] {
      #expect(try status(method, "/app/com.example.shop", "all") == 403)
      #expect(try status(method, "/app/com.example.shop", nil) == 401)
      #expect(try status(method, "/app/com.example.other", "pacer") == 403)
      #expect(try status(method, "/lane/bulk", "pacer") == 403)
      #expect(try status(method, "/group/x?app=com.example.other", "pacer") == 403)
    }
    #expect(try status("GET", "", "all") == 403)
    #expect(try status("PUT", "/app/com.example.shop", "pacer") == 202)
    #expect(try status("PUT", "/device/com.example.shop", "pacer") == 202)
    // A group is of the key's one app, unless the query names it.
    #expect(try status("PUT", "/group/x", "pacer") == 202)
    #expect(try status("PUT", "/group/x", "operator") == 400)
    try expectEventually {
      let list = try fixture.send("GET", "paces", key: "pacer").text
      return try APIFixture.json(list)["paces"]?.array?.count == 3
    }
  }

  @Test func `refusals name what is wrong`() throws {
    let fixture = try APIFixture()
    func answer(
      _ path: String, _ body: String? = #"{"rate":"2/h"}"#, _ method: String = "PUT",
      type: String = "application/json"
    ) throws -> String {
      let answer = try fixture.send(method, "paces/\(path)", body, key: "operator", type: type)
      let field = try APIFixture.json(answer.text)["field"]?.string
      return "\(answer.status)\(field.map { " \($0)" } ?? "")"
    }
    #expect(try answer("user/ann") == "404")
    #expect(try answer("group/") == "404")
    #expect(try answer("lane/fast") == "400 name")
    #expect(try answer("app/a%20b") == "400 name")
    #expect(try answer("group/a%0Ab?app=a.b") == "400 name")
    #expect(try answer("group/a") == "400 app")
    #expect(try answer("group/a?app=a%20b") == "400 name")
    #expect(try answer("lane/bulk?environment=sandbox") == "400 environment")
    #expect(try answer("lane/bulk?app=a.b") == "400 app")
    #expect(try answer("app/a.b?environment=x") == "400 environment")
    #expect(try answer("app/a.b?push_type=alert") == "400 push_type")
    #expect(try answer("device/a.b?push_type=x") == "400 push_type")
    #expect(try answer("device/a.b?push_type=alert&push_type=voip") == "400 push_type")
    #expect(try answer("device/a.b", #"{"rate":"9/h"}"#) == "400 rate")
    #expect(try answer("device/a.b", #"{"rate":"1/s"}"#) == "400 rate")
    for body in ["{}", #"{"rate":5}"#, #"{"rate":"0/s"}"#, #"{"rate":"5/w"}"#] {
      #expect(try answer("group/a?app=a.b", body) == "400 rate", "\(body)")
    }
    #expect(try answer("group/a?app=a.b", #"{"rate":"5/s","reason":""}"#) == "400 reason")
    #expect(try answer("group/a?app=a.b", #"{"rate":"5/s","pace":"5/s"}"#) == "400 pace")
    #expect(try answer("group/a?app=a.b", #"{"rate":"5/s","rate":"6/s"}"#) == "400 rate")
    #expect(try answer("group/a?app=a.b", "[") == "400")
    #expect(
      try answer("group/a?app=a.b", #"{"rate":"5/s"}"# + String(repeating: " ", count: 1_024))
        == "413")
    #expect(try answer("group/a?app=a.b", type: "application/x-ndjson") == "415")
    #expect(try answer("group/a?app=a.b", nil, "POST") == "405")
    #expect(try eventually { try answer("group/unknown?app=a.b", nil, "GET") == "404" })
  }

  @Test func `a cluster without the topic has no paces`() throws {
    let fixture = try APIFixture(topics: [("requests", 1), ("devices", 1), ("schedule", 1)])
    let answer = try fixture.send("GET", "paces", key: "operator")
    #expect(answer.status == 503 && answer.text.contains("next start"), "\(answer)")
  }
}
