// SPDX-License-Identifier: Apache-2.0
import APNS
import HTTPServer
import JSON
import Records
import Schedule
import Settings
import Store
import Telemetry

/// The outcomes of notifications, as JSON.
enum OutcomeAnswers {
  /// The most outcomes in an answer; a request has at most 1,000 tokens.
  static let limit = 5_000

  /// - Parameter found: the outcomes in the order of their times, with one more than `limit` if there are more.
  static func outcomes(_ found: [(app: String, receipt: String)]) -> HTTPResponse {
    let list = found.prefix(limit).map(\.receipt).joined(separator: ",")
    let text = "{\"outcomes\":[\(list)],\"has_more\":\(found.count > limit)}"
    return HTTPResponse(
      status: 200, contentType: "application/json", body: .bytes(Array(text.utf8)))
  }

  /// No outcome is known of a request that the schedule has: it waits, or was cancelled within a day.
  static func scheduled(_ entries: [ScheduledEntry]) -> HTTPResponse {
    let list = entries.map { entry -> JSONValue in
      let key = ScheduleKey(entry.key)
      return [
        "app": .string(key?.app ?? ""),
        "environment": .string(key?.environment.description ?? ""),
        "state": .string(entry.row.isCancellation ? "cancelled" : "scheduled"),
        entry.row.isCancellation ? "cancelled_at" : "send_at":
          .integer(entry.row.isCancellation ? entry.row.at : entry.row.due),
      ]
    }
    let text: JSONValue = [
      "outcomes": .array([]), "has_more": .bool(false), "schedule": .array(list),
    ]
    return HTTPResponse(status: 200, contentType: "application/json", body: .bytes(text.text))
  }

  /// Nothing is known; says whether it could be.
  ///
  /// - Parameter isScheduleKnown: whether the schedule was asked: for that an app has to be named, by the question or by
  ///   the key.
  static func none(_ keeping: ReceiptKeeping?, isScheduleKnown: Bool) -> HTTPResponse {
    let hint = isScheduleKnown ? "" : "; ?app= finds a request that waits for its time"
    guard let keeping else {
      return Problem(
        status: 404, title: "Receipts are not kept",
        detail: "the database keeps no outcomes; start martlet-feedback with --keep-receipts\(hint)"
      ).response
    }
    let span = DurationText.text(milliseconds: keeping.retention)
    return unknown(
      "no outcome of it is known; outcomes are kept for \(span) each, and since"
        + " \(Timestamp.text(milliseconds: keeping.since))\(hint)")
  }

  private static func unknown(_ detail: String) -> HTTPResponse {
    Problem(status: 404, title: "Not found", detail: detail).response
  }
}
