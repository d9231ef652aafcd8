// SPDX-License-Identifier: Apache-2.0
import Contract

/// Faults that replace the response to a request or lose it.
extension Fault {
  public static let anyAnswer = Fault(
    "any_answer", "any status and reason", at: [.request],
    """
    `status` (needed unless `reason` is a known one), `reason` or `body`, `timestamp`; `apns_id`: `given` (default), \
    `missing`; `retry_after`: seconds or any text
    """,
    example: #""status": 400, "reason": "BadDeviceToken", "when": {"token_prefix": "00ff"}"#
  ) { fields throws(FaultScriptError) in try answer(&fields) }

  public static let goneTimestamp = Fault(
    "gone_timestamp", "410 with an earlier, later or missing timestamp", at: [.request],
    "`timestamp`: `-1h` (default), `+5m`, `missing`, or ms; `reason`: `Unregistered`, `ExpiredToken`",
    example: #""timestamp": "missing", "when": {"every": 50}"#
  ) { fields throws(FaultScriptError) in
    let reason = try fields.word("reason", ["Unregistered", "ExpiredToken"])
    return .answer(
      FaultAnswer(
        status: 410, body: .reason(reason, more: ""),
        timestamp: try timestamp(&fields) ?? .relative(-3_600_000)))
  }

  public static let unexpectedAnswer = Fault(
    "unexpected_answer", "undocumented statuses and bodies", at: [.request],
    """
    `form`: `unknown_reason`, `unknown_status`, `empty`, `broken`, `extra_keys`, `huge` (8 KiB), `foreign` (HTML \
    without `apns-id`, as a proxy gives it; 403); `status`
    """,
    example: #""form": "broken", "status": 500, "when": {"probability": 0.01}"#
  ) { fields throws(FaultScriptError) in
    let page = "<html><head><title>Blocked</title></head><body>This is a proxy.</body></html>"
    let keys = #","hint":[{"deep":[1,2,{}]}],"reason2":null"#
    let filler = #","filler":"\#(String(repeating: "x", count: 8_192))""#
    let forms: [(name: String, status: UInt16, body: FaultAnswer.Body)] = [
      ("unknown_reason", 400, .reason("BadMoonPhase", more: "")),
      ("unknown_status", 418, .reason("ImATeapot", more: "")), ("empty", 400, .none),
      ("broken", 400, .bytes(Array(#"{"reason":"BadDevi"#.utf8))),
      ("extra_keys", 400, .reason("BadDeviceToken", more: keys)),
      ("huge", 400, .reason("BadDeviceToken", more: filler)),
      ("foreign", 403, .bytes(Array(page.utf8))),
    ]
    let form = forms[try fields.place("form", forms.map(\.name))]
    var answer = FaultAnswer(status: try status(&fields) ?? form.status, body: form.body)
    answer.isForeign = form.name == "foreign"
    return .answer(answer)
  }

  public static let reasonSpelling = Fault(
    "reason_spelling", "variant spellings of a reason", at: [.request],
    "`spelling`: `Service Unavailable`, `BadEnvironmentKeyInToken`",
    example: #""spelling": "Service Unavailable", "when": {"nth": 10}"#
  ) { fields throws(FaultScriptError) in
    let spelling = try fields.word("spelling", ["Service Unavailable", "BadEnvironmentKeyInToken"])
    let status: UInt16 = spelling == "Service Unavailable" ? 503 : 403
    return .answer(FaultAnswer(status: status, body: .reason(spelling, more: "")))
  }

  public static let tooManyRequests = Fault(
    "too_many_requests", "429 for a hot device token", at: [.request],
    "as `any_answer`; usually `when.token_rate`",
    example: #""when": {"token_rate": 3, "token_window": "1s"}"#
  ) { fields throws(FaultScriptError) in try answer(&fields, (429, "TooManyRequests")) }

  public static let serviceUnavailable = Fault(
    "service_unavailable", "503 or 500 to a share of requests", at: [.request],
    "as `any_answer`; usually `when.probability`",
    example: #""when": {"from": "2m", "until": "17m", "probability": 0.5}"#
  ) { fields throws(FaultScriptError) in try answer(&fields, (503, "ServiceUnavailable")) }

  public static let lostAnswer = Fault(
    "lost_answer", "request processed, answer lost", at: [.request],
    "`with`: `silence`, `reset` (RST_STREAM), `disconnect`",
    example: #""with": "silence", "when": {"probability": 0.001}"#
  ) { fields throws(FaultScriptError) in
    let endings: [FaultEnding] = [.silence, .reset, .disconnect]
    return .ending(
      endings[try fields.place("with", ["silence", "reset", "disconnect"])], codes: [])
  }

  /// Reads a status, a reason or body, and header fields; the default reason applies to its own status only.
  private static func answer(
    _ fields: inout FaultFields, _ standard: (status: UInt16, reason: String)? = nil
  ) throws(FaultScriptError) -> FaultAction {
    let reason = try fields.text("reason")
    if let reason,
      reason.isEmpty || reason.utf8.contains(where: { $0 < 32 || $0 == 34 || $0 == 92 })
    {
      throw fields.error("reason", "must be a word; body takes any text")
    }
    let known = reason.flatMap { Reason($0) }.map { UInt16($0.rule.status) }
    let status = try status(&fields) ?? known ?? (reason == nil ? standard?.status : nil)
    guard let status else { throw fields.error("status", "is missing") }
    var answer = FaultAnswer(status: status, body: .none)
    if let text = try fields.text("body") {
      if reason != nil { throw fields.error("body", "cannot be combined with reason") }
      answer.body = .bytes(Array(text.utf8))
    } else {
      let timestamp = try timestamp(&fields)
      if let reason = reason ?? (status == standard?.status ? standard?.reason : nil) {
        answer.body = .reason(reason, more: "")
        answer.timestamp = timestamp ?? .none
      } else if timestamp != nil {
        throw fields.error("timestamp", "stands in an answer's body, and needs a reason")
      }
    }
    answer.hidesID = try fields.word("apns_id", ["given", "missing"]) == "missing"
    answer.retryAfter = try retryAfter(&fields)
    return .answer(answer)
  }

  /// Reads seconds or any text, such as a date or an invalid value.
  private static func retryAfter(_ fields: inout FaultFields) throws(FaultScriptError) -> String? {
    guard let value = fields.value("retry_after") else { return nil }
    if let seconds = value.integer { return "\(seconds)" }
    guard let text = value.text, text.utf8.allSatisfy({ (32..<127).contains($0) }) else {
      throw fields.error("retry_after", "must be a number of seconds, or a text for the field")
    }
    return text
  }

  /// Reads a status of 200 or higher: a 1xx response would not be final.
  private static func status(_ fields: inout FaultFields) throws(FaultScriptError) -> UInt16? {
    try fields.integer("status", 200...999)
  }

  /// Reads `missing`, a signed offset from now, or milliseconds since the epoch.
  private static func timestamp(
    _ fields: inout FaultFields
  ) throws(FaultScriptError) -> FaultAnswer.Timestamp? {
    guard let value = fields.value("timestamp") else { return nil }
    if let time = value.integer { return .absolute(time) }
    if value.text == "missing" { return FaultAnswer.Timestamp.none }
    guard let offset = value.text.flatMap({ FaultFields.offset(of: $0) }) else {
      throw fields.error(
        "timestamp",
        "must be missing, a time with a sign such as -1h of ten years at most, or milliseconds")
    }
    return .relative(offset)
  }
}
