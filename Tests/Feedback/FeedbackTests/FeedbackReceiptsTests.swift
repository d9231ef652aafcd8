// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Kafka
import TestSupport
import Testing

@testable import Feedback
@testable import Store

/// `--keep-receipts`, and what the metrics say of the database.
@Suite(.serialized) struct FeedbackReceiptsTests {
  private typealias Fixture = FeedbackFixture

  private static func line(_ number: Int, at time: Int64, app: String? = "com.example.app")
    -> String
  {
    let digits = String(number, radix: 16)
    let id = String(repeating: "0", count: 12 - digits.count) + digits
    let app = app.map { #","app":"\#($0)""# } ?? ""
    return
      #"{"outcome":"delivered","apns_id":"00000000-0000-4000-8000-\#(id)","id":"order-\#(number / 2)"\#(app)"#
      + #","environment":"production","lane":"bulk","status":200,"attempts":1,"created":1,"at":\#(time)}"#
  }

  private func produce(_ fixture: Fixture, _ records: [[String]]) throws {
    try fixture.produce(
      fixture.names.receipts, records.map { ([], Array(($0.joined(separator: "\n") + "\n").utf8)) })
  }

  @Test func `an outcome from the future is kept as of its record, and its line as it stands`() {
    let received: Int64 = 1_795_000_000_000
    let lines = [Self.line(1, at: received - 5), Self.line(2, at: OutsideTime.last)]
    let content = Array(lines.joined(separator: "\n").utf8).withUnsafeBytes {
      JobReader(TopicNames()).receipts($0, 0, 0, received: received)
    }
    guard case .receipts(let kept, unusable: 0) = content else {
      Issue.record("\(content)")
      return
    }
    #expect(kept.map(\.at) == [received - 5, received + OutsideTime.skew])
    #expect(kept.map(\.receipt) == lines)
  }

  @Test(arguments: DatabaseKind.allCases)
  func `outcomes are kept, each line once, and found by request and notification`(
    kind: DatabaseKind
  ) throws {
    let fixture = try Fixture(kind)
    try fixture.kafka.createTopic("receipts", partitions: 2)
    let now = WallClock.milliseconds()
    let lines = (0..<600).map { Self.line($0, at: now - Int64($0)) }
    try produce(fixture, stride(from: 0, to: 600, by: 50).map { Array(lines[$0..<$0 + 50]) })
    try produce(
      fixture, [["nonsense", Self.line(700, at: now, app: nil), Self.line(701, at: now)]])
    // A token's answer is judged beside them.
    try fixture.send([Fixture.feedback(Fixture.device(1))])
    var service = try fixture.start(flags: ["--keep-receipts", "7d"])
    #expect(fixture.invalid(atLeast: 1).count == 1)
    try expectEventually {
      try fixture.committed(fixture.names.receipts, partitions: 2) == 13
    }
    #expect(service.counter("receipts_kept") == 601)
    #expect(service.counter("receipts_unusable") == 1)
    #expect(try TokenStoreReader(fixture.database).deviceCounts() == DeviceCounts(invalid: 1))
    service.stop()
    // Another process has the same lines once more, as after a crash before the commit.
    let queries = try TokenQueries(fixture.database)
    let before = try queries.outcomes(of: "order-7", apps: nil, limit: 10)
    #expect(before.map(\.receipt) == [lines[15], lines[14]])
    #expect(before.map(\.app) == ["com.example.app", "com.example.app"])
    try produce(fixture, [[Self.line(15, at: now)]])
    service = try fixture.start(flags: ["--keep-receipts", "7d"])
    defer { service.stop() }
    try expectEventually {
      try queries.outcomes(of: "order-7", apps: nil, limit: 10).count == 3
    }
    let id = "00000000-0000-4000-8000-00000000000f"
    #expect(try queries.outcomes(of: id.exact, apps: nil, limit: 10).count == 2)
    #expect(try queries.receiptKeeping()?.retention == 7 * 86_400_000)
  }

  @Test(arguments: DatabaseKind.allCases)
  func `outcomes go when their time is over, also where none are kept any more`(
    kind: DatabaseKind
  ) throws {
    let fixture = try Fixture(kind)
    try fixture.kafka.createTopic("receipts", partitions: 2)
    let now = WallClock.milliseconds()
    let old = (0..<50).map { Self.line($0, at: now - 3_600_000) }
    try produce(fixture, [old + [Self.line(90, at: now)]])
    var service = try fixture.start(flags: ["--keep-receipts", "1m"])
    #expect(eventually { service.counter("receipts_removed") == 50 })
    let queries = try TokenQueries(fixture.database)
    #expect(try queries.outcomes(of: "order-45", apps: nil, limit: 2).count == 1)
    #expect(try queries.outcomes(of: "order-3", apps: nil, limit: 2).isEmpty)
    service.stop()
    // What nobody keeps any longer: the last one goes in its time, and with it the note that there are some.
    try TokenStore(fixture.database, now: 1).set(ReceiptKeeping(since: 1, retention: 1))
    service = try fixture.start()
    defer { service.stop() }
    #expect(try eventually { try queries.receiptKeeping() == nil })
    #expect(try queries.outcomes(of: "order-45", apps: nil, limit: 2).isEmpty)
  }

  @Test(arguments: DatabaseKind.allCases)
  func `the note that outcomes are kept comes back after a copy that keeps none took it away`(
    kind: DatabaseKind
  ) throws {
    let fixture = try Fixture(kind)
    try fixture.kafka.createTopic("receipts", partitions: 2)
    let service = try fixture.start(flags: ["--keep-receipts", "7d"])
    defer { service.stop() }
    func isNoted() -> Bool { (try? TokenQueries(fixture.database).receiptKeeping()) != nil }
    #expect(eventually(withinMilliseconds: 20_000) { isNoted() })
    let other = try TokenStore(fixture.database, now: 1, busyTimeout: 10_000)
    try other.transaction { () throws(StoreError) in try other.endReceiptKeeping() }
    #expect(eventually(withinMilliseconds: 30_000) { isNoted() })
  }
}
