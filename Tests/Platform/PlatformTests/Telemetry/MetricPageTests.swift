// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import Telemetry

/// A page of metrics, read.
@Suite struct MetricPageTests {
  @Test func `series with their labels, values and times; comments and empty lines are left out`()
    throws
  {
    let page = try MetricPage(
      """
      # HELP a_total What.
      # TYPE a_total counter
      a_total{outcome="delivered",lane="bulk"} 12
      a_total{lane="transactional",outcome="delivered",} 3.5 1760000000000

      b 1e3
      c_bucket{le="+Inf"} +Inf
      d NaN
      """)
    #expect(page.series.count == 5)
    #expect(page.sum("a_total") == 15.5)
    #expect(page.sum("a_total", ["outcome": "delivered", "lane": "bulk"]) == 12)
    #expect(page.sum("a_total", ["outcome": "rejected"]) == 0)
    #expect(page.sum("b") == 1_000)
    #expect(page.values("c_bucket").first?.value == .infinity)
    #expect(page.values("d").first?.value.isNaN == true)
    #expect(page.values("none").isEmpty)
  }

  @Test func `a label that is escaped is read as it was`() throws {
    let page = try MetricPage(#"x{a="1\"2\\3\n4",b=""} 0"#)
    #expect(page.series.first?.labels == ["a": "1\"2\\3\n4", "b": ""])
  }

  @Test func `our own pages are read`() throws {
    let metric = Metric(
      "martlet_test_total", .counter, labels: ["about"], "Help \"with\" \\ and\nmore.")
    let text = MetricText.page([
      MetricSample(metric, ["a \"b\""], .integer(3)),
      MetricSample(metric, ["c"], .thousandths(1_500)),
    ])
    let page = try MetricPage(text)
    #expect(page.sum("martlet_test_total", ["about": "a \"b\""]) == 3)
    #expect(page.sum("martlet_test_total", ["about": "c"]) == 1.5)
  }

  @Test(arguments: [
    "a", "a one", "1a 1", "a{ 1", "a{b} 1", #"a{b="c} 1"#, #"a{b="c"1"#, "a 1 2 3", "{} 1", "é 1",
  ])
  func `a text that is no page of metrics is refused with its line`(line: String) {
    #expect(throws: MetricPageError(line: 2)) { try MetricPage("ok 1\n" + line) }
  }

  @Test func `quantiles are reckoned evenly within a bucket, over all series`() {
    #expect(MetricQuantile.seconds(0.5, []) == nil)
    #expect(MetricQuantile.seconds(0.5, [(1, 0), (.infinity, 0)]) == nil)
    let one = [(bound: 1.0, count: 10.0), (2.0, 20.0), (.infinity, 20.0)]
    #expect(MetricQuantile.seconds(0.5, one) == 1)
    #expect(MetricQuantile.seconds(0.75, one) == 1.5)
    #expect(MetricQuantile.seconds(1, one) == 2)
    #expect(MetricQuantile.seconds(0.75, one + one) == 1.5)
    #expect(MetricQuantile.seconds(0.99, [(1, 0), (.infinity, 5)]) == 1, "longer than all bounds")
  }
}
