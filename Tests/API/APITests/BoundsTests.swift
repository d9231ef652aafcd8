// SPDX-License-Identifier: Apache-2.0
import Access
import EventLoop
import Records
import ServiceKit
import Telemetry
import TestSupport
import Testing

@testable import API

private let token = String(repeating: "ab", count: 32)

private func request(app: String = "com.example.shop", _ more: String = "") -> String {
  #"{"app":"\#(app)","token":"\#(token)","payload":{"aps":{"badge":1}}\#(more)}"#
}

private let lines = "application/x-ndjson"

/// A small body that unpacks to a large one, a body that stops half-way, a key that ends meanwhile.
@Suite(.onOwnThread) struct BoundsTests {
  @Test func `a packed body of bad lines is given up soon, with a verdict that says so`() throws {
    let fixture = try APIFixture()
    let bomb = gzip(Array(repeating: Array("{\n".utf8), count: 2_000_000).flatMap { $0 })
    #expect(bomb.count < 30_000)
    let answer = try fixture.post(bomb, type: lines, headers: ["Content-Encoding: gzip"])
    #expect(answer.status == 400)
    let verdicts = answer.text.split(separator: "\n")
    #expect(verdicts.count == 1_002)
    let last = try APIFixture.json(String(verdicts[1_001]))
    #expect(last["status"]?.int == 413)
    #expect(last["detail"]?.string?.hasPrefix("more than 1000") == true)
  }

  @Test func `a packed body of empty lines is given up, too`() throws {
    let fixture = try APIFixture()
    let bomb = gzip(Array(repeating: 10, count: 4_000_000))
    let answer = try fixture.post(bomb, type: lines, headers: ["Content-Encoding: gzip"])
    #expect(answer.status == 413)
  }

  @Test
  func `many lines that are right are none of that, with some that are wrong among them`() throws {
    let fixture = try APIFixture()
    let body = (0..<4_500).map { $0 % 3 == 0 ? "{" : request() }.joined(separator: "\n")
    let answer = try fixture.post(
      gzip(Array(body.utf8)), type: lines, headers: ["Content-Encoding: gzip"])
    #expect(answer.status == 202)
    #expect(answer.text.split(separator: "\n").count == 4_500)
  }

