// SPDX-License-Identifier: Apache-2.0
import Contract
import Records
import Store
import TestSupport
import Testing

@testable import API

/// What became of a request, details of a registration, and a token's history.
@Suite(.onOwnThread) struct OutcomesTests {
  private static func receipt(
    _ number: Int, app: String, id: String, apnsID: String
  ) -> KeptReceipt {
    KeptReceipt(
      place: .init(partition: 0, offset: 1, line: number), at: Int64(number), app: app,
      requestID: id, apnsID: apnsID,
      receipt:
        #"{"outcome":"delivered","apns_id":"\#(apnsID)","id":"\#(id)","app":"\#(app)","at":\#(number)}"#
    )
  }

  @Test(arguments: DatabaseKind.allCases)
  func `a key that may read the app gets outcomes, or the reason why there are none`(
    kind: DatabaseKind
  ) throws {
    let folder = TemporaryFolder()
    let location = try kind.location(in: folder)
    let store = try TokenStore(location, now: 1)
    let fixture = try APIFixture(["--database", location])
    func get(_ id: String, key: String = "shop") throws -> (Int, JSONValue) {
      let answer = try fixture.send("GET", "notifications/\(id)", key: key)
      return (answer.status, try APIFixture.json(answer.text))
    }
    let before = try get("order-1")
    #expect(before.0 == 404 && before.1["title"] == "Receipts are not kept")
    #expect(before.1["detail"]?.string?.contains("--keep-receipts") == true)
    try store.set(ReceiptKeeping(since: 1_795_000_000_000, retention: 7 * 86_400_000))
    let unknown = try get("order-1")
    #expect(unknown.0 == 404 && unknown.1["title"] == "Not found")
    #expect(unknown.1["detail"]?.string?.contains("for 7d each, and since 2026-11-18") == true)
    let own = "com.example.shop"
    try store.keep([
      Self.receipt(1, app: own, id: "order-1", apnsID: "u1"),
      Self.receipt(2, app: own, id: "order-1", apnsID: "u2"),
      Self.receipt(3, app: "a.b", id: "order-1", apnsID: "u3"),
      Self.receipt(4, app: own, id: "a/b c", apnsID: "u4"),
    ])
    let found = try get("order-1")
    #expect(found.0 == 200 && found.1["has_more"] == false)
    #expect(found.1["outcomes"]?.array?.map { $0["apns_id"]?.string } == ["u1", "u2"])
    #expect(try get("order-1", key: "all").1["outcomes"]?.array?.count == 3)
    #expect(try get("u2").1["outcomes"]?.array?.count == 1)
    #expect(try get("u3").0 == 404, "of an app that the key may not read")
    #expect(try get("a/b%20c").0 == 200)
    // Any number of rows of another app under the same id hides none of its own.
    try store.keep(
      (0..<OutcomesAPI.limit + 1).map {
        Self.receipt($0 + 10, app: "a.b", id: "order-2", apnsID: "v\($0)")
      } + [Self.receipt(10_000, app: own, id: "order-2", apnsID: "mine")])
    let mine = try get("order-2")
    #expect(mine.1["outcomes"]?.array?.map { $0["apns_id"]?.string } == ["mine"])
    #expect(mine.1["has_more"] == false)
    #expect(try get(String(repeating: "x", count: 129)).0 == 400)
    #expect(try fixture.send("PUT", "notifications/order-1").status == 405)
    #expect(try fixture.send("GET", "notifications/order-1", key: nil).status == 401)
    #expect(try APIFixture().send("GET", "notifications/order-1").status == 503, "no database")
  }

  @Test
  func `a registration's details are on the topic, and what is wrong with one is named`() throws {
    let fixture = try APIFixture()
    let token = String(repeating: "ab", count: 32)
    let good =
      #"{"app":"a.b","type":"voip","user":"ann","locale":"en_GB","app_version":"1.2","bundle":"a.b.c","#
      + #""model":"iPhone17,1","time_zone":"Europe/Zurich","tags":["vip","plan:gold"]}"#
    let answer = try fixture.send("PUT", "devices/\(token)", good)
    #expect(answer.status == 202, "\(answer.text)")
    let record = try #require(
      try fixture.kafka.read(fixture.kafka.name("devices"), count: 1).first?.value)
    let read = try Array(record.utf8).withUnsafeBytes { try DeviceRecord($0, parser: JSONParser()) }
    #expect(
      read.details
        == DeviceDetails(
          pushType: "voip", user: "ann", locale: "en_GB", appVersion: "1.2", bundle: "a.b.c",
          model: "iPhone17,1", timeZone: "Europe/Zurich", tags: "vip plan:gold"))
    #expect(record.contains(#""tags":["vip","plan:gold"]"#))
    for (member, value) in [
      ("type", #""nothing""#), ("user", "7"), ("locale", #""""#),
      ("app_version", "\"\(String(repeating: "1", count: 257))\""), ("bundle", "[]"),
      ("tags", #""vip""#), ("tags", "[7]"), ("tags", #"["a b"]"#), ("tags", #"[""]"#),
      ("tags", "[\"\(String(repeating: "1", count: 257))\"]"),
    ] {
      let body = #"{"app":"a.b","\#(member)":\#(value)}"#
      let refused = try fixture.send("PUT", "devices/\(token)", body)
      #expect(refused.status == 400, "\(member)")
      #expect(try APIFixture.json(refused.text)["field"]?.string == member)
    }
    #expect(
      try fixture.send("PUT", "devices/\(token)", #"{"app":"a.b","user":null}"#).status == 202)
  }

  @Test(arguments: DatabaseKind.allCases)
  func `a device is returned with its details and history, a listed one with its details`(
    kind: DatabaseKind
  ) throws {
    let folder = TemporaryFolder()
    let location = try kind.location(in: folder)
    let store = try TokenStore(location, now: 1)
    try store.setComplete(at: 1)
    let token = String(repeating: "cd", count: 32)
    let device = DeviceKey(token: token, app: "com.example.shop", environment: .production)
    var state = DeviceState()
    state.apply(.registered(at: 100))
    state.apply(
      DeviceState.Mark(since: 200, aliveFrom: 201, reason: "Unregistered", recordedAt: 205))
    state.apply(.registered(at: 300), DeviceDetails(user: "ann", locale: "de"))
    state.apply(
      DeviceState.Mark(since: 400, aliveFrom: 401, reason: "ExpiredToken", recordedAt: 405))
    try store.put(device, state)
    let fixture = try APIFixture(["--database", location])
    let told = try APIFixture.json(
      fixture.send("GET", "devices/\(token)?app=com.example.shop", key: "shop").text)
    #expect(told["state"] == "invalid" && told["user"] == "ann" && told["locale"] == "de")
    let history = told["history"]?.array?.map { entry in
      "\(entry["state"]?.string ?? "") \(entry["at"]?.int ?? 0) \(entry["reason"]?.string ?? "")"
    }
    #expect(
      history == [
        "registered 100 ", "invalid 200 Unregistered", "revived 300 ", "invalid 400 ExpiredToken",
      ])
    let list = try APIFixture.json(
      fixture.send("GET", "invalid-tokens?app=com.example.shop", key: "shop").text)
    #expect(list["invalid_tokens"]?.array?.first?["user"] == "ann")
  }
}
