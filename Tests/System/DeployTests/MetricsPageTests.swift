// SPDX-License-Identifier: Apache-2.0
import Telemetry
import Testing

/// The table of metrics, and the page that is made from it. Who scrapes relies on every name.
@Suite struct MetricsPageTests {
  private let metrics = MetricsPage.tables.flatMap(\.metrics)

  @Test func `the page in docs is what the programs declare`() throws {
    try DeployedFiles.expectPage("metrics.md", MetricsPage.text(MetricUses()))
  }

  @Test func `every name is declared once and follows Prometheus' conventions`() {
    #expect(Set(metrics.map(\.name)).count == metrics.count)
    for metric in metrics {
      let name = metric.name
      #expect(name.hasPrefix("martlet_") || name.hasPrefix("process_"), "\(name)")
      let isPlain = name.utf8.allSatisfy { byte in
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) || byte == UInt8(ascii: "_")
      }
      #expect(isPlain, "\(name)")
      #expect((metric.kind == .counter) == name.hasSuffix("_total"), "\(name)")
      #expect(metric.kind != .histogram || name.hasSuffix("_seconds"), "\(name)")
    }
  }

  @Test func `every metric says what it means, and how many series it may have`() {
    for metric in metrics {
      #expect(metric.help.hasSuffix("."), "\(metric.name)")
      #expect(!metric.help.contains("|"), "\(metric.name): it stands in a table")
      #expect(metric.labels.isEmpty == (metric.bound == nil), "\(metric.name)")
      #expect(!metric.labels.contains { ["token", "device", "id"].contains($0) })
      // An app's series are counted, and a canary's app is a setting of its own.
      guard !metric.name.hasPrefix("martlet_canary_") else { continue }
      #expect(
        !metric.labels.contains("app") || metric.labels.contains("campaign")
          || metric.bound?.contains("101 apps") == true)
    }
  }
}
