// SPDX-License-Identifier: Apache-2.0
import Contract
import GatewayModel
import Testing

@Suite struct ChannelRegistryTests {
  private static let now: Int64 = 1_795_000_000_000

  private func registry() -> ChannelRegistry {
    var channels = ChannelRegistry()
    let rules = GatewayRules()
    _ = channels.create("AAAA", app: "a", .production, storesMessages: true, rules)
    _ = channels.create("BBBB", app: "a", .sandbox, storesMessages: false, rules)
    return channels
  }

  @Test func `channels belong to one app in one environment`() {
    let channels = registry()
    #expect(channels.list(app: "a", .production) == ["AAAA"])
    #expect(channels.list(app: "a", .sandbox) == ["BBBB"])
    #expect(channels.find("AAAA", app: "a", .production)?.storesMessages == true)
    #expect(channels.find("AAAA", app: "a", .sandbox) == nil)
    #expect(channels.find("AAAA", app: "b", .production) == nil)
  }

  @Test func `a deleted channel is gone`() {
    var channels = registry()
    #expect(channels.delete("AAAA", app: "a", .sandbox) == false)
    #expect(channels.delete("AAAA", app: "a", .production) == true)
    #expect(channels.delete("AAAA", app: "a", .production) == false)
    #expect(channels.list(app: "a", .production) == [])
  }

  @Test func `the next one after the limit is refused, for that app and environment`() {
    var channels = ChannelRegistry()
    let rules = GatewayRules()
    for number in 0..<10_000 {
      let refusal = channels.create(
        "id\(number)", app: "a", .production, storesMessages: false, rules)
      if refusal != nil { Issue.record("channel \(number)") }
    }
    #expect(
      channels.create("more", app: "a", .production, storesMessages: false, rules)
        == Refusal(.cannotCreateChannelConfig))
    #expect(channels.create("x", app: "a", .sandbox, storesMessages: false, rules) == nil)
    #expect(channels.create("y", app: "b", .production, storesMessages: false, rules) == nil)
  }

  @Test func `a change is carried out as its request says`() {
    var channels = registry()
    let rules = GatewayRules()
    let later = Self.now / 1_000 + 60
    channels.apply(.publish("AAAA", [1], expiration: later), rules, now: Self.now)
    #expect(channels.find("AAAA", app: "a", .production)?.stored?.body == [1])
    channels.apply(.delete("AAAA", app: "a", .production), rules, now: Self.now)
    channels.apply(
      .create("CCCC", app: "a", .production, storesMessages: false), rules, now: Self.now)
    #expect(channels.list(app: "a", .production) == ["CCCC"])
    #expect(channels.refusal(ofAnotherFor: "a", .production, rules) == nil)
    var full = rules
    full.channelLimit = 1
    #expect(
      channels.refusal(ofAnotherFor: "a", .production, full)
        == Refusal(.cannotCreateChannelConfig))
    // Another loop has made the last one since the request was judged.
    let late = ChannelChange.create("DDDD", app: "a", .production, storesMessages: false)
    #expect(
      channels.apply(late, full, now: Self.now) == Refusal(.cannotCreateChannelConfig))
    #expect(channels.list(app: "a", .production) == ["CCCC"])
  }

  @Test func `an app without the capability has no channels`() {
    var channels = registry()
    channels.enable("a", false)
    #expect(channels.all.isEmpty)
    #expect(
      channels.create("C", app: "a", .production, storesMessages: false, GatewayRules())
        == Refusal(.featureNotEnabled))
    channels.enable("a", true)
    #expect(channels.list(app: "a", .production) == [])
    #expect(
      channels.create("C", app: "a", .production, storesMessages: false, GatewayRules()) == nil)
  }

  @Test func `a channel with policy 1 keeps its newest message, eight hours at most`() {
    var channels = registry()
    let far = Self.now / 1_000 + 86_400
    channels.publish("AAAA", body: [1], expiration: far, now: Self.now)
    channels.publish("AAAA", body: [2], expiration: far, now: Self.now)
    channels.publish("AAAA", body: [3], expiration: 0, now: Self.now)
    channels.publish("BBBB", body: [4], expiration: 0, now: Self.now)
    let kept = channels.find("AAAA", app: "a", .production)
    #expect(kept?.published == 3)
    #expect(kept?.stored == StoredBroadcast(body: [2], until: Self.now + 8 * 3_600_000))
    #expect(channels.find("BBBB", app: "a", .sandbox)?.stored == nil)
  }

  @Test(arguments: [
    ("QUJDRA==", true), ("QUJD", true), ("a+/9", true), ("", false), ("QUJ", false),
    ("QU_D", false), ("Q===", false), ("=QUJ", false), (String(repeating: "A", count: 132), false),
  ])
  func `a channel id is base64 of a bounded length`(text: String, isID: Bool) {
    let found = ChannelRegistry.isChannelID(text.utf8.span)
    #expect(found == isID)
  }
}
