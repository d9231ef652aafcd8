// SPDX-License-Identifier: Apache-2.0
import Contract
import Crypto
import EventLoop
import GatewaySimulator
import HTTP2
import Records
import Testing

/// What the gateway does with connections: certificates, provider tokens over time, the end.
@Suite struct ConnectionBehaviourTests {
  private static let app = "com.example.app"

  // MARK: Certificates

  @Test func `a certificate has all streams at once and needs no provider token`() throws {
    let gateway = try RunningGateway()
    let issued = try gateway.authority.issueClient(bundleID: Self.app)
    let client = try GatewayClient(gateway, showing: issued)
    #expect(client.limits == [1_000])
    #expect(try client.send { $0.with("authorization", nil) }.status == 200)
    #expect(
      try client.send { $0.with("apns-topic", "com.example.other") }.body
        == #"{"reason":"BadTopic"}"#)
    let shown = try gateway.json("/connections")["connections"]?.array?.first
    #expect(shown?["mode"]?.string == "certificate")
    #expect(shown?["server_name"]?.string == "localhost")
    #expect(shown?["certificate_topics"]?.array?.count == 3)
  }

  @Test func `a single-topic certificate stands for its topic`() throws {
    let gateway = try RunningGateway()
    let issued = try gateway.authority.issueClient(bundleID: Self.app, isUniversal: false)
    let client = try GatewayClient(gateway, showing: issued)
    let bare = client.push.with("authorization", nil).with("apns-topic", nil)
    #expect(try client.send(bare).status == 200)
    #expect(try gateway.jsonLines("/requests").first?["topic"]?.string == Self.app)
    #expect(try gateway.jsonLines("/delivered?app=\(Self.app)").count == 1)
    #expect(
      try client.send(
        bare.adding("apns-topic", Self.app + ".voip").with("apns-push-type", "voip")
      ).body == #"{"reason":"BadTopic"}"#)
  }

