// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Glibc
import Kafka
import Pipeline
import Records
import TestSupport
import Testing

@testable import Sender

/// An outage of the gateway stops consumption instead of spilling everything into retries or dead letters.
@Suite(.onOwnThread) struct OutageTests {
  /// Sends load through an outage that `begin` starts and `end` ends; checks what must hold for each kind.
  private func outage(
    flags: [String] = [], lasting milliseconds: UInt32 = 3_000, parkedAtMost: Int = 50,
    begin: (ScriptedGateway) -> Void, end: (ScriptedGateway) -> Void
  ) throws -> (rig: SenderRig, gateway: ScriptedGateway, sender: RunningSender) {
    let gateway = try ScriptedGateway(port: FreePort.find()) { _ in .accepted(after: 10) }
    let rig = try SenderRig()
    try rig.publishToken()
    let sender = try rig.startSender(
      ["--max-attempts", "3", "--max-connections", "2"] + flags, loops: 1, answering: gateway)
    let count = 6_000
    try rig.sendMany(0..<1_000)
    #expect(eventually(withinMilliseconds: 20_000) { gateway.count >= 500 })
    begin(gateway)
    try rig.sendMany(1_000..<count)
    usleep(milliseconds * 1_000)
    let during = gateway.count
    end(gateway)
    let receipts = try rig.receipts(of: 0..<count, withinMilliseconds: 60_000)
    #expect(receipts.count == count)
    #expect(receipts.allSatisfy { $0.outcome == .delivered })
    #expect(sender.counter("dead_lettered") == 0)
    // A push that is on a retry topic has burnt an attempt: a few may, before the outage is noticed.
    #expect(sender.counter("retried") <= parkedAtMost)
    // The gateway was left alone while it was out.
    let sentTwice = gateway.count - count
    #expect(sentTwice < 1_500, "\(sentTwice) sends were repeated (\(during) until its end)")
    return (rig, gateway, sender)
  }

  @Test
  func `503 for everything: sending stops, nothing is dead-lettered, all is delivered afterwards`()
    throws
  {
    let (_, gateway, sender) = try outage(
      begin: { $0.answer { _ in .unavailable } },
      end: { $0.answer { _ in .accepted(after: 10) } })
    #expect(sender.counter("kept_in_outage") > 0)
    // Each probe after a pause was a few requests; the burst before the outage was noticed is in flight.
    let refused = gateway.requests.count { $0.status == 503 }
    #expect(refused < 1_500, "\(refused) requests met the outage")
  }

  @Test
  func `all connections refused, then taken again: nothing is dead-lettered, all is delivered`()
    throws
  {
    let (_, _, _) = try outage(begin: { $0.listen(false) }, end: { $0.listen(true) })
  }

  @Test func `no answer to anything: nothing is dead-lettered, all is delivered afterwards`() throws
  {
    let (_, _, sender) = try outage(
      // Longer than a busy machine may keep the gateway from answering: what times out then is no outage.
      flags: ["--request-timeout", "2s", "--max-in-flight", "400"], lasting: 9_000,
      parkedAtMost: 200,
      begin: { $0.answer { _ in .hold } },
      end: { $0.answer { _ in .accepted(after: 10) } })
    #expect(sender.counter("timed_out") > 0)
  }

  @Test
  func `an outage's first push, alone with it, waits for seconds, not for a quarter of an hour`()
    throws
  {
    let gateway = try ScriptedGateway { _ in .accepted() }
    let rig = try SenderRig()
    try rig.publishToken()
    let sender = try rig.startSender(loops: 1, answering: gateway)
    try rig.sendMany(0..<50)
    #expect(eventually(withinMilliseconds: 20_000) { sender.counter("delivered") == 50 })
    gateway.answer { _ in .unavailable }
    try rig.sendMany(50..<51)
    #expect(eventually(withinMilliseconds: 20_000) { sender.counter("retried") == 1 })
    #expect(gateway.requests.count { $0.status == 503 } == 3)
    gateway.answer { _ in .accepted() }
    let parked = try #require(try rig.fixture.read(rig.names.retries(.seconds5), count: 1).first)
    let line = try #require(parked.value?.split(separator: "\n").first)
    #expect(line.contains("ServiceUnavailable"))
  }

  @Test func `recovery ramps up: what is open doubles with every round trip, from a few`() throws {
    let gateway = try ScriptedGateway { _ in .unavailable }
    let rig = try SenderRig()
    try rig.publishToken()
    let sender = try rig.startSender(["--max-connections", "1"], loops: 1, answering: gateway)
    try rig.sendMany(0..<3_000)
    #expect(eventually(withinMilliseconds: 20_000) { sender.counter("kept_in_outage") > 0 })
    usleep(300_000)
    let before = gateway.count
    gateway.answer { _ in .accepted(after: 100) }
    // One stream primes the connection: the first push used its attempts up before this was an outage.
    #expect(
      eventually(withinMilliseconds: 60_000) {
        sender.counter("delivered") + sender.counter("retried") >= 3_000
      })
    #expect(sender.counter("retried") <= 2)
    let accepted = gateway.requests.dropFirst(before).filter { $0.status == 200 }
    let start = try #require(accepted.first?.at)
    // 4, 8, 16, … a round trip of 100 ms: far below 1,000 at once in the first two.
    let early = accepted.count { $0.at < start + 190 }
    #expect(early <= 64, "\(early) within two round trips")
  }

  @Test func `a pause that the gateway asks for with a 503 is kept`() throws {
    let gateway = try ScriptedGateway { _ in
      .refused(503, "ServiceUnavailable", after: 2, retryAfter: 4)
    }
    let rig = try SenderRig()
    try rig.publishToken()
    let sender = try rig.startSender(loops: 1, answering: gateway)
    try rig.sendMany(0..<500)
    #expect(eventually(withinMilliseconds: 20_000) { sender.counter("kept_in_outage") > 0 })
    // The pause has begun when nothing comes any more: pushes that were on their way with the first still do.
    #expect(
      eventually(withinMilliseconds: 20_000) {
        MonotonicClock.milliseconds() >= (gateway.requests.last?.at ?? .max) &+ 1_000
      })
    let last = try #require(gateway.requests.last?.at)
    gateway.answer { _ in .accepted() }
    #expect(eventually(withinMilliseconds: 20_000) { gateway.requests.last!.at > last })
    let first = try #require(gateway.requests.first { $0.at > last })
    #expect(first.at >= last + 3_500)
  }
}
