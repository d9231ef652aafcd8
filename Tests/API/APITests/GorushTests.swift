// SPDX-License-Identifier: Apache-2.0
import EmbeddedKafka
import HTTPClient
import Records
import TestSupport
import Testing

@testable import API

private let token = String(repeating: "ab", count: 32)

/// `POST /api/push` as clients of gorush use it.
@Suite(.onOwnThread) struct GorushTests {
  private func push(
    _ fixture: APIFixture, _ body: String, key: String? = "all",
    type: String = "application/x-www-form-urlencoded", headers: [String] = []
  ) throws -> (status: Int, json: JSONValue) {
    let authorization = key.map { ["Authorization: Bearer \($0)"] } ?? []
    let answer = try HTTPClient(timeoutMilliseconds: 30_000).post(
      "http://127.0.0.1:\(fixture.port)/api/push", Array(body.utf8), contentType: type,
      headers: authorization + headers)
    return (answer.status, try APIFixture.json(answer.text))
  }

  private static func body(_ members: String, tokens: [String] = [token]) -> String {
    let list = tokens.map { "\"\($0)\"" }.joined(separator: ",")
    return #"{"notifications":[{"tokens":[\#(list)],"platform":1,"message":"Hello"\#(members)}]}"#
  }

  @Test func `notifications are answered as gorush answers, when Kafka has them`() throws {
    let fixture = try APIFixture(["--gorush", "--gorush-app", "com.example.shop"])
    let answer = try push(fixture, Self.body(#","notif_id":"n-1","badge":3"#), key: "shop")
    #expect(answer.status == 200)
    #expect(answer.json == ["counts": 1, "logs": [], "success": "ok"])
    let record = try #require(fixture.requests(1).first)
    #expect(record.key == token)
    #expect(
      try APIFixture.json(record.value ?? "")
        == APIFixture.json(
          #"{"id":"n-1","app":"com.example.shop","environment":"production","type":"alert","tokens":["\#(token)"],"payload":{"aps":{"alert":"Hello","badge":3}}}"#
        ))
  }

  @Test func `logs has an entry for each token that is not sent`() throws {
    let fixture = try APIFixture(["--gorush", "--gorush-app", "com.example.shop"])
    let body =
      #"{"notifications":["# + #"{"tokens":["\#(token)","xyz"],"platform":1,"message":"a"},"#
      + #"{"tokens":["t1","t2"],"platform":2,"message":"b"},"#
      + #"{"tokens":["\#(token)"],"platform":1,"message":"c","topic":"com.example.other"},"#
      + #"{"tokens":["\#(token)"],"platform":1,"message":"d","collapse_id":" "}]}"#
    let answer = try push(fixture, body, key: "shop")
    #expect(answer.status == 200)
    #expect(answer.json["counts"]?.int == 4)
    let logs = try #require(answer.json["logs"]?.array)
    #expect(logs.map { $0["message"]?.string } == ["a", "b", "b", "c", "d"])
    #expect(logs.map { $0["platform"]?.string } == ["ios", "android", "android", "ios", "ios"])
    #expect(logs.allSatisfy { $0["type"]?.string == "failed-push" })
    #expect(logs[1]["error"]?.string == "this platform is not supported")
    #expect(logs[3]["error"]?.string == "this key may not send for com.example.other")
    #expect(logs[4]["error"]?.string?.hasPrefix("collapse_id:") == true)
    #expect(try fixture.requests(1).count == 1)
  }

  @Test func `a whole body is refused as gorush refuses it`() throws {
    let fixture = try APIFixture(["--gorush", "--gorush-max-notifications", "1"])
    func refusal(_ body: String, key: String? = "all") throws -> String {
      let answer = try push(fixture, body, key: key)
      #expect(answer.json["code"]?.int == Int64(answer.status))
      return "\(answer.status) \(answer.json["message"]?.string ?? "")"
    }
    #expect(try refusal("") == "400 Missing notifications field.")
    #expect(try refusal("{}") == "400 Missing notifications field.")
    #expect(try refusal(#"{"notifications":[]}"#) == "400 Notifications field is empty.")
    #expect(
      try refusal(#"{"notifications":[{},{}]}"#) == "400 Number of notifications(2) over limit(1)")
    #expect(try refusal(Self.body(#","badge":"x""#)).hasPrefix("400 notifications[0].badge:"))
    #expect(try refusal(Self.body(""), key: nil).hasPrefix("401 no API key"))
    #expect(try refusal(String(repeating: " ", count: 5_000)).hasPrefix("413 "))
    let get = try fixture.send("GET", "../api/push")
    #expect(get.status == 405)
  }

  @Test func `entries about a long message do not fill the memory`() throws {
    let fixture = try APIFixture(["--gorush"])
    let message = String(repeating: "m", count: 500_000)
    let tokens = (0..<20_000).map { "\"\($0)\"" }.joined(separator: ",")
    let body = #"{"notifications":[{"platform":2,"message":"\#(message)","tokens":[\#(tokens)]}]}"#
    let answer = try push(fixture, body, key: "shop", type: "application/json")
    #expect(answer.status == 200)
    let logs = try #require(answer.json["logs"]?.array)
    #expect(logs.count <= 5)
    #expect(logs.last?["error"]?.string?.hasSuffix("further entries are left out") == true)
  }

  @Test func `a body of tiny values is refused before it is read`() throws {
    let fixture = try APIFixture(["--gorush", "--gorush-app", "a.b"])
    for tiny in ["0,", "[],", "{\"\":0},"] {
      let body =
        #"{"notifications":[{"platform":1,"data":{"a":["#
        + String(repeating: tiny, count: 400_000) + "0]}}]}"
      let answer = try push(fixture, body, key: "shop", type: "application/json")
      #expect(answer.status == 413, "\(tiny)")
      #expect(answer.json["message"]?.string?.contains("too many small values") == true)
    }
  }

  @Test func `without the setting there is no such path`() throws {
    let fixture = try APIFixture()
    #expect(try push(fixture, Self.body("")).status == 404)
  }

  @Test func `clients without a key have the rights of the key that a setting names`() throws {
    let fixture = try APIFixture([
      "--gorush", "--gorush-key", "shop", "--gorush-app", "com.example.shop",
    ])
    func keyless(
      _ body: String = Self.body(""), type: String = "application/json", headers: [String] = []
    ) throws -> (status: Int, json: JSONValue) {
      try push(fixture, body, key: nil, type: type, headers: headers)
    }
    #expect(try keyless().json["logs"]?.array?.isEmpty == true)
    let other = try keyless(Self.body(#","topic":"a.b""#))
    #expect(other.json["logs"]?.array?.count == 1)
    // What a web page can send without being asked.
    for type in ["text/plain", "application/x-www-form-urlencoded", "text/plain;application/json"] {
      #expect(try keyless(type: type).status == 415, "\(type)")
    }
    for header in ["Origin: http://evil.example", "Origin: null", "Sec-Fetch-Site: cross-site"] {
      #expect(try keyless(headers: [header]).status == 403, "\(header)")
    }
    #expect(try push(fixture, Self.body(""), key: "shop", type: "text/plain").status == 200)
    #expect(try push(fixture, Self.body(""), key: "unknown").status == 401)
    let none = try APIFixture(["--gorush", "--gorush-key", "nobody"])
    #expect(try push(none, Self.body(""), key: nil, type: "application/json").status == 401)
  }

  @Test func `many tokens are several requests, and an Idempotency-Key names them`() throws {
    let fixture = try APIFixture(
      ["--gorush", "--gorush-app", "a.b"],
      keys: #"[{"name":"all","sha256":"\#(APIFixture.digest("all"))","apps":["*"]}]"#)
    let tokens = (0..<2_500).map { "\(10_000 + $0)abc" }
    let answer = try push(fixture, Self.body("", tokens: tokens), headers: ["Idempotency-Key: k"])
    #expect(answer.json["counts"]?.int == 2_500)
    let ids = try fixture.requests(3).map { record in
      try APIFixture.json(record.value ?? "")["id"]?.string ?? ""
    }
    #expect(ids.sorted() == ["k/1", "k/2", "k/3"])
  }

  @Test func `a request has the same name whether another of its body is refused or not`() throws {
    let fixture = try APIFixture(["--gorush", "--gorush-app", "com.example.shop"])
    let body =
      #"{"notifications":["#
      + #"{"tokens":["\#(token)"],"platform":1,"message":"a","topic":"com.example.other"},"#
      + #"{"tokens":["\#(token)"],"platform":1,"message":"b"}]}"#
    let answer = try push(fixture, body, key: "shop", headers: ["Idempotency-Key: k"])
    #expect(answer.json["logs"]?.array?.count == 1)
    let record = try #require(fixture.requests(1).first)
    #expect(try APIFixture.json(record.value ?? "")["id"]?.string == "k/2")
  }

  @Test func `notifications that are refused use up a key's rate, too`() throws {
    let fixture = try APIFixture(
      ["--gorush"],
      keys: #"[{"name":"all","sha256":"\#(APIFixture.digest("all"))","apps":["*"],"rate":2}]"#)
    let android = #"{"platform":2,"tokens":["t"],"message":"a"}"#
    let body = Array(repeating: android, count: 100).joined(separator: ",")
    #expect(try push(fixture, #"{"notifications":[\#(body)]}"#).status == 200)
    #expect(try push(fixture, #"{"notifications":[\#(android)]}"#).status == 429)
  }

  @Test func `a body that Kafka does not acknowledge is answered with 503`() throws {
    let fixture = try APIFixture(["--gorush", "--gorush-app", "a.b"], embedded: true) {
      $0.ackTimeoutMilliseconds = 300
    }
    // A busy machine may take longer than that.
    try expectEventually { try push(fixture, Self.body("")).status == 200 }
    try #require(fixture.kafka.broker).setDown()
    let answer = try push(fixture, Self.body(#","notif_id":"late""#))
    #expect(answer.status == 503)
    #expect(answer.json["code"]?.int == 503)
  }
}
