// SPDX-License-Identifier: Apache-2.0
import APNS
import Faults
import JSON

/// Reads the faults that are answers: `any_answer`, `gone_timestamp`, `unexpected_answer`, `reason_spelling`,
/// `too_many_requests` and `service_unavailable`.
enum FaultAnswers {
  /// A status, a reason or a body, and header fields.
  static func any(
    _ fields: inout FaultFields, status: UInt16? = nil, reason: String? = nil
  ) throws(FaultScriptError) -> FaultAction {
    var answer = try answer(&fields, status, reason)
    answer.hidesID = try fields.word("apns_id", ["given", "missing"]) == "missing"
    answer.retryAfter = try retryAfter(&fields)
    return .answer(answer)
  }

  /// Seconds, or any text: a date, or what is neither.
  private static func retryAfter(
    _ fields: inout FaultFields
  ) throws(FaultScriptError) -> String? {
    guard let value = fields.value("retry_after") else { return nil }
    if let seconds = value.int { return "\(seconds)" }
    guard let text = value.string, text.utf8.allSatisfy({ (32..<127).contains($0) }) else {
      throw fields.error("retry_after", "must be a number of seconds, or a text for the field")
    }
    return text
  }

  private static func answer(
    _ fields: inout FaultFields, _ defaultStatus: UInt16?, _ defaultReason: String?
  ) throws(FaultScriptError) -> FaultAnswer {
    let reason = try fields.text("reason")
    if let reason,
      reason.isEmpty || reason.utf8.contains(where: { $0 < 32 || $0 == 34 || $0 == 92 })
    {
      throw fields.error("reason", "must be a word; body takes any text")
    }
    let known = reason.flatMap { Reason($0) }.map { UInt16($0.rule.status) }
    let status = try status(&fields) ?? known ?? (reason == nil ? defaultStatus : nil)
    guard let status else {
      throw fields.error("status", "is missing")
    }
    if let text = try fields.text("body") {
      if reason != nil { throw fields.error("body", "cannot be combined with reason") }
      return FaultAnswer(status: status, body: .bytes(Array(text.utf8)))
    }
    let timestamp = try timestamp(&fields)
    // The default reason is for the default status; another status alone has no body.
    guard let reason = reason ?? (status == defaultStatus ? defaultReason : nil) else {
      return FaultAnswer(status: status, body: .none)
    }
    return FaultAnswer(
      status: status, body: .reason(reason, more: ""), timestamp: timestamp ?? .none)
  }

  /// A 410 whose timestamp is before or after the moment of the answer, or missing.
  static func gone(_ fields: inout FaultFields) throws(FaultScriptError) -> FaultAction {
    let reason = try fields.word("reason", ["Unregistered", "ExpiredToken"])
    let timestamp = try timestamp(&fields) ?? .relative(-3_600_000)
    return .answer(
      FaultAnswer(status: 410, body: .reason(reason, more: ""), timestamp: timestamp))
  }

  static func unexpected(_ fields: inout FaultFields) throws(FaultScriptError) -> FaultAction {
    let form = try fields.word(
      "form",
      [
        "unknown_reason", "unknown_status", "empty", "broken", "extra_keys", "huge", "foreign",
      ])
    let status = try status(&fields)
    let body: FaultAnswer.Body
    switch form {
    case "unknown_status":
      return .answer(
        FaultAnswer(status: status ?? 418, body: .reason("ImATeapot", more: "")))
    case "foreign":
      let page = "<html><head><title>Blocked</title></head><body>This is a proxy.</body></html>"
      var answer = FaultAnswer(status: status ?? 403, body: .bytes(Array(page.utf8)))
      answer.isForeign = true
      return .answer(answer)
    case "empty": body = .none
    case "broken": body = .bytes(Array("{\"reason\":\"BadDevi".utf8))
    case "extra_keys":
      body = .reason("BadDeviceToken", more: ",\"hint\":[{\"deep\":[1,2,{}]}],\"reason2\":null")
    case "huge":
      let text = String(repeating: "x", count: 8_192)
      body = .reason("BadDeviceToken", more: ",\"filler\":\"\(text)\"")
    default: body = .reason("BadMoonPhase", more: "")
    }
    return .answer(FaultAnswer(status: status ?? 400, body: body))
  }

