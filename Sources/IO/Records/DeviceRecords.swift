// SPDX-License-Identifier: Apache-2.0

public import APNS
public import Contract
public import JSON

/// Which device of which app in which environment a record is about: the key that `push.feedback`,
/// `push.devices` and `push.invalid-tokens` share, `<token>:<app>:<environment>`.
public struct DeviceKey: Hashable, Sendable, CustomStringConvertible {
  /// Lower-case hexadecimal digits.
  public let token: String
  public let app: String
  public let environment: Environment

  public init(token: String, app: String, environment: Environment) {
    self.token = token
    self.app = app
    self.environment = environment
  }

  /// The Kafka key.
  public var bytes: [UInt8] { Array(description.utf8) }

  public var description: String { "\(token):\(app):\(environment)" }

  /// Reads a Kafka key; nil for what is none of ours. Only an app may hold colons.
  public init?(key: some Collection<UInt8>) {
    guard let text = String(validating: key, as: UTF8.self), let first = text.firstIndex(of: ":"),
      let last = text.lastIndex(of: ":"), first < last,
      let environment = Environment(String(text[text.index(after: last)...]))
    else { return nil }
    token = String(text[..<first])
    app = String(text[text.index(after: first)..<last])
    self.environment = environment
    guard !token.isEmpty, !app.isEmpty else { return nil }
  }

  init(_ fields: RecordFields) throws(RecordError) {
    token = try fields.token()
    app = try fields.text("app")
    environment = try fields.environment()
  }

  var members: JSONObject {
    var object = JSONObject()
    object.append("token", .string(token))
    object.append("app", .string(app))
    object.append("environment", .string(environment.description))
    return object
  }
}

/// A record of `push.feedback`: an answer of APNs that says something about a device token.
public struct FeedbackRecord: Equatable, Sendable {
  public var device: DeviceKey
  public var topic: String
  public var status: UInt16
  public var reason: String
  /// When APNs last knew the token to be invalid, in milliseconds; `nil` if it did not say.
  public var timestamp: Int64?
  public var apnsID: String
  /// When the notification was sent, in milliseconds.
  public var sentAt: Int64
  /// When the answer came, in milliseconds.
  public var at: Int64
  /// Whether an operator brings it from another system (`martlet tokens import`), in place of a sender.
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

  public init(
    _ bytes: UnsafeRawBufferPointer, parser: JSONParser
  ) throws(RecordError) {
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

  public var key: [UInt8] { device.bytes }

  public var value: [UInt8] {
    var object = device.members
    object.append("topic", .string(topic))
    object.append("status", .integer(Int64(status)))
    object.append("reason", .string(reason))
    if let timestamp { object.append("timestamp", .integer(timestamp)) }
    object.append("apns_id", .string(apnsID))
    object.append("sent_at", .integer(sentAt))
    object.append("at", .integer(at))
    if isImported { object.append("imported", .bool(true)) }
    return JSONValue.object(object).text
  }
}

/// A record of `push.devices`: an app registered a token, or says that it is gone.
public struct DeviceRecord: Equatable, Sendable {
  public enum Event: Equatable, Sendable {
    /// Milliseconds since the epoch.
    case registered(at: Int64)
    case removed(at: Int64)
  }

  public var device: DeviceKey
  public var event: Event
  /// Of a registration.
  public var details: DeviceDetails

  public init(device: DeviceKey, event: Event, details: DeviceDetails = .none) {
    self.device = device
    self.event = event
    self.details = details
  }

  public init(
    _ bytes: UnsafeRawBufferPointer, parser: JSONParser
  ) throws(RecordError) {
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
  /// A detail of a registration. One that is no usable text is left out: the registration counts all the same.
  fileprivate func detail(_ name: String) -> String? {
    guard let text = (try? members.detail(name)) ?? nil, !text.isEmpty,
      text.utf8.count <= DeviceDetails.longest
    else { return nil }
    return text
  }
}

/// The reason why a value is no detail of a registration.
public struct DetailError: Error {
  public let problem: String
}

extension JSONObject {
  /// The details that are there.
  public mutating func append(_ details: DeviceDetails) {
    for (name, value) in details.members {
      guard let value else { continue }
      append(name, name == DeviceDetails.tagsName ? Self.words(value) : .string(value))
    }
  }

  private static func words(_ text: String) -> JSONValue {
    .array(text.split(separator: " ").map { .string(String($0)) })
  }

  /// A detail of a registration, tags as words with blanks between them; nil if it is absent or null.
  public func detail(_ name: String) throws(DetailError) -> String? {
    guard let value = self[name], !value.isNull else { return nil }
    guard name == DeviceDetails.tagsName else {
      guard let text = value.string else { throw DetailError(problem: "is not a string") }
      return text
    }
    guard let tags = value.array?.map(\.string), tags.allSatisfy({ $0.map(Self.isWord) ?? false })
    else {
      throw DetailError(
        problem: "is not an array of strings without blanks and control characters")
    }
    return tags.isEmpty ? nil : tags.compactMap(\.self).joined(separator: " ")
  }

  private static func isWord(_ text: String) -> Bool {
    !text.isEmpty && text.unicodeScalars.allSatisfy { $0.value > 0x20 && $0.value != 0x7F }
  }
}

/// A record of `push.invalid-tokens`: a token that is invalid. Its tombstone: registered again.
public struct InvalidTokenRecord: Equatable, Sendable {
  public var device: DeviceKey
  /// Since when, in milliseconds.
  public var invalidSince: Int64
  public var reason: String
  /// When APNs said so, in milliseconds.
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

  public init(
    _ bytes: UnsafeRawBufferPointer, parser: JSONParser
  ) throws(RecordError) {
    let fields = try RecordFields(bytes, parser: parser, record: "invalid token")
    device = try DeviceKey(fields)
    invalidSince = try fields.time("invalid_since")
    reason = try fields.optionalText("reason") ?? ""
    at = try fields.time("at")
    aliveFrom = try fields.optionalTime("alive_from") ?? invalidSince + 1
  }

  public var key: [UInt8] { device.bytes }

  public var value: [UInt8] {
    var object = device.members
    object.append("invalid_since", .integer(invalidSince))
    object.append("reason", .string(reason))
    object.append("at", .integer(at))
    object.append("alive_from", .integer(aliveFrom))
    return JSONValue.object(object).text
  }
}
