// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Records
import Testing
import Webhooks

@testable import WebhookDelivery

/// What becomes of the records of each topic.
@Suite struct EventReaderTests {
  private func read(
    _ source: EventSource, key: String = "", _ value: String?,
    recordedAt: Int64 = 1_795_000_000_000, _ change: (inout Subscription) -> Void = { _ in }
  ) -> EventReader.Result {
    var subscription = Subscription(
      name: "crm", url: "https://a.example", keys: [[1]], kinds: Set(EventKind.allCases))
    change(&subscription)
    let reader = EventReader(subscription, TopicNames())
    let bytes = value.map { Array($0.utf8) }
    return Array(key.utf8).withUnsafeBytes { key in
      (bytes ?? []).withUnsafeBytes { value in
        reader.read(
          source, key: key,
          value: bytes == nil ? UnsafeRawBufferPointer(start: nil, count: 0) : value,
          partition: 3, offset: 17, recordedAt: recordedAt)
      }
    }
  }

  private func json(_ event: WebhookEvent) throws -> JSONValue {
    try JSONParser().parse(event.text)
  }

  @Test func `every line of a record of receipts is an event, its receipt as it was`() throws {
    let lines = [
      WebhookFixture.receipt("a"), WebhookFixture.receipt("b", outcome: "rejected"),
      WebhookFixture.receipt("c", outcome: "vanished"), "no JSON", #"{"outcome":"delivered"}"#,
      WebhookFixture.receipt("d", outcome: "dead_lettered"),
    ]
    let result = read(.receipts, lines.joined(separator: "\n")) {
      $0.kinds = [.delivered, .deadLettered]
    }
    #expect(result.unwanted == 1 && result.unreadable == 3)
    let events = try result.events.map(json)
    #expect(
      events.map { $0["id"]?.string } == [
        "push.receipts/3/17/0@1795000000000", "push.receipts/3/17/5@1795000000000",
      ])
    #expect(events[0]["type"] == "notification.delivered")
    #expect(events[0]["timestamp"] == "2026-11-18T11:06:40.045Z")
    #expect(try events[0]["data"] == JSONParser().parse(lines[0]))
  }

  @Test func `a dead token, and its tombstone`() throws {
    let mark =
      #"{"token":"ab","app":"a","environment":"production","invalid_since":1,"reason":"r","at":2}"#
    let dead = read(.invalidTokens, key: "ab:a:production", mark)
    #expect(try dead.events.map(json).map { $0["type"] } == ["token.invalidated"])
    let alive = read(.invalidTokens, key: "ab:a:sandbox", nil)
    let event = try json(try #require(alive.events.first))
    #expect(event["type"] == "token.revived")
    #expect(event["data"] == ["token": "ab", "app": "a", "environment": "sandbox"])
    #expect(event["timestamp"] == "2026-11-18T11:06:40.000Z")
    #expect(read(.invalidTokens, key: "?", nil).unreadable == 1)
    #expect(read(.invalidTokens, key: "ab:a:production", "{}").unreadable == 1)
    #expect(read(.invalidTokens, key: "cd:a:production", mark).unreadable == 1, "of another device")
  }

  /// A batch is given up when its newest event is as old as the time for which it is tried.
  @Test(arguments: [-1, 0, 1_795_000_000] as [Int64])
  func `a record whose timestamp is none, or in seconds, is not taken for an old one`(
    timestamp: Int64
  ) throws {
    let device = #"{"token":"ab","app":"a","environment":"production","registered_at":1}"#
    let result = read(.devices, key: "ab:a:production", device, recordedAt: timestamp)
    #expect(result.events.map(\.recordedAt) == [-1])
    #expect(try result.events.map(json).map { $0["id"] } == ["push.devices/3/17/0@0"])
  }

  @Test func `registrations and removals; a tombstone is neither`() throws {
    func types(_ value: String?) throws -> [JSONValue?] {
      try read(.devices, key: "ab:a:production", value).events.map(json).map { $0["type"] }
    }
    let device = #""token":"ab","app":"a","environment":"production""#
    #expect(try types(#"{\#(device),"registered_at":1}"#) == ["token.registered"])
    #expect(try types(#"{\#(device),"removed_at":1}"#) == ["token.removed"])
    let none = read(.devices, nil)
    #expect(none.events.isEmpty && none.unreadable == 0)
    #expect(read(.devices, "[1]").unreadable == 1)
  }

  @Test(arguments: [
    ("AB:a:production", #""registered_at":1"#), ("ab:A:production", #""registered_at":1"#),
    ("ab:a:sandbox", #""removed_at":1"#), ("", #""registered_at":1"#),
    ("ab:a:production", #""registered_at":1,"removed_at":2"#),
    ("ab:a:production", #""registered_at":1795000000"#),
    ("ab:a:production", #""registered_at":1795086400001"#),
  ])
  func `what feedback makes a dead letter of registers and removes nothing`(
    key: String, times: String
  ) {
    let value = #"{"token":"ab","app":"a","environment":"production",\#(times)}"#
    let result = read(.devices, key: key, value)
    #expect(result.events.isEmpty && result.unreadable == 1)
  }

  @Test func `filters look at app and reason`() {
    let receipt = #"{"outcome":"rejected","app":"a","reason":"BadDeviceToken","at":5}"#
    #expect(read(.receipts, receipt) { $0.apps = ["a"] }.events.count == 1)
    #expect(read(.receipts, receipt) { $0.apps = ["b"] }.unwanted == 1)
    #expect(read(.receipts, receipt) { $0.reasons = ["BadDeviceToken"] }.events.count == 1)
    #expect(read(.receipts, receipt) { $0.reasons = ["Unregistered"] }.unwanted == 1)
    #expect(read(.receipts, receipt) { $0.since = 6 }.unwanted == 1)
  }
}
