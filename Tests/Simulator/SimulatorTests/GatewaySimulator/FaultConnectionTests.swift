// SPDX-License-Identifier: Apache-2.0
import Crypto
import EventLoop
import GatewaySimulator
import HTTP2
import Records
import Testing

/// Faults of connections: limits, resets, GOAWAY, silence, TLS, addresses.
@Suite struct FaultConnectionTests {
  @Test func `stream_limit_low: a limit of 1, raised late or never`() throws {
    let rig = try FaultRig(#"[{"id":"stream_limit_low","when":{"connection":1}}]"#)
    let never = try rig.client()
    for _ in 0..<3 { #expect(try never.send(never.push).status == 200) }
    try never.pass(milliseconds: 250)
    #expect(Set(never.limits) == [1])
    let shown = try rig.gateway.json("/connections")["connections"]?.array?.first
    #expect(shown?["limit"]?.int == 1)
    try rig.add(#"[{"id":"stream_limit_low","limit":1,"raise_after":"300ms"}]"#)
    let start = MonotonicClock.milliseconds()
    let late = try rig.client()
    #expect(try late.send(late.push).status == 200)
    try late.wait { late.limits.last == 1_000 }
    #expect(MonotonicClock.milliseconds() - start >= 300)
  }

  @Test
  func `stream_limit_changes: the limit falls to 1 and to 0 with streams open, and flaps`() throws {
    let rig = try FaultRig(#"[{"id":"added_latency","time":"5s"}]"#)
    let client = try rig.openedClient()
    let open = (0..<3).map { _ in client.begin(client.push) }
    try client.wait { try rig.gateway.admin("GET", "/counters").contains("\"requests\":4,") }
    try rig.add(#"[{"id":"stream_limit_changes","limits":[1,0,7],"hold":"500ms"}]"#)
    let fourth = client.begin(client.push)
    try client.wait { client.limits.last == 1 }
    #expect(open.allSatisfy { $0.pointee.fate == .pending })
    try client.wait { ([fourth] + open).allSatisfy { $0.pointee.status == 200 } }
    // What is held back comes back each time.
    for limit: UInt32 in [0, 7, 1] {
      try client.wait { client.limits.last == 1_000 }
      let next = client.begin(client.push)
      try client.wait { next.pointee.status == 200 }
      #expect(client.limits.contains(limit))
    }
    #expect(client.limits.filter { $0 != 1_000 }.suffix(4) == [1, 0, 7, 1])
  }

  @Test(arguments: [
    ("REFUSED_STREAM", 7), ("INTERNAL_ERROR", 2), ("CANCEL", 8), ("ENHANCE_YOUR_CALM", 11),
    ("NO_ERROR", 0),
  ])
  func `stream_reset: RST_STREAM with each code`(name: String, code: UInt32) throws {
    let rig = try FaultRig(
      #"[{"id":"stream_reset","codes":["\#(name)"],"when":{"nth":1}}]"#)
    let client = try rig.client()
    let exchange = client.begin(client.push)
    try client.wait { exchange.pointee.fate != .pending }
    #expect(exchange.pointee.status == 0)
    #expect(exchange.pointee.closeCode == code)
    #expect(exchange.pointee.fate == (code == 7 ? .unprocessed : .ambiguous))
    #expect(try client.send(client.push).status == 200)
  }

  @Test
  func `stream_reset: RST_STREAM after the status, and NO_ERROR after the whole answer`() throws {
    let rig = try FaultRig(
      """
      [{"id":"stream_reset","codes":["INTERNAL_ERROR"],"moment":"after_status","when":{"nth":1}},
       {"id":"stream_reset","codes":["NO_ERROR"],"moment":"after_answer","when":{"nth":2}}]
      """)
    let client = try rig.client()
    let first = client.begin(client.push)
    try client.wait { first.pointee.fate != .pending }
    #expect(first.pointee.status == 200)
    #expect(first.pointee.fate == .answered)
    #expect(!first.pointee.ended)
    #expect(first.pointee.closeCode == 2)
    let second = client.begin(client.push)
    try client.wait { second.pointee.fate != .pending }
    #expect(second.pointee.status == 200)
    #expect(second.pointee.ended)
    #expect(try client.send(client.push).status == 200)
  }

  @Test(arguments: ["reset", "end"], ["request", "answer"])
  func
    `connection_lost: the TCP connection breaks with requests in flight, before and after an answer`(
      way: String, moment: String
    ) throws
  {
    let rig = try FaultRig(#"[{"id":"added_latency","time":"60ms"}]"#)
    let client = try rig.openedClient()
    try rig.add(#"[{"id":"connection_lost","with":"\#(way)","at":"\#(moment)","when":{"nth":3}}]"#)
    let exchanges = client.begin(client.push, times: 5)
    try client.wait { client.connection.isClosed }
    #expect(client.failure != nil)
    #expect(client.goAways.isEmpty)
    let lost = exchanges.count { $0.pointee.fate == .ambiguous }
    #expect(moment == "request" ? lost == 5 : lost == 2)
  }

  @Test func `connection_lost: the TCP connection breaks before TLS`() throws {
    let rig = try FaultRig(#"[{"id":"connection_lost","at":"connection"}]"#)
    let client = try rig.client(expectsSettings: false)
    try client.wait { client.connection.isClosed }
    #expect(client.failure != nil)
  }

  @Test func `black_hole: a request that is never answered among others that are`() throws {
    let rig = try FaultRig("[]")
    let client = try rig.openedClient()
    try rig.add(#"[{"id":"black_hole","when":{"nth":2}}]"#)
    let exchanges = (0..<3).map { _ in client.begin(client.push) }
    try client.wait { exchanges[0].pointee.status == 200 && exchanges[2].pointee.status == 200 }
    try client.pass(milliseconds: 200)
    #expect(exchanges[1].pointee.fate == .pending)
    #expect(!client.connection.isClosed)
  }

  @Test func `black_hole: the gateway stops reading, and the client's writes wait`() throws {
    let rig = try FaultRig("[]")
    let client = try rig.openedClient()
    try rig.add(#"[{"id":"black_hole","what":"reading","when":{"nth":1}}]"#)
    let exchanges = (0..<900).map { _ in client.begin(client.push.withBody(4_000)) }
    try client.pass(milliseconds: 300)
    #expect(exchanges.last?.pointee.fate == .pending)
    #expect(exchanges.last?.pointee.bodySent == 0)
    #expect(!client.connection.isClosed)
  }

  @Test func `black_hole: PING is not acknowledged while requests are answered`() throws {
    let client = try FaultRig(#"[{"id":"black_hole","what":"pings"}]"#).client()
    client.connection.ping()
    #expect(try client.send(client.push).status == 200)
    try client.pass(milliseconds: 150)
    let pongs = client.notices.count { if case .pong = $0 { true } else { false } }
    #expect(pongs == 0)
  }

  @Test func `black_hole: no SETTINGS after the handshake, and nothing at all later`() throws {
    let rig = try FaultRig(#"[{"id":"black_hole","what":"settings","when":{"connection":1}}]"#)
    let mute = try rig.client(expectsSettings: false)
    try mute.wait { mute.connection.isConnected }
    try mute.pass(milliseconds: 300)
    let notices = mute.notices.filter { if case .advanced = $0 { false } else { true } }
    #expect(notices == [.connected(resumed: false)])
    try rig.add(#"[{"id":"black_hole","what":"everything","at":"request"}]"#)
    let client = try rig.client()
    client.connection.ping()
    let exchange = client.begin(client.push)
    try client.pass(milliseconds: 300)
    #expect(exchange.pointee.fate == .pending)
    #expect(!client.connection.isClosed)
  }

  @Test func `flow_control: windows of one byte, and no WINDOW_UPDATE for a time`() throws {
    let client = try FaultRig(#"[{"id":"flow_control","window":1,"hold":"5s"}]"#).client()
    let exchange = client.begin(client.push.withBody(600))
    try client.wait { exchange.pointee.bodySent == 1 }
    try client.pass(milliseconds: 200)
    #expect(exchange.pointee.bodySent == 1)
    try client.wait { exchange.pointee.fate != .pending }
    #expect(exchange.pointee.status == 200)
    #expect(exchange.pointee.bodySent == 600)
  }

  @Test func `flow_control: SETTINGS that make a window negative`() throws {
    let rig = try FaultRig(
      """
      [{"id":"flow_control","window":1000,"hold":"8s"},
       {"id":"flow_control","at":"request","window":10,"when":{"nth":2}}]
      """)
    let client = try rig.client()
    #expect(try client.send(client.push).status == 200)
    try client.wait { client.limits.last == 1_000 }
    let stuck = client.begin(client.push.withBody(3_000))
    try client.wait { stuck.pointee.bodySent == 1_000 }
    // The second request makes the first one's window −990.
    #expect(try client.send(client.push.withBody(10)).status == 200)
    let second = client.begin(client.push.withBody(100))
    try client.wait { second.pointee.bodySent == 10 }
    #expect(stuck.pointee.bodySent == 1_000)
    try client.wait { stuck.pointee.fate != .pending && second.pointee.fate != .pending }
    #expect(stuck.pointee.status == 200)
    #expect(second.pointee.status == 200)
  }

  @Test func `dead_address: one of two addresses is dead, and comes back`() throws {
    let rig = try FaultRig(#"[{"id":"dead_address","when":{"address":"127.0.0.2"}}]"#) {
      $0.alsoListen = ["127.0.0.2"]
    }
    let port = rig.gateway.simulator.address.port
    let other = try #require(SocketAddress(numeric: "127.0.0.2", port: port))
    let dead = try rig.client(at: other, expectsSettings: false)
    try dead.wait { dead.connection.isClosed }
    guard case .connect = dead.failure else {
      Issue.record("expected a refused connection, not \(String(describing: dead.failure))")
      return
    }
    let client = try rig.client()
    #expect(try client.send(client.push).status == 200)
    _ = try rig.gateway.admin("DELETE", "/faults")
    let back = try rig.client(at: other)
    #expect(try back.send(back.push).status == 200)
  }

  @Test
  func `dead_address: faults of one address only, also on connections that were there before`()
    throws
  {
    let rig = try FaultRig("[]") { $0.alsoListen = ["127.0.0.2"] }
    let port = rig.gateway.simulator.address.port
    let address = try #require(SocketAddress(numeric: "127.0.0.2", port: port))
    let other = try rig.client(at: address)
    let client = try rig.client()
    try rig.add(#"[{"id":"any_answer","reason":"Shutdown","when":{"address":"127.0.0.2"}}]"#)
    #expect(try other.send(other.push).status == 503)
    #expect(try client.send(client.push).status == 200)
  }

  @Test func `stream_limit_changes: the limit flaps with the answers`() throws {
    let rig = try FaultRig("[]")
    let client = try rig.openedClient()
    try rig.add(
      #"[{"id":"stream_limit_changes","at":"answer","limits":[3,1000],"when":{"every":2}}]"#
    )
    let before = client.limits.count
    for _ in 0..<8 { #expect(try client.send(client.push).status == 200) }
    try client.wait { client.limits.count >= before + 4 }
    #expect(client.limits[before...] == [3, 1_000, 3, 1_000])
  }

  @Test
  func `connect_refused: connects beyond a rate are refused, and all of them while a rule holds`()
    throws
  {
    let rig = try FaultRig(#"[{"id":"connect_refused","when":{"connects_per_minute":2}}]"#)
    for _ in 0..<2 {
      let client = try rig.client()
      #expect(try client.send(client.push).status == 200)
    }
    let third = try rig.client(expectsSettings: false)
    try third.wait { third.connection.isClosed }
    #expect(third.failure != nil)
    #expect(try rig.fired == [1])
    try rig.add(#"[{"id":"connect_refused","at":"standing"}]"#)
    let fourth = try rig.client(expectsSettings: false)
    try fourth.wait { fourth.connection.isClosed }
    guard case .connect = fourth.failure else {
      Issue.record("expected a refused connection, not \(String(describing: fourth.failure))")
      return
    }
  }

  @Test(arguments: ["+65m", "-65m"])
  func `wrong_clock: a clock that is ahead makes provider tokens expire`(skew: String) throws {
    let rig = try FaultRig(#"[{"id":"wrong_clock","skew":"\#(skew)"}]"#)
    let client = try rig.client()
    let answer = try client.send(client.push)
    #expect(answer.status == 403)
    let reason = skew == "+65m" ? "ExpiredProviderToken" : "InvalidProviderToken"
    #expect(answer.body == #"{"reason":"\#(reason)"}"#)
    _ = try rig.gateway.admin("DELETE", "/faults")
    let fresh = try rig.client()
    #expect(try fresh.send(fresh.push).status == 200)
  }

  @Test(arguments: ["goaway", "reset", "end"])
  func `error_disconnect: the connection ends after errors`(way: String) throws {
    let rig = try FaultRig(
      #"[{"id":"error_disconnect","with":"\#(way)","when":{"errors":6,"bad_token_weight":4}}]"#
    )
    let client = try rig.client()
    // Two errors, then a bad device token that counts for four.
    for _ in 0..<2 {
      #expect(try client.send(client.push.with("apns-priority", "3")).status == 400)
    }
    let last = client.begin(client.push.with(":path", "/3/device/xyz"))
    try client.wait { client.connection.isClosed }
    #expect(last.pointee.status == 400)
    #expect(client.goAways.count == (way == "goaway" ? 1 : 0))
  }

  @Test(arguments: ["goaway", "silence"])
  func `idle_connection: IdleTimeout, or silence without a FIN`(way: String) throws {
    let rig = try FaultRig(#"[{"id":"idle_connection","with":"\#(way)","when":{"idle":"3s"}}]"#)
    let client = try rig.client()
    let start = MonotonicClock.milliseconds()
    #expect(try client.send(client.push).status == 200)
    if way == "goaway" {
      try client.wait { client.connection.isClosed }
      #expect(MonotonicClock.milliseconds() - start >= 3_000)
      #expect(client.goAways.map(\.debug) == [#"{"reason":"IdleTimeout"}"#])
    } else {
      try client.wait { try rig.fired == [1] }
      try client.pass(milliseconds: 100)
      #expect(!client.connection.isClosed)
      let exchange = client.begin(client.push)
      client.connection.ping()
      try client.pass(milliseconds: 300)
      #expect(exchange.pointee.fate == .pending)
      #expect(!client.connection.isClosed)
      #expect(try rig.recorded == [200])
    }
  }
}
