// SPDX-License-Identifier: Apache-2.0
import Records
public import Telemetry

/// The demo's result, as a table for people and as JSON for programs.
public struct DemoReport {
  public var totals = DemoTotals()
  /// Notifications that ingest accepted: those on the lanes and those suppressed.
  public var notifications = 0
  public var deadLetters: [String: Int] = [:]
  /// Unregistered devices requested from the gateway, and those in the database.
  public var invalidTokensExpected = 0
  public var invalidTokensRecorded = 0
  /// Devices that are in only one of the two.
  public var invalidTokensDiffering = 0
  /// The time from the first request's Kafka timestamp to the last outcome.
  public var milliseconds: Int64 = 0
  /// The time from a request's Kafka timestamp to its notification's outcome, in milliseconds.
  public var latency = LatencyHistogram()

  public init() {}

  /// The errors of the run; empty if everything adds up.
  public var problems: [String] {
    var problems: [String] = []
    if totals.lost > 0 { problems.append("\(totals.lost) lost: neither receipt nor dead letter") }
    if invalidTokensDiffering > 0 {
      problems.append(
        "the database and the gateway differ in \(invalidTokensDiffering) invalid tokens")
    }
    if totals.unconfirmed > 0 {
      problems.append("\(totals.unconfirmed) receipts contradict the gateway's own list")
    }
    return problems
  }

  public var notificationsPerSecond: Double {
    milliseconds > 0 ? (Double(notifications) * 10_000 / Double(milliseconds)).rounded() / 10 : 0
  }

  public var table: String {
    var rows: [(String, String)] = [
      ("requests", number(totals.requests)), ("notifications", number(notifications)),
      ("  delivered", number(totals.delivered)),
    ]
    for (reason, count) in totals.rejected.sorted(by: { $0.key < $1.key }) {
      rows.append(("  rejected \(reason)", number(count)))
    }
    rows += [
      ("  expired", number(totals.expired)), ("  suppressed", number(totals.suppressed)),
      ("  deduplicated", number(totals.deduplicated)),
    ]
    rows.append(("dead letters", number(totals.deadLettered)))
    for (reason, count) in deadLetters.sorted(by: { $0.key < $1.key }) {
      rows.append(("  \(reason)", number(count)))
    }
    rows += [
      (
        "invalid tokens in the database",
        "\(number(invalidTokensRecorded)) of \(number(invalidTokensExpected))"
      ),
      ("duplicates", number(totals.duplicates)), ("lost", number(totals.lost)),
      ("notifications/s", number(Int(notificationsPerSecond))),
      ("latency p50 / p99", "\(latency.percentile(0.5)) ms / \(latency.percentile(0.99)) ms"),
    ]
    let width = rows.map { $0.0.count }.max() ?? 0
    let end = rows.map { $0.1.count }.max() ?? 0
    return rows.map { name, value in
      name + String(repeating: " ", count: width - name.count + 2 + end - value.count) + value
    }.joined(separator: "\n")
  }

  /// The report on one line; the names are fixed.
  public var json: String {
    var rejected = JSONObject()
    for (reason, count) in totals.rejected.sorted(by: { $0.key < $1.key }) {
      rejected.append(reason, .integer(Int64(count)))
    }
    let value: JSONValue = [
      "requests": .integer(Int64(totals.requests)),
      "notifications": .integer(Int64(notifications)),
      "delivered": .integer(Int64(totals.delivered)),
      "rejected": .object(rejected),
      "expired": .integer(Int64(totals.expired)),
      "suppressed": .integer(Int64(totals.suppressed)),
      "deduplicated": .integer(Int64(totals.deduplicated)),
      "dead_lettered": .integer(Int64(totals.deadLettered)),
      "invalid_tokens_recorded": .integer(Int64(invalidTokensRecorded)),
      "invalid_tokens_expected": .integer(Int64(invalidTokensExpected)),
      "duplicates": .integer(Int64(totals.duplicates)),
      "lost": .integer(Int64(totals.lost)),
      "notifications_per_second": .double(notificationsPerSecond),
      "latency_ms": [
        "p50": .integer(Int64(clamping: latency.percentile(0.5))),
        "p99": .integer(Int64(clamping: latency.percentile(0.99))),
      ],
    ]
    return String(decoding: value.text, as: UTF8.self)
  }

  /// Formats 20000 as `20,000`.
  private func number(_ value: Int) -> String {
    var digits = Array(String(value))
    var place = digits.count - 3
    while place > 0 {
      digits.insert(",", at: place)
      place -= 3
    }
    return String(digits)
  }
}
