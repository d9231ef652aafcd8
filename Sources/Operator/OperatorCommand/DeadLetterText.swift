// SPDX-License-Identifier: Apache-2.0
import Contract
import Records
import Telemetry

/// Formats dead letters for people. Provider tokens are never shown; device tokens are shortened unless they are to be
/// revealed.
struct DeadLetterText {
  let revealsTokens: Bool
  let parser: JSONParser

  private static let columns = [
    ("POSITION", 10), ("AT", 24), ("STAGE", 8), ("REASON", 17), ("APP", 24),
  ]

  static var tableHead: String {
    columns.map { StatusText.padded($0.0, $0.1) }.joined(separator: " ") + " DETAIL"
  }

  func row(_ letter: DeadLetterEntry) -> String {
    let cells = [
      letter.place, Timestamp.text(milliseconds: letter.at), letter.stage, letter.reason,
      letter.app(parser) ?? "-",
    ]
    let line = zip(cells, Self.columns).map { StatusText.padded(TerminalText.plain($0), $1.1) }
      .joined(separator: " ")
    return hidden(line + " " + TerminalText.plain(letter.detail))
  }

  /// The letter without its value, as one JSON object.
  func json(_ letter: DeadLetterEntry) -> String {
    members(letter).line
  }

  /// The letter with its value, as one JSON object.
  func wholeJSON(_ letter: DeadLetterEntry) -> String {
    var object = members(letter)
    if let envelope = letter.envelope, let value = letter.value {
      let line = String(decoding: value[..<(envelope.bodyStart - 1)], as: UTF8.self)
      object.append("envelope", .string(hidden(line)))
      object.append(
        "payload", .string(hidden(String(decoding: value[envelope.bodyStart...], as: UTF8.self))))
    } else if let value = letter.value {
      object.append("value", .string(hidden(shownValue(value))))
    }
    return object.line
  }

  private func members(_ letter: DeadLetterEntry) -> JSONObject {
    var object = JSONObject()
    object.append("place", .string(letter.place))
    object.append("at", .integer(letter.at))
    object.append("stage", .string(letter.stage))
    object.append("reason", .string(letter.reason))
    object.append("detail", .string(hidden(letter.detail)))
    if let attempts = letter.letter.attempts {
      object.append("attempts", .integer(Int64(attempts)))
    }
    object.append("origin", .string(letter.origin))
    if let app = letter.app(parser) { object.append("app", .string(app)) }
    if let id = letter.apnsID { object.append("apns_id", .string(id)) }
    if let id = letter.requestID { object.append("request_id", .string(id)) }
    if let token = letter.letter.token { object.append("token", .string(shortened(token))) }
    if let key = letter.key {
      object.append("key", .string(shownKey(String(decoding: key, as: UTF8.self), letter)))
    }
    return object
  }

  /// Everything about one letter, one fact per line, then the value.
  func whole(_ letter: DeadLetterEntry) -> [String] {
    var lines = [
      "place:    \(letter.place)", "at:       \(Timestamp.text(milliseconds: letter.at))",
      "stage:    \(letter.stage)", "reason:   \(letter.reason)", "detail:   \(letter.detail)",
      "attempts: \(letter.letter.attempts.map { "\($0)" } ?? "")", "origin:   \(letter.origin)",
    ]
    if let app = letter.app(parser) { lines.append("app:      \(app)") }
    if !letter.id.isEmpty { lines.append("id:       \(letter.id)") }
    if let token = letter.letter.token { lines.append("token:    \(shortened(token))") }
    if let key = letter.key {
      lines.append("key:      \(shownKey(String(decoding: key, as: UTF8.self), letter))")
    }
    lines += value(letter)
    return lines.map { hidden(TerminalText.plain($0)) }
  }

  private func value(_ letter: DeadLetterEntry) -> [String] {
    guard let value = letter.value else { return ["value:    (none)"] }
    guard let envelope = letter.envelope else { return ["value:    \(shownValue(value))"] }
    let line = value[..<(envelope.bodyStart - 1)]
    var lines = ["envelope:"]
    lines += EnvelopeText.fields(line).map { "  \($0.name): \($0.value)" }
    return lines + ["payload:  \(String(decoding: value[envelope.bodyStart...], as: UTF8.self))"]
  }

  /// The value with the device tokens in its fields shortened.
  private func shownValue(_ value: [UInt8]) -> String {
    let text = String(decoding: value, as: UTF8.self)
    guard !revealsTokens, let object = (try? parser.parse(value))?.object else { return text }
    return String(decoding: JSONValue.object(Redaction.applied(to: object)).text, as: UTF8.self)
  }

  /// The key of a notification is a device token; a caller's own key of a request may contain one.
  private func shownKey(_ key: String, _ letter: DeadLetterEntry) -> String {
    guard !revealsTokens, letter.envelope?.target != .channel else { return key }
    let digits = key.prefix { $0.isHexDigit }
    let isToken = letter.stage != DeadLetterStage.ingest.rawValue || digits.count == key.count
    return isToken ? Redaction.shortened(String(digits)) + key.dropFirst(digits.count) : key
  }

  private func shortened(_ token: String) -> String {
    revealsTokens ? token : Redaction.shortened(token)
  }

  private func hidden(_ text: String) -> String {
    Redaction.applied(to: text, deviceTokens: !revealsTokens)
  }
}
