// SPDX-License-Identifier: Apache-2.0
import Contract
import Testing

@testable import Webhooks

/// Which events an endpoint wants, and where it may be.
@Suite struct SubscriptionTests {
  private var all: Subscription {
    Subscription(name: "crm", url: "https://a.example", keys: [[1]], kinds: Set(EventKind.allCases))
  }

  @Test func `families of events are named with a star`() {
    #expect(EventKind.named("*") == EventKind.allCases)
    #expect(EventKind.named("notification.rejected") == [.rejected])
    #expect(EventKind.named("notification.*").count == 9)
    #expect(
      EventKind.named("token.*") == [
        .tokenInvalidated, .tokenRevived, .tokenRegistered, .tokenRemoved,
      ])
    for text in ["", "rejected", "notification.", "tok*", "token.*.*", "notification.*x"] {
      #expect(EventKind.named(text).isEmpty, "\(text)")
    }
  }

  @Test func `every outcome of a receipt is an event`() {
    for outcome in [
      "delivered", "rejected", "expired", "suppressed", "deduplicated", "superseded",
      "cancelled", "dead_lettered", "addressed",
    ] { #expect(EventKind(outcome: outcome)?.source == .receipts) }
    #expect(EventKind(outcome: "vanished") == nil)
  }

  @Test func `only the topics are read that have what is wanted`() {
    var subscription = all
    #expect(subscription.sources == [.receipts, .invalidTokens, .devices])
    subscription.kinds = [.tokenRemoved, .rejected]
    #expect(subscription.sources == [.receipts, .devices])
  }

  @Test func `app, reason and time are filters`() {
    var subscription = all
    func wants(
      _ kind: EventKind = .rejected, _ app: String? = "a", _ reason: String? = "r", at: Int64 = 5
    ) -> Bool { subscription.wants(kind, app: app, reason: reason, at: at) }
    #expect(wants() && wants(.delivered, nil, nil, at: .min))
    subscription.apps = ["a", "b"]
    #expect(wants() && !wants(.rejected, "c") && !wants(.rejected, nil))
    subscription.reasons = ["r"]
    #expect(wants() && !wants(.rejected, "a", "s") && !wants(.delivered, "a", nil))
    subscription.since = 6
    #expect(!wants() && wants(at: 6))
    subscription.kinds = [.delivered]
    #expect(!wants(at: 6))
  }

  @Test func `a name can stand in a group's name, a header and a metric`() {
    for name in ["crm", "A-1_b", String(repeating: "x", count: 64)] {
      #expect(Subscription.isName(name))
    }
    for name in ["", "a.b", "a b", "é", "a\n", String(repeating: "x", count: 65)] {
      #expect(!Subscription.isName(name))
    }
  }

  @Test func `requests go out with TLS unless that is permitted`() {
    #expect(WebhookURL.problem("https://a.example/hook?x=1", allowsHTTP: false) == nil)
    #expect(WebhookURL.problem("http://a.example/", allowsHTTP: true) == nil)
    #expect(WebhookURL.problem("http://[::1]:8080/", allowsHTTP: true) == nil)
    for url in [
      "http://a.example/", "https://", "https:///x", "https://:80", "ftp://a", "file:///etc/passwd",
      "HTTPS://a", "https://u:p@a/", "https://a/#x", "https://a/ b", "https://ä/", "gopher://a",
      "https://a/\r\nX: y", "", "https://a/" + String(repeating: "x", count: 2_048),
    ] { #expect(WebhookURL.problem(url, allowsHTTP: false) != nil, "\(url)") }
  }

  @Test func `logs show where requests go, not the path`() {
    #expect(WebhookURL.shown("https://a.example:8443/secret?x") == "https://a.example:8443")
    #expect(WebhookURL.shown("https://a.example?x") == "https://a.example")
  }

  @Test func `Retry-After is seconds or a date, an hour at most`() {
    let now: Int64 = 784_111_777_000
    func wait(_ text: String) -> UInt64? { WebhookAnswer.retryAfter(text, now: now) }
    #expect(wait("0") == 0 && wait("120") == 120_000)
    #expect(wait("86400") == 3_600_000 && wait("99999999999999999999999") == 3_600_000)
    #expect(wait("Sun, 06 Nov 1994 08:50:37 GMT") == 60_000)
    #expect(wait("Sun, 06 Nov 1994 08:49:36 GMT") == 0)
    #expect(wait("Sun, 06 Nov 9994 08:49:36 GMT") == 3_600_000)
    for text in ["", "-1", "1.5", "soon", "1 "] { #expect(wait(text) == nil, "\(text)") }
  }

  @Test func `an event with a time beyond all calendars can be shown`() {
    #expect(WebhookEvent.timestamp(.max) == "9999-12-31T23:59:59.999Z")
    #expect(WebhookEvent.timestamp(.min) == "1970-01-01T00:00:00.000Z")
  }
}
