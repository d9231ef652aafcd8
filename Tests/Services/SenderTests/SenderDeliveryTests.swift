// SPDX-License-Identifier: Apache-2.0
import APNS
import EventLoop
import Kafka
import Pipeline
import Records
import TestSupport
import Testing

@testable import Sender

@Suite("The sender between a broker and a gateway", .serialized)
struct SenderDeliveryTests {
  @Test("every notification is delivered once and gets one receipt; offsets are committed")
  func deliversAll() throws {
    let rig = try SenderRig()
    try rig.publishToken()
    let sender = try rig.startSender()
    let count = 2_000
    for number in 0..<count {
      try rig.send(SenderRig.token(number), SenderRig.envelope(id: SenderRig.id(number)))
    }
    let receipts = try rig.receipts(count)
    #expect(receipts.count == count)
    #expect(receipts.allSatisfy { $0.outcome == .delivered && $0.status == 200 })
    #expect(Set(receipts.map(\.apnsID)).count == count)
    #expect(receipts.allSatisfy { $0.id == "order-1" && $0.attempts == 1 })
    #expect(sender.stop() == nil)
    #expect(try rig.committed() == count)
  }

  @Test("answers of the gateway become rejections, feedback goes before the receipt")
  func rejections() throws {
    let rig = try SenderRig(unregistered: [1, 3])
    try rig.publishToken()
    try rig.startSender()
    for number in 0..<5 {
      try rig.send(SenderRig.token(number), SenderRig.envelope(id: SenderRig.id(number)))
    }
    let receipts = try rig.receipts(5)
    let rejected = receipts.filter { $0.outcome == .rejected }
    #expect(rejected.count == 2)
    #expect(rejected.allSatisfy { $0.status == 410 && $0.reason == "Unregistered" })
    #expect(rejected.allSatisfy { $0.timestamp == 1_790_000_000_000 })
    let feedback = try rig.fixture.read(rig.names.feedback, count: 2)
    #expect(
      Set(feedback.compactMap(\.key))
        == Set([1, 3].map { "\(SenderRig.token($0)):\(SenderRig.app):production" }))
  }

  @Test("what is past its time ends as expired, what was taken before as deduplicated")
  func expiredAndDeduplicated() throws {
    let rig = try SenderRig()
    try rig.publishToken()
    try rig.startSender()
    let token = SenderRig.token(7)
    try rig.send(token, SenderRig.envelope(id: SenderRig.id(1), expiration: "1600000000"))
    try rig.send(token, SenderRig.envelope(id: SenderRig.id(2), created: 1_600_000_000_000))
    try rig.send(token, SenderRig.envelope(id: SenderRig.id(3), expiration: "0"))
    try rig.send(token, SenderRig.envelope(id: SenderRig.id(3), expiration: "0"))
    let receipts = try rig.receipts(4)
    let outcomes = Dictionary(grouping: receipts, by: \.outcome).mapValues(\.count)
    #expect(outcomes == [.expired: 2, .delivered: 1, .deduplicated: 1])
  }

  @Test("a record that is no notification is a dead letter that names the field; the rest goes on")
  func poison() throws {
    let rig = try SenderRig()
    try rig.publishToken()
    try rig.startSender()
    try rig.send(SenderRig.token(1), "garbage")
    try rig.send("not hex", SenderRig.envelope(id: SenderRig.id(1)))
    try rig.send(SenderRig.token(2), SenderRig.envelope(id: "no-uuid"))
    // In milliseconds it would overflow.
    try rig.send(
      SenderRig.token(2), SenderRig.envelope(id: SenderRig.id(4), expiration: "9999999999999999"))
    try rig.send(SenderRig.token(3), SenderRig.envelope(id: SenderRig.id(2)))
    let receipts = try rig.receipts(1)
    #expect(receipts.map(\.apnsID) == [NotificationID(SenderRig.id(2))])
    let letters = try rig.fixture.read(rig.names.deadLetters, count: 4)
    #expect(letters.count == 4)
    let details = letters.map { letter in
      String(
        decoding: letter.headers.first { $0.name == "martlet-detail" }?.value ?? [],
        as: UTF8.self)
    }
    #expect(details.contains { $0.hasPrefix("version:") })
    #expect(details.contains { $0.hasPrefix("expiration:") })
    #expect(details.contains { $0.hasPrefix("key:") })
    #expect(details.contains { $0.hasPrefix("apns-id:") })
  }

  @Test("without a provider token a notification waits; it goes out when the token comes")
  func waitsForToken() throws {
    let rig = try SenderRig()
    try rig.startSender()
    try rig.send(SenderRig.token(1), SenderRig.envelope(id: SenderRig.id(1)))
    let requests = try rig.fixture.read(rig.names.tokenRequests, count: 1)
    #expect(requests.first?.key == "\(SenderRig.app)/production")
    try rig.publishToken()
    #expect(try rig.receipts(1).map(\.outcome) == [.delivered])
  }

  @Test("without a provider token for long, a notification is a dead letter with a receipt")
  func noCredential() throws {
    let rig = try SenderRig()
    try rig.startSender(["--credential-wait", "300ms"])
    try rig.send(SenderRig.token(1), SenderRig.envelope(id: SenderRig.id(1)))
    let receipts = try rig.receipts(1)
    #expect(receipts.map(\.outcome) == [.deadLettered])
    let letters = try rig.fixture.read(rig.names.deadLetters, count: 1)
    let reason = letters.first?.headers.first { $0.name == "martlet-reason" }
    #expect(reason?.value == Array("no_credential".utf8))
  }

  @Test("without an answer: again at once, then from the retry topic when due, then a dead letter")
  func silentGateway() throws {
    // One device gets no answer; the others show that the gateway is well, or this would be an outage.
    let silent = SenderRig.token(1)
    let gateway = try AnsweringGateway { $0.token == silent ? .silence : .accepted() }
    let rig = try SenderRig()
    try rig.publishToken()
    let sender = try rig.startSender(
      ["--request-timeout", "300ms", "--max-attempts", "4"], loops: 1, answering: gateway)
    try rig.send(silent, SenderRig.envelope(id: SenderRig.id(1)))
    let others = try SteadyTraffic(rig, from: 100, everyMilliseconds: 50)
    let parked = try #require(try rig.fixture.read(rig.names.retries5s, count: 1).first)
    let line = try #require(parked.value?.split(separator: "\n").first)
    let fields = line.split(separator: "\t", omittingEmptySubsequences: false)
    #expect(fields[12] == "3")
    #expect(fields[14] == "no answer")
    let receipts = try rig.receipts(of: [1])
    others.stop()
    #expect(receipts.map(\.outcome) == [.deadLettered])
    // Where a busy machine makes the others pause, it looks like an outage, in which sends do not count.
    let attempts = Int64(4 + sender.counter("kept_in_outage"))
    #expect(receipts.map(\.attempts) == [attempts])
    #expect(receipts.allSatisfy { $0.at - parked.timestamp >= 5_000 })
    let letters = try rig.fixture.read(rig.names.deadLetters, count: 1)
    let reason = letters.first?.headers.first { $0.name == "martlet-reason" }
    #expect(reason?.value == Array("retries_exhausted".utf8))
  }

  @Test("a second sender takes over half the partitions and nothing is lost")
  func rebalance() throws {
    let rig = try SenderRig(simulator: ["--latency", "5ms"])
    try rig.publishToken()
    let first = try rig.startSender()
    let count = 6_000
    for number in 0..<count {
      try rig.send(SenderRig.token(number), SenderRig.envelope(id: SenderRig.id(number)))
      if number == count / 3 { try rig.startSender() }
      if number % 100 == 0 { _ = rig.producer.flush(timeoutMilliseconds: 5_000) }
    }
    // What the broker did not let the first one commit is sent twice: only the first receipts count.
    let receipts = try rig.receipts(of: 0..<count, withinMilliseconds: 40_000)
    #expect(receipts.count == count)
    #expect(receipts.allSatisfy { $0.outcome == .delivered || $0.outcome == .deduplicated })
    #expect(first.stop() == nil)
  }
}
