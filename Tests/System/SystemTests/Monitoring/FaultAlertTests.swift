// SPDX-License-Identifier: Apache-2.0
import Bytes
import EventLoop
import Glibc
import HTTPClient
import JSON
import SystemTestSupport
import TestSupport
import Testing

/// Faults in processes that run, seen through Prometheus: each raises the right alert in time and names its cause.
///
/// The rules are those of deploy/ with delays and ranges a thirtieth as long; what a fault takes to make an expression
/// true is measured, and the rule's own delay and two intervals of an ordinary Prometheus are added to that.
@Suite(.serialized) struct FaultAlertTests {
  private static let root = #filePath.split(separator: "/").dropLast(5).reduce("") { "\($0)/\($1)" }
  /// Seconds from a fault to its page or ticket.
  private static let limit = 120
  /// Seconds: a scrape and an evaluation of deploy/prometheus/prometheus.yaml.
  private static let intervals = 30

  @Test(arguments: AlertedFault.selected)
  func `a fault raises its alert within two minutes, and its cause is named`(
    fault: AlertedFault
  ) throws {
    let rules = try AlertRuleFile(root: Self.root)
    let rule = try #require(rules.rules.first { $0.name == fault.alert })
    let alerts = try AlertRig()
    try fault.prepare(alerts)
    let prometheus = try PrometheusServer(
      scraping: PipelineRig.services.map(alerts.page), rules: rules.shortened(by: 30),
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
    try #require(isSeen, "\(fault.name): no \(fault.alert) after \(seconds) s: \(seen)")
    let fires = try eventually(withinMilliseconds: 30_000, pauseMilliseconds: 300) {
      if fault.hasTraffic { try alerts.sendSome() }
      return try state() == "firing"
    }
    #expect(fires, "\(fault.name): \(seen)")
    if let log = fault.log {
      #expect(
        alerts.rig[log.program].prints(log.words, withinMilliseconds: 10_000),
        "\(fault.name): \(alerts.rig[log.program].output.suffix(2_000))")
    }
    let all = seconds + rule.delay + Self.intervals
    print("\(fault.name) | \(rule.severity) | \(fault.alert) \(fault.labels) | \(all) s at most")
  }

  /// Until every service was read and pushes go out, where the fault lets them.
  private func awaitScrapes(
    _ prometheus: PrometheusServer, _ alerts: AlertRig, _ fault: AlertedFault
  ) throws {
    let count = PipelineRig.services.count
    let isRead = try eventually(withinMilliseconds: 30_000, pauseMilliseconds: 300) {
      if fault.hasTraffic { try alerts.sendSome() }
      return try prometheus.query("sum(up)").first.flatMap(PrometheusServer.value) == Double(count)
    }
    try #require(isRead)
  }

  /// What fires or is pending.
  private func explain(_ prometheus: PrometheusServer) throws -> String {
    try prometheus.rules().flatMap { $0["alerts"]?.array ?? [] }.map { alert in
      String(decoding: (alert["labels"] ?? .null).text, as: UTF8.self)
        + " \(alert["state"]?.string ?? "")"
    }.joined(separator: "; ")
  }
}
