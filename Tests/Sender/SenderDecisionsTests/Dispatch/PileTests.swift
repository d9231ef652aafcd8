// SPDX-License-Identifier: Apache-2.0
import Contract
import Testing

@testable import SenderDecisions

/// What waits with one collapse id until it is one of a pile, although it was fresh when it was read.
@Suite struct PileTests {
  private func produce(_ pushes: Range<Int>, _ loop: ScriptedLoop, isFresh: Bool = true) {
    for push in pushes {
      loop.produce(push) {
        $0.device = 7
        // Some have no collapse id.
        guard push % 2 == 1 else { return }
        $0.state = StateFacts(99)
        $0.state.isOfPile = true
        $0.state.isFresh = isFresh
      }
    }
  }

  @Test func `after an outage only the newest goes out, of those without a collapse id all`() {
    let loop = ScriptedLoop(hasToken: false)
    produce(0..<40, loop)
    loop.run(milliseconds: 20_000)
    // Read when it is old.
    produce(40..<60, loop, isFresh: false)
    loop.run(milliseconds: 100)
    loop.publishToken()
    loop.run(milliseconds: 1_000)
    let sent = Set(loop.requests.map(\.push))
    #expect(sent == Set((0..<60).filter { $0 % 2 == 0 } + [59]), "\(sent)")
    #expect(loop.count(.superseded) == 29 && loop.count(.delivered) == 31)
  }

  @Test func `of a pile the newest goes out, and the newest with an alert before a silent one`() {
    let loop = ScriptedLoop(hasToken: false)
    for push in 0..<40 {
      loop.produce(push) {
        $0.device = 7
        $0.state = StateFacts(99, urgency: push < 30 ? [.alert, .immediate] : [])
        $0.state.isOfPile = true
        $0.state.isFresh = push % 3 == 0
      }
    }
    loop.run(milliseconds: 20_000)
    loop.publishToken()
    loop.run(milliseconds: 1_000)
    // Of fresh ones and others the newest.
    #expect(loop.endings[29]?.outcome == .delivered && loop.endings[39]?.outcome == .delivered)
    #expect(
      loop.count(.superseded) == 38 && loop.count(.delivered) == 2, "\(loop.requests.map(\.push))")
  }

  @Test func `fresh ones all go out, in parallel, and a short wait changes nothing`() {
    let loop = ScriptedLoop(hasToken: false)
    produce(0..<40, loop)
    loop.run(milliseconds: 3_000)
    loop.publishToken()
    loop.run(milliseconds: 1_000)
    #expect(loop.delivered(0..<40) && loop.mostOpen > 1)
  }

  @Test func `of a pile that waits for its credential the newest fresh one goes out`() {
    let loop = ScriptedLoop(hasToken: false)
    produce(0..<20, loop, isFresh: false)
    produce(20..<40, loop)
    loop.run(milliseconds: 20_000)
    loop.publishToken()
    loop.run(milliseconds: 1_000)
    #expect(loop.endings[39]?.outcome == .delivered && loop.count(.superseded) == 19)
  }
}
