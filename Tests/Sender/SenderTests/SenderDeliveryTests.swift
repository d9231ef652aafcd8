// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Kafka
import Records
import SenderDecisions
import TestSupport
import Testing

@testable import Sender

/// The sender between a broker and a gateway.
@Suite(.serialized) struct SenderDeliveryTests {
  @Test
  func `every notification is delivered once and gets one receipt; offsets are committed`() throws {
    let rig = try SenderRig(hasToken: true)
    let sender = try rig.startSender()
    let count = 2_000
    try rig.sendMany(0..<count)
    let receipts = try rig.receipts(count)
    #expect(receipts.count == count)
    #expect(receipts.allSatisfy { $0.outcome == .delivered && $0.status == 200 })
    #expect(Set(receipts.map(\.apnsID)).count == count)
    #expect(receipts.allSatisfy { $0.id == "order-1" && $0.attempts == 1 })
    #expect(sender.stop() == nil)
    #expect(try rig.committed() == count)
  }

  @Test func `answers of the gateway become rejections, feedback goes before the receipt`() throws {
    let rig = try SenderRig(unregistered: [1, 3], hasToken: true)
    try rig.startSender()
    try rig.sendMany(0..<5)
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

  @Test func `what is past its time ends as expired, what was taken before as deduplicated`() throws
  {
    let rig = try SenderRig(hasToken: true)
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

  @Test
  func `a record that is no notification is a dead letter that names the field; the rest goes on`()
    throws
  {
    let rig = try SenderRig(hasToken: true)
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
        decoding: letter.headers.first { $0.name == "martlet-detail" }?.value ?? [], as: UTF8.self)
    }
    #expect(details.contains { $0.hasPrefix("version:") })
    #expect(details.contains { $0.hasPrefix("expiration:") })
    #expect(details.contains { $0.hasPrefix("key:") })
    #expect(details.contains { $0.hasPrefix("apns-id:") })
  }

  @Test
  func `without a provider token a notification waits; it goes out when the token comes`() throws {
    let rig = try SenderRig()
    try rig.startSender()
    try rig.send(SenderRig.token(1), SenderRig.envelope(id: SenderRig.id(1)))
    let requests = try rig.fixture.read(rig.names.tokenRequests, count: 1)
    #expect(requests.first?.key == "\(SenderRig.app)/production")
    try rig.publishToken()
    #expect(try rig.receipts(1).map(\.outcome) == [.delivered])
  }

  @Test
  func `an app that no credential serves: a dead letter; one that expires meanwhile has expired`()
    throws
  {
    let rig = try SenderRig()
    try rig.publishToken(apps: ["com.example.other"])
    try rig.startSender { $0.credentialWait = 3_000 }
    try rig.send(SenderRig.token(1), SenderRig.envelope(id: SenderRig.id(1)))
    try rig.send(
      SenderRig.token(2),
      SenderRig.envelope(id: SenderRig.id(2), expiration: "\(WallClock.seconds() + 2)"))
    let receipts = try rig.receipts(2)
    // They are perhaps in different partitions.
    #expect(receipts.count == 2 && Set(receipts.map(\.outcome)) == [.expired, .deadLettered])
    let letters = try rig.fixture.read(rig.names.deadLetters, count: 1)
    let reason = letters.first?.headers.first { $0.name == "martlet-reason" }
    #expect(reason?.value == Array("no_credential".utf8))
  }

  @Test
  func `a token of the future is not used, the last good one is, and the next right one`() throws {
    let rig = try SenderRig()
    let gateway = try rig.gateways([.init()])[0]
    let now = WallClock.seconds()
    try rig.publishToken(issuedAt: now)
    try rig.publishToken(issuedAt: now + 86_400, generation: 2)
    let sender = try rig.startSender(for: [gateway])
    try rig.sendMany(5)
    #expect(try rig.receipts(5).count { $0.outcome == .delivered } == 5)
    #expect(sender.counter("future_tokens") == 1)
    // The signer's clock is right again; its key has changed, so this token shows.
    try rig.withdrawToken("TEAM000001/KEY0000001/any")
    try rig.publishToken(issuedAt: now - 10, generation: 1)
    // Until the sender has read that, the last good one goes on.
    var sent = 5
    let isUsed = eventually {
      guard (try? rig.sendMany(1, from: sent)) != nil else { return false }
      sent += 1
      return Set(gateway.seen.requests.map(\.authorization)).count == 2
    }
    #expect(isUsed, "a tombstone clears the stamp")
    #expect(try rig.receipts(sent).count { $0.outcome == .delivered } == sent)
  }

  @Test func `the signer gets a request when APNs calls a provider token invalid`() throws {
    let rig = try SenderRig()
    var script = ScriptedGateway.Script()
    script.reply = { _, _ in .answer(403, #"{"reason":"InvalidProviderToken"}"#) }
    let gateway = try rig.gateways([script])[0]
    try rig.publishToken()
    try rig.startSender(for: [gateway])
    try rig.sendMany(1)
    let asked = try #require(try rig.fixture.read(rig.names.tokenRequests, count: 1).first)
    #expect(asked.key == "TEAM000001/KEY0000001/any")
    #expect(asked.value?.contains("InvalidProviderToken") == true)
  }

  @Test
  func `without an answer: again at once, then from the retry topic when due, then a dead letter`()
    throws
  {
    // One device gets no answer; the others show that the gateway is well, or this would be an outage.
    let silent = SenderRig.token(1)
    let gateway = try ScriptedGateway { $0.token == silent ? .hold : .accepted() }
    let rig = try SenderRig(hasToken: true)
    let sender = try rig.startSender(
      ["--request-timeout", "1s"], loops: 1, answering: gateway
    ) { $0.maxAttempts = 4 }
    try rig.send(silent, SenderRig.envelope(id: SenderRig.id(1)))
    let others = try SteadyTraffic(rig, from: 100, everyMilliseconds: 50)
    let parked = try #require(try rig.fixture.read(rig.names.retries(.seconds5), count: 1).first)
    let line = try #require(parked.value?.split(separator: "\n").first)
    let fields = line.split(separator: "\t", omittingEmptySubsequences: false)
    #expect(fields[11] == "3")
    #expect(fields[13] == "no answer")
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

  @Test func `a second sender takes over half the partitions and nothing is lost`() throws {
    let rig = try SenderRig(simulator: ["--latency", "5ms"], hasToken: true)
    let first = try rig.startSender()
    let count = 6_000
    for number in 0..<count {
      try rig.send(SenderRig.token(number), SenderRig.envelope(id: SenderRig.id(number)))
      if number == count / 3 { try rig.startSender() }
      if number % 100 == 0 { _ = rig.producer.flush(timeoutMilliseconds: 30_000) }
    }
    // What the broker did not let the first one commit is sent twice: only the first receipts count.
    let receipts = try rig.receipts(of: 0..<count)
    #expect(receipts.count == count)
    #expect(receipts.allSatisfy { $0.outcome == .delivered || $0.outcome == .deduplicated })
    #expect(first.stop() == nil)
  }
}
