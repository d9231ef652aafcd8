// SPDX-License-Identifier: Apache-2.0
import Contract
import Crypto
import EventLoop
import Glibc
import Kafka
import Records
import ServiceKit
import Telemetry
import TestSupport
import Testing

@testable import WebhookDelivery

/// Real requests to real servers, with Kafka behind them.
@Suite(.serialized) struct EndpointTests {
  private func numbers(_ range: Range<Int>) -> [String] { range.map { "n-\($0)" } }

  @Test func `events arrive signed, in the order of their partition, and are committed`() throws {
    let fixture = try WebhookFixture()
    let receiver = try HookReceiver()
    let ids = numbers(0..<300)
    try fixture.receipts(ids, key: "one")
    let webhooks = try fixture.start([WebhookFixture.subscription("crm", receiver.url)])
    #expect(eventually { receiver.ids().count >= 300 })
    #expect(receiver.ids() == ids)
    let key = try #require(WebhookSignature.key(WebhookFixture.secret))
    for request in receiver.requests {
      let time = try #require(Int64(request.headers["webhook-timestamp"] ?? ""))
      #expect(abs(WallClock.seconds() - time) < 300)
      #expect(
        request.headers["webhook-signature"]
          == WebhookSignature.header(
            id: request.id, timestamp: time, body: request.body, keys: [key]))
      #expect(request.headers["content-type"] == "application/json")
      #expect(request.path == "/hook" && request.events.count <= 100)
    }
    #expect(Set(receiver.requests.map(\.id)).count == receiver.requests.count)
    #expect(eventually { (try? fixture.committed("crm")) == 300 })
    webhooks.stop()
    #expect(webhooks.failure == nil)
  }

  @Test func `each endpoint gets what it wants, and nothing else`() throws {
    let fixture = try WebhookFixture()
    let (outcomes, tokens) = (try HookReceiver(), try HookReceiver())
    let webhooks = try fixture.start([
      WebhookFixture.subscription(
        "outcomes", outcomes.url, events: "notification.rejected",
        more: #","apps":["com.example.app"]"#),
      WebhookFixture.subscription("tokens", tokens.url, events: "token.*"),
    ])
    try fixture.receipts(["a"])
    try fixture.receipts(["b"], outcome: "rejected")
    let device = #""token":"ab","app":"com.example.app","environment":"production""#
    let name = "ab:com.example.app:production"
    try fixture.produce(
      fixture.names.invalidTokens,
      [(name, #"{\#(device),"invalid_since":1,"reason":"Unregistered","at":2,"alive_from":3}"#)])
    try fixture.produce(fixture.names.devices, [(name, #"{\#(device),"registered_at":4}"#)])
    expectEventually {
      outcomes.ids() == ["b"] && tokens.requests.flatMap(\.events).count == 2
    }
    #expect(
      Set(tokens.requests.flatMap(\.events).compactMap { $0["type"]?.string })
        == ["token.invalidated", "token.registered"])
    // What nobody wants is passed, too.
    #expect(eventually { (try? fixture.committed("outcomes")) == 2 })
    let page = try webhooks.metrics
    let unwanted = ["endpoint": "outcomes", "result": "unwanted"]
    #expect(page.sum("martlet_webhooks_events_total", unwanted) == 1)
    #expect(page.sum("martlet_webhooks_queued_events") == 0)
  }

  @Test func `what is not accepted comes again under the same id, and nothing overtakes it`() throws
  {
    let fixture = try WebhookFixture()
    let receiver = try HookReceiver { _, before in .init(status: before < 2 ? 500 : 204) }
    try fixture.receipts(["a"])
    let webhooks = try fixture.start([WebhookFixture.subscription("crm", receiver.url)])
    #expect(eventually { !receiver.requests.isEmpty })
    let early = try fixture.committed("crm")
    #expect(early == 0 || receiver.requests.count == 3)
    #expect(eventually { receiver.requests.count == 3 })
    #expect(Set(receiver.requests.map(\.id)).count == 1)
    #expect(Set(receiver.requests.map(\.body)).count == 1)
    #expect(eventually { (try? fixture.committed("crm")) == 1 })
    let page = try webhooks.metrics
    #expect(page.sum("martlet_webhooks_attempts_total", ["result": "refused"]) == 2)
    #expect(page.sum("martlet_webhooks_attempts_total", ["result": "accepted"]) == 1)
    #expect(page.sum("martlet_webhooks_endpoint_failing") == 0)
  }

  @Test func `endpoints that hang, refuse or send without an end delay no other`() throws {
    let fixture = try WebhookFixture()
    let good = try HookReceiver()
    let silent = try HookReceiver { _, _ in .init(delay: 600_000) }
    let dripping = try HookReceiver { _, _ in .init(status: 500, length: 1_000_000, bytePause: 50) }
    let closed = try HookReceiver()
    closed.stop()
    let webhooks = try fixture.start([
      WebhookFixture.subscription("silent", silent.url, timeout: 1_000),
      WebhookFixture.subscription("dripping", dripping.url, timeout: 1_000),
      WebhookFixture.subscription("closed", closed.url),
      WebhookFixture.subscription("good", good.url),
    ])
    for round in 0..<5 {
      try fixture.receipts(numbers(round * 20..<round * 20 + 20))
      #expect(eventually { good.ids().count == round * 20 + 20 }, "round \(round)")
    }
    #expect(try fixture.committed("good") <= 100)
    #expect(try fixture.committed("silent") == 0)
    func failing(_ labels: [String: String] = [:]) throws -> Double {
      try webhooks.metrics.sum("martlet_webhooks_endpoint_failing", labels)
    }
    #expect(try eventually { try failing() == 3 })
    #expect(try failing(["endpoint": "good"]) == 0)
    try expectEventually {
      try webhooks.metrics.sum("martlet_webhooks_events_total", ["endpoint": "good"]) == 100
    }
  }

  @Test func `what an endpoint cannot take stays in Kafka, not in memory`() throws {
    let fixture = try WebhookFixture()
    let receiver = try HookReceiver()
    let port = receiver.port
    receiver.stop()
    for round in 0..<40 { try fixture.receipts(numbers(round * 200..<round * 200 + 200)) }
    // Two partitions of receipts, two of tokens: 256 KiB each.
    let webhooks = try fixture.start([WebhookFixture.subscription("crm", receiver.url)]) {
      $0.maxQueuedBytes = 1 << 20
    }
    func queued() throws -> Double { try webhooks.metrics.sum("martlet_webhooks_queued_events") }
    #expect(try eventually { try queued() > 500 })
    // An event has about 300 bytes.
    for _ in 0..<20 {
      #expect(try queued() < 2_500)
      letPass(milliseconds: 100)
    }
    let back = try HookReceiver(port: port)
    #expect(
      eventually { Set(back.ids()).count == 8_000 },
      "\(back.ids().count)")
    #expect(eventually { (try? fixture.committed("crm")) == 8_000 })
  }

  @Test func `2xx counts as soon as it has come, whatever follows it`() throws {
    let fixture = try WebhookFixture()
    let long = try HookReceiver { _, _ in .init(length: 8 << 20) }
    let slow = try HookReceiver { _, _ in .init(length: 1_000, bytePause: 100) }
    let webhooks = try fixture.start([
      WebhookFixture.subscription("long", long.url), WebhookFixture.subscription("slow", slow.url),
    ])
    try fixture.receipts(["a"])
    expectEventually {
      (try? fixture.committed("long")) == 1 && (try? fixture.committed("slow")) == 1
    }
    #expect(long.requests.count == 1 && slow.requests.count == 1)
    _ = webhooks
  }

  @Test func `redirects are not followed`() throws {
    let fixture = try WebhookFixture()
    let other = try HookReceiver()
    let url = other.url
    let receiver = try HookReceiver { _, before in
      before == 0 ? .init(status: 307, headers: ["Location: \(url)"]) : .init()
    }
    let webhooks = try fixture.start([WebhookFixture.subscription("crm", receiver.url)])
    try fixture.receipts(["a"])
    #expect(eventually { receiver.requests.count == 2 })
    #expect(other.connections == 0)
    _ = webhooks
  }

  @Test
  func `what is not accepted in time becomes a dead letter, and the next events are sent`() throws {
    let fixture = try WebhookFixture(partitions: 1)
    let receiver = try HookReceiver { request, _ in
      .init(status: request.events.contains { $0["data"]?["id"] == "bad" } ? 422 : 200)
    }
    try fixture.receipts(["a", "bad", "b"])
    let webhooks = try fixture.start(
      [WebhookFixture.subscription("crm", receiver.url, more: #","max_events":1"#)],
      ["--retry-for", "6s"])
    let letters = try fixture.kafka.read(
      fixture.names.deadLetters, count: 1)
    let letter = try #require(letters.first)
    let fields = DeadLetter(letter.headers)
    #expect(fields.reason == "webhook_undelivered" && fields.stage == "webhooks")
    #expect(fields.origin?.description == "\(fixture.names.receipts)/0/1")
    #expect(fields.detail.contains("endpoint crm") && fields.detail.contains("422"))
    #expect((fields.attempts ?? 0) >= 2)
    let body = try JSONParser().parse(letter.value ?? "")
    #expect(body["data"]?.array?.first?["data"]?["id"] == "bad")
    #expect(eventually { receiver.ids().last == "b" })
    #expect(eventually { (try? fixture.committed("crm")) == 3 })
    let dead = ["result": "dead_lettered"]
    #expect(try webhooks.metrics.sum("martlet_webhooks_events_total", dead) == 1)
  }

  @Test
  func `a dead letter that its topic does not take is cut, and the next events are sent`() throws {
    let fixture = try WebhookFixture(partitions: 1, letterBytes: 4_000)
    let receiver = try HookReceiver { request, _ in
      .init(status: request.events.contains { $0["data"]?["id"] == "bad" } ? 422 : 200)
    }
    // What no compression makes small.
    let text = String((0..<20_000).map { _ in "abcdefghijklmnopqrstuvwxyz".randomElement()! })
    let large = String(WebhookFixture.receipt("bad").dropLast()) + #","detail":"\#(text)"}"#
    try fixture.produce(fixture.names.receipts, [(nil, large)])
    try fixture.receipts(["b"])
    let webhooks = try fixture.start(
      [WebhookFixture.subscription("crm", receiver.url, more: #","max_events":1"#)],
      ["--retry-for", "6s"])
    let letters = try fixture.kafka.read(
      fixture.names.deadLetters, count: 1)
    let letter = try #require(letters.first)
    #expect(letter.value?.utf8.count == DeadLetterHeader.longest)
    #expect(DeadLetterCut.isRemarked(DeadLetter(letter.headers).detail))
    #expect(eventually { receiver.ids().last == "b" })
    #expect(eventually { (try? fixture.committed("crm")) == 2 })
    #expect(webhooks.stop() == nil)
  }

  @Test func `a stop waits for the request under way and commits it`() throws {
    let fixture = try WebhookFixture(partitions: 1)
    let receiver = try HookReceiver { _, _ in .init(delay: 700) }
    // Longer than the delay on a machine that has no time for either.
    let webhooks = try fixture.start(
      [WebhookFixture.subscription("crm", receiver.url, timeout: 30_000)])
    try fixture.receipts(["a"])
    #expect(eventually { receiver.requests.count == 1 })
    webhooks.stop()
    #expect(webhooks.failure == nil)
    #expect(try fixture.committed("crm") == 1)
  }

  @Test func `two processes of a group share its partitions, and a stop hands them over`() throws {
    let fixture = try WebhookFixture(partitions: 4)
    let receiver = try HookReceiver()
    let entry = WebhookFixture.subscription("crm", receiver.url)
    let first = try fixture.start([entry])
    let second = try fixture.start([entry])
    func assigned(_ webhooks: RunningService) -> Double {
      (try? webhooks.metrics.sum("martlet_kafka_group_partitions_assigned")) ?? 0
    }
    // Receipts, devices and invalid tokens: six partitions.
    expectEventually { assigned(first) == 3 && assigned(second) == 3 }
    for number in 0..<200 { try fixture.receipts(["n-\(number)"], key: "k-\(number)") }
    #expect(eventually { Set(receiver.ids()).count == 200 })
    // The embedded broker takes no commit while a group rebalances; a real one does.
    #expect(eventually { (try? fixture.committed("crm")) == 200 })
    first.stop()
    #expect(eventually { assigned(second) == 6 })
    for number in 200..<300 { try fixture.receipts(["n-\(number)"], key: "k-\(number)") }
    #expect(eventually { Set(receiver.ids()).count == 300 })
    // A stop in good order repeats nothing.
    #expect(receiver.ids().count == 300)
    #expect(eventually { (try? fixture.committed("crm")) == 300 })
  }
}
