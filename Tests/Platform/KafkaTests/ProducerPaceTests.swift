// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import Kafka

@Suite struct ProducerPaceTests {
  /// What is said at the end, after so many milliseconds with a record every `gap` of them.
  private func isBusy(every gap: UInt64, records: UInt64 = 1, for time: UInt64 = 1_000) -> Bool {
    var (pace, produced, isBusy) = (ProducerPace(), UInt64(0), false)
    for now in stride(from: 50_000, to: 50_000 + time, by: Int(gap)) {
      produced += records
      isBusy = pace.isBusy(now: UInt64(now), produced: produced)
    }
    return isBusy
  }

  @Test func `records far apart go at once, those that come one by one at a rate linger`() {
    for gap: UInt64 in [5, 6, 10, 50, 500] { #expect(!isBusy(every: gap), "\(gap)") }
    for gap: UInt64 in [1, 2, 4] { #expect(isBusy(every: gap), "\(gap)") }
    #expect(isBusy(every: 50, records: 100))
  }

  @Test func `after a busy time a record that is alone goes at once`() {
    var pace = ProducerPace()
    let said = [(1_000, 0), (1_100, 1_000), (1_199, 1_001), (9_000, 1_002)].map {
      pace.isBusy(now: $0.0, produced: $0.1)
    }
    #expect(said == [false, true, true, false])
  }
}
