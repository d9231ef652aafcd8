// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Kafka
import Records
import Telemetry

/// A record as a table row: its time, outcome, reason, app, device and id, as far as it has them.
struct RecordRow {
  /// The columns and their widths; the last one takes the rest.
  private static let columns = [
    ("time", 20), ("outcome", 13), ("reason", 24), ("app", 24), ("token", 9),
  ]
  private static let nothing = "-"
  static let head = line(columns.map(\.0) + ["id"])

  private var outcome: String?
  private var reason: String?
  private var app: String?
  private var token: String?
  private var id: String?
  private let time: String

  /// Device tokens are shortened.
  ///
  /// - Parameters:
  ///   - value: The record's value, or a line of it.
  ///   - hidesToken: Whether `token` is a provider token.
  init(
    _ record: ShownRecord, _ value: UnsafeRawBufferPointer, _ parser: JSONParser, hidesToken: Bool
  ) {
    // Without milliseconds.
    time =
      record.timestamp < 0
      ? Self.nothing : Timestamp.text(milliseconds: record.timestamp).dropLast(5) + "Z"
    if value.baseAddress == nil {
      outcome = "(tombstone)"
    } else if Envelope.begins(value) {
      take(EnvelopeText.fields(value.prefix { $0 != UInt8(ascii: "\n") }))
    } else if let object = Self.object(value, parser) {
      take(object, hidesToken: hidesToken)
    }
    if let letter = record.headers.first(where: { $0.name == "martlet-reason" }) {
      outcome = "dead letter"
      reason = String(decoding: letter.value, as: UTF8.self)
    }
    if record.key.baseAddress != nil { take(key: String(decoding: record.key, as: UTF8.self)) }
  }

  var text: String {
    Self.line([time] + [outcome, reason, app, token, id].map { $0 ?? Self.nothing })
  }

  private static func line(_ cells: [String]) -> String {
    zip(cells, columns.map(\.1)).map { StatusText.padded($0, $1) }.joined(separator: " ")
      + " \(cells.last ?? "")"
  }

  /// The JSON of a value, which on some topics follows a line of fields.
  private static func object(_ value: UnsafeRawBufferPointer, _ parser: JSONParser) -> JSONValue? {
    var json = value
    if value.first != UInt8(ascii: "{"), let end = value.firstIndex(of: UInt8(ascii: "\n")) {
      json = UnsafeRawBufferPointer(rebasing: value[(end + 1)...])
    }
    guard let parsed = try? parser.parse(json), parsed.object != nil else { return nil }
    return parsed
  }

  private mutating func take(_ fields: [(name: String, value: String)]) {
    let named = Dictionary(fields.map { ($0.name, $0.value) }) { first, _ in first }
    app = named["app"]
    id = named["request id"] ?? named["apns-id"]
  }

  private mutating func take(_ object: JSONValue, hidesToken: Bool) {
    func text(_ name: String) -> String? { object[name]?.string }
    outcome = text("outcome") ?? text("event") ?? text("state") ?? Self.registration(object)
    reason = text("reason")
    app = text("app") ?? object["request"]?["app"]?.string
    token =
      hidesToken ? nil : text("token").map(Redaction.shortened) ?? text("channel") ?? text("user")
    if let tokens = object["tokens"]?.array { token = "\(tokens.count) devices" }
    id = text("id") ?? text("apns_id") ?? text("campaign") ?? text("credential")
  }

  /// What a device's record says of it; nil for other records.
  private static func registration(_ object: JSONValue) -> String? {
    if object["removed_at"]?.time != nil { return "removed" }
    return object["registered_at"]?.time == nil ? nil : "registered"
  }

  /// Reads what the value lacks from the key: `TOKEN`, `TOKEN:APP:ENVIRONMENT`, or a name of the record.
  private mutating func take(key: String) {
    let parts = key.split(separator: ":", maxSplits: 2)
    guard let first = parts.first, first.utf8.count >= 8,
      first.utf8.allSatisfy({ HexDigit.value($0) < 16 })
    else {
      if id == nil { id = key }
      return
    }
    if token == nil { token = Redaction.shortened(String(first)) }
    if app == nil, parts.count > 1 { app = String(parts[1]) }
  }
}
