// SPDX-License-Identifier: Apache-2.0
import Contract
import Crypto
import EventLoop
import GatewayModel
import GatewaySimulator
import Glibc
import HTTP2
import Records
import Testing

/// Devices that come and go, broadcasts, channel management, and what the admin API refuses.
@Suite struct DeviceAndChannelTests {
  private static let token = String(repeating: "0a", count: 32)
  private static let app = "com.example.app"

  private func id(_ number: Int) -> String { "00000000-0000-4000-8000-00000000000\(number)" }

  @Test func `a device that was away gets the newest notification of each app`() throws {
    let gateway = try RunningGateway()
    let client = try GatewayClient(gateway)
    let later = "\(WallClock.seconds() + 600)"
    func send(_ number: Int, expiration: String) throws {
      let answer = try client.send {
        $0.with("apns-id", id(number)).with("apns-expiration", expiration)
          .with("apns-collapse-id", number < 3 ? "a" : "b")
      }
      #expect(answer.status == 200)
    }
    try send(1, expiration: "0")
    _ = try gateway.admin("POST", "/tokens/\(Self.token)/offline")
    try send(2, expiration: later)
    try send(3, expiration: later)
    try send(4, expiration: "0")
    let fates = try gateway.jsonLines("/requests").compactMap { $0["fate"]?.string }
    #expect(fates == ["delivered", "stored", "stored", "discarded"])
    #expect(try gateway.jsonLines("/delivered").count == 1)
    #expect(try gateway.admin("POST", "/tokens/\(Self.token)/online") == "{\"delivered\":1}\n")
    let seen = try gateway.jsonLines("/delivered?token=\(Self.token)")
    #expect(seen.compactMap { $0["apns_id"]?.string } == [id(1), id(3)])
    #expect(seen.compactMap { $0["waited"]?.bool } == [false, true])
    #expect(seen.last?["body"]?.string?.hasPrefix(#"{"aps":{}}"#) == true)
    #expect(try gateway.json("/counters")["overwritten"]?.int == 1)
  }

