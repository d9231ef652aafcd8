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
}
