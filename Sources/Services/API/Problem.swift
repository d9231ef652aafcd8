// SPDX-License-Identifier: Apache-2.0
import HTTPServer
import JSON

/// Why a request is refused, as RFC 9457 describes it.
struct Problem: Error, Equatable {
  let status: Int
  let title: String
  let detail: String
  /// The member of the request at fault.
  var field: String?
  /// Seconds after which it may be tried again.
  var retryAfter: Int?
  /// Further header fields.
  var challenge: String?
  var allowed: [String] = []

  var response: HTTPResponse {
    var headers: [(name: String, value: String)] = []
    if let retryAfter { headers.append(("Retry-After", "\(retryAfter)")) }
    if let challenge { headers.append(("WWW-Authenticate", challenge)) }
    if !allowed.isEmpty { headers.append(("Allow", allowed.joined(separator: ", "))) }
    return HTTPResponse(
      status: status, contentType: Self.contentType, body: .bytes(json.text), headers: headers)
  }

  static let contentType = "application/problem+json"

  var json: JSONValue {
    var object = JSONObject()
    object.append("type", "about:blank")
    object.append("title", .string(title))
    object.append("status", .integer(Int64(status)))
    object.append("detail", .string(detail))
    if let field { object.append("field", .string(field)) }
    if let retryAfter { object.append("retry_after", .integer(Int64(retryAfter))) }
    return .object(object)
  }

  // MARK: Those that there are

  static let unknownPath = Problem(
    status: 404, title: "Not found",
    detail: "there is no such resource; docs/api.md lists those that there are")

  static func method(_ method: String, allowed: [String]) -> Problem {
    Problem(
      status: 405, title: "Method not allowed",
      detail: "\(method) is not possible here; use \(allowed.joined(separator: " or "))",
      allowed: allowed)
  }

  static func unauthorized(_ detail: String) -> Problem {
    Problem(
      status: 401, title: "Unauthorized", detail: detail, challenge: "Bearer realm=\"martlet\"")
  }

  static func forbidden(app: String) -> Problem {
    Problem(
      status: 403, title: "Forbidden", detail: "this key may not send for \(app)", field: "app")
  }

  static func forbidden(topic: String) -> Problem {
    Problem(
      status: 403, title: "Forbidden",
      detail:
        "this key may not send to \(topic): for mdm, topic is the app itself or one of the key's apps",
      field: "topic")
  }

  static let noPaces = Problem(
    status: 403, title: "Forbidden",
    detail: "this key may not see or change paces: its entry needs \"paces\": true")

  static let noCampaigns = Problem(
    status: 403, title: "Forbidden",
    detail: "this key may not see or change campaigns: its entry needs \"campaigns\": true")

  static func noCampaign(_ name: String) -> Problem {
    Problem(
      status: 404, title: "Not found",
      detail: "no campaign \(name) is known; one that was started appears a moment later")
  }

  /// A time that this process's clock is too far from: the same request is right later.
  static func tooFarAhead(_ detail: String, field: String) -> Problem {
    Problem(
      status: 409, title: "Too far ahead", detail: "\(detail) of this server's clock", field: field)
  }

  static func conflict(_ detail: String) -> Problem {
    Problem(status: 409, title: "Conflict", detail: detail)
  }

  static let notOfAllApps = Problem(
    status: 403, title: "Forbidden",
    detail: "lanes are of all apps: this key may not send for all")

  static func noPace(of subject: String) -> Problem {
    Problem(status: 404, title: "Not found", detail: "\(subject) has no pace")
  }

  static func tooManyPaces(_ limit: Int, groups: Int) -> Problem {
    conflict(
      "\(limit) apps, groups and devices have a pace, or \(groups) groups; clear one that is not needed"
    )
  }

  static func tooManyPaces(of app: String, _ limit: Int) -> Problem {
    conflict(
      "\(limit) groups of \(app) have a pace, which is its quota; clear one that is not needed")
  }

  static let webPage = Problem(
    status: 403, title: "Forbidden", detail: "a web page may not send here; send an API key")

  static func unreadable(app: String) -> Problem {
    Problem(
      status: 403, title: "Forbidden", detail: "this key may not read what is known of \(app)",
      field: "app")
  }

  static func tooLarge(_ limit: Int) -> Problem {
    Problem(
      status: 413, title: "Content too large",
      detail:
        "the body has more than \(limit) bytes; send lines as application/x-ndjson, at any length")
  }

  static func campaignTooLarge(_ limit: Int) -> Problem {
    Problem(
      status: 413, title: "Content too large", detail: "a campaign has at most \(limit) bytes")
  }

  static func itemTooLarge(_ limit: Int) -> Problem {
    Problem(
      status: 413, title: "Content too large",
      detail: "one request has more than \(limit) bytes; nothing after it was read")
  }

  /// Most lines or elements of a body are no requests.
  static let mostlyRefused = Problem(
    status: 413, title: "Content too large",
    detail:
      "more than 1000 of its requests are refused or empty, and most of them; nothing after this was read"
  )

  static func tooManyVerdicts(_ limit: Int) -> Problem {
    Problem(
      status: 413, title: "Content too large",
      detail: "the verdicts on one body have more than \(limit) bytes; send the rest in another one"
    )
  }

  static let outOfMemory = unavailable(
    "this process holds as many bytes of requests as it may; send it again")

  static let outOfStorage = unavailable(
    "this process keeps as many bytes of verdicts in temporary files as it may; send it again")

  static let tooManyValues = Problem(
    status: 413, title: "Content too large",
    detail: "the body has too many small values for its length; split it")

  static func mediaType(_ type: String) -> Problem {
    Problem(
      status: 415, title: "Unsupported media type",
      detail: "\"\(type)\" is not supported: send application/json or application/x-ndjson")
  }

  static func encoding(_ encoding: String) -> Problem {
    Problem(
      status: 415, title: "Unsupported content encoding",
      detail: "\"\(encoding)\" is not supported: send gzip, or none")
  }

  static func malformed(_ detail: String, field: String? = nil) -> Problem {
    Problem(status: 400, title: "Invalid request", detail: detail, field: field)
  }

  /// Of the HTTP server itself: bytes that are no request.
  static func refusal(status: Int, _ text: String) -> Problem {
    status == 503
      ? unavailable(text) : Problem(status: status, title: "Invalid HTTP request", detail: text)
  }

  static func tooMany(seconds: Int) -> Problem {
    Problem(
      status: 429, title: "Too many requests", detail: "this key's rate is used up",
      retryAfter: seconds)
  }

  /// The database lacks devices that the topics have.
  static func incomplete(_ obstacle: String) -> Problem {
    Problem(
      status: 503, title: "The database is not complete", detail: obstacle, retryAfter: 10)
  }

  static func unavailable(_ detail: String) -> Problem {
    Problem(status: 503, title: "Service unavailable", detail: detail, retryAfter: 5)
  }
}
