// SPDX-License-Identifier: Apache-2.0
import Access
import Contract
import EventLoop
import HTTPServer
import Records
import Settings
import Store
import Telemetry

/// `/v1/notifications/{id}`: the outcomes of a request or a notification, and the cancellation of a waiting request.
enum OutcomesAPI {
  static let routes = [
    // An id may contain a slash.
    APIRoute("GET", "/v1/notifications/{id...}", .database, arguments: ["app"], ask),
    APIRoute(
      "DELETE", "/v1/notifications/{id...}", .kafka, arguments: ["app", "environment"], cancel),
  ]

  /// The most outcomes in an answer; a request has at most 1,000 tokens.
  static let limit = 5_000
  /// The most apps of a key for which the schedule is searched in turn.
  private static let mostApps = 100

  /// Answers with the outcomes that the key may read; without any, with the request's entry in the schedule.
  private static func ask(_ request: APIRequest) throws(Problem) -> APIAction {
    let id = request.values[0].exact
    guard id.text.utf8.count <= 128 else { throw .field("id", "has more than 128 bytes") }
    let app = try request.app()
    if let app { try request.demandRead(of: app) }
    let readable = request.key.readable
    // The schedule may have it under these apps, as far as they are known by name.
    let named =
      app.map { [$0] } ?? readable.filter { $0 != "*" }.sorted().prefix(mostApps).map(\.text)
    let areAllNamed = app != nil || (readable.limited?.count ?? .max) <= mostApps
    let keys = named.flatMap { app in
      Environment.allCases.map { ScheduleKey(app: app, environment: $0, id: id) }
    }
    return .ask(
      Query([], answerBytes: 1 << 20) { (databases) throws(StoreError) in
        let tokens = try databases.tokens()
        let found = try tokens.outcomes(
          of: id, apps: app.map { [$0.exact] } ?? readable.limited, limit: limit + 1)
        guard found.isEmpty else { return .answer(outcomes(found)) }
        if !keys.isEmpty {
          let (waiting, obstacle) = try databases.scheduled(keys.map(\.exact))
          guard waiting.isEmpty else { return .answer(scheduled(waiting)) }
          if let obstacle { return .answer(Problem.incomplete(obstacle).response) }
        }
        return .answer(none(try tokens.receiptKeeping(), isScheduleKnown: areAllNamed))
      })
  }

  private static func cancel(_ request: APIRequest) throws(Problem) -> APIAction {
    let id = request.values[0]
    do throws(RequestError) {
      try RequestRules.checkText(id.utf8.span, .id, most: RequestRules.maximumID)
    } catch {
      throw .malformed("\(error)", field: "id")
    }
    let app = try Arguments.app(request.argument("app"))
    let key = ScheduleKey(
      app: app, environment: try request.environment() ?? .production, id: id.exact)
    try request.demandSend(for: app)
    let record = ScheduleCancellation(at: WallClock.milliseconds(), by: request.key.actor)
    return .produce([
      APIRecord(topic: request.api.topics.schedule, key: key.bytes, value: record.value)
    ])
  }

  /// - Parameter found: the outcomes ordered by time, with one more than `limit` if there are more.
  private static func outcomes(_ found: [(app: String, receipt: String)]) -> HTTPResponse {
    let list = found.prefix(limit).map(\.receipt).joined(separator: ",")
    return .json("{\"outcomes\":[\(list)],\"has_more\":\(found.count > limit)}")
  }

  /// A scheduled request without outcomes: it waits, or was cancelled within a day.
  private static func scheduled(_ entries: [ScheduledEntry]) -> HTTPResponse {
    let list = entries.map { entry -> JSONValue in
      let key = ScheduleKey(entry.key)
      var (state, name, time) = ("scheduled", "send_at", entry.row.due)
      if case .cancellation(let at, _) = entry.row.kind {
        (state, name, time) = ("cancelled", "cancelled_at", at)
      }
      return [
        "app": .string(key?.app ?? ""),
        "environment": .string(key?.environment.description ?? ""),
        "state": .string(state), name: .integer(time),
      ]
    }
    return .ok(["outcomes": .array([]), "has_more": .bool(false), "schedule": .array(list)])
  }

  /// The answer when nothing is known; says whether it could be.
  ///
  /// - Parameter isScheduleKnown: whether the schedule was searched for each app that the request may be of.
  private static func none(_ keeping: ReceiptKeeping?, isScheduleKnown: Bool) -> HTTPResponse {
    let hint = isScheduleKnown ? "" : "; ?app= finds a request that waits for its time"
    guard let keeping else {
      return Problem(
        status: 404, title: "Receipts are not kept",
        detail: "the database keeps no outcomes; start martlet-feedback with --keep-receipts\(hint)"
      ).response
    }
    let span = DurationText.text(milliseconds: keeping.retention)
    return Problem.notFound(
      "no outcome of it is known; outcomes are kept for \(span) each, and since"
        + " \(Timestamp.text(milliseconds: keeping.since))\(hint)"
    ).response
  }
}
