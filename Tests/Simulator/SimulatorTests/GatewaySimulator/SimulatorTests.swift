// SPDX-License-Identifier: Apache-2.0
import Contract
import Crypto
import EventLoop
import GatewaySimulator
import HTTP2
import HTTPClient
import Records
import Testing

/// The whole simulator, with our own client and with clients that others wrote.
@Suite struct SimulatorTests {
  @Test func `a valid push is accepted and raises the limit`() throws {
    let client = try GatewayClient(RunningGateway())
    #expect(client.limits == [1])
    let first = try client.send(client.push)
    #expect(first.status == 200)
    #expect(first.body == "")
    try client.wait { client.limits.count == 2 }
    #expect(client.limits == [1, 1_000])
    #expect(!first.hasUniqueID)
  }

  @Test func `a refused push carries the reason as APNs writes it`() throws {
    let client = try GatewayClient(RunningGateway())
    let answer = try client.send(client.push.with("authorization", nil))
    #expect(answer.status == 403)
    #expect(answer.body == #"{"reason":"MissingProviderToken"}"#)
    #expect(client.limits == [1])
    let size = try client.send(client.push.withBody(4_097))
    #expect(size.status == 413)
    #expect(size.body == #"{"reason":"PayloadTooLarge"}"#)
  }

  @Test func `declared tokens answer 410 with their timestamp and everything is reported`() throws {
    let gateway = try RunningGateway()
    let client = try GatewayClient(gateway)
    let token = String(repeating: "ab", count: 32)
    #expect(
      try gateway.admin("PUT", "/tokens", #"[{"token":"\#(token)","timestamp":1794999000123}]"#)
        == "{\"accepted\":1}\n")
    let path = client.push.with(":path", "/3/device/" + token)
    let gone = try client.send(path)
    #expect(gone.status == 410)
    #expect(gone.body == #"{"reason":"Unregistered","timestamp":1794999000123}"#)
    _ = try client.send(client.push)
    let lines = try gateway.admin("GET", "/requests").split(separator: "\n")
    try #require(lines.count == 2)
    let record = try JSONDocument(String(lines[0])).root
    #expect(record["apns_id"]?.string == "0f6e1c1e-5a0b-4c55-9d0e-6f6b3a1c2d3e")
    #expect(record["token"]?.string == token)
    #expect(record["topic"]?.string == "com.example.app")
    #expect(record["type"]?.string == "alert")
    #expect(record["status"]?.int == 410)
    #expect(record["reason"]?.string == "Unregistered")
    #expect(try JSONDocument(String(lines[1])).root["status"]?.int == 200)
    let counters = try gateway.json("/counters")
    #expect(counters["requests"]?.int == 2)
    #expect(counters["accepted"]?.int == 1)
    #expect(counters["reasons"]?["Unregistered"]?.int == 1)
    _ = try gateway.admin("POST", "/reset")
    #expect(try gateway.admin("GET", "/requests") == "")
    #expect(try client.send(path).status == 200)
    let reset = try gateway.json("/counters")
    #expect(reset["requests"]?.int == 1)
  }

  @Test func `keys can be added while it runs`() throws {
    let gateway = try RunningGateway()
    let client = try GatewayClient(gateway)
    let other = try TestKey(id: "KEY0000009")
    let now = WallClock.seconds()
    let push = PushText(token: try other.token(issuedAt: now))
    #expect(try client.send(push).body == #"{"reason":"InvalidProviderToken"}"#)
    let pem = String(decoding: try other.key.publicKey.pem(), as: UTF8.self)
    let key: JSONValue = [
      ["key_id": "KEY0000009", "team_id": "TEAM000001", "public_key": .string(pem)]
    ]
    _ = try gateway.admin("PUT", "/keys", String(decoding: key.text, as: UTF8.self))
    #expect(try client.send(push).status == 200)
    #expect(try gateway.admin("PUT", "/keys", "[{}]").contains("keys[0]"))
  }

  @Test func `the limit drops after an error and comes back`() throws {
    let client = try GatewayClient(RunningGateway())
    _ = try client.send(client.push)
    _ = try client.send(client.push.with("apns-priority", "3"))
    try client.wait { client.limits.count == 3 }
    _ = try client.send(client.push)
    try client.wait { client.limits.count == 4 }
    #expect(client.limits == [1, 1_000, 1, 1_000])
  }

  @Test func `the sandbox adds a unique ID`() throws {
    let gateway = try RunningGateway { $0.environment = .sandbox }
    let client = try GatewayClient(gateway)
    #expect(try client.send(client.push).hasUniqueID)
  }

  @Test func `latency delays the answer`() throws {
    let gateway = try RunningGateway { $0.latency = .fixed(50) }
    let client = try GatewayClient(gateway)
    let start = MonotonicClock.milliseconds()
    #expect(try client.send(client.push).status == 200)
    #expect(MonotonicClock.milliseconds() - start >= 50)
  }

  @Test func `the record is bounded and says what it dropped`() throws {
    let gateway = try RunningGateway { $0.recordLimit = 2 }
    let client = try GatewayClient(gateway)
    for _ in 0..<5 { _ = try client.send(client.push) }
    #expect(try gateway.admin("GET", "/requests").split(separator: "\n").count == 2)
    let counters = try gateway.json("/counters")
    #expect(counters["records_dropped"]?.int == 3)
  }

  @Test func `the fast profile answers anything and records nothing`() throws {
    let gateway = try RunningGateway { $0.isFast = true }
    let client = try GatewayClient(gateway)
    #expect(client.limits == [1_000])
    #expect(try client.send(PushText(token: "nonsense")).status == 200)
    #expect(try gateway.admin("GET", "/requests") == "")
  }

  @Test func `several loops share one port`() throws {
    let gateway = try RunningGateway { $0.loops = 3 }
    for _ in 0..<10 {
      let client = try GatewayClient(gateway)
      #expect(try client.send(client.push).status == 200)
    }
    #expect(try gateway.admin("GET", "/requests").split(separator: "\n").count == 10)
  }

  @Test func `a stop answers open requests and sends GOAWAY`() throws {
    let gateway = try RunningGateway { $0.latency = .fixed(2_000) }
    let client = try GatewayClient(gateway)
    let exchange = client.begin(client.push)
    try client.wait { try gateway.admin("GET", "/counters").contains("\"requests\":1,") }
    gateway.stop()
    try client.wait { client.connection.isClosed }
    #expect(exchange.pointee.status == 200)
    #expect(
      client.notices.contains(
        .goAway(lastStreamID: 1, code: 0, debug: Array(#"{"reason":"Shutdown"}"#.utf8))))
    #expect(client.notices.last == .closed(nil))
  }
}