  @Test func `other requests are answered while a body is worked on that takes long`() throws {
    let fixture = try APIFixture()
    // 40 MB of one array: more than a turn may do.
    let large = "[" + Array(repeating: request(), count: 60_000).joined(separator: ",") + "]"
    let packed = gzip(Array(large.utf8))
    let client = try fixture.begin("Content-Encoding: gzip\r\nContent-Length: \(packed.count)")
    client.send(packed)
    for _ in 0..<5 { #expect(try fixture.post(request()).status == 202) }
    #expect(client.receive(until: "\r\n\r\n").hasPrefix("HTTP/1.1 202"))
  }

  @Test func `empty lines and bytes use up a key's rate`() throws {
    let fixture = try APIFixture(
      keys: #"[{"name":"all","sha256":"\#(APIFixture.digest("all"))","apps":["*"],"rate":300}]"#)
    let began = ContinuousClock.now
    let body = String(repeating: "\n", count: 900) + request()
    let answer = try fixture.post(body, type: lines)
    #expect(answer.status == 202)
    // It was slowed down itself, or the next one pays for it.
    let next = try fixture.post(request()).status
    #expect(next == 429 || ContinuousClock.now - began > .seconds(1))
  }

  @Test func `verdicts have a bound, and what is behind it a verdict that says so`() throws {
    let fixture = try APIFixture { $0.maxVerdicts = 1 << 20 }
    let body = Array(repeating: request(), count: 12_000).joined(separator: "\n")
    let answer = try fixture.post(body, type: lines)
    #expect(answer.status == 202)
    let verdicts = answer.text.split(separator: "\n")
    #expect(verdicts.count < 12_000)
    #expect(answer.text.utf8.count < 1_100_000)
    #expect(try APIFixture.json(String(try #require(verdicts.last)))["status"]?.int == 413)
  }

  @Test func `bodies that are held have a bound; what is above it is refused and can come again`()
    throws
  {
    let fixture = try APIFixture(["--max-buffered-bytes", "1MiB"])
    let half = String(repeating: " ", count: 600_000)
    var open: [RawClient] = []
    for _ in 0..<8 {
      let client = try fixture.begin("Content-Length: \(half.utf8.count + request().utf8.count)")
      client.send(half)
      open.append(client)
    }
    let answers = open.map { client in
      client.send(request())
      return client.receive()
    }
    let statuses = answers.map(RawClient.status)
    #expect(statuses.allSatisfy { $0 == 202 || $0 == 503 })
    #expect(statuses.count { $0 == 503 } >= 6)
    #expect(answers.last { $0.hasPrefix("HTTP/1.1 503") }?.contains("Retry-After: 5") == true)
    #expect(try fixture.post(request()).status == 202)
  }

  @Test
  func `verdicts in files have a bound for all bodies; what is above it can come again`() throws {
    let fixture = try APIFixture(["--max-stored-bytes", "1MiB"])
    let client = try fixture.begin("Content-Type: \(lines)\r\nTransfer-Encoding: chunked")
    let many = Array(repeating: request(), count: 100).joined(separator: "\n") + "\n"
    let chunk = "\(String(many.utf8.count, radix: 16))\r\n\(many)\r\n"
    for _ in 0..<120 { client.send(chunk) }
    // Its own verdicts are too many, and as long as they are kept others get no more.
    #expect(eventually { (try? fixture.post(request()).status) == 503 })
    let refused = try fixture.post(request())
    #expect(refused.text.contains("temporary files"))
    client.send("0\r\n\r\n")
    let answer = client.receive()
    #expect(answer.hasPrefix("HTTP/1.1 202"))
    let last = try #require(answer.split(separator: "\n").last)
    #expect(try APIFixture.json(String(last))["status"]?.int == 503)
    #expect(eventually { (try? fixture.post(request()).status) == 202 })
  }

  @Test func `a document of blanks that come one by one is no work without end`() throws {
    let fixture = try APIFixture()
    let client = try fixture.begin("Transfer-Encoding: chunked")
    let blanks = String(repeating: "1\r\n \r\n", count: 20_000)
    client.send(blanks)
    let body = request()
    client.send("\(String(body.utf8.count, radix: 16))\r\n\(body)\r\n0\r\n\r\n")
    #expect(client.receive().hasPrefix("HTTP/1.1 202"))
  }
}

/// The rights of a key while its requests are under way.
@Suite(.onOwnThread) struct KeyRightsTests {
  /// A stream of lines by the key `shop` that has sent one.
  private func stream(_ fixture: APIFixture) throws -> RawClient {
    let client = try fixture.begin("Content-Type: \(lines)\r\nTransfer-Encoding: chunked")
    send(client, request())
    #expect(try fixture.requests(1).count == 1)
    return client
  }

  private func send(_ client: RawClient, _ line: String) {
    client.send("\(String(line.utf8.count + 1, radix: 16))\r\n\(line)\n\r\n")
  }

  private func statuses(_ client: RawClient) throws -> [Int64?] {
    client.send("0\r\n\r\n")
    let answer = client.receive()
    let body = answer.split(separator: "\r\n\r\n", maxSplits: 1).last ?? ""
    return try body.split(separator: "\n").map { try APIFixture.json(String($0))["status"]?.int }
  }

  private func entry(_ name: String, apps: String, _ more: String = "") -> String {
    #"{"name":"\#(name)","sha256":"\#(APIFixture.digest(name))","apps":[\#(apps)]\#(more)}"#
  }

  private func replace(_ fixture: APIFixture, _ entries: String...) throws {
    try Files.replace(fixture.folder.file("keys"), "[\(entries.joined(separator: ","))]")
    fixture.context.signals.requestReload()
  }

  @Test func `a key that is revoked ends its open stream`() throws {
    let fixture = try APIFixture()
    let client = try stream(fixture)
    try replace(fixture, entry("all", apps: "\"*\""))
    #expect(eventually { (try? fixture.post(request(), key: "shop").status) == 401 })
    send(client, request())
    #expect(try statuses(client) == [202, 401])
    #expect(try fixture.requests(1).count == 1)
  }

  /// Who waits until a key is not used any more sees an open stream, too.
  @Test func `what an open stream has sent is counted for its key, and once`() throws {
    let fixture = try APIFixture()
    func count() -> MetricValue? { fixture.value(of: "martlet_api_key_requests_total", ["shop"]) }
    let client = try stream(fixture)
    expectEventually { count() == .integer(1) }
    #expect(try statuses(client) == [202])
    #expect(try fixture.post(request(), key: "shop").status == 202)
    #expect(count() == .integer(2))
  }

  @Test func `narrowed rights hold for the next line of an open stream`() throws {
    let fixture = try APIFixture()
    let client = try stream(fixture)
    try replace(fixture, entry("shop", apps: "\"a.b\""))
    #expect(eventually { (try? fixture.post(request(), key: "shop").status) == 403 })
    send(client, request())
    send(client, request(app: "a.b"))
    #expect(try statuses(client) == [202, 403, 202])
  }

  @Test func `a key that expires is refused, also on its open stream`() throws {
    let soon = WallClock.milliseconds() + 10_000
    let time = Timestamp.text(milliseconds: soon)
    let fixture = try APIFixture(
      keys: "[\(entry("shop", apps: "\"*\"", #","expires":"\#(time)""#))]")
    let client = try stream(fixture)
    expectEventually {
      (try? fixture.post(request(), key: "shop").text.contains("has expired")) == true
    }
    // Streams are looked at every second.
    for _ in 0..<30 {
      send(client, request())
      letPass(milliseconds: 100)
    }
    let statuses = try statuses(client)
    #expect(statuses.last == 401 && statuses.dropLast().allSatisfy { $0 == 202 }, "\(statuses)")
    #expect(statuses.count < 31)
  }

  @Test func `the end of a key is a date or a time`() throws {
    func parse(_ text: String) throws -> Int64? {
      try APIKeysFile.parse(
        Array("[\(entry("k", apps: "\"*\"", #","expires":\#(text)"#))]".utf8), "f"
      ).keys[0].expires
    }
    #expect(try parse(#""1970-01-02""#) == 86_400_000)
    #expect(try parse(#""2026-11-25T17:53:26Z""#) == 1_795_629_206_000)
    #expect(try parse(#""2026-11-25T17:53:26.250Z""#) == 1_795_629_206_250)
    for text in [
      "5", #""""#, #""2026-02-30""#, #""2026-13-01""#, #""2026-11-25T24:00:00Z""#,
      #""2026-11-25T17:53:26""#, #""2026-11-25T17:53:26+01:00""#, #""tomorrow""#,
    ] {
      #expect(throws: (any Error).self, "\(text)") { _ = try parse(text) }
    }
  }

  @Test func `two names for one key are refused, with both named`() throws {
    let digest = APIFixture.digest("k")
    let error = #expect(throws: APIKeysFile.Failure.self) {
      try APIKeysFile.parse(
        Array(
          #"""
          [{"name":"shop","sha256":"\#(digest)","apps":["a.b"]},
           {"name":"all","sha256":"\#(digest.uppercased())","apps":["*"]}]
          """#.utf8), "f")
    }
    #expect(error?.description == #"f: key 2: "shop" and "all" have the same sha256"#)
  }

  @Test func `a pattern among apps, which would match none, is refused`() throws {
    func parse(_ apps: String, _ more: String = "") -> String? {
      do throws(APIKeysFile.Failure) {
        _ = try APIKeysFile.parse(Array("[\(entry("k", apps: apps, more))]".utf8), "f")
        return nil
      } catch {
        return error.description
      }
    }
    #expect(parse(#""*""#) == nil && parse(#""a.b","*""#) == nil)
    #expect(
      parse(#""a.b","com.example.*""#)
        == #"f: key 1: apps: "com.example.*" is a pattern; list each bundle id, or "*" for every app"#
    )
    #expect(parse(#""a.b""#, #","read":["a*"]"#)?.hasPrefix("f: key 1: read: ") == true)
  }

  /// It is in the headers of records, on `/metrics` and in answers of other commands.
  @Test(arguments: ["", "a\\nb", "\\u007f", "\\u0085", " a", "a "])
  func `a name with a control character, and a blank at an end of it, are refused`(name: String)
    throws
  {
    let digest = APIFixture.digest("k")
    let error = #expect(throws: APIKeysFile.Failure.self) {
      try APIKeysFile.parse(
        Array(#"[{"name":"\#(name)","sha256":"\#(digest)","apps":["*"]}]"#.utf8), "f")
    }
    #expect(error?.description.hasPrefix("f: key 1: name: ") == true)
  }

  @Test func `an entry that says a thing twice is refused, with it named`() throws {
    let error = #expect(throws: APIKeysFile.Failure.self) {
      try APIKeysFile.parse(
        Array("[\(entry("k", apps: "\"a.b\"", #","apps":["*"]"#))]".utf8), "f")
    }
    #expect(error?.description == "f: key 1: apps is given twice")
  }

  @Test func `a topic of its own takes mdm to no other app`() throws {
    let fixture = try APIFixture()
    func mdm(_ topic: String, key: String) throws -> Int {
      let body =
        #"{"app":"com.example.shop","type":"mdm","topic":"\#(topic)","token":"\#(token)","payload":{"mdm":"m"}}"#
      return try fixture.post(body, key: key).status
    }
    #expect(try mdm("com.example.shop", key: "shop") == 202)
    #expect(try mdm("com.apple.mgmt.External.other", key: "shop") == 403)
    #expect(try mdm("com.example.shop.voip", key: "shop") == 403)
    #expect(try mdm("com.apple.mgmt.External.other", key: "all") == 202)
  }
}

/// Connections without a key beside those with one.
@Suite(.onOwnThread) struct ConnectionsTests {
  @Test func `idle connections without a key, however many, end no upload`() throws {
    let fixture = try APIFixture(["--max-connections", "40"])
    let body = request()
    let upload = try fixture.begin("Content-Length: \(body.utf8.count)")
    upload.send(String(body.prefix(20)))
    var idle: [RawClient] = []
    for _ in 0..<1_100 {
      idle.append(try RawClient(port: fixture.port))
      if idle.count > 200 { idle.removeFirst(100) }
    }
    #expect(try fixture.post(request()).status == 202)
    upload.send(String(body.dropFirst(20)))
    #expect(upload.receive().hasPrefix("HTTP/1.1 202"))
    withExtendedLifetime(idle) {}
  }
}
