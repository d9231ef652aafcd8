// SPDX-License-Identifier: Apache-2.0
import JSON
import Kafka
import Pipeline
import Records
import ServiceKit
import Telemetry

/// Turns a record of any topic into lines for a person.
///
/// Whatever the topic, the finished line goes through `Redaction`: a secret in a place where nobody
/// expected it is hidden too.
final class RecordPrinter {
  private let names: TopicNames
  private let topic: String
  private let isRaw: Bool
  private let parser = JSONParser()

  init(_ names: TopicNames, topic: String, isRaw: Bool) {
    self.names = names
    self.topic = topic
    self.isRaw = isRaw
  }

  /// One line; of receipts, one for each outcome in the record.
  func lines(_ record: KafkaRecord) -> [String] {
    lines(
      "\(record.partition)/\(record.offset) \(time(record.timestamp))", key: record.key,
      value: record.value, headers: record.headers)
  }

  /// The same of a record's parts; `place` begins each line.
  func lines(
    _ place: String, key: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer,
    headers: [KafkaHeader]
  ) -> [String] {
    var intro = place
    if key.baseAddress != nil { intro += " key=\(self.key(key))" }
    for header in headers {
      let name = Array(header.name.utf8).withUnsafeBytes { text($0) }
      intro += " \(name)=\(header.value.withUnsafeBytes { text($0) })"
    }
    return values(value).map { finished("\(intro) \($0)") }
  }

  private func finished(_ line: String) -> String {
    Redaction.applied(to: line, deviceTokens: !isRaw)
  }

  private func values(_ value: UnsafeRawBufferPointer) -> [String] {
    guard value.baseAddress != nil else { return ["(tombstone)"] }
    if topic == names.receipts {
      var lines: [String] = []
      Receipt.forEachLine(in: value) { lines.append(json($0)) }
      return lines
    }
    return [isEnvelope(value) ? envelope(value) : json(value)]
  }

  /// Keys begin with a device token on most topics, also with one too short to be known by its form.
  private func key(_ bytes: UnsafeRawBufferPointer) -> String {
    let whole = text(bytes)
    guard !isRaw else { return whole }
    let token = whole.prefix { $0.isHexDigit }
    return Redaction.shortened(String(token)) + whole.dropFirst(token.count)
  }

  private func isEnvelope(_ value: UnsafeRawBufferPointer) -> Bool {
    value.starts(with: "M1\t".utf8)
  }

  /// The envelope as `field=value`, then the body.
  private func envelope(_ value: UnsafeRawBufferPointer) -> String {
    let end = value.firstIndex(of: 10) ?? value.count
    let fields = value[..<end].split(separator: 9, omittingEmptySubsequences: false)
    var parts: [String] = []
    for (index, field) in fields.enumerated() where index > 0 && !field.isEmpty {
      let name = EnvelopeField(rawValue: UInt8(truncatingIfNeeded: index)).map { "\($0)" }
      parts.append(
        "\(name ?? "field \(index)")=\(text(UnsafeRawBufferPointer(rebasing: field)))")
    }
    let body = end < value.count ? UnsafeRawBufferPointer(rebasing: value[(end + 1)...]) : nil
    return parts.joined(separator: " ") + " " + (body.map { text($0) } ?? "(no body)")
  }

  /// JSON with its tokens hidden by their names; what is no JSON as it is. A provider token's record
  /// that cannot be read is not shown at all.
  private func json(_ value: UnsafeRawBufferPointer) -> String {
    let holdsSecrets = topic == names.providerTokens
    guard let parsed = try? parser.parse(value) else {
      return holdsSecrets ? "(not shown: not readable as a provider token)" : text(value)
    }
    if isRaw && !holdsSecrets { return text(value) }
    // JSON leaves the control characters above 0x7E as they are.
    return hidden(parsed, holdsSecrets).text.withUnsafeBytes { text($0) }
  }

  private func hidden(_ value: JSONValue, _ holdsSecrets: Bool) -> JSONValue {
    guard let object = value.object else { return holdsSecrets ? "(not shown)" : value }
    var result = JSONObject()
    for member in object.members {
      switch (member.key, member.value) {
      case ("token", .string) where holdsSecrets: result.append(member.key, "(not shown)")
      case ("token", .string(let token)):
        result.append(member.key, .string(Redaction.shortened(token)))
      case ("tokens", .array(let tokens)):
        let short = tokens.map { $0.string.map { .string(Redaction.shortened($0)) } ?? $0 }
        result.append(member.key, .array(short))
      default: result.append(member.key, member.value)
      }
    }
    return .object(result)
  }

  private func time(_ milliseconds: Int64) -> String {
    milliseconds < 0 ? "-" : Timestamp.text(milliseconds: milliseconds)
  }

  /// UTF-8 text on one line.
  private func text(_ bytes: UnsafeRawBufferPointer) -> String {
    var line = ""
    for scalar in String(decoding: bytes, as: UTF8.self).unicodeScalars {
      switch scalar {
      case "\n": line += "\\n"
      case "\r": line += "\\r"
      case "\t": line += "\\t"
      case _ where scalar.properties.generalCategory == .control: line += "\u{FFFD}"
      default: line.unicodeScalars.append(scalar)
      }
    }
    return line
  }
}
