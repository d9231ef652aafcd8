// SPDX-License-Identifier: Apache-2.0
import ConsumerGroup
import TestSupport
import Testing

@Suite struct BrokerWaitTests {
  /// What is decided each 250 ms for a while.
  private func steps(
    seconds: UInt64, refusedFrom refusal: UInt64 = .max
  ) -> [UInt64: BrokerWait.Step] {
    var clock = ManualClock()
    let start = clock.milliseconds
    var patience = BrokerWait(now: start)
    var steps: [UInt64: BrokerWait.Step] = [:]
    while patience.waited(now: clock.milliseconds) < seconds * 1_000 {
      clock.advance(by: 250)
      let passed = clock.milliseconds - start
      let step = patience.noAnswer(now: clock.milliseconds, isRefused: passed >= refusal)
      if step != .wait { steps[passed] = step }
    }
    return steps
  }

  @Test func `a broker that is away is reported now and then for ever`() {
    let told = steps(seconds: 3_600)
    #expect(told.values.allSatisfy { $0 == .report })
    #expect(told.keys.sorted().prefix(3) == [1_000, 11_000, 21_000])
    #expect(told.count == 360)
  }

  @Test func `a broker that comes soon is no news`() {
    #expect(steps(seconds: 0).isEmpty)
    var patience = BrokerWait(now: 0)
    #expect(patience.noAnswer(now: 999, isRefused: false) == .wait)
    #expect(!patience.hasReported)
    #expect(patience.noAnswer(now: 1_000, isRefused: false) == .report)
    #expect(patience.hasReported)
  }

  @Test func `a refusal is final when no other broker answers for two seconds`() {
    #expect(steps(seconds: 3, refusedFrom: 500)[2_500] == .giveUp)
    let late = steps(seconds: 40, refusedFrom: 30_000).filter { $0.value == .giveUp }
    #expect(late.keys.min() == 32_000)
  }
}
