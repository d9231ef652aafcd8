// SPDX-License-Identifier: Apache-2.0
import Contract
import Records
import ServiceKit
import Store
import TestSupport
import Testing

@testable import API

/// A key does to its own apps' data what it may, and neither does to another's nor learns of it anything: every route by
/// every right.
@Suite(.onOwnThread) struct IsolationTests {
  private static let apps = ["com.a", "com.b"]
  /// By its name, what each key may send for and read.
  private static let keys: [(name: String, sends: [String], reads: [String])] = [
    ("a", ["com.a"], ["com.a"]), ("b", ["com.b"], ["com.b"]), ("all", ["*"], ["*"]),
    ("sends-a-reads-b", ["com.a"], ["com.b"]), ("reads-b", [], ["com.b"]),
    ("sends-b", ["com.b"], ["com.none"]),
  ]
  private static let known = String(repeating: "ab", count: 32)
  private static let unknown = String(repeating: "cd", count: 32)

  private struct Route: Sendable {
    let name: String
    let sends: Bool
    let send:
      @Sendable (APIFixture, _ app: String, _ token: String, _ key: String) throws -> (Int, String)
  }

  private static func device(_ method: String, _ environment: Environment) -> Route {
    Route(name: "\(method) device \(environment)", sends: method != "GET") {
      fixture, app, token, key in
      let query = method == "PUT" ? "" : "?app=\(app)&environment=\(environment)"
      let body = #"{"app":"\#(app)","environment":"\#(environment)"}"#
      return try fixture.send(
        method, "devices/\(token)\(query)", method == "PUT" ? body : nil, key: key)
    }
  }

  private static func request(_ app: String, _ token: String) -> String {
    #"{"app":"\#(app)","token":"\#(token)","id":"order","payload":{"aps":{"badge":1}}}"#
  }

  private static let routes: [Route] =
    [
      Route(name: "one request", sends: true) { fixture, app, token, key in
        try fixture.post(request(app, token), key: key)
      },
      Route(name: "an array", sends: true) { fixture, app, token, key in
        try fixture.post("[\(request(app, token))]", key: key)
      },
      Route(name: "lines", sends: true) { fixture, app, token, key in
        try fixture.post(request(app, token), key: key, type: "application/x-ndjson")
      },
      Route(name: "a channel", sends: true) { fixture, app, _, key in
        let body =
          #"{"app":"\#(app)","id":"order","type":"liveactivity","channel":"dHN0LXNyY2gtY2hubA==","payload":{"aps":{"timestamp":1795000000,"event":"update","content-state":{}}}}"#
        return try fixture.post(body, key: key)
      },
      Route(name: "mdm to the app's topic", sends: true) { fixture, app, token, key in
        let own = key == "b" || key == "sends-b" ? "com.b" : "com.a"
        let body =
          #"{"app":"\#(own)","id":"order","type":"mdm","topic":"\#(app)","token":"\#(token)","payload":{"mdm":"m"}}"#
        return try fixture.post(body, key: key)
      },
      Route(name: "gorush", sends: true) { fixture, app, token, key in
        let body =
          #"{"notifications":[{"platform":1,"message":"m","topic":"\#(app)","tokens":["\#(token)"]}]}"#
        let answer = try fixture.send("POST", "../api/push", body, key: key)
        // It refuses notifications one by one.
        let isRefused = try APIFixture.json(answer.text)["logs"]?.array?.isEmpty == false
        return (isRefused ? 403 : answer.status, isRefused ? "" : answer.text)
      },
      device("PUT", .production), device("DELETE", .production), device("DELETE", .sandbox),
      device("GET", .production), device("GET", .sandbox),
      Route(name: "invalid tokens", sends: false) { fixture, app, _, key in
        try fixture.send("GET", "invalid-tokens?app=\(app)", key: key)
      },
    ]

  private let folder = TemporaryFolder()

