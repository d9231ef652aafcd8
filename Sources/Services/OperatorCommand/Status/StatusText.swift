// SPDX-License-Identifier: Apache-2.0
import JSON
import Telemetry

/// A status as lines for people, and as JSON for programs.
enum StatusText {
  /// Destinations that nothing holds back.
  private static let working = "working"

  static func lines(_ status: PipelineStatus) -> [String] {
    var lines = table(status)
    lines.append("")
    lines.append(
      row("requests", requests(status)))
    lines.append(row("outcomes", list(status.outcomesPerSecond) { rate($0) }))
    lines.append(row("in total", list(status.outcomes) { count($0) }))
    lines.append(
      row("in flight", "\(count(status.inFlight)), of which \(count(status.waiting)) wait"))
    lines.append(row("backlog", list(status.backlogSeconds) { duration($0) }))
    lines.append(row("delivery", delivery(status)))
    lines.append(row("retries", list(status.retriesPerSecond) { rate($0) }))
    lines.append(row("connections", list(status.connections) { count($0) }))
    lines.append(row("refusals", list(Array(status.reasons.prefix(5))) { count($0) }))
    lines.append(row("credentials", credentials(status)))
    if !status.canaries.isEmpty {
      let well = status.canaries.count { $0.isWell }
      lines.append(row("canaries", "\(well) of \(status.canaries.count) delivered"))
    }
    return lines + warnings(status)
  }

  private static func table(_ status: PipelineStatus) -> [String] {
    let width = max(8, status.processes.map(\.name.count).max() ?? 0)
    return status.processes.map { process in
      let core = process.core.map { "\(count($0 * 100)) %" } ?? "-"
      let figures = "\(padded(core, 6)) of a core  \(count(process.residentBytes / 1_048_576)) MiB"
      let name = padded(TerminalText.plain(process.name), width)
      switch process.state {
      case .ready: return "\(name)  ready          \(figures)"
      case .notReady: return "\(name)  NOT READY      \(figures)"
      case .unreachable: return "\(name)  UNREACHABLE"
      }
    }
  }

  private static func requests(_ status: PipelineStatus) -> String {
    let rate = "\(rate(status.requestsPerSecond)) taken by ingest"
    if status.openRequests == 0 { return rate }
    return
      "\(rate), \(count(status.openRequests)) not finished, the oldest taken \(duration(status.oldestRequest)) old"
  }

  private static func delivery(_ status: PipelineStatus) -> String {
    guard let (median, p99) = status.delivery else { return "none yet" }
    return "p50 \(duration(median)), p99 \(duration(p99))"
  }

  private static func credentials(_ status: PipelineStatus) -> String {
    var parts: [String] = []
    if let age = status.oldestToken { parts.append("oldest provider token \(duration(age))") }
    if let left = status.nextCertificate {
      parts.append("first certificate expires in \(duration(left))")
    }
    return parts.isEmpty ? "-" : parts.joined(separator: ", ")
  }

  /// In seconds: as the alert MartletCertificateExpires.
  private static let certificateWarning: Double = 14 * 86_400

  /// What somebody has to look at; nothing when all is well.
  static func warnings(_ status: PipelineStatus) -> [String] {
    var lines: [String] = []
    for process in status.processes {
      let name = TerminalText.plain(process.name)
      switch process.state {
      case .ready: break
      case .notReady(let reasons):
        lines += reasons.map { "! \(name): \(TerminalText.plain($0))" }
      case .unreachable(let cause): lines.append("! \(name): \(TerminalText.plain(cause))")
      }
    }
    for blocked in status.destinations where blocked.name != working {
      lines.append(
        "! \(count(blocked.value)) destinations are blocked: \(TerminalText.plain(blocked.name))")
    }
    if status.credentialsWithoutToken > 0 {
      lines.append(
        "! \(count(status.credentialsWithoutToken)) credentials have no provider token that may be sent"
      )
    }
    if status.producersRefused > 0 {
      lines.append(
        "! Kafka refuses records of \(count(status.producersRefused)) producers; the log names topic and remedy"
      )
    }
    if status.databaseFailing > 0 {
      lines.append("! the database of device tokens takes no transaction; feedback's log says why")
    }
    if let left = status.nextCertificate, left < certificateWarning {
      lines.append("! a client certificate expires in \(duration(left)); the sender's log names it")
    }
    for kind in status.paused {
      lines.append(
        "! paused: \(count(kind.value)) \(TerminalText.plain(kind.name))\(kind.value == 1 ? "" : "s");"
          + " martlet pause lists them")
    }
    for canary in status.canaries where !canary.isWell {
      let last = canary.lastSuccess.map { "the last success was \(duration($0)) ago" }
      lines.append(
        "! canary \(TerminalText.plain(canary.name)) fails; \(last ?? "none was delivered yet")")
    }
    if status.lost > 0 {
      lines.append(
        "! \(count(status.lost)) records were removed by retention before they were read")
    }
    return lines
  }

