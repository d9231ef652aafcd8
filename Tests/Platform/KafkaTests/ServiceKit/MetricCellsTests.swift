// SPDX-License-Identifier: Apache-2.0
import ServiceKit
import Telemetry
import Testing

@Suite struct MetricCellsTests {
  private let metric = Metric("m_total", .counter, labels: ["a"], "M.")

  @Test func `each place counts for its series, and a place without one is not shown`() {
    let cells = MetricCells(metric, [["x"], nil, ["y"]])
    for place in [0, 2, 2, 1] { cells.recorder.add(place) }
    #expect(cells.samples == [MetricSample(metric, ["x"], 1), MetricSample(metric, ["y"], 2)])
  }

  @Test func `observations are counted in their bucket and summed, each series for itself`() throws
  {
    let metric = Metric("m_seconds", .histogram, labels: ["a"], "M.")
    let cells = LatencyCells(metric, [["x"], ["y"]])
    var wanted = Array(repeating: 0, count: LatencyCounts.bounds.count + 1)
    var sum = 0
    let long = [3_600_000, 3_600_001, 90_000_000, .max >> 8]
    for time in Array(-5...3_000) + long {
      cells.recorder.record(Int64(time), in: 1)
      wanted[LatencyCounts.bounds.firstIndex { time <= $0 } ?? LatencyCounts.bounds.count] += 1
      sum += max(0, time)
    }
    let samples = cells.samples
    #expect(samples[0].value == .histogram(LatencyCounts()))
    #expect(samples[1].value == .histogram(LatencyCounts(counts: wanted, sum: sum)))
  }
}