  private func start() throws -> APIFixture {
    let location = folder.file("tokens.db")
    let store = try TokenStore(location, now: 1)
    try store.setComplete(at: 1)
    try store.set(ReceiptKeeping(since: 1, retention: 86_400_000))
    for app in Self.apps {
      for environment in [Environment.production, .sandbox] {
        try store.put(
          DeviceKey(token: Self.known, app: app, environment: environment),
          DeviceState(
            mark: .init(since: 95, aliveFrom: 96, reason: "Unregistered", recordedAt: 100)))
      }
      try store.keep([
        KeptReceipt(
          place: .init(partition: 0, offset: app == "com.a" ? 1 : 2, line: 0), at: 7, app: app,
          requestID: "order", apnsID: "u-\(app)", receipt: #"{"app":"\#(app)"}"#)
      ])
    }
    func list(_ texts: [String]) -> String { texts.map { "\"\($0)\"" }.joined(separator: ",") }
    let entries = Self.keys.map { key in
      let sends = key.sends.isEmpty ? "" : #","apps":[\#(list(key.sends))]"#
      return
        #"{"name":"\#(key.name)","sha256":"\#(APIFixture.digest(key.name))"\#(sends),"read":[\#(list(key.reads))]}"#
    }
    return try APIFixture(
      ["--database", location, "--gorush"], keys: "[\(entries.joined(separator: ","))]")
  }

  private func allows(_ apps: [String], _ app: String) -> Bool {
    apps.contains("*") || apps.contains(app)
  }

  @Test func `what a key may not do is refused alike, whether the thing is there or not`() throws {
    let fixture = try start()
    var sent = (requests: 0, devices: 0)
    for route in Self.routes {
      for key in Self.keys where route.name != "mdm to the app's topic" || !key.sends.isEmpty {
        for app in Self.apps {
          let answers = try [Self.known, Self.unknown].map {
            try route.send(fixture, app, $0, key.name)
          }
          let place: Comment = "\(route.name), key \(key.name), \(app): \(answers)"
          guard allows(route.sends ? key.sends : key.reads, app) else {
            #expect(answers.allSatisfy { $0.0 == 403 }, place)
            #expect(answers[0].1 == answers[1].1, place)
            continue
          }
          #expect(answers[0].0 < 300, place)
          guard route.sends else { continue }
          if route.name.contains("device") { sent.devices += 2 } else { sent.requests += 2 }
        }
      }
    }
    #expect(try fixture.requests(sent.requests).count == sent.requests)
    let devices = try fixture.kafka.read(fixture.kafka.name("devices"), count: sent.devices)
    #expect(devices.count == sent.devices)
  }

  @Test
  func `outcomes are those of the key's apps, and another's are as if there were none`() throws {
    let fixture = try start()
    for key in Self.keys {
      let readable = Self.apps.filter { allows(key.reads, $0) }
      func get(_ id: String) throws -> (Int, [String?], JSONValue) {
        let answer = try fixture.send("GET", "notifications/\(id)", key: key.name)
        let json = try APIFixture.json(answer.text)
        return (answer.status, json["outcomes"]?.array?.map { $0["app"]?.string } ?? [], json)
      }
      let all = try get("order")
      #expect(all.1.compactMap(\.self).sorted() == readable, "\(key.name)")
      #expect(all.0 == (readable.isEmpty ? 404 : 200), "\(key.name)")
      for app in Self.apps {
        let one = try get("u-\(app)")
        #expect(one.1 == readable.filter { $0 == app }, "\(key.name)")
        if one.1.isEmpty { #expect(try one.2 == get("nothing").2, "\(key.name)") }
      }
    }
  }

  /// A request whose body is not complete, by the key `a`.
  private func open(_ fixture: APIFixture, _ line: String, _ body: String) throws -> RawClient {
    let client = try RawClient(port: fixture.port)
    client.send(
      "\(line) HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer a\r\nConnection: close\r\n"
        + "Content-Type: application/json\r\nContent-Length: \(body.utf8.count + 1)\r\n\r\n\(body)")
    return client
  }

  @Test(arguments: [("com.none", 403), (nil, 401)] as [(String?, Int)])
  func `rights that end while a request is under way end it, on every route`(
    apps: String?, status: Int
  ) throws {
    let fixture = try start()
    let app = "com.a"
    let token = Self.known
    let clients = try [
      ("POST /v1/notifications", Self.request(app, token)),
      ("PUT /v1/devices/\(token)", #"{"app":"\#(app)"}"#),
      ("DELETE /v1/devices/\(token)?app=\(app)", ""),
      ("GET /v1/devices/\(token)?app=\(app)", ""),
      ("GET /v1/invalid-tokens?app=\(app)", ""),
      ("GET /v1/notifications/u-\(app)", ""),
      (
        "POST /api/push",
        #"{"notifications":[{"platform":1,"message":"m","topic":"\#(app)","tokens":["\#(token)"]}]}"#
      ),
    ].map { ($0, try open(fixture, $0, $1)) }
    // Each was let in.
    expectEventually {
      fixture.context.counters.sums.first { $0.name == "connections" }?.value == clients.count
    }
    let other = #"{"name":"all","sha256":"\#(APIFixture.digest("all"))","apps":["*"]}"#
    let own = apps.map { #",{"name":"a","sha256":"\#(APIFixture.digest("a"))","apps":["\#($0)"]}"# }
    try Files.replace(fixture.folder.file("keys"), "[\(other)\(own ?? "")]")
    fixture.context.signals.requestReload()
    #expect(eventually { (try? fixture.post(Self.request(app, token), key: "a").status) == status })
    for (line, client) in clients {
      client.send(" ")
      let answer = client.receive()
      if line.hasPrefix("POST /api/push"), status == 403 {
        #expect(answer.contains("this key may not send for com.a"), "\(answer)")
      } else if line.hasPrefix("GET /v1/notifications"), status == 403 {
        #expect(RawClient.status(answer) == 404, "as if there were none: \(answer)")
      } else {
        #expect(RawClient.status(answer) == status, "\(line): \(answer)")
      }
    }
  }

  @Test func `one key does not fill the memory of all`() throws {
    let limited = try APIFixture(["--max-buffered-bytes", "4MiB"])
    // Longer bodies would be given up when they are too many, and leave room again.
    let part = String(repeating: " ", count: 60_000)
    let open = try (0..<40).map { _ in
      let client = try limited.begin("Content-Length: 70000")
      client.send(part)
      return client
    }
    expectEventually {
      (try? limited.post(Self.request("com.example.shop", Self.known), key: "shop").status) == 503
    }
    #expect(try limited.post(Self.request("com.a", Self.known), key: "all").status == 202)
    withExtendedLifetime(open) {}
  }
}
