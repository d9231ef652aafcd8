// SPDX-License-Identifier: Apache-2.0
import Planning
import Random
import Testing

@Suite struct AnswerTimesTests {
  @Test func `texts are read as the simulator reads them`() {
    #expect(AnswerTimes("20ms") == AnswerTimes(median: 20, p99: 20))
    #expect(AnswerTimes("lognormal:50ms,400ms") == AnswerTimes(median: 50, p99: 400))
    #expect(AnswerTimes("lognormal:1s,2s") == AnswerTimes(median: 1_000, p99: 2_000))
  }

  @Test(arguments: [
    "", "20", "0ms", "lognormal:", "lognormal:50ms", "lognormal:400ms,50ms",
    "lognormal:1ms,2ms,3ms",
    "lognormal:0ms,5ms", "50ms,400ms", "2m",
  ])
  func `other texts are no latency`(text: String) {
    #expect(AnswerTimes(text) == nil)
  }

  @Test func `drawn times have the median, the 99th percentile and the mean that were asked for`() {
    let times = AnswerTimes(median: 50, p99: 400)
    var random = SeededGenerator(seed: 7)
    let drawn = (0..<200_000).map { _ in times.draw(&random) }.sorted()
    #expect(abs(drawn[drawn.count / 2] / 50 - 1) < 0.02)
    #expect(abs(drawn[drawn.count * 99 / 100] / 400 - 1) < 0.05)
    let mean = drawn.reduce(0, +) / Double(drawn.count)
    #expect(abs(mean / times.mean - 1) < 0.02)
    // e^(ln(8) / 2.326)² / 2 above the median.
    #expect(abs(times.mean - 74.55) < 0.05)
  }

  @Test func `a fixed time is drawn as it is`() {
    var random = SeededGenerator(seed: 7)
    #expect(AnswerTimes(median: 50, p99: 50).draw(&random) == 50)
    #expect(abs(AnswerTimes(median: 50, p99: 50).mean - 50) < 1e-9)
  }
}
