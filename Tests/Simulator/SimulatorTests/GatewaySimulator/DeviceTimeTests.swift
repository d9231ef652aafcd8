// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import GatewayModel
import GatewaySimulator
import Records
import Testing

/// Hours of devices in milliseconds: budgets, storage, removed apps, Live Activities, provider tokens.
@Suite struct DeviceTimeTests {
  private static let token = String(repeating: "0a", count: 32)
  private static let app = "com.example.app"

  private func id(_ number: Int) -> String { "00000000-0000-4000-8000-00000000000\(number)" }

  private func advance(_ gateway: RunningGateway, by time: String) throws {
    let answer = try gateway.admin("POST", "/clock/advance", #"{"by":"\#(time)"}"#)
    #expect(answer.contains("clock_ahead"), "\(answer)")
  }

  private func notShown(_ gateway: RunningGateway, _ query: String = "") throws -> [String?] {
    try gateway.jsonLines("/delivered" + query).map { $0["not_shown"]?.string }
  }

  /// A push to a Live Activity, or one that starts some.
  private func activity(
    _ client: GatewayClient, _ number: Int, _ event: String = "update", priority: String = "10"
  ) -> PushText {
    client.push.with("apns-id", id(number)).with("apns-collapse-id", nil)
      .with("apns-topic", Self.app + ".push-type.liveactivity")
      .with("apns-push-type", "liveactivity").with("apns-priority", priority)
      .withText(#"{"aps":{"timestamp":\#(number),"event":"\#(event)","content-state":{}}}"#)
  }

  @Test func `priority 10 to a Live Activity has a budget, priority 5 has none`() throws {
    let gateway = try RunningGateway {
      $0.rules.liveActivityBudget = 2
      // A provider token is as old as on the machine.
      $0.rules.tokenClock = .machine
    }
    let client = try GatewayClient(gateway)
    for number in 1...3 { #expect(try client.send(activity(client, number)).status == 200) }
    #expect(try client.send(activity(client, 4, priority: "5")).status == 200)
    try advance(gateway, by: "61m")
    #expect(try client.send(activity(client, 5)).status == 200)
    #expect(try notShown(gateway) == [nil, nil, "live-activity-budget", nil, nil])
    #expect(
      try gateway.jsonLines("/delivered?visible=true").compactMap { $0["apns_id"]?.string }
        == [1, 2, 4, 5].map(id))
  }

  @Test func `a burst of starts is cut off, and a device's own budget wins`() throws {
    let gateway = try RunningGateway { $0.rules.pushToStartBudget = 1 }
    let client = try GatewayClient(gateway)
    let other = String(repeating: "0b", count: 32)
    let body = #"[{"token":"\#(other)","push_to_start_budget":2}]"#
    #expect(try gateway.admin("PUT", "/tokens", body) == "{\"accepted\":1}\n")
    for number in 1...3 {
      let push = activity(client, number, "start")
      #expect(try client.send(push).status == 200)
      #expect(try client.send(push.with(":path", "/3/device/" + other)).status == 200)
    }
    let budget = "push-to-start-budget"
    #expect(try notShown(gateway, "?token=\(Self.token)") == [nil, budget, budget])
    #expect(try notShown(gateway, "?token=\(other)") == [nil, nil, budget])
  }

  @Test func `a Live Activity ends after eight hours, in milliseconds`() throws {
    let gateway = try RunningGateway { $0.rules.tokenClock = .machine }
    let client = try GatewayClient(gateway)
    // An idle connection ends after an hour.
    try gateway.set("idle-timeout", "0s")
    #expect(try client.send(activity(client, 1)).status == 200)
    try advance(gateway, by: "479m")
    #expect(try client.send(activity(client, 2)).status == 200)
    try advance(gateway, by: "1m")
    #expect(try client.send(activity(client, 3)).status == 200)
    #expect(try notShown(gateway) == [nil, nil, "activity-ended"])
    try gateway.set("activity-lifetime", "9h")
    #expect(try notShown(gateway) == [nil, nil, nil])
  }

  @Test func `the first 410 comes some time after the removal`() throws {
    let gateway = try RunningGateway {
      $0.rules.goneDelay = 3_600_000
      $0.rules.tokenClock = .machine
      $0.rules.idleTimeout = 0
    }
    let client = try GatewayClient(gateway)
    _ = try gateway.admin("POST", "/tokens/\(Self.token)/uninstall")
    #expect(try client.send { $0 }.status == 200)
    #expect(try gateway.jsonLines("/delivered").isEmpty)
    #expect(try notShown(gateway, "?undelivered=true") == ["app-removed"])
    try advance(gateway, by: "61m")
    #expect(try client.send { $0 }.body.contains("Unregistered"))
  }

  @Test(arguments: [("one", [4]), ("per-collapse-id", [3, 4])])
  func `a device that was off gets what either of Apple's pages says`(
    reading: String, delivered: [Int]
  ) throws {
    let gateway = try RunningGateway()
    try gateway.set("stored-notifications", reading)
    let client = try GatewayClient(gateway)
    _ = try gateway.admin("POST", "/tokens/\(Self.token)/offline")
    for (number, collapse) in [(1, "a"), (2, "a"), (3, "a"), (4, "b")] {
      let push = client.push.with("apns-id", id(number)).with("apns-collapse-id", collapse)
        .with("apns-expiration", "\(WallClock.seconds() + 600)")
      #expect(try client.send(push).status == 200)
    }
    _ = try client.send { $0.with("apns-id", id(5)).with("apns-expiration", "0") }
    let before = try gateway.jsonLines("/delivered?undelivered=true")
    #expect(before.allSatisfy { $0["delivered"]?.isNull == true })
    let stored = before.filter { $0["not_shown"]?.string == "waiting" }
    #expect(stored.compactMap { $0["apns_id"]?.string } == delivered.map(id))
    _ = try gateway.admin("POST", "/tokens/\(Self.token)/online")
    let after = try gateway.jsonLines("/delivered?undelivered=true")
    let shown = after.filter { $0["delivered"]?.isNull != true }
    #expect(shown.compactMap { $0["apns_id"]?.string } == delivered.map(id))
    let lost =
      (1...3).filter { !delivered.contains($0) }.map { _ in "overwritten" } + ["not-stored"]
    #expect(
      after.filter { $0["delivered"]?.isNull == true }.map { $0["not_shown"]?.string } == lost)
  }

  @Test func `what waited too long is reported as expired`() throws {
    let gateway = try RunningGateway()
    _ = try gateway.admin("POST", "/tokens/\(Self.token)/offline")
    let client = try GatewayClient(gateway)
    let soon = "\(WallClock.seconds() + 60)"
    #expect(try client.send { $0.with("apns-expiration", soon) }.status == 200)
    #expect(try notShown(gateway, "?undelivered=true") == ["waiting"])
    try advance(gateway, by: "2m")
    #expect(try notShown(gateway, "?undelivered=true") == ["expired"])
    #expect(try gateway.admin("POST", "/tokens/\(Self.token)/online") == "{\"delivered\":0}\n")
    #expect(try gateway.json("/counters")["expired_in_store"]?.int == 1)
    #expect(try notShown(gateway, "?undelivered=true") == ["expired"])
  }

  @Test func `a provider token's age may be the machine's while the gateway's clock moves`() throws
  {
    let gateway = try RunningGateway { $0.rules.idleTimeout = 0 }
    let client = try GatewayClient(gateway)
    #expect(try client.send { $0 }.status == 200)
    try gateway.set("provider-token-clock", "machine")
    try advance(gateway, by: "30h")
    #expect(try client.send { $0 }.status == 200)
    #expect(try GatewayClient(gateway).send { $0 }.status == 200)
    try gateway.set("provider-token-clock", "gateway")
    #expect(try client.send { $0 }.body == #"{"reason":"ExpiredProviderToken"}"#)
  }
}
