// SPDX-License-Identifier: Apache-2.0
import Telemetry

enum StatusText {
  /// Problems come first; rows without a number are omitted.
  static func lines(_ status: PipelineStatus) -> [String] {
    var lines = [row("state", "\(status.headline)")] + warnings(status) + [""]
    lines += table(status) + ["", row("requests", requests(status))]
    if let scheduled = status.scheduled {
      let late = scheduled.late < 1 ? "" : ", late by \(duration(scheduled.late))"
      lines.append(row("scheduled", count(scheduled.count) + late))
    }
    lines += campaigns(status)
    if status.paces > 0 {
      lines.append(row("paces", "\(count(status.paces)) set; martlet pace lists them"))
    }
    lines += rows([
      ("ingest", list(status.ingested) { count($0) }.map { "\($0) device tokens in total" }),
      ("outcomes", list(status.outcomesPerSecond) { rate($0) }),
      ("in total", list(status.outcomes) { count($0) }),
      ("in flight", "\(count(status.inFlight)), of which \(count(status.waiting)) wait"),
      ("backlog", list(status.backlogSeconds) { duration($0) }),
      ("unread", list(status.unread) { count($0) }),
      ("delivery", delivery(status)),
      ("retries", list(status.retriesPerSecond) { rate($0) }),
      ("connections", list(status.connections) { count($0) }),
      ("refusals", list(Array(status.reasons.prefix(5))) { count($0) }),
      ("credentials", credentials(status)),
    ])
    if !status.canaries.isEmpty {
      let well = status.canaries.count { $0.isWell }
      lines.append(row("canaries", "\(well) of \(status.canaries.count) delivered"))
    }
    return lines
  }

  private static func rows(_ rows: [(title: String, text: String?)]) -> [String] {
    rows.compactMap { title, text in text.map { row(title, $0) } }
  }

  /// The width of a process in the table, which has two columns.
  private static let processWidth = 39

  private static func table(_ status: PipelineStatus) -> [String] {
    let width = max(8, status.processes.map(\.name.count).max() ?? 0)
    let processes = status.processes.map { process in
      let core = process.core.map { "\(count($0 * 100)) %" } ?? "-"
      let figures = "\(padded(core, 6)) \(count(process.residentBytes / 1_048_576)) MiB"
      let name = padded(TerminalText.plain(process.name), width)
      switch process.state {
      case .ready: return "\(name)  ready      \(figures)"
      case .notReady: return "\(name)  NOT READY  \(figures)"
      case .unreachable: return "\(name)  UNREACHABLE"
      }
    }
    guard processes.allSatisfy({ $0.count < processWidth }) else { return processes }
    return stride(from: 0, to: processes.count, by: 2).map { index in
      index + 1 < processes.count
        ? "\(padded(processes[index], processWidth)) \(processes[index + 1])" : processes[index]
    }
  }

  private static func requests(_ status: PipelineStatus) -> String {
    var rate = "\(rate(status.requestsPerSecond)) taken by ingest"
    if status.refusedPerSecond > 0 { rate += ", \(self.rate(status.refusedPerSecond)) refused" }
    if status.openRequests == 0 { return rate }
    return
      "\(rate), \(count(status.openRequests)) not finished, the oldest taken \(duration(status.oldestRequest)) old"
  }

  private static let mostCampaigns = 10

  private static func campaigns(_ status: PipelineStatus) -> [String] {
    let shown = status.campaigns.prefix(mostCampaigns)
    let others = Double(status.campaigns.count - shown.count) + status.unlistedCampaigns
    let namesakes = CampaignStatus.namesakes(in: status.campaigns)
    let lines = shown.enumerated().map {
      row($0.offset == 0 ? "campaigns" : "", $0.element.line(namesakes: namesakes))
    }
    return others > 0
      ? lines + [row("", "\(count(others)) more; martlet campaign list has all")] : lines
  }

  private static func delivery(_ status: PipelineStatus) -> String {
    func text(_ delivery: (median: Double, p99: Double)) -> String {
      "p50 \(duration(delivery.median)), p99 \(duration(delivery.p99))"
    }
    if let delivery = status.delivery { return text(delivery) }
    guard let all = status.deliverySinceStart else { return "none yet" }
    return "none just now; since the processes started \(text(all))"
  }

  private static func credentials(_ status: PipelineStatus) -> String? {
    var parts: [String] = []
    if let age = status.oldestToken { parts.append("oldest provider token \(duration(age))") }
    if let left = status.nextCertificate {
      parts.append("first certificate \(expiry(left))")
    }
    return parts.isEmpty ? nil : parts.joined(separator: ", ")
  }

  /// When something expires that has so many seconds left; negative afterwards.
  static func expiry(_ left: Double) -> String {
    left < 0 ? "expired \(duration(-left)) ago" : "expires in \(duration(left))"
  }

  /// The width of a row's title, including the space before the text.
  static let titleWidth = 13

  private static func row(_ title: String, _ text: String) -> String {
    padded(title, titleWidth) + text
  }

  private static func list(
    _ counts: [PipelineStatus.Count], _ text: (Double) -> String
  ) -> String? {
    let parts = counts.map { "\(TerminalText.plain($0.name)) \(text($0.value))" }
    return parts.isEmpty ? nil : parts.joined(separator: ", ")
  }

  static func padded(_ text: String, _ width: Int) -> String {
    text + String(repeating: " ", count: max(0, width - text.count))
  }

  private static func rate(_ value: Double) -> String { "\(count(value))/s" }

  /// A whole number, or one decimal below ten.
  static func count(_ value: Double) -> String {
    guard value.isFinite, value.magnitude < 1e15 else { return "?" }
    let tenths = Int64((value * 10).rounded())
    return tenths % 10 == 0 || tenths.magnitude >= 100
      ? "\(Int64(value.rounded()))"
      : "\(tenths < 0 ? "-" : "")\(tenths.magnitude / 10).\(tenths.magnitude % 10)"
  }

  /// A duration such as `12 ms`, `3.5 s`, `7 min`, `5 h` or `90 d`.
  static func duration(_ seconds: Double) -> String {
    switch seconds.magnitude {
    case ..<0.0005: "0 s"
    case ..<1: "\(count((seconds * 1_000).rounded())) ms"
    case ..<120: "\(count(seconds)) s"
    case ..<7_200: "\(count((seconds / 60).rounded())) min"
    case ..<172_800: "\(count((seconds / 3_600).rounded())) h"
    default: "\(count((seconds / 86_400).rounded())) d"
    }
  }
}
