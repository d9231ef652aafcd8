// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Glibc
import HTTPClient
import Records
import TestSupport
import Testing

/// Faults in processes that run, seen through Prometheus: each raises the right alert in time and names its cause.
///
/// The rules are those of deploy/ with delays and ranges a thirtieth as long; what a fault takes to make an expression
/// true is measured, and the rule's own delay and two intervals of an ordinary Prometheus are added to that.
@Suite(.serialized) struct FaultAlertTests {
  /// Seconds from a fault to its page or ticket.
  private static let limit = 120
  /// Seconds: a scrape and an evaluation of deploy/prometheus/prometheus.yaml.
  private static let intervals = 30

  private static let programs = PipelineRig.services + [AlertRig.canary]

  @Test(arguments: AlertedFault.selected)
  func `a fault raises its alert within two minutes, and its cause is named`(
    fault: AlertedFault
  ) throws {
    let rules = try AlertRuleFile()
    let rule = try #require(rules.rules.first { $0.name == fault.alert })
    let alerts = try AlertRig()
    try fault.prepare(alerts)
    try alerts.startCanary()
    let prometheus = try PrometheusServer(
      scraping: Self.programs.map(alerts.page), rules: rules.shortened(by: 30),
      in: alerts.rig.folder)
    let labels = fault.labels.mapValues { value in
      let page = value.hasPrefix("martlet-") ? alerts.page(value) : ""
      return page.isEmpty ? value : String(page.dropFirst("http://".count))
    }
    func state() throws -> String? {
      try prometheus.alerts(fault.alert).first { alert in
        labels.allSatisfy { alert["labels"]?[$0.key]?.string == $0.value }
      }?["state"]?.string
    }
    try awaitScrapes(prometheus, alerts, fault)
    let begin = MonotonicClock.milliseconds()
    try fault.inject(alerts)
    let wait = UInt64(max(1, Self.limit - Self.intervals - rule.delay)) * 1_000
    let isSeen = try eventually(withinMilliseconds: wait, pauseMilliseconds: 300) {
      if fault.hasTraffic { try alerts.sendSome() }
      return try state() != nil
    }
    let seconds = Int(MonotonicClock.milliseconds() - begin) / 1_000
    let seen = try explain(prometheus)
    let logged = fault.log.map { alerts.rig[$0.program].output.suffix(2_000) } ?? ""
    try #require(isSeen, "\(fault.name): no \(fault.alert) after \(seconds) s: \(seen)\n\(logged)")
    let fires = try eventually(pauseMilliseconds: 300) {
      if fault.hasTraffic { try alerts.sendSome() }
      return try state() == "firing"
    }
    #expect(fires, "\(fault.name): \(seen)")
    if let log = fault.log {
      #expect(
        alerts.rig[log.program].prints(log.message),
        "\(fault.name): \(alerts.rig[log.program].output.suffix(2_000))")
    }
    try expectCanary(prometheus, alerts, fault)
    if let folder = AlertedFault.recordFolder {
      try OnCallRecord(alerts, prometheus, Self.programs).write(to: folder, fault: fault.name)
    }
    let all = seconds + rule.delay + Self.intervals
    print("\(fault.name) | \(rule.severity) | \(fault.alert) \(fault.labels) | \(all) s at most")
  }

  /// Whoever is paged looks the alert up in the runbook: its table has to lead from there to the fault.
  @Test
  func
    `the runbook's table names each fault's alert, its labels, and the place that names the cause`()
    throws
  {
    let page = try Repository.text("docs/runbook.md")
    let table = try #require(page.firstRange(of: "## Faults and their alerts"))
    let rows = page[table.upperBound...].split(separator: "\n").filter { $0.hasPrefix("| ") }
      .dropFirst(2).map { $0.split(separator: "|").map { $0.drop { $0 == " " } } }
    let rules = try AlertRuleFile().rules
    #expect(AlertedFault.all.count == 13 && rows.count == 13)
    for fault in AlertedFault.all {
      let row = try #require(rows.first { $0[0].hasPrefix(fault.name + " ") }, "\(fault.name)")
      let severity = rules.first { $0.name == fault.alert }?.severity ?? "no rule"
      #expect(row[1].hasPrefix(severity), "\(fault.name) is a \(severity)")
      #expect(row[2].hasPrefix(fault.alert), "\(fault.name)")
      for (label, value) in fault.labels {
        let isThere = row[2].contains(
          label == "state" || label == "cause" ? "\(label)=\"\(value)\"" : label)
        #expect(isThere, "\(fault.name): \(label)")
      }
      #expect(row[3].hasPrefix(fault.reddensCanary ? "red" : "green"), "\(fault.name)")
      guard let log = fault.log else { continue }
      let program = log.program.dropFirst("martlet-".count)
      #expect(row[4].contains(program), "\(fault.name): the log of \(program)")
      let quotes = row[4].split(separator: "`")
      #expect(quotes.contains { log.message.hasPrefix($0) }, "\(fault.name): \(log.message)")
    }
  }

  /// Until every service was read and pushes go out, where the fault lets them.
  private func awaitScrapes(
    _ prometheus: PrometheusServer, _ alerts: AlertRig, _ fault: AlertedFault
  ) throws {
    let count = Self.programs.count
    let isRead = try eventually(pauseMilliseconds: 300) {
      if fault.hasTraffic { try alerts.sendSome() }
      return try prometheus.query("sum(up)").first.flatMap(PrometheusServer.value) == Double(count)
    }
    try #require(isRead)
  }

  /// Red if the fault keeps pushes from their devices, else green.
  private func expectCanary(
    _ prometheus: PrometheusServer, _ alerts: AlertRig, _ fault: AlertedFault
  ) throws {
    let expected: Double = fault.reddensCanary ? 0 : 1
    let isSo = try eventually(pauseMilliseconds: 300) {
      if fault.hasTraffic { try alerts.sendSome() }
      return try prometheus.query("martlet_canary_success").first.flatMap(PrometheusServer.value)
        == expected
    }
    let log = alerts.rig[AlertRig.canary].output.suffix(1_000)
    #expect(
      isSo, "\(fault.name): the canary is not \(fault.reddensCanary ? "red" : "green"): \(log)")
  }

  /// What fires or is pending.
  private func explain(_ prometheus: PrometheusServer) throws -> String {
    try prometheus.rules().flatMap { $0["alerts"]?.array ?? [] }.map { alert in
      String(decoding: (alert["labels"] ?? .null).text, as: UTF8.self)
        + " \(alert["state"]?.string ?? "")"
    }.joined(separator: "; ")
  }
}
