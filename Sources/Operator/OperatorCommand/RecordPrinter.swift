// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Kafka
import Records
import Telemetry

/// A record to show: views of memory that the caller owns.
struct ShownRecord {
  let partition: Int32
  let offset: Int64
  /// Milliseconds since the epoch; negative if there is none.
  let timestamp: Int64
  let key: UnsafeRawBufferPointer
  let value: UnsafeRawBufferPointer
  var headers: [KafkaHeader] = []
}

extension ShownRecord {
  init(_ record: KafkaRecord) {
    self.init(
      partition: record.partition, offset: record.offset, timestamp: record.timestamp,
      key: record.key, value: record.value, headers: record.headers)
  }
}

/// Formats records of any topic as table rows for people, as JSON for programs, or raw.
///
/// On every topic the finished line goes through `Redaction`, so that secrets in unexpected places are hidden too. It
/// reuses its buffers and belongs to one thread.
final class RecordPrinter {
  private let names: TopicNames
  private let topic: String
  private let isRaw: Bool
  private let isJSON: Bool
  private let parser = JSONParser()
  private var line = ByteBuffer(capacity: 8 << 10)

  init(_ names: TopicNames, topic: String, isRaw: Bool, isJSON: Bool = false) {
    self.names = names
    self.topic = topic
    self.isRaw = isRaw
    self.isJSON = isJSON
  }

  /// Appends a line for the record; for receipts, a line for each outcome, up to `most`. Returns the number of lines.
  func append(_ record: ShownRecord, to output: inout ByteBuffer, most: Int = .max) -> Int {
    var lines = 0
    guard topic == names.receipts, record.value.baseAddress != nil else {
      append(record, record.value, to: &output)
      return 1
    }
    Receipt.forEachLine(in: record.value) { receipt in
      guard lines < most else { return }
      append(record, receipt, to: &output)
      lines += 1
    }
    return lines
  }

  private func append(
    _ record: ShownRecord, _ value: UnsafeRawBufferPointer, to output: inout ByteBuffer
  ) {
    line.removeAll()
    if isJSON {
      line.append(TerminalText.json(object(record, value)))
    } else if isRaw {
      appendPlace(record)
      appendValue(value)
    } else {
      let row = RecordRow(record, value, parser, hidesToken: topic == names.providerTokens)
      line.append(row.text)
    }
    Redaction.append(line.bytes, to: &output, deviceTokens: !isRaw, forTerminal: true)
    output.append(UInt8(ascii: "\n"))
  }

  // MARK: Lines

  private func appendPlace(_ record: ShownRecord) {
    line.append(decimal: Int64(record.partition))
    line.append(UInt8(ascii: "/"))
    line.append(decimal: record.offset)
    line.append(UInt8(ascii: " "))
    line.append(record.timestamp < 0 ? "-" : Timestamp.text(milliseconds: record.timestamp))
    if record.key.baseAddress != nil {
      line.append(" key=")
      appendKey(record.key)
    }
    for header in record.headers {
      line.append(" ")
      line.append(header.name)
      line.append("=")
      line.append(header.value)
    }
    line.append(UInt8(ascii: " "))
  }

  /// On most topics keys start with a device token, even one too short to be recognized.
  private func appendKey(_ key: UnsafeRawBufferPointer) {
    let digits = isRaw ? 0 : key.prefix { HexDigit.value($0) < 16 }.count
    guard digits > 8 else { return line.append(key) }
    line.append(UnsafeRawBufferPointer(rebasing: key[..<8]))
    line.append("…")
    line.append(UnsafeRawBufferPointer(rebasing: key[digits...]))
  }

  private func appendValue(_ value: UnsafeRawBufferPointer) {
    if value.baseAddress == nil {
      line.append("(tombstone)")
    } else if topic == names.providerTokens {
      line.append(secretJSON(value))
    } else {
      line.append(value)
    }
  }

  /// A record with a provider token; an unreadable one is not shown at all.
  private func secretJSON(_ value: UnsafeRawBufferPointer) -> [UInt8] {
    guard let parsed = try? parser.parse(value) else {
      return Array("(not shown: not readable as a provider token)".utf8)
    }
    return Self.withoutSecret(parsed).text
  }

  // MARK: JSON

  /// The record as one JSON object; `value` is JSON if the record's is, otherwise a string.
  private func object(_ record: ShownRecord, _ value: UnsafeRawBufferPointer) -> String {
    var object = JSONObject()
    object.append("partition", .integer(Int64(record.partition)))
    object.append("offset", .integer(record.offset))
    if record.timestamp >= 0 { object.append("timestamp", .integer(record.timestamp)) }
    if record.key.baseAddress != nil {
      let start = line.count
      appendKey(record.key)
      object.append("key", .string(String(decoding: line.bytes[start...], as: UTF8.self)))
      line.truncate(to: start)
    }
    if !record.headers.isEmpty { object.append("headers", .array(record.headers.map(Self.header))) }
    if value.baseAddress == nil {
      // A record's value may be the text `null`.
      object.append("value", .null)
      object.append("tombstone", true)
    } else if Envelope.begins(value) {
      appendEnvelope(to: &object, value)
    } else {
      object.append("value", json(value))
    }
    return String(decoding: JSONValue.object(object).text, as: UTF8.self)
  }

  private static func header(_ header: KafkaHeader) -> JSONValue {
    ["name": .string(header.name), "value": .string(String(decoding: header.value, as: UTF8.self))]
  }

  private func appendEnvelope(to object: inout JSONObject, _ value: UnsafeRawBufferPointer) {
    let end = value.firstIndex(of: UInt8(ascii: "\n")) ?? value.count
    var envelope = JSONObject()
    for field in EnvelopeText.fields(value[..<end]) {
      envelope.append(field.name, .string(field.value))
    }
    object.append("envelope", .object(envelope))
    guard end < value.count else { return }
    object.append("body", json(UnsafeRawBufferPointer(rebasing: value[(end + 1)...])))
  }

  private func json(_ value: UnsafeRawBufferPointer) -> JSONValue {
    let isSecret = topic == names.providerTokens
    guard let parsed = try? parser.parse(value) else {
      return .string(isSecret ? "(not shown)" : String(decoding: value, as: UTF8.self))
    }
    return isSecret ? Self.withoutSecret(parsed) : Self.hidden(parsed, isRaw: isRaw)
  }

  // MARK: What is not shown

  private static func withoutSecret(_ value: JSONValue) -> JSONValue {
    guard var object = value.object else { return "(not shown)" }
    object.members = object.members.map { member in
      guard member.key == "token", member.value.string != nil else { return member }
      return .init(key: member.key, value: "(not shown)")
    }
    return .object(object)
  }

  /// The JSON with its device tokens shortened.
  private static func hidden(_ value: JSONValue, isRaw: Bool) -> JSONValue {
    guard !isRaw, let object = value.object else { return value }
    return .object(Redaction.applied(to: object))
  }
}
