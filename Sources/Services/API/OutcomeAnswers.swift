// SPDX-License-Identifier: Apache-2.0
import HTTPServer
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

  /// Nothing is known; says whether it could be.
  static func none(_ keeping: ReceiptKeeping?) -> HTTPResponse {
    guard let keeping else {
      return Problem(
        status: 404, title: "Receipts are not kept",
        detail: "the database keeps no outcomes; start martlet-feedback with --keep-receipts"
      ).response
    }
    let span = DurationText.text(milliseconds: keeping.retention)
    return unknown(
      "no outcome of it is known; outcomes are kept for \(span) each, and since"
        + " \(Timestamp.text(milliseconds: keeping.since))")
  }

  private static func unknown(_ detail: String) -> HTTPResponse {
    Problem(status: 404, title: "Not found", detail: detail).response
  }
}
