// SPDX-License-Identifier: Apache-2.0
import EmbeddedKafka
import EventLoop
import HTTPClient
import Kafka
import Records
import ServiceKit
import Settings
import Telemetry
import TestSupport
import Testing

@testable import API

private let token = String(repeating: "ab", count: 32)

private func request(_ more: String = "", app: String = "com.example.shop") -> String {
  #"{"app":"\#(app)","token":"\#(token)","payload":{"aps":{"badge":1}}\#(more)}"#
}

@Suite(.onOwnThread) struct NotificationsTests {
  @Test func `one request is answered when Kafka has it, with its apns-id`() throws {
    let fixture = try APIFixture()
    let answer = try fixture.post(request(#","id":"order-1""#), key: "shop")
    #expect(answer.status == 202)
    let verdict = try APIFixture.json(answer.text)
    #expect(verdict["status"]?.int == 202)
    #expect(verdict["id"]?.string == "order-1")
    #expect(verdict["apns_ids"]?.array?.count == 1)
    let records = try fixture.requests(1)
    #expect(records.map(\.value) == [request(#","id":"order-1""#)])
    #expect(records.map(\.key) == [token])
    // The same request names the same notification.
    let again = try APIFixture.json(fixture.post(request(#","id":"order-1""#), key: "shop").text)
    #expect(again["apns_ids"] == verdict["apns_ids"])
  }

  @Test func `a request to users goes to Kafka, with an id and their name as its key`() throws {
    let fixture = try APIFixture()
    func body(_ more: String, app: String = "com.example.shop") -> String {
      #"{"app":"\#(app)","payload":{"aps":{"badge":1}},\#(more)}"#
    }
    let answer = try fixture.post(body(#""users":["ann","bob"]"#), key: "shop")
    #expect(answer.status == 202, "\(answer.text)")
    let verdict = try APIFixture.json(answer.text)
    #expect(verdict["id"]?.string?.isEmpty == false && verdict["apns_ids"] == nil)
    let record = try #require(try fixture.requests(1).first)
    #expect(record.key == "ann" && record.value?.hasPrefix(#"{"id":""#) == true)
    #expect(try fixture.post(body(#""user":"ann""#, app: "a.b"), key: "shop").status == 403)
    let both = try fixture.post(body(#""id":"r","user":"ann","token":"\#(token)""#), key: "shop")
    #expect(both.status == 400 && both.text.contains("user: cannot be combined with token"))
    #expect(try fixture.post(body(#""user":"""#), key: "shop").status == 400)
    let empty = try fixture.post(body(#""id":"r","user":"ann","tokens":[]"#), key: "shop")
    #expect(empty.status == 400 && empty.text.contains("tokens: has no entries"))
  }

  @Test func `headers and data are checked, and go to Kafka as they came`() throws {
    let fixture = try APIFixture()
    let more = #","id":"a","headers":{"apns-new-thing":"x"},"data":{ "order" : "8812" }"#
    #expect(try fixture.post(request(more), key: "shop").status == 202)
    #expect(try fixture.requests(1).map(\.value) == [request(more)])
    let bad = try fixture.post(request(#","headers":{"apns-topic":"x"}"#), key: "shop")
    #expect(bad.status == 400)
    #expect(bad.text.contains("headers.apns-topic: is set by Martlet itself"))
    // An id of any form that the API gives fits beside the most that may be carried.
    let header = #""apns-x":"\#(String(repeating: "v", count: 250))""#
    let data = #""k":"\#(String(repeating: "d", count: 504))""#
    let collapse = String(repeating: "c", count: 64)
    let most = #","headers":{\#(header)},"data":{\#(data)},"collapse_id":"\#(collapse)""#
    let key = ["Idempotency-Key: \(String(repeating: "\"", count: 100))"]
    #expect(try fixture.post("[\(request(most))]", headers: key).status == 202)
    let record = try #require(fixture.requests(2).last?.value)
    let isTaken = Array(record.utf8).withUnsafeBytes { (try? RequestReader().read($0)) != nil }
    #expect(isTaken, "\(record)")
  }

  @Test func `a request without an id gets one, and the record has it`() throws {
    let fixture = try APIFixture()
    let verdict = try APIFixture.json(fixture.post(request()).text)
    let id = try #require(verdict["id"]?.string)
    #expect(id.count == 36)
    let record = try #require(fixture.requests(1).first?.value)
    #expect(record == #"{"id":"\#(id)","# + request().dropFirst())
    // As everywhere, null counts as absent.
    #expect(try fixture.post(request(#","id":null"#)).status == 202)
  }

  @Test func `an Idempotency-Key names the requests that have no id`() throws {
    let fixture = try APIFixture()
    let key = ["Idempotency-Key: k\"1"]
    let one = try APIFixture.json(fixture.post(request(), headers: key).text)
    #expect(one["id"]?.string == "k\"1")
    let many = try APIFixture.json(
      fixture.post("[\(request()),\(request(#","id":"own""#)),\(request())]", headers: key).text)
    #expect(many.array?.compactMap { $0["id"]?.string } == ["k\"1/1", "own", "k\"1/3"])
    #expect(
      try fixture.post(
        request(), headers: ["Idempotency-Key: \(String(repeating: "x", count: 101))"]
      ).status == 400)
    // Keys that differ in bytes without a meaning must not become the same id.
    #expect(try fixture.post(request(), headers: ["Idempotency-Key: é"]).status == 400)
  }

  @Test func `each element of an array has its verdict, in order`() throws {
    let fixture = try APIFixture()
    let answer = try fixture.post(
      "[\(request(#","id":"a""#)), {}, \(request(#","id":"b""#, app: "com.example.other")), 7]",
      key: "shop")
    #expect(answer.status == 202)
    let verdicts = try #require(try APIFixture.json(answer.text).array)
    #expect(verdicts.map { $0["status"]?.int } == [202, 400, 403, 400])
    #expect(verdicts[1]["field"]?.string == "app")
    #expect(verdicts[2]["id"]?.string == "b")
    #expect(try fixture.requests(1).count == 1)
  }

  @Test func `the verdict on an id that is too long has its beginning alone`() throws {
    let fixture = try APIFixture()
    let long = String(repeating: "x", count: 1_000)
    let answer = try fixture.post("[\(request(#","id":"\#(long)""#))]")
    #expect(answer.status == 400)
    let verdict = try #require(try APIFixture.json(answer.text).array?.first)
    #expect(verdict["detail"]?.string == "id: has 1000 bytes, more than 128")
    #expect(verdict["id"]?.string == long.prefix(128) + "…")
  }

  @Test func `lines of any number are taken, and each has its verdict`() throws {
    let fixture = try APIFixture()
    let count = 20_000
    let lines = (0..<count).map { $0 % 100 == 7 ? "{\"app\":\($0)}" : request(#","id":"\#($0)""#) }
    let answer = try fixture.post(lines.joined(separator: "\n"), type: "application/x-ndjson")
    #expect(answer.status == 202)
    let verdicts = answer.text.split(separator: "\n")
    #expect(verdicts.count == count)
    for index in stride(from: 0, to: count, by: 997) {
      let verdict = try APIFixture.json(String(verdicts[index]))
      #expect(verdict["status"]?.int == (index % 100 == 7 ? 400 : 202))
    }
    #expect(try fixture.requests(count * 99 / 100).count == count * 99 / 100)
  }

  @Test func `what is wrong is named by its field`() throws {
    let fixture = try APIFixture()
    let answer = try fixture.post(request(#","priority":3"#))
    #expect(answer.status == 400)
    let problem = try APIFixture.json(answer.text)
    #expect(problem["field"]?.string == "priority")
    #expect(problem["type"]?.string == "about:blank")
    #expect(problem["status"]?.int == 400)
    let tokens = try fixture.post(
      #"{"app":"a.b","tokens":["xyz","\#(token)"],"payload":{"aps":{"badge":1}}}"#)
    #expect(tokens.status == 202)
    let verdict = try APIFixture.json(tokens.text)
    #expect(verdict["apns_ids"]?.array?.first?.isNull == true)
    #expect(verdict["invalid_tokens"]?.array?.first?["index"]?.int == 0)
    #expect(
      try fixture.post(#"{"app":"a.b","token":"xyz","payload":{"aps":{"badge":1}}}"#).status == 400)
  }

  @Test func `what devices ignore of a payload is named, or refused where that is set`() throws {
    func body(_ aps: String) -> String {
      #"{"app":"com.example.shop","token":"\#(token)","payload":{"aps":\#(aps)}}"#
    }
    let fixture = try APIFixture()
    let odd = body(#"{"alert":{"body":7},"thread_id":"a"}"#)
    let verdict = try APIFixture.json(fixture.post(odd, key: "shop").text)
    #expect(verdict["status"]?.int == 202)
    let warnings = try #require(verdict["warnings"]?.array)
    #expect(warnings.map { $0["rule"]?.string } == ["misspelled-key", "wrong-type", "empty-alert"])
    #expect(warnings[0]["field"]?.string == "payload.aps.thread-id")
    #expect(warnings[0]["detail"]?.string?.contains(#"the key is "thread-id""#) == true)
    let good = try fixture.post(body(#"{"alert":"x","thread-id":"a"}"#), key: "shop")
    #expect(try APIFixture.json(good.text)["warnings"] == nil)
    #expect(try fixture.requests(2).count == 2)

    let strict = try APIFixture { $0.payloadRules = "refuse" }
    let refused = try strict.post(odd, key: "shop")
    #expect(refused.status == 400)
    let problem = try APIFixture.json(refused.text)
    #expect(problem["field"]?.string == "payload")
    #expect(problem["detail"]?.string?.hasPrefix("payload.aps.thread-id: is spelled") == true)
    #expect(problem["detail"]?.string?.contains("--payload-rules refuse") == true)
    #expect(try strict.post(body(#"{"alert":"x","thread-id":"a"}"#), key: "shop").status == 202)
  }

  @Test func `no answer comes before Kafka has acknowledged; without it the answer is 503`() throws
  {
    let fixture = try APIFixture(embedded: true) { $0.ackTimeoutMilliseconds = 300 }
    #expect(eventually { (try? fixture.post(request()).status) == 202 })
    func unacknowledged() -> Int {
      let labels = ["unacknowledged"]
      let count = fixture.value(of: "martlet_api_notification_requests_total", labels)
      return if case .integer(let number)? = count { number } else { 0 }
    }
    let before = unacknowledged()
    try #require(fixture.kafka.broker).setDown()
    let answer = try fixture.post(request(#","id":"late""#))
    #expect(answer.status == 503)
    #expect(try APIFixture.json(answer.text)["status"]?.int == 503)
    #expect(unacknowledged() == before + 1)
  }

  @Test func `a refused request has its id back, whatever escapes it came with`() throws {
    let fixture = try APIFixture()
    for id in [#"a\/\u00fc\"b"#, #"a/ü\"b"#] {
      let body = #"{"id":"\#(id)","app":"a b","token":"\#(token)","payload":{"aps":{"badge":1}}}"#
      let answer = try fixture.post(body)
      #expect(answer.status == 400)
      #expect(try APIFixture.json(answer.text)["id"]?.string == #"a/ü"b"#, "\(id)")
    }
  }

  @Test func `a gzip body is unpacked, a bomb is refused`() throws {
    let fixture = try APIFixture()
    let packed = gzip(Array(request().utf8))
    #expect(try fixture.post(packed, headers: ["Content-Encoding: gzip"]).status == 202)
    #expect(
      try fixture.post(Array(packed.dropLast(9)), headers: ["Content-Encoding: gzip"]).status == 400
    )
    #expect(try fixture.post(request(), headers: ["Content-Encoding: gzip"]).status == 400)
    #expect(try fixture.post(request(), headers: ["Content-Encoding: br"]).status == 415)
    let bomb = gzip(Array(repeating: UInt8(ascii: " "), count: 20 << 20))
    #expect(bomb.count < 100_000)
    #expect(try fixture.post(bomb, key: "shop", headers: ["Content-Encoding: gzip"]).status == 413)
  }
}

@Suite(.onOwnThread) struct AdmissionTests {
  @Test func `only a known API key is let in`() throws {
    let fixture = try APIFixture()
    #expect(try fixture.post(request(), key: nil).status == 401)
    #expect(try fixture.post(request(), key: "shoq").status == 401)
    #expect(
      try fixture.post(request(), key: nil, headers: ["Authorization: Basic x"]).status == 401)
    #expect(try fixture.post(request(app: "a.b"), key: "shop").status == 403)
  }

  @Test func `paths, methods, media types and sizes have their statuses`() throws {
    let fixture = try APIFixture()
    let client = HTTPClient()
    #expect(try client.get(fixture.url).status == 405)
    #expect(try client.get("http://127.0.0.1:\(fixture.port)/").status == 404)
    #expect(try fixture.post(request(), type: "text/plain").status == 415)
    #expect(try fixture.post("", type: "application/x-ndjson").status == 400)
    #expect(try fixture.post("nothing").status == 400)
    #expect(try fixture.post(String(repeating: " ", count: 5_000)).status == 413)
    let long = String(repeating: "x", count: 1_000_000)
    #expect(try fixture.post(long, type: "application/x-ndjson").status == 413)
  }

  @Test func `an escaped NUL hides nothing of a path or a query`() throws {
    let fixture = try APIFixture()
    let body = #"{"app":"a.b"}"#
    #expect(try fixture.send("PUT", "devices/\(token)%00zz", body).status == 400)
    #expect(try fixture.send("DELETE", "devices/\(token)?app=a.b%00zz").status == 400)
    #expect(try fixture.send("DELETE", "devices/\(token)?app=a%2Eb").status == 202)
  }

  @Test func `the API listens on the loopback by default`() {
    let fallback = APISettings.table.settings.first { $0.name == "listen" }?.defaultText
    #expect(fallback?.hasPrefix("127.0.0.1:") == true)
  }

  @Test func `a rate slows a stream down and refuses the next body`() throws {
    let fixture = try APIFixture()
    let lines = Array(repeating: request(), count: 3).joined(separator: "\n")
    let answer = try fixture.post(lines, key: "slow", type: "application/x-ndjson")
    #expect(answer.status == 202)
    #expect(answer.text.split(separator: "\n").count == 3)
    #expect((0..<20).contains { _ in (try? fixture.post(request(), key: "slow").status) == 429 })
    #expect(try fixture.post(request()).status == 202)
  }

  @Test func `keys are reloaded, and a file with a mistake changes nothing`() throws {
    let fixture = try APIFixture()
    let file = fixture.folder.file("keys")
    try Files.replace(file, "[{]")
    fixture.context.signals.requestReload()
    #expect(try fixture.post(request()).status == 202)
    try Files.replace(
      file, #"[{"name":"new","sha256":"\#(APIFixture.digest("new"))","apps":["*"]}]"#)
    #expect(eventually { (try? fixture.post(request(), key: "new").status) == 202 })
    #expect(try fixture.post(request()).status == 401)
  }

  @Test func `what a key has scheduled says whose it is, and ends with the key`() throws {
    let fixture = try APIFixture()
    let time = WallClock.milliseconds() / 1_000 + 3_600
    #expect(try fixture.post(request(#","send_at":\#(time)"#)).status == 202)
    #expect(try fixture.post(request()).status == 202)
    let records = try fixture.kafka.read(fixture.kafka.name("requests"), count: 2)
    #expect(records.count == 2)
    func by(_ record: ReadRecord) -> String? {
      record.headers.first { $0.name == "by" }.map { String(decoding: $0.value, as: UTF8.self) }
    }
    for record in records {
      #expect(by(record) == (record.value?.contains("send_at") == true ? "key all" : nil))
    }
    try Files.replace(
      fixture.folder.file("keys"),
      #"[{"name":"all","sha256":"\#(APIFixture.digest("new"))","apps":["*"]}]"#)
    #expect(eventually { (try? fixture.post(request(), key: "new").status) == 202 })
    // Those that are gone; one with another secret is the same.
    let ended = try fixture.kafka.read(fixture.kafka.name("controls"), count: 2)
    #expect(ended.contains { $0.key == "holder:key operator" })
    for record in ended {
      #expect(record.key?.hasPrefix("holder:key ") == true && record.key != "holder:key all")
      let at = Array((record.value ?? "").utf8).withUnsafeBytes { ControlRecord.endsRequests($0) }
      #expect(abs((at ?? 0) - WallClock.milliseconds()) < 60_000)
    }
  }
}
