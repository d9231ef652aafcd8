// SPDX-License-Identifier: Apache-2.0
import EventLoop
import GatewayModel
import GatewaySimulator
import HTTP2
import Records
import ServiceKit
import Settings
import TestSupport
import Testing

/// Profiles in a running gateway: each has an effect, and one follows the other without a trace.
@Suite struct ProfileTests {
  static let names = GatewayProfile.all.map(\.name)

  private func choose(_ name: String, in gateway: RunningGateway) throws {
    let answer = try gateway.admin("PUT", "/profile", #"{"profile":"\#(name)"}"#)
    #expect(answer == "{\"accepted\":1}\n", "\(answer)")
  }

  private func fired(_ gateway: RunningGateway) throws -> [Int64] {
    (try gateway.json("/faults")["rules"]?.array ?? []).compactMap { $0["fired"]?.int }
  }

  @Test(arguments: names)
  func `the switches of a profile exist, and its faults are rules`(name: String) throws {
    let profile = try #require(GatewayProfile(name))
    var rules = GatewayRules()
    for choice in profile.switches where choice.name != "latency" {
      try rules.set(choice.name, choice.value)
    }
    let read = try profile.faultRules()
    #expect(read.count == profile.rules.count)
    #expect(read.allSatisfy { $0.profile == name })
  }

  @Test(arguments: names)
  func `every fault of a profile fires within some requests`(name: String) throws {
    let gateway = try RunningGateway()
    try choose(name, in: gateway)
    #expect(try gateway.json("/profile")["profile"]?.string == name)
    for choice in try #require(GatewayProfile(name)).switches {
      #expect(try gateway.json("/profile")[choice.name]?.string == choice.value)
    }
    var client: GatewayClient?
    for number in 0..<60 where try fired(gateway).contains(0) {
      client = try Self.push(number, client, gateway)
      // A connection without a request is dropped.
      if name == "dropped-idle" { try client?.pass(milliseconds: 2_400) }
    }
    #expect(try !fired(gateway).contains(0))
  }

  /// Sends one push on `client`, or on a new connection if that one has ended, and waits a moment for its answer.
  private static func push(
    _ number: Int, _ client: GatewayClient?, _ gateway: RunningGateway
  ) throws -> GatewayClient? {
    let client = try client ?? GatewayClient(gateway, expectsSettings: false)
    let end = MonotonicClock.milliseconds() + 2_500
    try client.wait {
      client.connection.isClosed || client.limits.last ?? 0 > 0
        || MonotonicClock.milliseconds() >= end
    }
    guard !client.connection.isClosed, client.goAways.isEmpty, client.limits.last ?? 0 > 0 else {
      return nil
    }
    var push = client.push.with("apns-id", nil)
    push.body += Array(repeating: 0x20, count: 2_000)
    let exchange = client.begin(push)
    let last = MonotonicClock.milliseconds() + 300
    try client.wait {
      exchange.pointee.fate != .pending || client.connection.isClosed
        || MonotonicClock.milliseconds() >= last
    }
    let isUsable =
      exchange.pointee.fate != .pending && client.goAways.isEmpty && !client.connection.isClosed
    return isUsable ? client : nil
  }

  @Test func `every third device is gone, and of those every second without a timestamp`() throws {
    let gateway = try RunningGateway()
    try choose("gone-devices", in: gateway)
    let client = try GatewayClient(gateway)
    let answers = try (1...12).map { _ in try client.send { $0 } }
    let statuses: [UInt16] = [200, 200, 410, 200, 200, 410]
    #expect(answers.map(\.status) == statuses + statuses)
    let gone = answers.filter { $0.status == 410 }
    #expect(gone.map { $0.body.contains("timestamp") } == [true, false, true, false])
  }

