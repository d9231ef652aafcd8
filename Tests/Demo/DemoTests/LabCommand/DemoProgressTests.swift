// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import LabCommand

/// How much of a demo is said to be done.
@Suite struct DemoProgressTests {
  @Test
  func `progress is the share of requests in Kafka, and of outcomes among what they ask for`() {
    #expect(DemoRun.fraction(fed: 0.5, asked: 100, answered: 50) == 0.25)
    #expect(DemoRun.fraction(fed: 1, asked: 100, answered: 99) == 0.99)
    // A repeat is answered twice: no more is done than all.
    #expect(DemoRun.fraction(fed: 0.5, asked: 100, answered: 120) == 0.5)
  }

  @Test
  func `without a measure nothing is said: before the first, and when only reports are compared`() {
    #expect(DemoRun.fraction(fed: 0, asked: 0, answered: 0) == nil)
    #expect(DemoRun.fraction(fed: nil, asked: 100, answered: 50) == nil)
    #expect(DemoRun.fraction(fed: 1, asked: 100, answered: 100) == nil)
    #expect(DemoRun.fraction(fed: 1, asked: 100, answered: 101) == nil)
  }

  @Test func `a sender is killed halfway through any number of requests`() {
    for count in [10, 1_000, 20_000, 1_000_000] {
      func isHalfway(_ fed: Double?, _ outcomes: Int) -> Bool {
        DemoRun.isHalfway(fed: fed, requests: count * 6 / 10, outcomes: outcomes)
      }
      #expect(!isHalfway(0.5, count / 2))
      #expect(!isHalfway(0.6, 0))
      #expect(isHalfway(0.6, count / 2))
      #expect(isHalfway(nil, count / 2))
    }
    #expect(!DemoRun.isHalfway(fed: 1, requests: 0, outcomes: 0))
  }
}