  static func spelling(_ fields: inout FaultFields) throws(FaultScriptError) -> FaultAction {
    let spelling = try fields.word(
      "spelling", ["Service Unavailable", "BadEnvironmentKeyInToken"])
    let status: UInt16 = spelling == "Service Unavailable" ? 503 : 403
    return .answer(FaultAnswer(status: status, body: .reason(spelling, more: "")))
  }

  /// From 200 on: a 1xx would not be an answer.
  private static func status(
    _ fields: inout FaultFields
  ) throws(FaultScriptError) -> UInt16? {
    try fields.integer("status", 200...999)
  }

  /// `missing`, a time with a sign from now, or milliseconds since the epoch.
  private static func timestamp(
    _ fields: inout FaultFields
  ) throws(FaultScriptError) -> FaultAnswer.Timestamp? {
    guard let value = fields.value("timestamp") else { return nil }
    if let time = value.int { return .absolute(time) }
    if value.string == "missing" { return FaultAnswer.Timestamp.none }
    guard let offset = value.string.flatMap({ FaultFields.offset(of: $0) }) else {
      throw fields.error(
        "timestamp",
        "must be missing, a time with a sign such as -1h of ten years at most, or milliseconds")
    }
    return .relative(offset)
  }
}

/// Reads the faults that are GOAWAY frames: goaway_credential, goaway_shutdown and goaway_form.
enum FaultGoAways {
  static func action(
    _ fields: inout FaultFields, _ id: FaultID
  ) throws(FaultScriptError) -> FaultAction {
    switch id {
    case .goAwayCredential:
      let reason = try fields.word("reason", ["BadCertificate", "BadCertificateEnvironment"])
      return .goAway(Self.reason(reason, last: .exactly(0), aftermath: .close))
    case .goAwayShutdown:
      return .goAway(Self.reason("Shutdown", last: .current, aftermath: .silent))
    default: return .goAway(try any(&fields))
    }
  }

  /// One frame with a reason in APNs' form.
  static func reason(
    _ reason: String, last: FaultGoAway.Last, aftermath: FaultGoAway.Aftermath
  ) -> FaultGoAway {
    let debug = Array("{\"reason\":\"\(reason)\"}".utf8)
    return FaultGoAway([FaultGoAway.Frame(last: last, debug: debug)], aftermath: aftermath)
  }

  private static func any(_ fields: inout FaultFields) throws(FaultScriptError) -> FaultGoAway {
    let form = try fields.word(
      "form", ["below", "two_step", "twice", "text", "empty", "binary"])
    let code = try code(&fields)
    var last = FaultGoAway.Last.current
    if let exact: UInt32 = try fields.integer("last", 0...0x7FFF_FFFF) {
      last = .exactly(exact)
    } else if let streams: UInt32 = try fields.integer("behind", 0...1_000_000) {
      last = .before(streams)
    } else if form == "below" {
      last = .before(1)
    }
    func frame(_ last: FaultGoAway.Last, _ debug: [UInt8]) -> FaultGoAway.Frame {
      FaultGoAway.Frame(last: last, code: code, debug: debug)
    }
    let shutdown = Array("{\"reason\":\"Shutdown\"}".utf8)
    let frames: [FaultGoAway.Frame] =
      switch form {
      case "two_step": [frame(.exactly(0x7FFF_FFFF), []), frame(last, shutdown)]
      case "twice": [frame(last, shutdown), frame(last, [])]
      case "text":
        [frame(last, Array("Maximum active streams violated for this endpoint.".utf8))]
      case "empty": [frame(last, [])]
      case "binary": [frame(last, [0xFF, 0xFE, 0x00, 0xC3, 0x28, 0x80, 0x7B])]
      default: [frame(last, shutdown)]
      }
    let aftermath: FaultGoAway.Aftermath =
      switch try fields.word("then", ["drain", "close", "silence"]) {
      case "close": .close
      case "silence": .silent
      default: .drain
      }
    return FaultGoAway(frames, aftermath: aftermath)
  }

  private static func code(_ fields: inout FaultFields) throws(FaultScriptError) -> UInt32 {
    guard let value = fields.value("code") else { return 0 }
    guard let code = FaultActions.code(value) else {
      throw fields.error("code", "must be an error code of RFC 9113 such as NO_ERROR")
    }
    return code
  }
}
