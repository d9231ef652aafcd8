// SPDX-License-Identifier: Apache-2.0
import Contract
import Testing

@testable import SenderDecisions

/// Bulk beside the first lane at a gateway that queues what it cannot do at once.
@Suite struct GovernorTests {
  /// Answers after 20 ms and after those before it, so many a second.
  private final class QueueingGateway: @unchecked Sendable {
    var perSecond = 1_000.0
    private var free = 0.0

    func reply(_ now: UInt64) -> ScriptedReply {
      free = max(free, Double(now)) + 1_000 / perSecond
      return .accepted(after: 20 + UInt64(free - Double(now)))
    }
  }

  /// The latencies of the first lane's pushes, ascending.
  private func latencies(_ loop: ScriptedLoop, _ numbers: Range<Int>) -> [Int64] {
    numbers.compactMap { loop.latency(of: $0) }.sorted()
  }

  /// 50 pushes of the first lane each second.
  private func run(_ loop: ScriptedLoop, seconds: Int, from first: Int) -> Range<Int> {
    var number = first
    for _ in 0..<seconds * 50 {
      loop.produce(number)
      number += 1
      loop.run(milliseconds: 20, step: 5)
    }
    loop.run(milliseconds: 200, step: 5)
    return first..<number
  }

  @Test func `the first lane's p99 stays within 1.5 of what it is without bulk, which gets 90 %`() {
    let loop = ScriptedLoop()
    let gateway = QueueingGateway()
    loop.answer { gateway.reply($0.at) }
    let idle = latencies(loop, run(loop, seconds: 10, from: 0))
    let bulk = 1_000_000..<1_060_000
    loop.produce(bulk, lane: .bulk)
    // It finds its share.
    _ = run(loop, seconds: 15, from: 10_000)
    let (before, start) = (loop.count(.delivered), loop.now)
    let busy = latencies(loop, run(loop, seconds: 30, from: 20_000))
    let perSecond = Double(loop.count(.delivered) - before) * 1_000 / Double(loop.now - start)
    let (idle99, busy99) = (idle[idle.count * 99 / 100], busy[busy.count * 99 / 100])
    #expect(busy.count == 1_500 && Double(busy99) <= 1.5 * Double(idle99), "\(idle99), \(busy99)")
    #expect(perSecond >= 900, "\(perSecond)")
  }
}