  @Test func `one profile follows the other without a trace, and none is left at the end`() throws {
    let gateway = try RunningGateway { $0.rules.tokenRate = 7 }
    try choose("one-token-per-team", in: gateway)
    try choose("overloaded", in: gateway)
    var profile = try gateway.json("/profile")
    #expect(profile["token-update-scope"]?.string == "connection")
    #expect(profile["token-rate"]?.string == "7")
    #expect(
      try gateway.json("/faults")["rules"]?.array?.map { $0["id"]?.string } == [
        "service_unavailable"
      ])
    try choose("full", in: gateway)
    profile = try gateway.json("/profile")
    #expect(profile["profile"]?.string == "full")
    #expect(try fired(gateway).isEmpty)
  }

  @Test func `a reset returns to the profile of the start, and its faults count anew`() throws {
    let gateway = try RunningGateway { $0.profile = GatewayProfile("expired-tokens") }
    func statuses() throws -> [UInt16] {
      let client = try GatewayClient(gateway)
      return try (0..<10).map { _ in try client.send { $0 }.status }
    }
    let expected = Array(repeating: UInt16(200), count: 9) + [403]
    #expect(try statuses() == expected)
    try choose("full", in: gateway)
    #expect(try statuses() == Array(repeating: 200, count: 10))
    _ = try gateway.admin("POST", "/reset")
    let profile = try gateway.json("/profile")
    #expect(profile["profile"]?.string == "expired-tokens")
    #expect(profile["token-update-rule"]?.string == "off")
    #expect(try statuses() == expected)
    // Rules that were added are removed, those of the profile are not.
    _ = try gateway.admin("POST", "/faults", #"[{"id":"goaway_shutdown","when":{"nth":1}}]"#)
    #expect(try gateway.admin("DELETE", "/faults") == "{\"removed\":1}\n")
    #expect(try fired(gateway).count == 1)
  }

  @Test func `a flag wins over the profile beside it`() throws {
    let gateway = try RunningGateway(flags: [
      "--profile", "one-token-per-team", "--token-update-rule", "blackhole",
    ])
    let profile = try gateway.json("/profile")
    #expect(profile["token-update-rule"]?.string == "blackhole")
    #expect(profile["token-update-scope"]?.string == "team")
    // A field wins, too.
    _ = try gateway.admin(
      "PUT", "/profile", #"{"token-update-rule":"wedge","profile":"one-token-per-team"}"#)
    #expect(try gateway.json("/profile")["token-update-rule"]?.string == "wedge")
  }

  @Test(arguments: [
    (#"{"profile":"slow-knight"}"#, "slow-night"), (#"{"profile":"fast"}"#, "from the start only"),
    (#"{"profile":"overloaded","throttle":"odd"}"#, "throttle"),
  ])
  func `a wrong profile is refused, and nothing changes`(body: String, words: String) throws {
    let gateway = try RunningGateway()
    let answer = try gateway.admin("PUT", "/profile", body)
    #expect(answer.contains(words), "\(answer)")
    #expect(try gateway.json("/profile")["profile"]?.string == "full")
    #expect(try fired(gateway).isEmpty)
  }

  @Test func `an unknown name at the start lists the known ones`() {
    let error = #expect(throws: SettingErrors.self) {
      _ = try SimulatorService.values(["--profile", "slow-knight"])
    }
    let text = error.map { "\($0)" } ?? ""
    #expect(text.contains("profile") && text.contains("must be one of full, fast, slow-night"))
  }

  @Test func `the fast profile cannot be changed`() throws {
    let gateway = try RunningGateway(flags: ["--profile", "fast"])
    #expect(try gateway.json("/profile")["profile"]?.string == "fast")
    let answer = try gateway.admin("PUT", "/profile", #"{"profile":"slow-night"}"#)
    #expect(answer.contains("profile cannot be changed"))
  }

  @Test func `all profiles are reported with what they are made of`() throws {
    let gateway = try RunningGateway()
    let list = try gateway.json("/profiles")["profiles"]?.array ?? []
    #expect(list.compactMap { $0["name"]?.string } == Self.names)
    #expect(list.allSatisfy { $0["catches"]?.string?.isEmpty == false })
    let expired = list.first { $0["name"]?.string == "expired-tokens" }
    #expect(expired?["switches"]?["token-update-rule"]?.string == "off")
    #expect(expired?["faults"]?.array?.first?["id"]?.string == "any_answer")
  }

  @Test(arguments: [(HTTP2Implementation.nghttp2, UInt16(200)), (.engine, 400)])
  func `a provider token in the compression table is noticed`(
    http2: HTTP2Implementation, status: UInt16
  ) throws {
    let gateway = try RunningGateway()
    try choose("indexed-secrets", in: gateway)
    let client = try GatewayClient(gateway, http2: http2)
    #expect(try client.send { $0 }.status == status)
  }
}
