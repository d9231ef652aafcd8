// SPDX-License-Identifier: Apache-2.0

public import Contract
public import EventLoop
internal import Glibc

extension DeviceKey {
  init(_ fields: RecordFields) throws(RecordError) {
    self.init(
      token: try fields.token(), app: try fields.text("app"), environment: try fields.environment())
  }

  var members: JSONObject {
    var object = JSONObject()
    object.append("token", .string(token))
    object.append("app", .string(app))
    object.append("environment", .string(environment.description))
    return object
  }

  /// True if this is the key of the record.
  public func isKey(_ key: UnsafeRawBufferPointer) -> Bool {
    var text = description
    return text.withUTF8 { bytes in
      bytes.count == key.count && memcmp(bytes.baseAddress!, key.baseAddress!, key.count) == 0
    }
  }

  /// Appends the members that begin a record.
  func writeMembers(into buffer: inout ByteBuffer) {
    var text = description
    text.withUTF8 { bytes in
      let bytes = UnsafeRawBufferPointer(bytes)
      buffer.append(#"{"token":""#)
      buffer.append(jsonEscaped: UnsafeRawBufferPointer(rebasing: bytes[..<tokenBytes]))
      buffer.append(#"","app":""#)
      buffer.append(jsonEscaped: UnsafeRawBufferPointer(rebasing: bytes[appBytes]))
    }
    buffer.append(#"","environment":""#)
    buffer.append(environment.name)
    buffer.append("\"")
  }
}

/// A record of `push.feedback`: an answer of APNs that is evidence about a device token.
public struct FeedbackRecord: Equatable, Sendable {
  public var device: DeviceKey
  public var topic: String
  public var status: UInt16
  public var reason: String
  /// When APNs last saw the token invalid, in milliseconds; `nil` if it did not say.
  public var timestamp: Int64?
  public var apnsID: String
  /// When the notification was sent, in milliseconds.
  public var sentAt: Int64
  /// When the answer arrived, in milliseconds.
  public var at: Int64
  /// Whether an operator imported it from another system (`martlet tokens import`).
  public var isImported = false

  public init(
    device: DeviceKey, topic: String, status: UInt16, reason: String, timestamp: Int64?,
    apnsID: String, sentAt: Int64, at: Int64, isImported: Bool = false
  ) {
    self.device = device
    self.topic = topic
    self.status = status
    self.reason = reason
    self.timestamp = timestamp
    self.apnsID = apnsID
    self.sentAt = sentAt
    self.at = at
    self.isImported = isImported
  }

  public init(_ bytes: UnsafeRawBufferPointer, parser: JSONParser) throws(RecordError) {
    if let written = Self(written: bytes) {
      self = written
    } else {
      try self.init(parsing: bytes, parser)
    }
  }

  init(parsing bytes: UnsafeRawBufferPointer, _ parser: JSONParser) throws(RecordError) {
    let fields = try RecordFields(bytes, parser: parser, record: "feedback")
    device = try DeviceKey(fields)
    topic = try fields.text("topic")
    guard let status = try fields.optionalStatus("status") else {
      throw fields.fail("status", "is required")
    }
    self.status = status
    reason = try fields.optionalText("reason") ?? ""
    timestamp = try fields.optionalTime("timestamp")
    apnsID = try fields.optionalText("apns_id") ?? ""
    sentAt = try fields.time("sent_at")
    at = try fields.time("at")
    isImported = try fields.flag("imported")
  }

  /// Reads a record in the form of `value`; nil for any other form.
  init?(written bytes: UnsafeRawBufferPointer) {
    var record = WrittenRecord(bytes)
    guard let device = record.device(), record.takes(#"","topic":""#),
      let topic = record.filledText(), record.takes(#"","status":"#),
      let status = record.number(upTo: 599), status >= 100, record.takes(#","reason":""#),
      let reason = record.text(), record.takes("\""),
      let timestamp = record.time(after: #","timestamp":"#), record.takes(#","apns_id":""#),
      let apnsID = record.text(), record.takes(#"","sent_at":"#), let sentAt = record.time(),
      record.takes(#","at":"#), let at = record.time()
    else { return nil }
    let isImported = record.takes(#","imported":true"#)
    guard record.takes("}"), record.isAtEnd else { return nil }
    self.init(
      device: device.key, topic: topic.asciiText, status: UInt16(status),
      reason: reason.asciiText, timestamp: timestamp, apnsID: apnsID.asciiText, sentAt: sentAt,
      at: at, isImported: isImported)
  }

  public var key: [UInt8] { device.bytes }

  public var value: [UInt8] {
    var buffer = ByteBuffer(capacity: 384)
    device.writeMembers(into: &buffer)
    buffer.append(#","topic":"#, text: topic)
    buffer.append(#","status":"#, Int64(status))
    buffer.append(#","reason":"#, text: reason)
    if let timestamp { buffer.append(#","timestamp":"#, timestamp) }
    buffer.append(#","apns_id":"#, text: apnsID)
    buffer.append(#","sent_at":"#, sentAt)
    buffer.append(#","at":"#, at)
    buffer.append(isImported ? #","imported":true}"# as StaticString : "}")
    return Array(buffer.bytes)
  }
}

/// A record of `push.devices`: an app registered or removed a token.
public struct DeviceRecord: Equatable, Sendable {
  public enum Event: Equatable, Sendable {
    /// Milliseconds since the epoch.
    case registered(at: Int64)
    case removed(at: Int64)
  }

  public var device: DeviceKey
  public var event: Event
  /// The details of a registration.
  public var details: DeviceDetails

  public init(device: DeviceKey, event: Event, details: DeviceDetails = .none) {
    self.device = device
    self.event = event
    self.details = details
  }

  public init(_ bytes: UnsafeRawBufferPointer, parser: JSONParser) throws(RecordError) {
    let fields = try RecordFields(bytes, parser: parser, record: "device")
    device = try DeviceKey(fields)
    let registered = try fields.optionalTime("registered_at")
    let removed = try fields.optionalTime("removed_at")
    switch (registered, removed) {
    case (let time?, nil):
      event = .registered(at: time)
      details = DeviceDetails(named: fields.detail)
    case (nil, let time?):
      event = .removed(at: time)
      details = .none
    case (nil, nil): throw fields.fail("registered_at", "is required (or removed_at)")
    default: throw fields.fail("removed_at", "cannot be combined with registered_at")
    }
  }

  public var key: [UInt8] { device.bytes }

  public var value: [UInt8] {
    var object = device.members
    switch event {
    case .registered(let time): object.append("registered_at", .integer(time))
    case .removed(let time): object.append("removed_at", .integer(time))
    }
    object.append(details)
    return JSONValue.object(object).text
  }
}

extension RecordFields {
  /// A detail of a registration. An invalid one is ignored: the registration still counts.
  fileprivate func detail(_ name: String) -> String? {
    guard let text = (try? members.detail(name)) ?? nil, !text.isEmpty,
      text.utf8.count <= DeviceDetails.longest
    else { return nil }
    return text
  }
}

/// The fault in a registration's detail.
public struct DetailError: Error {
  public let problem: String
}

extension JSONObject {
  /// Appends the details that are present.
  public mutating func append(_ details: DeviceDetails) {
    for (name, value) in details.members {
      guard let value else { continue }
      append(name, name == DeviceDetails.tagsName ? Self.words(value) : .string(value))
    }
  }

  /// The tags, divided at bytes: a blank and a combining mark at the beginning of a tag are one character.
  private static func words(_ text: String) -> JSONValue {
    .array(text.utf8.split(separator: UInt8(ascii: " ")).map { .string(String(Substring($0))) })
  }

  /// A detail of a registration, tags as words separated by blanks; nil if it is absent or null.
  public func detail(_ name: String) throws(DetailError) -> String? {
    guard let value = self[name], !value.isNull else { return nil }
    guard name == DeviceDetails.tagsName else {
      guard let text = value.string else { throw DetailError(problem: "is not a string") }
      return text
    }
    guard let tags = value.array?.map(\.string), tags.allSatisfy({ $0.map(Self.isWord) ?? false })
    else {
      throw DetailError(problem: "is not an array of strings without blanks and control characters")
    }
    return tags.isEmpty ? nil : tags.compactMap(\.self).joined(separator: " ")
  }

  private static func isWord(_ text: String) -> Bool {
    !text.isEmpty && text.unicodeScalars.allSatisfy { $0.value > 0x20 && $0.value != 0x7F }
  }
}

/// A record of `push.invalid-tokens`: a token is invalid. A tombstone: the token was registered again.
public struct InvalidTokenRecord: Equatable, Sendable {
  public var device: DeviceKey
  /// Since when it is invalid, in milliseconds.
  public var invalidSince: Int64
  public var reason: String
  /// When APNs reported it, in milliseconds.
  public var at: Int64
  /// The earliest registration that proves the token valid, in milliseconds.
  public var aliveFrom: Int64

  /// - Parameter aliveFrom: nil: any registration after `invalidSince`.
  public init(
    device: DeviceKey, invalidSince: Int64, reason: String, at: Int64, aliveFrom: Int64? = nil
  ) {
    self.device = device
    self.invalidSince = invalidSince
    self.reason = reason
    self.at = at
    self.aliveFrom = aliveFrom ?? invalidSince + 1
  }

  public init(_ bytes: UnsafeRawBufferPointer, parser: JSONParser) throws(RecordError) {
    let fields = try RecordFields(bytes, parser: parser, record: "invalid token")
    device = try DeviceKey(fields)
    invalidSince = try fields.time("invalid_since")
    reason = try fields.optionalText("reason") ?? ""
    at = try fields.time("at")
    aliveFrom = try fields.optionalTime("alive_from") ?? invalidSince + 1
  }

  /// The record of the device with this key; nil for an unusable value, or one about another device.
  public init?(of device: DeviceKey, _ bytes: UnsafeRawBufferPointer, parser: JSONParser) {
    if let written = Self(of: device, written: bytes) {
      self = written
      return
    }
    guard let record = try? Self(bytes, parser: parser), record.device == device else { return nil }
    self = record
  }

  /// Reads a record in the form of `write`, for this device; nil for any other.
  init?(of device: DeviceKey, written bytes: UnsafeRawBufferPointer) {
    guard let written = WrittenInvalidToken(bytes), written.device.isDevice(device) else {
      return nil
    }
    self.init(
      device: device, invalidSince: written.since, reason: written.reason.asciiText, at: written.at,
      aliveFrom: written.aliveFrom)
  }

  /// True if a value is a record of the device with this key. Costs no allocation for one that `write` has made.
  public static func isOne(
    _ value: UnsafeRawBufferPointer, of key: UnsafeRawBufferPointer, parser: JSONParser
  ) -> Bool {
    if let written = WrittenInvalidToken(value), written.device.isKey(key) { return true }
    guard let device = DeviceKey(key: key) else { return false }
    return (try? Self(value, parser: parser))?.device == device
  }

  public var key: [UInt8] { device.bytes }

  public var value: [UInt8] {
    var buffer = ByteBuffer(capacity: 256)
    write(into: &buffer)
    return Array(buffer.bytes)
  }

  /// Appends the record's value.
  public func write(into buffer: inout ByteBuffer) {
    device.writeMembers(into: &buffer)
    buffer.append(#","invalid_since":"#, invalidSince)
    buffer.append(#","reason":"#, text: reason)
    buffer.append(#","at":"#, at)
    buffer.append(#","alive_from":"#, aliveFrom)
    buffer.append("}")
  }
}

/// A record of an invalid token in the form of `InvalidTokenRecord.write`.
private struct WrittenInvalidToken {
  let device: WrittenDevice
  let since: Int64
  let reason: UnsafeRawBufferPointer
  let at: Int64
  let aliveFrom: Int64

  /// Nil for any other form.
  init?(_ bytes: UnsafeRawBufferPointer) {
    var record = WrittenRecord(bytes)
    guard let device = record.device(), record.takes(#"","invalid_since":"#),
      let since = record.time(), record.takes(#","reason":""#), let reason = record.text(),
      record.takes(#"","at":"#), let at = record.time(), record.takes(#","alive_from":"#),
      let aliveFrom = record.time(), record.takes("}"), record.isAtEnd
    else { return nil }
    (self.device, self.since, self.reason) = (device, since, reason)
    (self.at, self.aliveFrom) = (at, aliveFrom)
  }
}
