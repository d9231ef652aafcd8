// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import Kafka

@Suite struct ProducerPaceTests {
  /// What is said at the end, after so many milliseconds with a record every `gap` of them, and an answer to all of them
  /// every `rest`.
  private func isBusy(
    every gap: UInt64, records: UInt64 = 1, rest: UInt64 = 20, for time: UInt64 = 1_000
  ) -> Bool {
    var (pace, produced, isBusy) = (ProducerPace(), UInt64(0), false)
    for now in stride(from: 50_000, to: 50_000 + time, by: Int(gap)) {
      produced += records
      isBusy = pace.isBusy(
        now: UInt64(now), produced: produced, rests: UInt64(now - 50_000) / rest)
    }
    return isBusy
  }

  @Test func `records far apart go at once, those that come one by one at a rate linger`() {
    for gap: UInt64 in [5, 6, 10, 50, 500] { #expect(!isBusy(every: gap), "\(gap)") }
    for gap: UInt64 in [1, 2, 4] { #expect(isBusy(every: gap), "\(gap)") }
    #expect(isBusy(every: 50, records: 100))
    #expect(isBusy(every: 50, records: 100, rest: 10), "many at once")
    #expect(isBusy(every: 2, rest: 4), "two at a time")
  }

  @Test func `a client that waits for each answer has its records sent at once, mostly`() {
    #expect(!isBusy(every: 2, rest: 2))
    #expect(!isBusy(every: 3, rest: 4), "of three, two were alone")
    var (pace, produced) = (ProducerPace(), UInt64(0))
    var lingered = 0
    for now: UInt64 in 10_000..<15_000 {
      produced += 1
      if pace.isBusy(now: now, produced: produced, rests: produced) { lingered += 1 }
    }
    #expect(lingered >= 300 && lingered <= 700, "a window in each second: \(lingered)")
  }

  @Test func `others that come beside the client that waits make its records linger again`() {
    var (pace, produced, rests) = (ProducerPace(), UInt64(0), UInt64(0))
    for now: UInt64 in 10_000..<11_000 {
      (produced, rests) = (produced + 1, rests + 1)
      _ = pace.isBusy(now: now, produced: produced, rests: rests)
    }
    var isBusy = false
    for now: UInt64 in 11_000..<13_000 {
      (produced, rests) = (produced + 3, rests + 1)
      isBusy = pace.isBusy(now: now, produced: produced, rests: rests)
    }
    #expect(isBusy)
  }

  @Test func `after a busy time a record that is alone goes at once`() {
    var pace = ProducerPace()
    let said = [(1_000, 0), (1_100, 1_000), (1_199, 1_001), (9_000, 1_002)].map {
      pace.isBusy(now: $0.0, produced: $0.1, rests: 0)
    }
    #expect(said == [false, true, true, false])
  }
}
