// SPDX-License-Identifier: Apache-2.0
import Contract
import EmbeddedKafka
import EventLoop
import Glibc
import Records
import ServiceKit
import Store
import Telemetry
import TestSupport
import Testing

@testable import API

/// What is known of a user, and its removal.
@Suite(.onOwnThread) struct UsersTests {
  private let folder = TemporaryFolder()

  private static let shop = "com.example.shop"

  private static func device(_ number: Int, app: String = shop) -> DeviceKey {
    let digits = String(number, radix: 16)
    return DeviceKey(
      token: String(repeating: "0", count: 64 - digits.count) + digits, app: app,
      environment: .production)
  }

  private static func put(_ store: TokenStore, _ devices: [(DeviceKey, user: String)]) throws {
    try store.setComplete(at: 1)
    try store.transaction { () throws(StoreError) in
      var rows = try store.rows(of: devices.map(\.0))
      for (device, user) in devices {
        rows[device] = DeviceState(presence: .registered(at: 7), details: DeviceDetails(user: user))
      }
      try store.write(rows)
    }
  }

  @Test(arguments: DatabaseKind.allCases)
  func `a user's devices are told and forgotten, as far as the key's apps go`(
    kind: DatabaseKind
  ) throws {
    let location = try kind.location(in: folder)
    let store = try TokenStore(location, now: 1)
    try Self.put(
      store,
      [
        (Self.device(1), "ann"), (Self.device(2), "ann"), (Self.device(3, app: "a.b"), "ann"),
        (Self.device(4), "bob"), (Self.device(5), "a/b c"),
      ])
    let fixture = try APIFixture(["--database", location])
    func ask(_ method: String, _ path: String, key: String = "shop") throws -> (Int, JSONValue) {
      let answer = try fixture.send(method, "users/\(path)", key: key)
      return (answer.status, try APIFixture.json(answer.text))
    }
    func tokens(_ answer: (Int, JSONValue)) -> [String?]? {
      answer.1["devices"]?.array?.map { $0["token"]?.string }
    }
    let own = try ask("GET", "ann")
    #expect(own.0 == 200 && own.1["has_more"] == false)
    #expect(tokens(own) == [Self.device(1).token, Self.device(2).token])
    #expect(own.1["devices"]?.array?.first?["user"] == "ann")
    #expect(try tokens(ask("GET", "ann", key: "all"))?.count == 3)
    #expect(try tokens(ask("GET", "ann?app=a.b", key: "all"))?.count == 1)
    #expect(try tokens(ask("GET", "a/b%20c")) == [Self.device(5).token])
    #expect(try tokens(ask("GET", "nobody")) == [])
    #expect(try ask("GET", "ann?app=a.b").0 == 403)
    #expect(try ask("DELETE", "ann?app=a.b").0 == 403)
    #expect(try ask("DELETE", "ann?app=a%20b").0 == 400)
    #expect(try ask("PUT", "ann").0 == 405)
    #expect(try ask("GET", "").0 == 404)
    #expect(try ask("GET", String(repeating: "x", count: 257)).0 == 400)
    #expect(try fixture.send("DELETE", "users/ann", key: nil).status == 401)
    #expect(try APIFixture().send("DELETE", "users/ann").status == 503, "no database")

    let nobody = try ask("DELETE", "nobody")
    #expect(nobody.0 == 202 && nobody.1["devices"] == 0)
    let forgotten = try ask("DELETE", "ann")
    #expect(forgotten.0 == 202 && forgotten.1["devices"] == 2 && forgotten.1["has_more"] == false)
    let records = try fixture.kafka.read(fixture.kafka.name("devices"), count: 2)
    #expect(records.allSatisfy { $0.value == nil })
    #expect(
      Set(records.map(\.key))
        == [1, 2].map { "\(Self.device($0).token):\(Self.shop):production" }.reduce(into: Set()) {
          $0.insert($1)
        })
    #expect(
      fixture.value(of: "martlet_api_key_device_changes_total", ["shop", "removed"]) == .integer(2))
  }

  @Test func `a key that only reads erases nobody, and is told so`() throws {
    let location = folder.file("tokens.db")
    try Self.put(try TokenStore(location, now: 1), [(Self.device(1), "ann")])
    let key = #"[{"name":"reader","sha256":"\#(APIFixture.digest("reader"))","read":["*"]}]"#
    let fixture = try APIFixture(["--database", location], keys: key)
    #expect(try fixture.send("GET", "users/ann", key: "reader").status == 200)
    for query in ["", "?app=\(Self.shop)"] {
      let answer = try fixture.send("DELETE", "users/ann\(query)", key: "reader")
      #expect(answer.status == 403, "\(query): \(answer.text)")
    }
  }

  @Test func `rights that are narrowed while the database is asked hold for its answer`() throws {
    let location = try DatabaseKind.postgres.location(in: folder)
    try Self.put(
      try TokenStore(location, now: 1),
      [(Self.device(1), "ann"), (Self.device(2, app: "a.b"), "ann")])
    func keys(_ apps: String) -> String {
      #"[{"name":"two","sha256":"\#(APIFixture.digest("two"))","apps":[\#(apps)]}]"#
    }
    let fixture = try APIFixture(
      ["--database", location], keys: keys(#""\#(Self.shop)","a.b""#)
    ) { $0.ackTimeoutMilliseconds = 60_000 }
    #expect(try fixture.send("GET", "users/ann", key: "two").text.contains("a.b"))
    // Somebody else has the table to himself.
    let sql = try #require(popen("psql -q '\(location)' >/dev/null 2>&1", "w"))
    defer { pclose(sql) }
    func tell(_ text: String) {
      fputs(text + "\n", sql)
      fflush(sql)
    }
    let mark = folder.file("locked")
    tell("BEGIN; LOCK TABLE devices IN ACCESS EXCLUSIVE MODE;\n\\! touch '\(mark)'")
    expectEventually { File.exists(mark) }
    let client = try RawClient(port: fixture.port)
    client.send(
      "GET /v1/users/ann HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer two\r\n"
        + "Connection: close\r\n\r\n")
    expectEventually { fixture.value(of: "martlet_api_held_bytes", []) != .integer(0) }
    try Files.replace(fixture.folder.file("keys"), keys("\"\(Self.shop)\""))
    fixture.context.signals.requestReload()
    try expectEventually {
      try fixture.send("PUT", "devices/ab", #"{"app":"a.b"}"#, key: "two").status == 403
    }
    tell("COMMIT;")
    let answer = client.receive()
    #expect(RawClient.status(answer) == 200 && answer.contains(Self.shop), "\(answer)")
    #expect(!answer.contains("a.b"), "\(answer)")
  }

  @Test func `of a user with very many devices a thousand are told and forgotten at a time`() throws
  {
    let location = folder.file("tokens.db")
    let store = try TokenStore(location, now: 1)
    try Self.put(store, (0..<1_001).map { (Self.device($0), "ann") })
    let fixture = try APIFixture(["--database", location])
    for (method, status) in [("GET", 200), ("DELETE", 202)] {
      let answer = try fixture.send(method, "users/ann", key: "shop")
      let body = try APIFixture.json(answer.text)
      #expect(answer.status == status && body["has_more"] == true)
      let devices = body["devices"]?.array?.count ?? body["devices"]?.int.map { Int($0) }
      #expect(devices == 1_000)
    }
    #expect(try fixture.kafka.read(fixture.kafka.name("devices"), count: 1_000).count == 1_000)
  }

  @Test func `devices that Kafka does not acknowledge are not said to be forgotten`() throws {
    let location = folder.file("tokens.db")
    try Self.put(
      try TokenStore(location, now: 1), [(Self.device(1), "ann"), (Self.device(2), "ann")])
    let fixture = try APIFixture(["--database", location], embedded: true) {
      $0.ackTimeoutMilliseconds = 300
    }
    // A busy machine may take longer than that.
    try expectEventually { try fixture.send("DELETE", "users/ann").status == 202 }
    try #require(fixture.kafka.broker).setDown()
    #expect(try fixture.send("DELETE", "users/ann").status == 503)
  }
}
