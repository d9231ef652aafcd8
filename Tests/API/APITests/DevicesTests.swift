// SPDX-License-Identifier: Apache-2.0
import Contract
import EmbeddedKafka
import HTTPClient
import Kafka
import Records
import Store
import Telemetry
import TestSupport
import Testing

@testable import API

private let token = String(repeating: "aB", count: 32)
private let lower = token.lowercased()

@Suite(.onOwnThread) struct DeviceChangesTests {
  @Test func `a registration and a removal are on push.devices when they are answered`() throws {
    let fixture = try APIFixture()
    let answer = try fixture.send(
      "PUT", "devices/\(token)", #"{"app":"com.example.shop"}"#, key: "shop")
    #expect(answer.status == 202, "\(answer.text)")
    let time = 1_795_000_000_000
    let body = #"{"app":"a.b","environment":"sandbox","registered_at":\#(time)}"#
    #expect(try fixture.send("PUT", "devices/\(token)", body).status == 202)
    let gone = try fixture.send("DELETE", "devices/\(token)?app=a.b&environment=sandbox")
    #expect(gone.status == 202, "\(gone.text)")
    let records = try fixture.kafka.read(fixture.kafka.name("devices"), count: 3)
    let parser = JSONParser()
    let read = try records.map { record in
      try Array((record.value ?? "").utf8).withUnsafeBytes { try DeviceRecord($0, parser: parser) }
    }
    for (record, device) in zip(records, read) { #expect(record.key == "\(device.device)") }
    let sandbox = DeviceKey(token: lower, app: "a.b", environment: .sandbox)
    #expect(read.contains(DeviceRecord(device: sandbox, event: .registered(at: Int64(time)))))
    let own = read.first { $0.device.app == "com.example.shop" }
    #expect(
      own?.device == DeviceKey(token: lower, app: "com.example.shop", environment: .production))
    let times = read.filter { $0.device == sandbox }.map { record in
      if case .removed = record.event { true } else { false }
    }
    #expect(times == [false, true], "in the order of the requests")
  }

  @Test func `what is wrong with a registration is named, and Kafka gets nothing`() throws {
    let fixture = try APIFixture()
    func refusal(_ method: String, _ path: String, _ body: String? = nil, key: String? = "all")
      throws
      -> String
    {
      let answer = try fixture.send(method, path, body, key: key)
      let field = try APIFixture.json(answer.text)["field"]?.string
      return "\(answer.status) \(field ?? "")"
    }
    let good = #"{"app":"a.b"}"#
    #expect(try refusal("PUT", "devices/xyz", good) == "400 token")
    #expect(try refusal("PUT", "devices/\(token)", "{}") == "400 app")
    #expect(try refusal("PUT", "devices/\(token)", "[]") == "400 ")
    #expect(try refusal("PUT", "devices/\(token)", #"{"app":"a b"}"#) == "400 app")
    #expect(
      try refusal("PUT", "devices/\(token)", #"{"app":"a.b","environment":"x"}"#)
        == "400 environment")
    for time in ["1795000000", "4000000000000000", "-1", "\"x\""] {
      let body = #"{"app":"a.b","registered_at":\#(time)}"#
      #expect(try refusal("PUT", "devices/\(token)", body) == "400 registered_at", "\(time)")
    }
    #expect(try refusal("PUT", "devices/\(token)", #"{"app":"a.b","colour":1}"#) == "400 colour")
    #expect(try refusal("PUT", "devices/\(token)", String(repeating: " ", count: 5_000)) == "413 ")
    #expect(try refusal("PUT", "devices/\(token)", good, key: "shop") == "403 app")
    #expect(try refusal("PUT", "devices/\(token)", good, key: nil) == "401 ")
    #expect(try refusal("DELETE", "devices/\(token)") == "400 app")
    #expect(try refusal("DELETE", "devices/\(token)?app=a.b", key: "shop") == "403 app")
    #expect(try refusal("POST", "devices/\(token)", good) == "405 ")
    #expect(try refusal("PUT", "invalid-tokens", good) == "405 ")
    #expect(try refusal("PUT", "devices/", good) == "404 ")
    #expect(try refusal("PUT", "devices/\(token)/x", good) == "404 ")
    #expect(try fixture.send("PUT", "devices/\(token)", "{}", type: "text/plain").status == 415)
    #expect(try refusal("GET", "devices/\(token)?app=a.b") == "503 ", "it has no database")
    #expect(try fixture.send("PUT", "devices/\(token)", good).status == 202)
    #expect(try fixture.kafka.read(fixture.kafka.name("devices"), count: 1).count == 1)
  }

  @Test func `changes are counted by the key that made them`() throws {
    let fixture = try APIFixture()
    for _ in 0..<2 {
      #expect(try fixture.send("PUT", "devices/\(token)", #"{"app":"a.b"}"#).status == 202)
    }
    #expect(try fixture.send("DELETE", "devices/\(token)?app=a.b").status == 202)
    func count(_ change: String) -> MetricValue? {
      fixture.value(of: "martlet_api_key_device_changes_total", ["all", change])
    }
    #expect(count("registered") == .integer(2) && count("removed") == .integer(1))
  }

  @Test func `a query that says a thing twice is refused`() throws {
    let fixture = try APIFixture()
    for query in ["app=a.b&app=a.c", "app=a.b&environment=sandbox&environment=production"] {
      #expect(try fixture.send("DELETE", "devices/\(token)?\(query)").status == 400)
    }
  }

  /// A mistyped one would be answered for production, or for all apps.
  @Test func `an argument that a path does not have is refused by its name`() throws {
    let fixture = try APIFixture()
    for (method, path) in [
      ("PUT", "devices/\(token)?"), ("GET", "devices/\(token)?app=a.b&"),
      ("DELETE", "devices/\(token)?app=a.b&"), ("GET", "invalid-tokens?app=a.b&"),
      ("GET", "users/ann?"), ("DELETE", "users/ann?app=a.b&"), ("GET", "notifications/a?"),
      ("DELETE", "notifications/a?app=a.b&"), ("POST", "notifications?"), ("GET", "paces?"),
      ("PUT", "paces/app/a.b?"), ("POST", "campaigns?"), ("GET", "campaigns?limit=5&"),
      ("POST", "campaigns/a/pause?app=a.b&"),
    ] {
      let body = ["PUT", "POST"].contains(method) ? #"{"app":"a.b"}"# : nil
      let answer = try fixture.send(method, path + "enviroment=sandbox", body, key: "operator")
      #expect(answer.status == 400, "\(method) \(path)")
      #expect(answer.text.contains(#""field":"enviroment""#), "\(answer.text)")
    }
  }

  @Test func `a body that says a thing twice is told so, and what is no object another thing`()
    throws
  {
    let fixture = try APIFixture()
    let twice = try fixture.send("PUT", "devices/\(token)", #"{"app":"a.b","\u0061pp":"a.c"}"#)
    #expect(twice.status == 400 && twice.text.contains("app: is given twice"), "\(twice.text)")
    #expect(twice.text.contains(#""field":"app""#), "\(twice.text)")
    let list = try fixture.send("PUT", "devices/\(token)", "[]")
    #expect(list.status == 400 && list.text.contains("not a JSON object"), "\(list.text)")
    let comma = try fixture.send("PUT", "devices/\(token)", #"{"app":"a.b",}"#)
    #expect(comma.status == 400 && comma.text.contains("a comma stands before"), "\(comma.text)")
  }

  @Test func `a registration that Kafka does not acknowledge is answered with 503`() throws {
    let fixture = try APIFixture(embedded: true) { $0.ackTimeoutMilliseconds = 300 }
    // A busy machine may take longer than that.
    try expectEventually {
      try fixture.send("PUT", "devices/\(token)", #"{"app":"a.b"}"#).status == 202
    }
    try #require(fixture.kafka.broker).setDown()
    let answer = try fixture.send("PUT", "devices/\(token)", #"{"app":"a.b"}"#)
    #expect(answer.status == 503 && answer.text.contains("Kafka did not"), "\(answer.text)")
  }
}

@Suite(.onOwnThread) struct DeviceQueriesTests {
  private let folder = TemporaryFolder()

  private static func device(
    _ number: Int, _ environment: Environment = .production, app: String = "com.example.shop"
  ) -> DeviceKey {
    let digits = String(number, radix: 16)
    return DeviceKey(
      token: String(repeating: "0", count: 64 - digits.count) + digits, app: app,
      environment: environment)
  }

  private static func invalid(_ time: Int64) -> DeviceState {
    DeviceState(
      mark: .init(since: time - 5, aliveFrom: time - 4, reason: "Unregistered", recordedAt: time))
  }

  private static func put(_ store: TokenStore, _ states: [DeviceKey: DeviceState]) throws {
    try store.setComplete(at: 1)
    try store.transaction { () throws(StoreError) in
      var rows = try store.rows(of: Array(states.keys))
      for (device, state) in states { rows[device] = state }
      try store.write(rows)
    }
  }

  @Test(arguments: DatabaseKind.allCases)
  func `a key that may read the app gets the device from the database`(kind: DatabaseKind) throws {
    let location = try kind.location(in: folder)
    let store = try TokenStore(location, now: 1)
    let valid = Self.device(3)
    try Self.put(
      store,
      [
        Self.device(1): DeviceState(presence: .registered(at: 7)),
        Self.device(2): Self.invalid(100),
        valid: DeviceState(
          presence: .registered(at: 200),
          mark: .init(since: 95, aliveFrom: 96, reason: "Unregistered", recordedAt: 100)),
        Self.device(4, .sandbox): DeviceState(presence: .removed(at: 9)),
      ])
    let fixture = try APIFixture(["--database", location])
    func get(_ device: DeviceKey, key: String = "shop") throws -> (Int, JSONValue) {
      let answer = try fixture.send(
        "GET", "devices/\(device.token)?app=\(device.app)&environment=\(device.environment)",
        key: key)
      return (answer.status, try APIFixture.json(answer.text))
    }
    let registered = try get(Self.device(1))
    #expect(registered.0 == 200 && registered.1["state"] == "registered")
    #expect(registered.1["registered_at"]?.int == 7)
    let invalid = try get(Self.device(2))
    #expect(invalid.1["state"] == "invalid" && invalid.1["reason"] == "Unregistered")
    #expect(invalid.1["invalid_since"]?.int == 95 && invalid.1["recorded_at"]?.int == 100)
    #expect(try get(valid).1["state"] == "registered" && get(valid).1["reason"] == nil)
    #expect(try get(Self.device(4, .sandbox)).1["state"] == "removed")
    #expect(try get(Self.device(4)).0 == 404)
    #expect(try get(Self.device(1, app: "a.b")).0 == 403)
    #expect(try get(Self.device(1, app: "a.b"), key: "all").0 == 404)
  }

  @Test(arguments: DatabaseKind.allCases)
  func `invalid tokens come in stable pages: each once and in order, while others are written`(
    kind: DatabaseKind
  ) throws {
    let location = try kind.location(in: folder)
    let store = try TokenStore(location, now: 1)
    var states: [DeviceKey: DeviceState] = [:]
    for number in 0..<500 {
      states[Self.device(number, number % 2 == 0 ? .sandbox : .production)] =
        Self.invalid(1_000 + Int64(number / 10))
    }
    states[Self.device(900)] = DeviceState(presence: .registered(at: 5))
    states[Self.device(901, app: "a.b")] = Self.invalid(1_000)
    try Self.put(store, states)
    let fixture = try APIFixture(["--database", location])
    var seen: [String] = []
    var cursor: String?
    for page in 0..<100 {
      let more = cursor.map { "&cursor=\($0)" } ?? ""
      let answer = try fixture.send(
        "GET", "invalid-tokens?app=com.example.shop&limit=33\(more)", key: "shop")
      #expect(answer.status == 200, "\(answer.text)")
      let body = try APIFixture.json(answer.text)
      seen += (body["invalid_tokens"]?.array ?? []).compactMap { $0["token"]?.string }
      cursor = body["cursor"]?.string
      // A new one behind all, and one taken back that was already told.
      if page == 3 {
        try Self.put(
          store,
          [
            Self.device(2_000): Self.invalid(9_000),
            Self.device(0, .sandbox): DeviceState(presence: .registered(at: 99_999)),
          ])
      }
      if body["has_more"]?.bool != true { break }
    }
    #expect(seen.count == 501 && Set(seen).count == 501)
    #expect(seen.last == Self.device(2_000).token)
    let end = try fixture.send(
      "GET", "invalid-tokens?app=com.example.shop&cursor=\(cursor ?? "")", key: "shop")
    #expect(try APIFixture.json(end.text)["cursor"]?.string == cursor)
    func count(_ query: String) throws -> Int? {
      let answer = try fixture.send(
        "GET", "invalid-tokens?app=com.example.shop&\(query)", key: "shop")
      return try APIFixture.json(answer.text)["invalid_tokens"]?.array?.count
    }
    #expect(try count("since=1045") == 51)
    #expect(try count("since=1045&environment=sandbox") == 25)
    #expect(try count("since=9001") == 0)
    // A cursor goes on from where it stands, whatever the first page began with.
    #expect(try count("since=9001&cursor=1045.production.") == count("cursor=1045.production."))
  }

  @Test func `questions that make no sense are refused, and keys read their own apps`() throws {
    let location = try DatabaseKind.sqlite.location(in: folder)
    try TokenStore(location, now: 1).setComplete(at: 1)
    let fixture = try APIFixture(["--database", location])
    for (query, field) in [
      ("", "app"), ("app=com.example.shop&limit=0", "limit"),
      ("app=com.example.shop&limit=x", "limit"), ("app=com.example.shop&since=-1", "since"),
      ("app=com.example.shop&since=1795000000", "since"),
      ("app=com.example.shop&since=1795000000000000", "since"),
      ("app=com.example.shop&cursor=x", "cursor"),
      ("app=com.example.shop&cursor=1.x.ab", "cursor"),
      ("app=com.example.shop&cursor=1.sandbox.ab&since=x", "since"),
      ("app=com.example.shop&environment=x", "environment"),
    ] {
      let answer = try fixture.send("GET", "invalid-tokens?\(query)", key: "shop")
      #expect(answer.status == 400)
      #expect(try APIFixture.json(answer.text)["field"]?.string == field, "\(query)")
    }
    let seconds = try fixture.send(
      "GET", "invalid-tokens?app=com.example.shop&since=1795000000", key: "shop")
    #expect(seconds.text.contains("is in seconds (1795000000); milliseconds"), "\(seconds.text)")
    #expect(try fixture.send("GET", "invalid-tokens?app=a.b", key: "shop").status == 403)
  }

  @Test(arguments: DatabaseKind.allCases)
  func `while devices are read from the topics nothing is answered from some of them`(
    kind: DatabaseKind
  ) throws {
    let location = try kind.location(in: folder)
    let store = try TokenStore(location, now: 1)
    try Self.put(
      store,
      [
        Self.device(1): DeviceState(
          presence: .registered(at: 7), details: DeviceDetails(user: "ann"))
      ])
    try store.startOver(at: 5)
    try store.transaction { () throws(StoreError) in
      try store.set(TableProgress(done: 370, total: 1_000))
    }
    let fixture = try APIFixture(["--database", location])
    let questions = [
      ("GET", "devices/\(Self.device(1).token)?app=com.example.shop"),
      ("GET", "devices/\(Self.device(2).token)?app=com.example.shop"), ("GET", "users/ann"),
      ("GET", "invalid-tokens?app=com.example.shop"), ("DELETE", "users/ann"),
    ]
    for (method, path) in questions {
      let answer = try fixture.send(method, path, key: "shop")
      let body = try APIFixture.json(answer.text)
      #expect(answer.status == 503 && body["retry_after"] == 10, "\(method) \(path)")
      #expect(body["detail"]?.string?.contains("37 % of 1000 records") == true)
    }
    // Nothing was forgotten.
    #expect(try fixture.send("PUT", "devices/ab", #"{"app":"a.b"}"#).status == 202)
    #expect(try fixture.kafka.read(fixture.kafka.name("devices"), count: 1).first?.value != nil)
    try store.setComplete(at: 6)
    for (method, path) in questions {
      #expect(try fixture.send(method, path, key: "shop").status < 500, "\(method) \(path)")
    }
  }

  @Test func `a database that goes away is answered with 503 and does not hold up requests`() throws
  {
    let server = try PostgresServer()
    let location = try server.newDatabase("api")
    let store = try TokenStore(location, now: 1)
    try store.setComplete(at: 1)
    try Self.put(store, [Self.device(1): DeviceState(presence: .registered(at: 7))])
    let fixture = try APIFixture(["--database", location])
    let path = "devices/\(Self.device(1).token)?app=com.example.shop"
    #expect(try fixture.send("GET", path, key: "shop").status == 200)
    // A restart cuts the connection while nobody uses it: the question is asked once more.
    try server.kill()
    try server.start()
    #expect(try fixture.send("GET", path, key: "shop").status == 200)
    try server.kill()
    #expect(try fixture.send("GET", path, key: "shop").status == 503)
    #expect(try fixture.send("PUT", "devices/ab", #"{"app":"a.b"}"#).status == 202)
    try server.start()
    #expect(try fixture.send("GET", path, key: "shop").status == 200)
  }
}
