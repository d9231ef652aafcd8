// SPDX-License-Identifier: Apache-2.0
import HTTPServer
import Records

/// The reason why a request is refused, as in RFC 9457.
struct Problem: Error, Equatable {
  let status: Int
  let title: String
  let detail: String
  /// The member of the request at fault.
  var field: String?
  /// The delay in seconds after which to retry.
  var retryAfter: Int?
  /// The value of a further header field.
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

  static func malformed(_ detail: String, field: String? = nil) -> Problem {
    Problem(status: 400, title: "Invalid request", detail: detail, field: field)
  }

  /// A part of a request is malformed.
  static func field(_ name: String, _ detail: String) -> Problem {
    malformed("\(name): \(detail)", field: name)
  }

  static func unauthorized(_ detail: String) -> Problem {
    Problem(
      status: 401, title: "Unauthorized", detail: detail, challenge: "Bearer realm=\"martlet\"")
  }

  static func forbidden(_ detail: String, field: String? = nil) -> Problem {
    Problem(status: 403, title: "Forbidden", detail: detail, field: field)
  }

  static func forbidden(app: String) -> Problem {
    forbidden("this key may not send for \(app)", field: "app")
  }

  static func forbidden(topic: String) -> Problem {
    forbidden(
      "this key may not send to \(topic): for mdm, topic is the app itself or one of the key's apps",
      field: "topic")
  }

  static func notFound(_ detail: String) -> Problem {
    Problem(status: 404, title: "Not found", detail: detail)
  }

  static func method(_ method: String, allowed: [String]) -> Problem {
    Problem(
      status: 405, title: "Method not allowed",
      detail: "\(method) is not possible here; use \(allowed.joined(separator: " or "))",
      allowed: allowed)
  }

  /// A time too far ahead of this process's clock: the same request becomes valid later.
  static func tooFarAhead(_ detail: String, field: String) -> Problem {
    Problem(
      status: 409, title: "Too far ahead", detail: "\(detail) of this server's clock", field: field)
  }

  static func conflict(_ detail: String) -> Problem {
    Problem(status: 409, title: "Conflict", detail: detail)
  }

  static func tooLarge(_ detail: String) -> Problem {
    Problem(status: 413, title: "Content too large", detail: detail)
  }

  static func tooLarge(_ limit: Int) -> Problem {
    tooLarge(
      "the body has more than \(limit) bytes; send lines as application/x-ndjson, at any length")
  }

  /// - Parameter supported: what to send instead.
  static func mediaType(
    _ type: String, supported: String = "application/json or application/x-ndjson"
  ) -> Problem {
    Problem(
      status: 415, title: "Unsupported media type",
      detail: "\"\(type)\" is not supported: send \(supported)")
  }

  /// - Parameter supported: what to send instead.
  static func encoding(_ encoding: String, supported: String = "gzip, or none") -> Problem {
    Problem(
      status: 415, title: "Unsupported content encoding",
      detail: "\"\(encoding)\" is not supported: send \(supported)")
  }

  /// A refusal by the HTTP server itself: the bytes are not a request.
  static func refusal(status: Int, _ text: String) -> Problem {
    status == 503
      ? unavailable(text) : Problem(status: status, title: "Invalid HTTP request", detail: text)
  }

  static func tooMany(seconds: Int) -> Problem {
    Problem(
      status: 429, title: "Too many requests", detail: "this key's rate is used up",
      retryAfter: seconds)
  }

  /// The database lacks devices of the topics.
  static func incomplete(_ obstacle: String) -> Problem {
    Problem(status: 503, title: "The database is not complete", detail: obstacle, retryAfter: 10)
  }

  static func unavailable(_ detail: String) -> Problem {
    Problem(status: 503, title: "Service unavailable", detail: detail, retryAfter: 5)
  }

  static let outOfMemory = unavailable(
    "this process holds as many bytes of requests as it may; send it again")

  static let outOfStorage = unavailable(
    "this process keeps as many bytes of verdicts in temporary files as it may; send it again")
}
