// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Glibc
import Kafka
import ServiceKit
import TestSupport
import Testing

@testable import OperatorCommand

/// `martlet trace` among many receipts: as many as `MARTLET_TEST_RECEIPTS` says, else 100,000. With ten million it has 20
/// seconds.
@Suite(.serialized) struct TraceVolumeTests {
  private static let wanted = "0a1b2c3d-0000-4000-8000-00000000abcd"
  private static let seconds: UInt64 = 20

  private var count: Int {
    getenv("MARTLET_TEST_RECEIPTS").flatMap { Int(String(cString: $0)) } ?? 100_000
  }

  @Test func `an id is found among as many receipts as are asked for`() throws {
    let fixture = try KafkaFixture(embedded: true)
    let receipts = fixture.name("receipts")
    try fixture.createTopic("receipts", partitions: max(4, count / 20_000))
    try fill(receipts, fixture)
    let context = try TraceCommand.context(["x"])
    let begin = MonotonicClock.milliseconds()
    let cluster = try KafkaCluster(fixture.configuration, context)
    defer { cluster.admin.close() }
    var search = TraceSearch(.id(Self.wanted.exact), cluster, since: 0, progress: nil, context)
    try search.run(TopicNames(prefix: fixture.prefix))
    let time = MonotonicClock.milliseconds() - begin
    #expect(search.hops.map(\.outcome) == ["delivered"])
    #expect(search.looked == count / ReceiptFiller.linesInRecord)
    print("trace among \(count) receipts: \(time) ms")
    if count >= 10_000_000 { #expect(time <= Self.seconds * 1_000) }
  }

  /// As many receipts as are asked for; the one that is looked for is half way.
  private func fill(_ topic: String, _ fixture: KafkaFixture) throws {
    let producer = try KafkaProducer(fixture.configuration)
    defer { producer.close() }
    let output = try producer.topic(named: topic)
    var filler = ReceiptFiller()
    var deliveries: [Delivery] = []
    let records = count / ReceiptFiller.linesInRecord
    for number in 0..<records {
      filler.next(naming: number == records / 2 ? Self.wanted : nil)
      let key = Array("\(number)".utf8)
      let isQueued = eventually {
        let result = key.withUnsafeBytes { key in
          filler.bytes.withUnsafeBytes { producer.produce(output, key: key, value: $0, tag: 0) }
        }
        deliveries += producer.drainDeliveries()
        if case .queued = result { return true }
        return false
      }
      try #require(isQueued)
    }
    try #require(producer.flush(timeoutMilliseconds: 60_000))
  }
}

/// Records of receipts, each with ids and tokens of its own.
private struct ReceiptFiller {
  static let linesInRecord = 500

  private(set) var bytes: [UInt8] = []
  /// Where each line's `apns-id` and token begin.
  private var ids: [Int] = []
  private var tokens: [Int] = []
  private let digits: [UInt8]

  init() {
    digits = (0..<1_000_000).map { _ in Array("0123456789abcdef".utf8)[Int.random(in: 0..<16)] }
    let id = "00000000-0000-4000-8000-000000000000"
    for line in 0..<Self.linesInRecord {
      bytes += Array(#"{"outcome":"delivered","apns_id":""#.utf8)
      ids.append(bytes.count)
      bytes += Array(id.utf8)
      bytes += Array(
        #"","id":"order-\#(line)","app":"com.example.app","environment":"production","token":""#
          .utf8)
      tokens.append(bytes.count)
      bytes += Array(repeating: 0x30, count: 64)
      bytes += Array(
        #"","lane":"transactional","status":200,"attempts":1,"created":1795000000000,"#.utf8)
      bytes += Array(#""at":1795000000045}"#.utf8) + [0x0A]
    }
  }

  /// The next record; its line in the middle has this `apns-id`, if one is given.
  mutating func next(naming id: String?) {
    for line in 0..<Self.linesInRecord {
      copyDigits(24, to: ids[line] + 12)
      copyDigits(64, to: tokens[line])
      for dash in [13, 18, 23] { bytes[ids[line] + dash] = 0x2D }
    }
    guard let id else { return }
    let place = ids[Self.linesInRecord / 2]
    bytes.replaceSubrange(place..<place + 36, with: id.utf8)
  }

  private mutating func copyDigits(_ count: Int, to place: Int) {
    let from = Int.random(in: 0..<digits.count - count)
    bytes.withUnsafeMutableBytes { bytes in
      digits.withUnsafeBytes { digits in
        bytes.baseAddress!.advanced(by: place).copyMemory(
          from: digits.baseAddress!.advanced(by: from), byteCount: count)
      }
    }
  }
}
