// SPDX-License-Identifier: Apache-2.0

public import Contract
public import EventLoop

/// The key of a record of `push.schedule`: `<app>:<environment>:<id>`. It identifies a scheduled request, to replace or
/// cancel it.
public struct ScheduleKey: Hashable, Sendable, CustomStringConvertible {
  public let app: String
  public let environment: Environment
  /// The request's id, unescaped.
  public let id: ExactText

  public init(app: String, environment: Environment, id: ExactText) {
    (self.app, self.environment, self.id) = (app, environment, id)
  }

  /// The key in a text; nil if it is not a key.
  public init?(_ key: ExactText) {
    // By bytes: a combining mark that begins an id makes one `Character` of the colon before it and itself.
    let parts = key.utf8.split(
      separator: UInt8(ascii: ":"), maxSplits: 2, omittingEmptySubsequences: false)
    guard parts.count == 3, !parts[2].isEmpty,
      let environment = Environment(String(decoding: parts[1], as: UTF8.self)),
      (try? RequestRules.checkName(Array(parts[0]).span, .app)) != nil
    else { return nil }
    self.init(
      app: String(decoding: parts[0], as: UTF8.self), environment: environment,
      id: String(decoding: parts[2], as: UTF8.self).exact)
  }

  public var description: String { "\(app):\(environment):\(id)" }
  /// The key as on the topic and in the database.
  public var exact: ExactText { description.exact }
  public var bytes: [UInt8] { Array(description.utf8) }

  /// Appends the key of a request, and returns its length in bytes.
  public static func append(_ request: borrowing PushRequest, to buffer: inout ByteBuffer) -> Int {
    let start = buffer.count
    buffer.append(request.app)
    buffer.append(UInt8(ascii: ":"))
    buffer.append(request.environment.name)
    buffer.append(UInt8(ascii: ":"))
    buffer.append(request.id)
    return buffer.count - start
  }
}

/// The line that begins a scheduled request on `push.schedule`, separated by tabs: `S1`, when it is due, when it was
/// accepted, when ingest handed it back, and its `traceparent`, followed by a blank and its requester over the HTTP
/// API; for a request to users also its push type, the event and name of its activity, if any, and the users' names. A
/// newline and the request's JSON follow, byte for byte. Times are milliseconds since the epoch.
public struct ScheduledRequest: Equatable, Sendable {
  /// The header that names the requester over the HTTP API, and its most bytes.
  public static let byHeader: StaticString = "by"
  public static let longestBy = 80
  /// The header of a released request: `accepted`, followed by a blank and `requeuedAt` if there is one.
  public static let header = "scheduled"

  public var due: Int64
  /// When the request was written; a cancellation at that time or later applies to it.
  public var accepted: Int64
  /// Ingest's clock when it handed back a released request that was not due yet; nil for all others.
  public var requeuedAt: Int64?
  public var traceParent = ""
  /// The API key that it came with, in the form of `APIKey.actor`; empty for none.
  public var by = ""
  /// The users whose devices are looked up when it is due; nil for a request to tokens or a channel.
  public var recipients: Recipients?

  public init(due: Int64, accepted: Int64, requeuedAt: Int64?, traceParent: String = "") {
    (self.due, self.accepted, self.requeuedAt) = (due, accepted, requeuedAt)
    self.traceParent = traceParent
  }

  public var headerValue: String { "\(accepted)" + (requeuedAt.map { " \($0)" } ?? "") }

  /// The times in the header of a released request; nil if it is malformed.
  public static func released(
    _ header: UnsafeRawBufferPointer
  ) -> (accepted: Int64, requeuedAt: Int64?)? {
    let words = String(decoding: header, as: UTF8.self).split(separator: " ")
    let times = words.compactMap { ScheduleRecord.time(String($0)) }
    guard (1...2).contains(times.count), times.count == words.count else { return nil }
    return (times[0], times.count == 2 ? times[1] : nil)
  }

  /// Appends the record's value.
  public func append(
    to buffer: inout ByteBuffer, traceParent: UnsafeRawBufferPointer,
    request: UnsafeRawBufferPointer
  ) {
    buffer.append("S1\t")
    buffer.append(decimal: due)
    buffer.append(UInt8(ascii: "\t"))
    buffer.append(decimal: accepted)
    buffer.append(UInt8(ascii: "\t"))
    if let requeuedAt { buffer.append(decimal: requeuedAt) }
    buffer.append(UInt8(ascii: "\t"))
    buffer.append(traceParent)
    if !by.isEmpty {
      buffer.append(UInt8(ascii: " "))
      buffer.append(Array(by.utf8))
    }
    if let recipients {
      let activity = recipients.activity
      let texts = [recipients.type, activity?.event.rawValue ?? "", activity?.name.text ?? ""]
      for text in texts + recipients.users.map(\.text) {
        buffer.append(UInt8(ascii: "\t"))
        buffer.append(Array(text.utf8))
      }
    }
    buffer.append(UInt8(ascii: "\n"))
    buffer.append(request)
  }
}

/// A cancellation on `push.schedule`: the line `C1`, when, and by whom. It is kept for a while, for requests that were
/// written before it but arrive after it.
public struct ScheduleCancellation: Equatable, Sendable {
  /// In milliseconds since the epoch.
  public let at: Int64
  /// An API key's name, or a user and host.
  public let by: String

