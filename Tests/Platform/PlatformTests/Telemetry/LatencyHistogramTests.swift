// SPDX-License-Identifier: Apache-2.0
import Telemetry
import Testing

@Suite struct LatencyHistogramTests {
  @Test func `an empty histogram has percentile 0`() {
    #expect(LatencyHistogram().percentile(0.99) == 0)
  }

  @Test func `small values are exact`() {
    var histogram = LatencyHistogram()
    for value in UInt64(1)...50 { histogram.record(value) }
    #expect(histogram.percentile(0.5) == 25)
    #expect(histogram.percentile(1) == 50)
    #expect(histogram.percentile(0) == 1)
    #expect(histogram.count == 50)
  }

  @Test(arguments: [64, 65, 100, 1_000, 12_345, 1 << 32, UInt64.max / 3, .max])
  func `a large value is at most 3.2 percent too high`(value: UInt64) {
    var histogram = LatencyHistogram()
    histogram.record(value)
    histogram.record(.max)
    let shown = histogram.percentile(0.5)
    #expect(shown >= value)
    #expect(Double(shown - value) <= Double(value) * 0.032)
  }

  @Test func `no percentile exceeds the largest value`() {
    var histogram = LatencyHistogram()
    histogram.record(1_000_001)
    #expect(histogram.percentile(0.99) == 1_000_001)
    #expect(histogram.maximum == 1_000_001)
  }
}
