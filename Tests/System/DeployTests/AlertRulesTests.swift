// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Glibc
import Records
import Telemetry
import TestSupport
import Testing

/// What stands in deploy/ for Prometheus and Grafana fits the metrics of this version.
@Suite struct AlertRulesTests {
  /// The value of every line `name: value` of the rules.
  private func values(_ name: String, _ text: String) -> [String] {
    text.split(separator: "\n").compactMap { line in
      line.firstRange(of: "\(name): ").map { String(line[$0.upperBound...]) }
    }
  }

  @Test func `promtool accepts the rules, and each fires on its symptom alone`() throws {
    let promtool = try SystemProgram.promtool()
    let folder = TemporaryFolder()
    let place = "\(Repository.root)/deploy/prometheus"
    for arguments in [
      ["check", "config", "\(place)/prometheus.yaml"], ["check", "rules", "\(place)/rules.yaml"],
      ["test", "rules", "\(place)/rules-tests.yaml"],
    ] {
      let run = try BuiltProgram.run(promtool, arguments, in: folder, withinMilliseconds: 400_000)
      #expect(run.status == 0, "\(run.output)")
    }
    let rules = try Repository.text("deploy/prometheus/rules.yaml")
    let tests = try Repository.text("deploy/prometheus/rules-tests.yaml")
    for alert in values("- alert", rules) {
      #expect(tests.contains("  - name: \(alert)\n"), "\(alert) is not tested")
      let quiet = "alertname: \(alert), exp_alerts: []"
      #expect(tests.contains(quiet), "\(alert) may fire on a healthy pipeline")
    }
  }

  /// The scrape of pods is checked as one of static targets: Debian's promtool is built without Kubernetes.
  @Test func `promtool accepts the scrape of pods, but for how they are found`() throws {
    let text = try Repository.text("deploy/prometheus/kubernetes.yaml")
    let start = try #require(text.firstRange(of: "    kubernetes_sd_configs:\n"))
    let end = try #require(text.firstRange(of: "    relabel_configs:\n"))
    let head = text[..<start.lowerBound] + "    static_configs: [{targets: [a]}]\n"
    let folder = TemporaryFolder()
    let config = folder.file("kubernetes.yaml")
    try File.write(config, Array((head + text[end.lowerBound...]).utf8))
    try File.write(
      folder.file("rules.yaml"), Array(try Repository.text("deploy/prometheus/rules.yaml").utf8))
    let run = try BuiltProgram.run(
      try SystemProgram.promtool(), ["check", "config", config], in: folder)
    #expect(run.status == 0, "\(run.output)")
    let port = try DeployedFiles.documents(in: "kubernetes/ingest.yaml").first {
      $0.kind == "Service"
    }
    #expect(port?.value["spec"]?["ports"]?.array?.first?["name"] == "http")
    #expect(text.contains("regex: martlet;http"))
    // Such pods would be down for ever.
    #expect(text.contains("regex: Failed|Succeeded\n        action: drop"))
  }

  /// One that holds a single scrape has no rate, and one that is shorter than their interval may hold none.
  @Test func `every window of the rules holds two scrapes of the examples`() throws {
    let units = ["s": 1, "m": 60, "h": 3_600, "d": 86_400]
    let windows = try Repository.text("deploy/prometheus/rules.yaml")
      .matches(of: #/\[(\d+)([smhd])/#)
      .compactMap { found in
        units[String(found.2)].flatMap { unit in Int(found.1).map { $0 * unit } }
      }
    let shortest = try #require(windows.min())
    for name in ["prometheus", "kubernetes"] {
      let text = try Repository.text("deploy/prometheus/\(name).yaml")
      let found = try #require(text.firstMatch(of: #/scrape_interval: (\d+)s/#))
      let interval = try #require(Int(found.1))
      #expect(shortest >= 2 * interval, "\(name)")
    }
  }

  @Test func `every alert is in the runbook and asks for declared metrics; few are pages`() throws {
    let rules = try Repository.text("deploy/prometheus/rules.yaml")
    #expect(MetricsPage.unknownMetrics(in: rules).isEmpty)
    let alerts = values("- alert", rules)
    #expect(!alerts.isEmpty)
    let entries = try Repository.text("docs/runbook.md").split(separator: "\n").filter {
      $0.hasPrefix("## Martlet")
    }
    #expect(alerts == entries.map { String($0.dropFirst(3)) })
    let severities = values("severity", rules)
    #expect(severities.count == alerts.count && Set(severities) == ["page", "ticket"])
    #expect(severities.count { $0 == "page" } <= 18)
    #expect(values("runbook", rules) == alerts.map { "docs/runbook.md#\($0.lowercased())" })
  }

  @Test func `the dashboard asks for declared metrics, and each panel explains itself`() throws {
    let dashboard = try JSONDocument(try Repository.text("deploy/grafana/martlet.json")).root
    let variables = dashboard["templating"]?["list"]?.array ?? []
    #expect(variables.compactMap { $0["name"]?.string } == ["datasource", "job", "instance"])
    let panels = (dashboard["panels"]?.array ?? []).filter { $0["type"]?.string != "row" }
    #expect(!panels.isEmpty)
    for panel in panels {
      let title = panel["title"]?.string ?? ""
      #expect(!title.isEmpty && panel["description"]?.string?.isEmpty == false, "\(title)")
      #expect(panel["fieldConfig"]?["defaults"]?["unit"]?.string != nil, "\(title)")
      #expect(panel["datasource"]?["uid"]?.string == "${datasource}", "\(title)")
      let queries = (panel["targets"]?.array ?? []).compactMap { $0["expr"]?.string }
      #expect(!queries.isEmpty, "\(title)")
      for query in queries {
        #expect(MetricsPage.unknownMetrics(in: query).isEmpty, "\(title): \(query)")
        #expect(query.contains(#"job=~"$job",instance=~"$instance""#), "\(title): \(query)")
        // A counter is shown as a rate over an interval that fits the scrapes.
        let isRate = query.contains("rate(") && query.contains("[$__rate_interval]")
        #expect(query.contains("_total") == isRate || query.contains("_bucket"), "\(title)")
      }
    }
  }
}
