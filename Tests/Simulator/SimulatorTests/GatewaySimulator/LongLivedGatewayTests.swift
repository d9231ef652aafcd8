// SPDX-License-Identifier: Apache-2.0
import EventLoop
import GatewayModel
import GatewaySimulator
import Glibc
import HTTP2
import Records
import TestSupport
import Testing

/// One simulator for many tests of somebody else: its clock, its reset, its counts, and clients that mean no
/// good.
@Suite struct LongLivedGatewayTests {
  private func status(_ client: GatewayClient) throws -> UInt16 { try client.send { $0 }.status }

  @Test func `the clock goes ahead and back`() throws {
    let gateway = try RunningGateway()
    #expect(
      try gateway.admin("POST", "/clock/advance", #"{"by":"61m"}"#).contains(
        "\"clock_ahead\":3660000"))
    let answer = try GatewayClient(gateway).send { $0 }
    #expect(answer.body == #"{"reason":"ExpiredProviderToken"}"#)
    #expect(
      try gateway.admin("POST", "/clock/advance", #"{"by":"-61m"}"#).contains("\"clock_ahead\":0"))
    #expect(try status(GatewayClient(gateway)) == 200)
    #expect(
      try gateway.admin("POST", "/clock/advance", #"{"milliseconds":-1000}"#).contains(
        "\"clock_ahead\":-1000"))
  }

  @Test func `the clock takes a time of several units`() throws {
    let gateway = try RunningGateway()
    let answer = try gateway.admin("POST", "/clock/advance", #"{"by":"1h30m"}"#)
    #expect(answer.contains("\"clock_ahead\":5400000"))
  }

  @Test func `a reset makes the keys of the start what they were, and keeps those that were added`()
    throws
  {
    let gateway = try RunningGateway()
    let added = try TestKey(id: "KEY0000002")
    try gateway.declare(added)
    try gateway.declare(gateway.key, [("state", "revoked")])
    #expect(try status(GatewayClient(gateway)) == 403)
    _ = try gateway.admin("POST", "/reset")
    #expect(try status(GatewayClient(gateway)) == 200)
    let token = try added.token(issuedAt: WallClock.seconds())
    let client = try GatewayClient(gateway)
    #expect(try client.send { $0.with("authorization", "bearer " + token) }.status == 200)
  }

  @Test func `hundreds that connect at once are all served, also behind clients that never begin`()
    throws
  {
    let gateway = try RunningGateway()
    let silent = try (0..<300).map { _ in try RawClient(port: gateway.simulator.address.port) }
    let clients = try (0..<20).map { _ in try GatewayClient(gateway) }
    for client in clients { #expect(try status(client) == 200) }
    withExtendedLifetime(silent) {}
  }

  @Test func `a reset makes clock, behaviours and connection numbers what they were`() throws {
    let gateway = try RunningGateway { $0.rules.tokenRate = 7 }
    let old = try GatewayClient(gateway)
    #expect(try status(old) == 200)
    // Less than what ends an idle connection.
    _ = try gateway.admin("POST", "/clock/advance", #"{"by":"31m"}"#)
    _ = try gateway.admin(
      "PUT", "/profile",
      #"{"priming":false,"token-rate":1,"latency":"5ms","service":"failing"}"#)
    let before = try gateway.json("/profile")
    #expect(before["priming"]?.string == "false")
    _ = try gateway.admin("POST", "/reset")
    let profile = try gateway.json("/profile")
    #expect(profile["clock_ahead"]?.int == 0)
    #expect(profile["priming"]?.string == "true")
    #expect(profile["token-rate"]?.string == "7")
    #expect(profile["latency"]?.string == "0ms")
    #expect(profile["service"]?.string == "normal")
    let fresh = try GatewayClient(gateway)
    #expect(fresh.limits == [1])
    #expect(try status(fresh) == 200)
    #expect(try status(old) == 200)
    // The next connection is the first again; one that was there before is none.
    let numbers = try gateway.jsonLines("/requests").compactMap { $0["connection"]?.int }
    #expect(numbers == [1, 0])
    let list = try gateway.json("/connections")["connections"]?.array ?? []
    #expect(list.compactMap { $0["number"]?.int } == [0, 1])
    #expect(Set(list.compactMap { $0["id"]?.int }).count == 2)
  }

  @Test func `a rule about the first connection means the first one after it`() throws {
    let rig = try FaultRig("[]")
    let old = try rig.openedClient()
    try rig.add(#"[{"id":"any_answer","reason":"Shutdown","when":{"connection":1}}]"#)
    #expect(try status(old) == 200)
    #expect(try status(rig.client()) == 503)
    #expect(try status(rig.client()) == 200)
    _ = try rig.gateway.admin("POST", "/reset")
    #expect(try status(rig.client()) == 503)
    #expect(try status(rig.client()) == 200)
  }

  @Test(arguments: ["wedge", "answer"])
  func `provider tokens expire, and renewed ones are good`(rule: String) throws {
    let gateway = try RunningGateway { $0.rules.expiredToken = rule == "wedge" ? .wedge : .answer }
    let client = try GatewayClient(gateway)
    #expect(try status(client) == 200)
    let answer = try gateway.admin("POST", "/provider-tokens/expire")
    #expect(answer == "{\"expired\":1}\n", "\(answer)")
    #expect(try client.send { $0 }.body == #"{"reason":"ExpiredProviderToken"}"#)
    // A signer dates a token back, so that no clock takes it for one of the future.
    let renewed = try gateway.key.token(issuedAt: WallClock.seconds() - 5)
    let push = client.push.with("authorization", "bearer " + renewed)
    // On the same connection at once if it is not spoilt, and on a new one in any case.
    #expect(try client.send(push).status == (rule == "wedge" ? 403 : 200))
    #expect(try GatewayClient(gateway).send(push).status == 200)
    // A reset forgets it.
    _ = try gateway.admin("POST", "/reset")
    #expect(try GatewayClient(gateway).send(client.push).status == 200)
  }

  @Test func `reports spell an id as the answer does`() throws {
    let gateway = try RunningGateway()
    let client = try GatewayClient(gateway)
    let mixed = "0F6e1c1E-5A0b-4c55-9d0e-6f6b3a1C2d3e"
    #expect(try client.send { $0.with("apns-id", mixed) }.status == 200)
    #expect(try client.send { $0.with("apns-id", nil) }.status == 200)
    for page in ["/requests", "/delivered"] {
      let ids = try gateway.jsonLines(page).compactMap { $0["apns_id"]?.string }
      try #require(ids.count == 2)
      #expect(ids[0] == mixed)
      #expect(ids[1] == ids[1].uppercased())
    }
  }

  @Test func `ready-made scripts are posted as they lie there`() throws {
    let rig = try FaultRig("[]") { $0.alsoListen = ["127.0.0.2"] }
    for path in try ReadyMadeScripts.names() {
      let text = try File.text(path)
      let answer = try rig.gateway.admin("POST", "/faults", text)
      #expect(answer.hasPrefix("{\"accepted\":"), "\(path): \(answer)")
      _ = try rig.gateway.admin("DELETE", "/faults")
    }
    try rig.add(#"{"seed":77,"rules":[{"id":"goaway_shutdown"}]}"#)
    let rules = try rig.gateway.json("/faults")["rules"]?.array
    #expect(rules?.first?["seed"]?.int == 77)
  }

  @Test func `a flood of PINGs ends with ENHANCE_YOUR_CALM`() throws {
    let gateway = try RunningGateway()
    let client = try GatewayClient(gateway)
    for _ in 0..<4_000 { client.connection.ping() }
    try client.wait { client.connection.isClosed }
    #expect(client.goAways.map(\.code) == [HTTP2ErrorCode.enhanceYourCalm])
    #expect(try status(GatewayClient(gateway)) == 200)
  }
}
