// SPDX-License-Identifier: Apache-2.0
import Telemetry
import Testing

@Suite struct MetricTextTests {
  private let requests = Metric(
    "m_requests_total", .counter, labels: ["code", "path"], "Requests that ended.")

  @Test func `a family has its help, its type, and a line for each series`() {
    let page = MetricText.page([
      MetricSample(requests, ["200", "/"], 7), MetricSample(requests, ["404", "/x"], 1),
    ])
    #expect(
      page == """
        # HELP m_requests_total Requests that ended.
        # TYPE m_requests_total counter
        m_requests_total{code="200",path="/"} 7
        m_requests_total{code="404",path="/x"} 1

        """)
  }

  @Test func `quotes, backslashes and newlines are escaped where the format wants it`() {
    let odd = Metric("m", .gauge, labels: ["l"], "A \"quoted\" \\ help\nin two lines.")
    let page = MetricText.page([MetricSample(odd, ["a\"b\\c\nd é"], -1)])
    #expect(
      page == #"""
        # HELP m A "quoted" \\ help\nin two lines.
        # TYPE m gauge
        m{l="a\"b\\c\nd é"} -1

        """#)
  }

  @Test func `a metric that comes in parts is one family`() {
    let other = Metric("m_other", .gauge, "Other.")
    let lines = MetricText.page([
      MetricSample(requests, ["200", "/"], 1), MetricSample(other, 2),
      MetricSample(requests, ["404", "/"], 3),
    ]).split(separator: "\n")
    #expect(lines.map { $0.prefix(3) } == ["# H", "# T", "m_r", "m_r", "# H", "# T", "m_o"])
  }

  @Test func `the loops of a process become one value, as the metric says`() {
    func value(_ merge: MetricMerge) -> String {
      let metric = Metric("m", .gauge, merge: merge, "M.")
      let page = MetricText.page([5, -2, 3].map { MetricSample(metric, $0) })
      return String(page.split(separator: "\n").last ?? "")
    }
    #expect(value(.sum) == "m 6")
    #expect(value(.highest) == "m 5")
    #expect(value(.lowest) == "m -2")
  }

  @Test(arguments: [
    (0, "0"), (1, "0.001"), (1_500, "1.5"), (60_000, "60"), (-20, "-0.02"),
    (1_795_341_234_567, "1795341234.567"),
  ])
  func `milliseconds are shown in seconds, exactly`(milliseconds: Int, text: String) {
    let metric = Metric("m", .gauge, "M.")
    let page = MetricText.page([MetricSample(metric, [], .thousandths(milliseconds))])
    #expect(page.hasSuffix("\nm \(text)\n"))
  }

  @Test func `the buckets of a histogram are cumulative and end with all`() {
    let metric = Metric("m_seconds", .histogram, labels: ["lane"], "M.")
    var counts = Array(repeating: 0, count: LatencyCounts.bounds.count + 1)
    counts[0] = 2
    counts[2] = 1
    counts[counts.count - 1] = 4
    let half = LatencyCounts(counts: counts, sum: 1_250)
    let lines = MetricText.page([
      MetricSample(metric, ["bulk"], .histogram(half)),
      MetricSample(metric, ["bulk"], .histogram(half)),
    ]).split(separator: "\n").map(String.init)
    #expect(lines.count == 2 + LatencyCounts.bounds.count + 3)
    #expect(lines[2] == #"m_seconds_bucket{lane="bulk",le="0.001"} 4"#)
    #expect(lines[3] == #"m_seconds_bucket{lane="bulk",le="0.002"} 4"#)
    #expect(lines[4] == #"m_seconds_bucket{lane="bulk",le="0.005"} 6"#)
    #expect(lines[lines.count - 4] == #"m_seconds_bucket{lane="bulk",le="3600"} 6"#)
    #expect(lines[lines.count - 3] == #"m_seconds_bucket{lane="bulk",le="+Inf"} 14"#)
    #expect(lines[lines.count - 2] == #"m_seconds_sum{lane="bulk"} 2.5"#)
    #expect(lines[lines.count - 1] == #"m_seconds_count{lane="bulk"} 14"#)
  }
}

@Suite struct LatencyCountsTests {
  @Test func `a time counts in the first bucket whose bound it does not exceed`() {
    #expect(LatencyCounts.bucket(of: -1) == 0)
    #expect(LatencyCounts.bucket(of: 0) == 0)
    for (index, bound) in LatencyCounts.bounds.enumerated() {
      #expect(LatencyCounts.bucket(of: bound) == index)
      #expect(LatencyCounts.bucket(of: bound + 1) == index + 1)
    }
    #expect(LatencyCounts.bucket(of: .max) == LatencyCounts.bounds.count)
  }

  @Test func `the buckets reach from a millisecond to an hour`() {
    #expect(LatencyCounts.bounds.first == 1)
    #expect(LatencyCounts.bounds.last == 3_600_000)
  }
}

@Suite struct ProcessFiguresTests {
  @Test func `the name of a program may contain what separates the fields`() {
    let head = "42 (a (b) c) S "
    let rest = (4...52).map { "\($0)" }.joined(separator: " ")
    let figures = ProcessFigures(parsing: head + rest + "\n")
    #expect(figures?.ticks == 14 + 15)
    #expect(figures?.startTicks == 22)
    #expect(figures?.virtualBytes == 23)
    #expect(figures?.residentPages == 24)
  }

  @Test(arguments: ["", "42 (a", "42 (a) S 1 2 3"])
  func `what is no such line is refused`(text: String) {
    #expect(ProcessFigures(parsing: text) == nil)
  }
}
