// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Glibc
import Kafka
import Pipeline
import Records
import TestSupport
import Testing

@testable import Sender

/// Lanes and devices do not slow each other.
@Suite(.onOwnThread) struct LaneFairnessTests {
  @Test func `a long bulk backlog leaves transactional latency within twice its idle value`() throws
  {
    let rig = try SenderRig(
      simulator: ["--latency", "50ms", "--max-concurrent-streams", "100"])
    try rig.publishToken()
    let sender = try rig.startSender(["--max-connections", "1"], loops: 1)
    let idle = try latency(rig, from: 2_000_000)
    try rig.sendMany(0..<16_000, lane: .bulk)
    #expect(eventually(withinMilliseconds: 20_000) { sender.counter("delivered") > 800 })
    let loaded = try latency(rig, from: 3_000_000)
    // Bulk was there all the time, and went on.
    let delivered = sender.counter("delivered")
    #expect(delivered > 2_000 && delivered < 16_000)
    #expect(loaded <= 2 * max(idle, 75), "p99 idle \(idle) ms, with a bulk backlog \(loaded) ms")
  }

  /// The p99 of transactional notifications sent for two seconds.
  private func latency(_ rig: SenderRig, from first: Int) throws -> Int64 {
    let traffic = try SteadyTraffic(rig, from: first, everyMilliseconds: 5)
    _ = eventually { traffic.sent >= 400 }
    let sent = traffic.stop()
    let receipts = try rig.receipts(of: first..<first + sent)
    #expect(receipts.count == sent)
    return receipts.dropFirst(10).map { $0 }.latencies.quantile(0.99)
  }

  @Test func `--ordered: one in flight per device, in order; other devices are not slowed`() throws
  {
    let gateway = try ScriptedGateway { _ in .accepted(after: 40) }
    let rig = try SenderRig()
    try rig.publishToken()
    try rig.startSender(["--ordered"], loops: 1, answering: gateway)
    let device = SenderRig.token(7)
    for number in 0..<50 {
      try rig.send(device, SenderRig.envelope(id: SenderRig.id(number)))
    }
    try rig.sendMany(100..<600)
    let receipts = try rig.receipts(of: Array(0..<50) + Array(100..<600))
    #expect(receipts.count == 550)
    let log = gateway.requests.filter { $0.token == device }
    #expect(log.map(\.id) == (0..<50).map(SenderRig.id))
    for (before, after) in zip(log, log.dropFirst()) {
      #expect(after.at >= before.answeredAt, "two pushes of one device were open")
    }
    let others = gateway.requests.filter { $0.token != device }
    // Fifty round trips of the busy device take two seconds; the others need a few.
    #expect(others.last!.at - others.first!.at < log.last!.at - log.first!.at)
  }

  @Test
  func `TooManyRequests delays that device only: what stands in line for it, and what follows`()
    throws
  {
    let device = SenderRig.token(7)
    // One stream: the pushes after the first one stand in line until that one is refused.
    let gateway = try ScriptedGateway(streams: 1) { request in
      request.id == SenderRig.id(0)
        ? .refused(429, "TooManyRequests", after: 1_500) : .accepted()
    }
    let rig = try SenderRig()
    try rig.publishToken()
    let sender = try rig.startSender(["--max-connections", "1"], loops: 1, answering: gateway)
    try rig.send(device, SenderRig.envelope(id: SenderRig.id(0)))
    #expect(eventually(withinMilliseconds: 20_000) { gateway.count == 1 })
    for number in 1..<6 { try rig.send(device, SenderRig.envelope(id: SenderRig.id(number))) }
    try rig.sendMany(100..<120)
    #expect(eventually(withinMilliseconds: 20_000) { sender.counter("retried") == 1 })
    gateway.answer { _ in .accepted() }
    try rig.send(device, SenderRig.envelope(id: SenderRig.id(6)))
    try rig.sendMany(120..<300)
    let receipts = try rig.receipts(of: Array(0..<7) + Array(100..<300))
    #expect(receipts.count == 207)
    #expect(receipts.allSatisfy { $0.outcome == .delivered })
    let log = gateway.requests
    let throttled = try #require(log.first { $0.status == 429 })
    let delayed = log.filter { $0.token == device && $0.status == 200 }
    #expect(delayed.count == 7)
    #expect(delayed.allSatisfy { $0.at >= throttled.answeredAt + 4_500 })
    #expect(sender.counter("diverted") == 6, "what was not sent is no attempt")
    let others = log.filter { $0.token != device }
    #expect(others.allSatisfy { $0.at < throttled.answeredAt + 4_000 })
  }

  @Test func `a silent gateway stops the intake: what is held stays within the bound`() throws {
    let gateway = try ScriptedGateway { _ in .hold }
    let rig = try SenderRig()
    try rig.publishToken()
    let sender = try rig.startSender(["--max-in-flight", "500"], loops: 1, answering: gateway)
    try rig.sendMany(0..<10_000)
    #expect(eventually(withinMilliseconds: 20_000) { gateway.count > 0 })
    for _ in 0..<40 {
      #expect(sender.counter("in_flight") <= 500)
      usleep(50_000)
    }
    #expect(sender.counter("taken") <= 500, "what is not taken waits in Kafka")
    #expect(sender.counter("retried") + sender.counter("diverted") == 0)
    gateway.answer { _ in .accepted() }
  }
}
