// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import TestSupport
import Testing
import Webhooks

@testable import WebhookDelivery

/// The file of subscriptions.
@Suite struct SubscriptionFileTests {
  private static let secret = WebhookFixture.secret

  private func parse(_ text: String, allowsHTTP: Bool = false) throws -> [Subscription] {
    try SubscriptionFile.parse(Array(text.utf8), "hooks.json", allowsHTTP: allowsHTTP)
  }

  private func entry(_ members: String) -> String { "[{\(members)}]" }

  @Test func `a subscription with everything`() throws {
    let found = try parse(
      entry(
        """
        "name":"crm","url":"https://a.example/hook","secrets":["\(Self.secret)","\(Self.secret)"],
        "events":["notification.rejected","token.*"],"apps":["a","b"],"reasons":["BadDeviceToken"],
        "since":5,"max_events":7,"max_bytes":2048,"linger_ms":0,"timeout_ms":100
        """))
    var wanted = Subscription(
      name: "crm", url: "https://a.example/hook",
      keys: Array(repeating: Array("012345678901234567890123".utf8), count: 2),
      kinds: [.rejected, .tokenInvalidated, .tokenRevived, .tokenRegistered, .tokenRemoved])
    wanted.apps = ["a", "b"]
    wanted.reasons = ["BadDeviceToken"]
    wanted.since = 5
    wanted.limits.events = 7
    wanted.limits.bytes = 2_048
    wanted.limits.linger = 0
    wanted.timeout = 100
    #expect(found == [wanted])
  }

  @Test(arguments: [
    (#""name":"a b""#, "name"), (#""url":"http://a.example""#, "url"), (#""url":null"#, "url"),
    (#""secrets":[]"#, "secrets"), (#""secrets":["whsec_c2hvcnQ="]"#, "secrets"),
    (#""events":[]"#, "events"), (#""events":["rejected"]"#, "events"), (#""apps":"a""#, "apps"),
    (#""apps":[1]"#, "apps"), (#""apps":["*","a"]"#, "apps"), (#""apps":["a.b","a.*"]"#, "apps"),
    (#""reasons":["Bad*"]"#, "reasons"), (#""since":-1"#, "since"), (#""since":1.5"#, "since"),
    (#""since":1795000000"#, "since"),
    (#""max_events":0"#, "max_events"), (#""timeout_ms":1e9"#, "timeout_ms"),
    (#""colour":"red""#, "colour"),
  ])
  func `an error names the mistake, and no secret`(member: String, name: String) throws {
    let good = [
      "name": #""crm""#, "url": #""https://a.example""#, "secrets": #"["\#(Self.secret)"]"#,
      "events": #"["*"]"#,
    ].filter { $0.key != name }.map { "\"\($0.key)\":\($0.value)" }
    let text = entry((good + [member]).joined(separator: ","))
    let error = #expect(throws: SubscriptionFile.Failure.self) { try parse(text) }
    let words = try #require(error).description
    #expect(words.hasPrefix("hooks.json: subscription 1: \(name): "), "\(words)")
    #expect(!words.contains("MDEy") && !words.contains("c2hvcnQ"))
  }

  @Test func `a star alone is every app, and every reason`() throws {
    let members =
      #""name":"a","url":"https://a.example","secrets":["\#(Self.secret)"],"events":["*"]"#
    let all = try parse(entry(members))
    #expect(try parse(entry(#"\#(members),"apps":["*"],"reasons":["*"]"#)) == all)
  }

  @Test func `names are unique, members too, and there is at least one subscription`() throws {
    let crm = WebhookFixture.subscription("crm", "https://a.example")
    #expect(try parse("[\(crm)]").count == 1)
    for text in ["[\(crm),\(crm)]", "[]", "{}", "", "[1]", entry(#""name":"a","name":"b""#)] {
      #expect(throws: SubscriptionFile.Failure.self, "\(text)") { try parse(text) }
    }
  }

  @Test func `one process serves 100 endpoints, and says what to do with more`() throws {
    func file(_ count: Int) -> String {
      let all = (0..<count).map { WebhookFixture.subscription("e\($0)", "https://a.example") }
      return "[\(all.joined(separator: ","))]"
    }
    #expect(try parse(file(100)).count == 100)
    let error = #expect(throws: SubscriptionFile.Failure.self) { try parse(file(101)) }
    #expect(try #require(error).description.contains("divide them among files"))
  }

  @Test func `a file that others can read is refused`() throws {
    let folder = TemporaryFolder()
    let text = "[\(WebhookFixture.subscription("crm", "https://a.example"))]"
    for (mode, isFine) in [(UInt32(0o600), true), (0o644, false)] {
      let path = folder.file("hooks-\(mode)")
      try File.write(path, Array(text.utf8), mode: mode)
      let found = try? SubscriptionFile.read(path, allowsHTTP: false)
      #expect((found != nil) == isFine)
    }
  }
}