  public init(at: Int64, by: String) { (self.at, self.by) = (at, by) }

  /// The record's value.
  public var value: [UInt8] {
    Array("C1\t\(at)\t".utf8) + by.utf8.map { $0 == 0x0A || $0 == 0x09 ? 0x20 : $0 } + [0x0A]
  }
}

/// The value of a record of `push.schedule`, which anyone may have written.
public enum ScheduleRecord: Equatable, Sendable {
  /// The header of a tombstone that ends only one value: its `ScheduleRow.identity` in decimal digits.
  public static let endsHeader = "ends"

  case request(ScheduledRequest)
  case cancellation(ScheduleCancellation)
  case activity(ActivityState)

  public init(_ value: UnsafeRawBufferPointer) throws(RecordError) {
    let end = value.firstIndex(of: UInt8(ascii: "\n")) ?? value.count
    let line = UnsafeRawBufferPointer(rebasing: value[..<end])
    if let request = try Self.request(line) {
      self = .request(request)
      return
    }
    let fields = line.split(separator: UInt8(ascii: "\t"), omittingEmptySubsequences: false)
      .map { String(decoding: $0, as: UTF8.self) }
    switch (fields[0], fields.count) {
    case ("C1", 3...):
      self = .cancellation(ScheduleCancellation(at: try Self.time(fields[1], "at"), by: fields[2]))
    case ("A1", 6...): self = .activity(try ActivityState(fields))
    default:
      throw RecordError(
        record: "schedule", field: nil,
        problem: "begins with none of S1, C1 and A1 and their fields")
    }
  }

  /// The request's JSON in the value of a scheduled request.
  public static func request(in value: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
    let start = value.firstIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? value.count
    return UnsafeRawBufferPointer(rebasing: value[start...])
  }

  /// The fields of a line, which tabs separate, one after the other.
  private struct Fields {
    let line: UnsafeRawBufferPointer
    private var start = 0

    init(_ line: UnsafeRawBufferPointer) { self.line = line }

    mutating func next() -> UnsafeRawBufferPointer? {
      guard start <= line.count else { return nil }
      var end = start
      while end < line.count, line[end] != UInt8(ascii: "\t") { end += 1 }
      defer { start = end + 1 }
      return UnsafeRawBufferPointer(rebasing: line[start..<end])
    }
  }

  /// The request that a line begins; nil if it begins something else.
  private static func request(
    _ line: UnsafeRawBufferPointer
  ) throws(RecordError) -> ScheduledRequest? {
    var fields = Fields(line)
    guard let kind = fields.next(), kind.elementsEqual("S1".utf8), let due = fields.next(),
      let accepted = fields.next(), let requeued = fields.next(), let origin = fields.next()
    else { return nil }
    var request = ScheduledRequest(
      due: try time(text(due), "due"), accepted: try time(text(accepted), "accepted"),
      requeuedAt: requeued.isEmpty ? nil : try time(text(requeued), "handed back"))
    if !origin.isEmpty {
      let end = origin.firstIndex(of: UInt8(ascii: " ")) ?? origin.count
      let traceParent = String(decoding: origin[..<end], as: UTF8.self)
      if TraceParent.isValid(traceParent.utf8.span) { request.traceParent = traceParent }
      if end < origin.count { request.by = String(decoding: origin[(end + 1)...], as: UTF8.self) }
    }
    request.recipients = try recipients(&fields)
    return request
  }

  private static func text(_ field: UnsafeRawBufferPointer) -> String {
    String(decoding: field, as: UTF8.self)
  }

  private static func recipients(_ fields: inout Fields) throws(RecordError) -> Recipients? {
    guard let type = fields.next(), let event = fields.next(), let name = fields.next(),
      let first = fields.next()
    else { return nil }
    var users = [first]
    while let user = fields.next() {
      guard users.count < RequestRules.maximumUsers else {
        throw RecordError(record: "schedule", field: "users", problem: "are too many")
      }
      users.append(user)
    }
    return Recipients(
      type: text(type), users: users.map { text($0).exact },
      activity: Recipients.Activity.Event(rawValue: text(event)).map {
        Recipients.Activity(name: text(name).exact, event: $0)
      })
  }

  static func time(_ text: String, _ field: String) throws(RecordError) -> Int64 {
    guard let time = time(text) else {
      throw RecordError(
        record: "schedule", field: field, problem: "is not a time in milliseconds since 1970")
    }
    return time
  }

  static func time(_ text: String) -> Int64? {
    Int64(text).flatMap { OutsideTime.problem($0) == nil ? $0 : nil }
  }
}

extension Recipients {
  /// The users that a request is to.
  public init(_ request: borrowing PushRequest) {
    self.init(
      type: String(decoding: request.typeName, as: UTF8.self),
      users: request.users.map { String(decoding: $0, as: UTF8.self).exact })
    let named = Activity.Event(rawValue: request.activity.name)
    if let event = request.isStartOrUpdate ? .startOrUpdate : named, !request.activityName.isEmpty {
      let name = String(decoding: request.activityName, as: UTF8.self)
      activity = Activity(name: name.exact, event: event)
    }
  }
}