  @Test func `what shows nothing is not visible`() throws {
    let gateway = try RunningGateway()
    let client = try GatewayClient(gateway)
    func send(_ number: Int, _ type: String?, _ body: String) throws {
      let push = client.push.with("apns-id", id(number)).with("apns-collapse-id", nil)
        .with("apns-push-type", type).with("apns-priority", "5").withText(body)
      #expect(try client.send(push).status == 200)
    }
    try send(1, "background", #"{"aps":{"content-available":1}}"#)
    try send(2, nil, #"{"aps":{"content-available":1},"own":1}"#)
    try send(3, "alert", #"{"aps":{"content-available":1,"alert":"x"}}"#)
    try send(4, nil, #"{"aps":{"badge":0}}"#)
    #expect(try gateway.jsonLines("/delivered").count == 4)
    let visible = try gateway.jsonLines("/delivered?visible=true")
    #expect(visible.compactMap { $0["apns_id"]?.string } == [id(3), id(4)])
  }

  @Test func `a device drops background pushes beyond its budget, and the report says so`() throws {
    let gateway = try RunningGateway { $0.rules.backgroundBudget = 2 }
    // A certificate does not expire while an hour passes.
    let client = try GatewayClient(
      gateway, showing: gateway.authority.issueClient(bundleID: "com.example.app"))
    func send(_ number: Int, _ type: String = "background") throws {
      let push = client.push.with("authorization", nil).with("apns-id", id(number))
        .with("apns-collapse-id", nil)
        .with("apns-push-type", type).with("apns-priority", "5")
        .withText(#"{"aps":{"content-available":1}}"#)
      // APNs does not tell.
      #expect(try client.send(push).status == 200)
    }
    for number in 1...3 { try send(number) }
    try send(4, "alert")
    _ = try gateway.admin("POST", "/clock/advance", #"{"by":"61m"}"#)
    try send(5)
    let lines = try gateway.jsonLines("/delivered")
    #expect(lines.map { $0["dropped"]?.string } == [nil, nil, "background-budget", nil, nil])
    #expect(try gateway.jsonLines("/requests").map { $0["fate"]?.string }[2] == "over_budget")
    #expect(try gateway.json("/counters")["over_budget"]?.int == 1)
    // Also those that waited for it.
    try gateway.set("background-budget", "1")
    _ = try gateway.admin("POST", "/tokens/\(Self.token)/offline")
    let later = "\(WallClock.seconds() + 86_400)"
    let waiting = client.push.with("authorization", nil).with("apns-push-type", "background")
      .with("apns-priority", "5")
      .with("apns-expiration", later).with("apns-id", id(6))
    #expect(try client.send(waiting).status == 200)
    _ = try gateway.admin("POST", "/tokens/\(Self.token)/online")
    #expect(try gateway.jsonLines("/delivered").last?["dropped"]?.string == "background-budget")
  }

  @Test func `a device that saves power has its budgets, too`() throws {
    let gateway = try RunningGateway { $0.rules.liveActivityBudget = 1 }
    let client = try GatewayClient(gateway)
    _ = try gateway.admin("POST", "/tokens/\(Self.token)/restrict-power")
    for number in 1...2 {
      let update = client.push.with("apns-id", id(number)).with("apns-collapse-id", nil)
        .with("apns-push-type", "liveactivity")
        .with("apns-topic", Self.app + ".push-type.liveactivity")
      #expect(try client.send(update).status == 200)
    }
    let lines = try gateway.jsonLines("/delivered")
    #expect(lines.map { $0["dropped"]?.string } == [nil, "live-activity-budget"])
  }

  @Test func `header fields and bodies are kept of the newest requests`() throws {
    let gateway = try RunningGateway { $0.detailLimit = 3 }
    let client = try GatewayClient(gateway)
    for number in 1...8 {
      _ = try client.send(
        client.push.with("apns-id", id(number)).withText(#"{"aps":{},"n":\#(number)}"#))
    }
    let bodies = try gateway.jsonLines("/requests").map { $0["body"]?.string }
    #expect(bodies.prefix(5).allSatisfy { $0 == nil })
    #expect(bodies.suffix(3).compactMap { $0 } == (6...8).map { #"{"aps":{},"n":\#($0)}"# })
    let delivered = try gateway.jsonLines("/delivered").map { $0["body"]?.string }
    #expect(delivered.last == #"{"aps":{},"n":8}"#)
    _ = try gateway.admin("POST", "/reset")
    _ = try client.send(client.push)
    #expect(try gateway.jsonLines("/requests").first?["body"] != nil)
  }

  @Test func `a path in PUT keys begins where one in the file of keys does`() throws {
    let gateway = try RunningGateway()
    let body =
      #"[{"key_id":"KEY0000001","team_id":"TEAM000001","public_key_file":"key.pub","apps":["a.b"]}]"#
    #expect(try gateway.admin("PUT", "/keys", body) == "{\"accepted\":1}\n")
    #expect(try GatewayClient(gateway).send { $0 }.body.contains("TopicDisallowed"))
    let missing = body.replacing("key.pub", with: "nosuch.pub")
    #expect(try gateway.admin("PUT", "/keys", missing).contains("public_key_file cannot be read"))
  }

  @Test func `uninstalling and registering again changes the answer`() throws {
    let gateway = try RunningGateway()
    let client = try GatewayClient(gateway)
    _ = try gateway.admin("POST", "/tokens/\(Self.token)/uninstall?ts=1794999000123")
    #expect(try client.send { $0 }.body == #"{"reason":"Unregistered","timestamp":1794999000123}"#)
    _ = try gateway.admin("POST", "/tokens/\(Self.token)/reregister")
    #expect(try client.send { $0 }.status == 200)
  }

  @Test func `both gateways and both management services run in one process`() throws {
    let gateway = try RunningGateway()
    let sandbox = try GatewayClient(gateway, at: gateway.simulator.sandboxAddress)
    #expect(try sandbox.send { $0 }.hasUniqueID)
    #expect(try !GatewayClient(gateway).send { $0 }.hasUniqueID)
    let management = try GatewayClient(gateway, at: gateway.simulator.managementAddress)
    #expect(try management.send { $0 }.status == 404)
    let environments = try gateway.jsonLines("/requests").compactMap { $0["environment"]?.string }
    #expect(environments == ["sandbox", "production", "production"])
  }

  @Test(.enabled(if: access("/usr/bin/curl", X_OK) == 0))
  func `curl manages channels and publishes to one`() throws {
    let gateway = try RunningGateway()
    let token = try gateway.key.token(issuedAt: WallClock.seconds())
    let curl =
      "curl -s --http2 --cacert \(gateway.rootPath) -H 'authorization: bearer \(token)'"
      + " -w ' %{http_code}'"
    let base = "https://localhost:\(gateway.simulator.managementAddress.port)/1/apps/\(Self.app)"
    let request = "2c6d8a1e-0000-4000-8000-00000000000a"
    let made = try FaultRig.output(
      "\(curl) -D - -H 'apns-request-id: \(request)' "
        + #"-d '{"message-storage-policy":1,"push-type":"LiveActivity"}'"# + " \(base)/channels")
    #expect(made.hasSuffix(" 201"))
    #expect(made.contains("apns-request-id: \(request)"))
    let prefix = "apns-channel-id: "
    let line = made.split(whereSeparator: \.isNewline).first { $0.hasPrefix(prefix) }
    let channel = String(try #require(line).dropFirst(prefix.count))
    #expect(channel.utf8.count == 24)
    #expect(
      try FaultRig.output("\(curl) \(base)/all-channels") == #"{"channels":["\#(channel)"]} 200"#)
    let header = "-H 'apns-channel-id: \(channel)'"
    #expect(
      try FaultRig.output("\(curl) \(header) \(base)/channels")
        == #"{"message-storage-policy":1,"push-type":"LiveActivity"} 200"#)
    let publish =
      "\(curl) \(header) -H 'apns-push-type: Liveactivity' -H 'apns-priority: 10'"
      + " -H 'apns-expiration: \(WallClock.seconds() + 60)' -d '{\"aps\":{}}'"
      + " https://localhost:\(gateway.simulator.address.port)/4/broadcasts/apps/\(Self.app)"
    #expect(try FaultRig.output(publish) == " 200")
    let shown = try gateway.json("/channels")["channels"]?.array?.first
    #expect(shown?["published"]?.int == 1)
    #expect(shown?["stored_body"]?.string == #"{"aps":{}}"#)
    // The other environment does not know it.
    let sandbox = base.replacing(
      "\(gateway.simulator.managementAddress.port)",
      with: "\(gateway.simulator.sandboxManagementAddress.port)")
    #expect(
      try FaultRig.output("\(curl) \(header) \(sandbox)/channels")
        == #"{"reason":"ChannelNotRegistered"} 400"#)
    #expect(try FaultRig.output("\(curl) -X DELETE \(header) \(base)/channels") == " 204")
    #expect(try FaultRig.output(publish) == #"{"reason":"ChannelNotRegistered"} 400"#)
  }

  @Test(arguments: [
    ("/4/broadcasts/apps/com.example.app.voip", "TopicDisallowed"),
    ("/4/broadcasts/apps/", "BadPath"), ("/4/broadcasts/apps/a/b", "BadPath"),
  ])
  func `a broadcast names the bundle id alone`(path: String, reason: String) throws {
    let answer = try GatewayClient(RunningGateway()).send { $0.with(":path", path) }
    #expect(answer.body == #"{"reason":"\#(reason)"}"#)
  }

  @Test func `a channel that stores nothing takes no expiration`() throws {
    let gateway = try RunningGateway()
    let manager = try GatewayClient(gateway, at: gateway.simulator.managementAddress)
    let made = try manager.send {
      $0.with(":path", "/1/apps/\(Self.app)/channels")
        .withText(#"{"message-storage-policy":0,"push-type":"LiveActivity"}"#)
    }
    #expect(made.status == 201)
    let id = try gateway.json("/channels")["channels"]?.array?.first?["id"]?.string ?? ""
    let client = try GatewayClient(gateway)
    for (expiration, status) in [("0", UInt16(200)), ("1795000000", 400)] {
      let answer = try client.send {
        $0.with(":path", "/4/broadcasts/apps/\(Self.app)").with("apns-expiration", expiration)
          .with("apns-push-type", "liveactivity").adding("apns-channel-id", id)
      }
      #expect(answer.status == status)
      #expect(answer.hasUniqueID == (status == 200))
    }
  }

  @Test func `a channel's message is shown while it is stored`() throws {
    let gateway = try RunningGateway()
    let manager = try GatewayClient(gateway, at: gateway.simulator.managementAddress)
    let made = try manager.send {
      $0.with(":path", "/1/apps/\(Self.app)/channels")
        .withText(#"{"message-storage-policy":1,"push-type":"LiveActivity"}"#)
    }
    #expect(made.status == 201)
    func channel() throws -> JSONValue? { try gateway.json("/channels")["channels"]?.array?.first }
    let id = try channel()?["id"]?.string ?? ""
    let sent = try GatewayClient(gateway).send {
      $0.with(":path", "/4/broadcasts/apps/\(Self.app)").with("apns-push-type", "liveactivity")
        .with("apns-expiration", "\(WallClock.seconds() + 86_400)").adding("apns-channel-id", id)
        .withText(#"{"aps":{}}"#)
    }
    #expect(sent.status == 200)
    #expect(try channel()?["stored_body"]?.string == #"{"aps":{}}"#)
    _ = try gateway.admin("POST", "/clock/advance", #"{"by":"8h"}"#)
    #expect(try channel()?["stored_body"] == nil)
    #expect(try channel()?["published"]?.int == 1)
  }

  @Test
  func `what a fault refuses changes no channel, and what loses only its answer does`() throws {
    let rig = try FaultRig(
      """
      [{"id":"service_unavailable","when":{"nth":1}},
       {"id":"lost_answer","with":"reset","when":{"nth":2}},
       {"id":"stream_reset","when":{"nth":3}},
       {"id":"service_unavailable","when":{"nth":4}}]
      """)
    func channels() throws -> [JSONValue] {
      try rig.gateway.json("/channels")["channels"]?.array ?? []
    }
    let manager = try rig.client(at: rig.gateway.simulator.managementAddress)
    let create = manager.push.with(":path", "/1/apps/\(Self.app)/channels")
      .withText(#"{"message-storage-policy":0,"push-type":"LiveActivity"}"#)
    #expect(try manager.send(create).status == 503)
    #expect(try channels().isEmpty)
    #expect(try manager.send(create).status == 0)
    let id = try #require(try channels().first?["id"]?.string)
    let remove = create.with(":method", "DELETE").adding("apns-channel-id", id)
    #expect(try manager.send(remove).status == 0)
    let client = try rig.client()
    let broadcast = client.push.with(":path", "/4/broadcasts/apps/\(Self.app)")
      .with("apns-push-type", "liveactivity").adding("apns-channel-id", id)
    #expect(try client.send(broadcast).status == 503)
    #expect(try channels().map { $0["published"]?.int } == [0])
    #expect(try client.send(broadcast).status == 200)
    #expect(try channels().map { $0["published"]?.int } == [1])
  }

  // MARK: The admin API

  @Test(arguments: [
    ("PUT", "/tokens", #"[{"token":"xy"}]"#, "tokens[0].token"),
    ("PUT", "/tokens", #"[{"token":"ab","state":"sleepy"}]"#, "tokens[0].state"),
    ("PUT", "/tokens", #"[{"token":"ab","colour":"red"}]"#, "tokens[0].colour"),
    ("PUT", "/tokens", #"[{"token":"ab","timestamp":"now"}]"#, "tokens[0].timestamp"),
    ("PUT", "/tokens", #"[{"token":"ab","environment":"moon"}]"#, "tokens[0].environment"),
    ("PUT", "/tokens", #"[{"token":"ab","background_budget":-1}]"#, "budget must be from 0"),
    ("PUT", "/tokens", #"[{"token":"ab","live_activity_budget":"many"}]"#, "whole number"),
    ("PUT", "/tokens", #"{"token":"ab"}"#, "tokens must be an array"),
    ("PUT", "/tokens", "{", "not valid JSON"),
    ("PUT", "/tokens", #"{"tokens":[],"colour":"red"}"#, "colour is not known"),
    ("PUT", "/keys", #"{"keys":[],"keys":[]}"#, "keys occurs twice"),
    ("PUT", "/keys", #"[{"key_id":"A","team_id":"B"}]"#, "keys[0].public_key"),
    ("PUT", "/certs", #"[{"fingerprint":"12","state":"bad"}]"#, "certs[0].fingerprint"),
    ("PUT", "/certs", #"[{"fingerprint":"12","state":"odd"}]"#, "certs[0].state"),
    ("PUT", "/apps", #"[{"broadcast":true}]"#, "apps[0].app"),
    ("PUT", "/profile", #"{"throttle":"odd"}"#, "throttle"),
    ("PUT", "/profile", #"{"nonsense":1}"#, "nonsense"),
    ("PUT", "/profile", #"{"date":"none","date":"always"}"#, "date occurs twice"),
    ("PUT", "/profile", #"{"latency":"slow"}"#, "latency"),
    ("PUT", "/profile", #"{"service":"odd"}"#, "service"),
    ("POST", "/clock/advance", #"{"by":"soon"}"#, "by must be a time"),
    ("POST", "/clock/advance", #"{"milliseconds":-999999999999}"#, "milliseconds must be"),
    ("POST", "/clock/advance", #"{"by":"--1m"}"#, "by must be a time"),
    ("POST", "/provider-tokens/expire", "{}", "neither a body"),
    ("POST", "/clock/advance", "{}", "by is missing"),
    ("POST", "/tokens/xy/uninstall", "", "the token"),
    ("POST", "/tokens/ab/tickle", "", "tickle"),
    ("POST", "/tokens/ab/uninstall?ts=x", "", "ts must be"),
    ("POST", "/tokens/ab/offline?at=1", "", "at is not known"),
    ("POST", "/connections/all/goaway", #"{"reason":"Odd"}"#, "reason"),
    ("GET", "/delivered?colour=red", "", "colour is not known"),
    ("GET", "/delivered?visible=maybe", "", "visible must be"),
    ("GET", "/delivered?undelivered=maybe", "", "undelivered must be"),
  ])
  func `a wrong request names what is wrong`(
    method: String, path: String, body: String, words: String
  ) throws {
    let gateway = try RunningGateway()
    let answer = try gateway.admin(method, path, body)
    let problem = try JSONDocument(answer).root["error"]?.string
    #expect(problem?.contains(words) == true, "\(answer)")
  }

  @Test func `a profile is taken as a whole or not at all`() throws {
    let gateway = try RunningGateway()
    _ = try gateway.admin("PUT", "/profile", #"{"priming":false,"throttle":"odd"}"#)
    #expect(try gateway.json("/profile")["priming"]?.string == "true")
    let answer = try gateway.admin(
      "PUT", "/profile", #"{"priming":false,"token-rate":9,"latency":"5ms","idle-timeout":"2m"}"#)
    #expect(answer == "{\"accepted\":4}\n")
    let profile = try gateway.json("/profile")
    #expect(profile["priming"]?.string == "false")
    #expect(profile["token-rate"]?.string == "9")
    #expect(profile["latency"]?.string == "5ms")
    #expect(profile["idle-timeout"]?.string == "2m")
    #expect(try GatewayClient(gateway).limits == [1_000])
  }

  @Test
  func `a request is shown with its header fields, and its token without its signature`() throws {
    let gateway = try RunningGateway()
    // nghttp2 forbids everybody to put a provider token into a table.
    let client = try GatewayClient(gateway, http2: .nghttp2)
    _ = try client.send { $0 }
    let shown = try #require(try gateway.jsonLines("/requests").first)
    let fields = shown["headers"]?.array ?? []
    func field(_ name: String) -> JSONValue? { fields.first { $0.array?[0].string == name } }
    #expect(field("apns-topic")?.array?[1].string == Self.app)
    #expect(field("authorization")?.array?[2].bool == true)
    let authorization = field("authorization")?.array?[1].string ?? ""
    #expect(authorization.hasSuffix(".…"))
    #expect(client.push.fields[4].value.hasPrefix(authorization.dropLast(1)))
    #expect(shown["stream"]?.int == 1)
    #expect(shown["body_bytes"]?.int == 100)
  }
}
