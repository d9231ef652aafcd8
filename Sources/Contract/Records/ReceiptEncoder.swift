// SPDX-License-Identifier: Apache-2.0

public import Contract
public import EventLoop

/// The content of a receipt line, as byte slices of the record it is about: nothing is copied or allocated to fill one.
/// Empty or `nil` members are omitted from the line.
public struct ReceiptLine {
  public static var nothing: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: nil, count: 0) }

  public var outcome: Outcome
  /// The lane's name.
  public var lane = nothing
  public var environment: Environment?
  /// The HTTP status of APNs' answer, 0 without one.
  public var status: UInt16 = 0
  public var attempts: UInt16 = 0
  /// The `apns-id`, 36 characters.
  public var apnsID = nothing
  /// The request id as the content of a JSON string, still escaped.
  public var escapedID = nothing
  public var app = nothing
  public var token = nothing
  /// The channel of a broadcast, instead of a token.
  public var channel = nothing
  /// The keyed fields of its envelope; `CarriedField` says which of them a receipt returns.
  public var carried = CarriedFields()
  /// APNs' reason, or a code of Martlet.
  public var reason = nothing
  /// A description for people.
  public var detail = nothing
  /// `apns-unique-id`, which the sandbox returns.
  public var uniqueID = nothing
  /// `apns-id` and `apns-request-id` of the answer where they differ from `apnsID`.
  public var answeredID = nothing
  public var gatewayRequestID = nothing
  /// Seconds of the answer's `retry-after`; 0 without one.
  public var retryAfter: UInt32 = 0
  /// When the request was made, in milliseconds; 0 if unknown.
  public var created: Int64 = 0
  /// When the outcome was known, in milliseconds.
  public var at: Int64
  /// For 410: APNs' timestamp, in milliseconds.
  public var timestamp: Int64?

  public init(_ outcome: Outcome, at: Int64) {
    self.outcome = outcome
    self.at = at
  }
}

/// Writes `push.receipts`: one JSON object per line, many lines per record.
public enum ReceiptEncoder {
  /// Appends one line; a newline goes before it if the buffer is not empty.
  public static func append(_ line: borrowing ReceiptLine, into buffer: inout ByteBuffer) {
    buffer.reserve(640)
    if !buffer.isEmpty { buffer.append(UInt8(ascii: "\n")) }
    buffer.append("{\"outcome\":\"")
    buffer.append(line.outcome.name)
    plain("\",\"apns_id\":\"", line.apnsID, &buffer)
    plain("\",\"id\":\"", line.escapedID, &buffer)
    plain("\",\"app\":\"", line.app, &buffer)
    switch line.environment {
    case .production: buffer.append("\",\"environment\":\"production")
    case .sandbox: buffer.append("\",\"environment\":\"sandbox")
    case nil: break
    }
    escaped("\",\"token\":\"", line.token, &buffer)
    escaped("\",\"channel\":\"", line.channel, &buffer)
    plain("\",\"lane\":\"", line.lane, &buffer)
    escaped("\",\"reason\":\"", line.reason, &buffer)
    escaped("\",\"detail\":\"", line.detail, &buffer)
    escaped("\",\"apns_unique_id\":\"", line.uniqueID, &buffer)
    escaped("\",\"answered_apns_id\":\"", line.answeredID, &buffer)
    escaped("\",\"apns_request_id\":\"", line.gatewayRequestID, &buffer)
    // Each text is closed by the following one; the numbers come last.
    switch line.status {
    case 0: buffer.append("\"")
    // The status of nearly every answer; likewise one attempt below.
    case 200: buffer.append("\",\"status\":200")
    default: buffer.append("\",\"status\":", Int64(line.status))
    }
    switch line.attempts {
    case 0: break
    case 1: buffer.append(",\"attempts\":1")
    default: buffer.append(",\"attempts\":", Int64(line.attempts))
    }
    if line.created != 0 { buffer.append(",\"created\":", line.created) }
    buffer.append(",\"at\":", line.at)
    if line.retryAfter != 0 { buffer.append(",\"retry_after\":", Int64(line.retryAfter)) }
    if let timestamp = line.timestamp { buffer.append(",\"timestamp\":", timestamp) }
    if !line.carried.isEmpty { append(line.carried, &buffer) }
    buffer.append(UInt8(ascii: "}"))
  }

  /// Appends the line of a request to users, with the number of devices it goes to.
  public static func append(
    _ line: borrowing ReceiptLine, addressed: Int, into buffer: inout ByteBuffer
  ) {
    append(line, into: &buffer)
    buffer.truncate(to: buffer.count - 1)
    buffer.append(",\"addressed\":", Int64(addressed))
    buffer.append(UInt8(ascii: "}"))
  }

  private static func append(_ carried: CarriedFields, _ buffer: inout ByteBuffer) {
    for row in CarriedField.table {
      guard let name = row.receipt else { continue }
      let value = carried[row.field]
      if value.isEmpty { continue }
      buffer.append(",\"")
      buffer.append(name)
      buffer.append("\":")
      if row.isJSON {
        buffer.append(value)
      } else {
        buffer.append("\"")
        buffer.append(jsonEscaped: value)
        buffer.append("\"")
      }
    }
  }

  @inline(__always)
  private static func plain(
    _ key: StaticString, _ value: UnsafeRawBufferPointer, _ buffer: inout ByteBuffer
  ) {
    if value.isEmpty { return }
    buffer.append(key)
    buffer.append(value)
  }

  @inline(__always)
  private static func escaped(
    _ key: StaticString, _ value: UnsafeRawBufferPointer, _ buffer: inout ByteBuffer
  ) {
    if value.isEmpty { return }
    buffer.append(key)
    buffer.append(jsonEscaped: value)
  }
}