  static func json(_ status: PipelineStatus) -> String {
    var root = JSONObject()
    root.append("ready", .bool(status.isReady))
    root.append("processes", .array(status.processes.map(process)))
    root.append("requests_per_second", rounded(status.requestsPerSecond))
    root.append("requests_open", rounded(status.openRequests))
    root.append("requests_oldest_seconds", rounded(status.oldestRequest))
    root.append("outcomes_per_second", object(status.outcomesPerSecond))
    root.append("outcomes_total", object(status.outcomes))
    root.append("reasons_total", object(status.reasons))
    root.append("retries_per_second", object(status.retriesPerSecond))
    root.append("in_flight", rounded(status.inFlight))
    root.append("waiting", rounded(status.waiting))
    root.append("backlog_seconds", object(status.backlogSeconds))
    root.append("connections", object(status.connections))
    root.append("destinations", object(status.destinations))
    root.append(
      "delivery_seconds",
      status.delivery.map {
        ["p50": rounded($0.median), "p99": rounded($0.p99)]
      } ?? .null)
    root.append("credentials_without_token", rounded(status.credentialsWithoutToken))
    root.append("oldest_token_seconds", status.oldestToken.map(rounded) ?? .null)
    root.append("next_certificate_expiry_seconds", status.nextCertificate.map(rounded) ?? .null)
    root.append("records_lost", rounded(status.lost))
    root.append("paused", object(status.paused))
    root.append("canaries", .array(status.canaries.map(canary)))
    root.append("warnings", .array(warnings(status).map { .string(String($0.dropFirst(2))) }))
    return String(decoding: JSONValue.object(root).text, as: UTF8.self)
  }

  /// In place of a status that cannot be had yet, and why.
  static func waiting(_ cause: String) -> String {
    String(
      decoding: JSONValue.object(JSONObject([.init(key: "waiting", value: .string(cause))])).text,
      as: UTF8.self)
  }

  private static func process(_ process: PipelineStatus.Process) -> JSONValue {
    let (state, causes): (String, [String]) =
      switch process.state {
      case .ready: ("ready", [])
      case .notReady(let reasons): ("not_ready", reasons)
      case .unreachable(let cause): ("unreachable", [cause])
      }
    return [
      "name": .string(process.name), "state": .string(state),
      "causes": .array(causes.map { .string($0) }),
      "cores": process.core.map(rounded) ?? .null,
      "resident_bytes": rounded(process.residentBytes),
    ]
  }

  private static func canary(_ canary: PipelineStatus.Canary) -> JSONValue {
    [
      "name": .string(canary.name), "success": .bool(canary.isWell),
      "seconds_since_success": canary.lastSuccess.map(rounded) ?? .null,
    ]
  }

  // MARK: Words

  private static func object(_ counts: [PipelineStatus.Count]) -> JSONValue {
    .object(JSONObject(counts.map { .init(key: $0.name, value: rounded($0.value)) }))
  }

  private static func rounded(_ value: Double) -> JSONValue {
    let thousandths = (value * 1_000).rounded()
    guard thousandths.isFinite, thousandths.magnitude < 1e15 else { return .null }
    let whole = Int64(thousandths)
    return whole % 1_000 == 0 ? .integer(whole / 1_000) : .double(Double(whole) / 1_000)
  }

  private static func row(_ title: String, _ text: String) -> String {
    "\(padded(title, 12)) \(text)"
  }

  private static func list(
    _ counts: [PipelineStatus.Count], _ text: (Double) -> String
  ) -> String {
    let parts = counts.map { "\(TerminalText.plain($0.name)) \(text($0.value))" }
    return parts.isEmpty ? "-" : parts.joined(separator: ", ")
  }

  /// The text with blanks behind it, up to a width in characters.
  static func padded(_ text: String, _ width: Int) -> String {
    text + String(repeating: " ", count: max(0, width - text.count))
  }

  private static func rate(_ value: Double) -> String { "\(count(value))/s" }

  /// Whole, with one decimal below ten.
  static func count(_ value: Double) -> String {
    guard value.isFinite, value.magnitude < 1e15 else { return "?" }
    let tenths = Int64((value * 10).rounded())
    return tenths % 10 == 0 || tenths.magnitude >= 100
      ? "\(Int64(value.rounded()))"
      : "\(tenths < 0 ? "-" : "")\(tenths.magnitude / 10).\(tenths.magnitude % 10)"
  }

  /// `12 ms`, `3.5 s`, `7 min`, `5 h`, `90 d`.
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