  @Test func `a certificate of the other environment gets a GOAWAY for an answer`() throws {
    let gateway = try RunningGateway()
    let issued = try gateway.authority.issueClient(bundleID: Self.app, forProduction: false)
    let client = try GatewayClient(gateway, showing: issued, expectsSettings: false)
    try client.wait { client.connection.isClosed }
    #expect(
      client.notices.contains(
        .goAway(
          lastStreamID: 0, code: 0, debug: Array(#"{"reason":"BadCertificateEnvironment"}"#.utf8))))
    let sandbox = try GatewayClient(gateway, at: gateway.simulator.sandboxAddress, showing: issued)
    #expect(try sandbox.send { $0.with("authorization", nil) }.status == 200)
  }

  @Test(arguments: [true, false])
  func `an expired or a foreign certificate gets a GOAWAY, or an alert`(isExpired: Bool) throws {
    let gateway = try RunningGateway()
    let issued =
      isExpired
      ? try gateway.authority.issueClient(bundleID: Self.app, validity: .expired)
      : try CertificateAuthority(name: "stranger").issueClient(bundleID: Self.app)
    let client = try GatewayClient(gateway, showing: issued, expectsSettings: false)
    try client.wait { client.connection.isClosed }
    #expect(client.farewells == [#"{"reason":"BadCertificate"}"#])
    try gateway.set("bad-certificate", "alert")
    let refused = try GatewayClient(gateway, showing: issued, expectsSettings: false)
    try refused.wait { refused.connection.isClosed }
    #expect(refused.farewells == [])
    #expect(refused.limits == [])
  }

  @Test func `a revoked certificate is refused in the handshake`() throws {
    let gateway = try RunningGateway()
    let issued = try gateway.authority.issueClient(bundleID: Self.app)
    let certificate = JSONValue.array([
      [
        "certificate": .string(String(decoding: issued.certificatePEM, as: UTF8.self)),
        "state": "revoked",
      ]
    ])
    #expect(
      try gateway.admin("PUT", "/certs", String(decoding: certificate.text, as: UTF8.self))
        == "{\"accepted\":1}\n")
    let client = try GatewayClient(gateway, showing: issued, expectsSettings: false)
    try client.wait { client.connection.isClosed }
    #expect(client.limits == [])
    guard case .closed(.tls(let error)?) = client.notices.last else {
      return #expect(Bool(false), "it ended with \(String(describing: client.notices.last))")
    }
    #expect(error.message.contains("revoked"))
    _ = try gateway.admin("POST", "/reset")
    #expect(try GatewayClient(gateway, showing: issued).limits == [1_000])
  }

  // MARK: Provider tokens

  @Test func `the 20 minutes pass on the gateway's clock`() throws {
    let gateway = try RunningGateway()
    try gateway.set("idle-timeout", "0s")
    let client = try GatewayClient(gateway)
    let now = WallClock.seconds()
    let tokens = try [0, 60, 1_300].map { try gateway.key.token(issuedAt: now + $0) }
    func send(_ number: Int) throws -> GatewayClient.Answer {
      try client.send { $0.with("authorization", "bearer " + tokens[number]) }
    }
    #expect(try send(0).status == 200)
    #expect(try send(1).body == #"{"reason":"TooManyProviderTokenUpdates"}"#)
    // Wedged: the first token is not good any more, either.
    #expect(try send(0).status == 429)
    let clock = try JSONDocument(try gateway.admin("POST", "/clock/advance", #"{"by":"20m"}"#))
    #expect(clock.root["clock_ahead"]?.int == 1_200_000)
    #expect(try send(2).status == 200)
    // An hour later it has expired, and the connection says nothing else any more.
    _ = try gateway.admin("POST", "/clock/advance", #"{"milliseconds":3800000}"#)
    #expect(try send(2).body == #"{"reason":"ExpiredProviderToken"}"#)
    let fresh = try gateway.key.token(issuedAt: now + 1_200 + 3_800)
    #expect(
      try client.send { $0.with("authorization", "bearer " + fresh) }.body
        == #"{"reason":"ExpiredProviderToken"}"#)
    let other = try GatewayClient(gateway)
    #expect(try other.send { $0.with("authorization", "bearer " + fresh) }.status == 200)
  }

  @Test(arguments: [("connection", UInt16(200)), ("team", 429), ("address", 429)])
  func `the scope says where tokens are compared`(scope: String, status: UInt16) throws {
    let gateway = try RunningGateway { $0.loops = 2 }
    try gateway.set("token-update-scope", scope)
    #expect(try GatewayClient(gateway).send { $0 }.status == 200)
    let second = try gateway.key.token(issuedAt: WallClock.seconds() - 60)
    let answer = try GatewayClient(gateway).send { $0.with("authorization", "bearer " + second) }
    #expect(answer.status == status)
  }

  @Test func `in the black hole nothing is answered`() throws {
    let gateway = try RunningGateway()
    try gateway.set("token-update-rule", "blackhole")
    let client = try GatewayClient(gateway)
    #expect(try client.send { $0 }.status == 200)
    let second = try gateway.key.token(issuedAt: WallClock.seconds() - 60)
    #expect(try client.send { $0.with("authorization", "bearer " + second) }.status == 429)
    let silent = client.begin(client.push)
    try client.wait { try gateway.json("/counters")["silent"]?.int == 1 }
    #expect(silent.pointee.fate == .pending)
  }

  @Test func `a topic that is added later needs a new connection`() throws {
    let gateway = try RunningGateway()
    try gateway.declare(gateway.key, [("apps", [.string(Self.app)])])
    let client = try GatewayClient(gateway)
    #expect(try client.send { $0 }.status == 200)
    try gateway.declare(gateway.key, [("apps", [.string(Self.app), "com.example.new"])])
    #expect(
      try client.send { $0.with("apns-topic", "com.example.new") }.body
        == #"{"reason":"TopicDisallowed"}"#)
    #expect(
      try GatewayClient(gateway).send { $0.with("apns-topic", "com.example.new") }.status == 200)
  }

  // MARK: The end

  @Test func `an idle connection gets a GOAWAY, or silence`() throws {
    let gateway = try RunningGateway()
    let told = try GatewayClient(gateway)
    _ = try gateway.admin("POST", "/clock/advance", #"{"by":"61m"}"#)
    try told.wait { told.connection.isClosed }
    #expect(told.farewells == [#"{"reason":"IdleTimeout"}"#])
    try gateway.set("idle-end", "silent")
    let forgotten = try GatewayClient(gateway)
    _ = try gateway.admin("POST", "/clock/advance", #"{"by":"61m"}"#)
    try forgotten.wait { try gateway.json("/counters")["forgotten"]?.int == 1 }
    let lost = forgotten.begin(forgotten.push)
    try forgotten.pass(milliseconds: 100)
    #expect(lost.pointee.fate == .pending)
    #expect(!forgotten.connection.isClosed)
  }

  @Test func `too many errors end the connection, after its answers`() throws {
    let gateway = try RunningGateway()
    try gateway.set("error-limit", "4")
    let client = try GatewayClient(gateway)
    #expect(try client.send { $0.with(":path", "/3/device/xy") }.status == 400)
    try client.wait { client.connection.isClosed }
    #expect(client.farewells.count == 1)
  }

  @Test(arguments: [
    ("json", [#"{"reason":"Shutdown"}"#]), ("text", ["Shutdown on this endpoint."]),
    ("twice", [#"{"reason":"Shutdown"}"#, ""]),
  ])
  func `a GOAWAY can be asked for, in each of its forms`(form: String, words: [String]) throws {
    let gateway = try RunningGateway()
    try gateway.set("goaway-form", form)
    let client = try GatewayClient(gateway)
    let other = try GatewayClient(gateway)
    let ids = try gateway.json("/connections")["connections"]?.array?.compactMap { $0["id"]?.int }
    #expect(ids?.count == 2)
    let id = ids?.first ?? 0
    #expect(try gateway.admin("POST", "/connections/\(id)/goaway") == "{\"accepted\":1}\n")
    try client.wait { client.connection.isClosed }
    #expect(client.farewells == words)
    #expect(try other.send { $0 }.status == 200)
    #expect(try gateway.admin("POST", "/connections/999/goaway").contains("no connection 999"))
  }

  @Test func `too many connections of one address in a minute are reset`() throws {
    let gateway = try RunningGateway()
    try gateway.set("connection-rate", "2")
    let served = try (0..<2).map { _ in try GatewayClient(gateway) }
    let refused = try GatewayClient(gateway, expectsSettings: false)
    try refused.wait { refused.connection.isClosed }
    #expect(served.allSatisfy { !$0.connection.isClosed })
    #expect(try gateway.json("/counters")["connections_refused"]?.int == 1)
    _ = try gateway.admin("POST", "/clock/advance", #"{"by":"1m"}"#)
    #expect(try GatewayClient(gateway).send { $0 }.status == 200)
  }

  @Test func `new limits reach connections that are open`() throws {
    let gateway = try RunningGateway()
    let client = try GatewayClient(gateway)
    _ = try client.send { $0 }
    try gateway.set("max-concurrent-streams", "7")
    try client.wait { client.limits == [1, 1_000, 7] }
  }
}
