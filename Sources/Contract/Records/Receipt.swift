// SPDX-License-Identifier: Apache-2.0

public import Contract
import Glibc

/// A receipt as its readers see it: one line of a record of `push.receipts`.
public struct Receipt: Equatable, Sendable {
  public var outcome: Outcome
  public var apnsID: NotificationID?
  /// The request id.
  public var id: String?
  public var app: String?
  public var environment: Environment?
  public var token: String?
  /// The channel of a broadcast.
  public var channel: String?
  public var lane: String?
  /// The carried fields of its record, as JSON text where `CarriedField` declares JSON.
  public var carried: [CarriedField: String] = [:]
  public var status: UInt16?
  public var reason: String?
  public var detail: String?
  public var attempts: Int64?
  public var created: Int64?
  public var at: Int64
  public var timestamp: Int64?
  public var uniqueID: String?
  /// `apns-id` and `apns-request-id` of the answer where they differ from the ones sent.
  public var answeredID: String?
  public var gatewayRequestID: String?
  /// The answer's `retry-after`, in seconds.
  public var retryAfter: Int64?
  /// The number of devices that a request to users is sent to.
  public var addressed: Int64?

  /// Reads the receipt in a line.
  public init(_ line: UnsafeRawBufferPointer, parser: JSONParser) throws(RecordError) {
    let fields = try RecordFields(line, parser: parser, record: "receipt")
    let name = try fields.text("outcome")
    guard let outcome = Outcome(name.utf8.span) else {
      throw fields.fail("outcome", "\"\(name)\" is not an outcome")
    }
    self.outcome = outcome
    if let text = try fields.optionalText("apns_id") {
      guard let id = NotificationID(text) else { throw fields.fail("apns_id", "is not a UUID") }
      apnsID = id
    }
    id = try fields.optionalText("id")
    app = try fields.optionalText("app")
    if try fields.optionalText("environment") != nil { environment = try fields.environment() }
    token = try fields.optionalText("token")
    channel = try fields.optionalText("channel")
    if let text = try fields.optionalText("lane") {
      guard Lanes.any.find(text) != nil else {
        throw fields.fail("lane", "\"\(text)\" is not a lane")
      }
      lane = text
    }
    for row in CarriedField.table {
      guard let name = row.receipt else { continue }
      carried[row.field] =
        switch row.rule {
        case .data: try fields.optionalStrings(name)
        case .warnings: try fields.optionalTexts(name)
        default: try fields.optionalText(name)
        }
    }
    status = try fields.optionalStatus("status")
    reason = try fields.optionalText("reason")
    detail = try fields.optionalText("detail")
    attempts = try fields.optionalInteger("attempts", upTo: Int64(UInt16.max))
    created = try fields.optionalTime("created")
    at = try fields.time("at")
    timestamp = try fields.optionalTime("timestamp")
    uniqueID = try fields.optionalText("apns_unique_id")
    answeredID = try fields.optionalText("answered_apns_id")
    gatewayRequestID = try fields.optionalText("apns_request_id")
    retryAfter = try fields.optionalInteger("retry_after", upTo: Int64(UInt32.max))
    addressed = try fields.optionalInteger("addressed", upTo: Int64(RequestRules.maximumTokens))
  }

  /// `PARTITION/OFFSET` of the dead letter or receipt that was replayed.
  public var replay: String? { carried[.replay] }
  /// The `traceparent` header of the request.
  public var traceParent: String? { carried[.traceParent] }
  /// The request's `data`, a JSON object of strings.
  public var data: String? { carried[.data] }
  /// The mistakes in the payload that devices ignore, as a JSON array of `PayloadWarning.code`.
  public var warnings: String? { carried[.warnings] }

  /// Calls `body` with each non-empty line of a record.
  public static func forEachLine<E: Error>(
    in record: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer) throws(E) -> Void
  ) throws(E) {
    guard let base = record.baseAddress else { return }
    var start = 0
    while start < record.count {
      let found = memchr(base + start, 10, record.count - start)
      let end = found.map { UnsafeRawPointer($0) - base } ?? record.count
      if end > start { try body(UnsafeRawBufferPointer(rebasing: record[start..<end])) }
      start = end + 1
    }
  }

  /// All receipts of a record; throws at the first line that is not one.
  public static func all(
    in record: UnsafeRawBufferPointer, parser: JSONParser
  ) throws(RecordError) -> [Receipt] {
    var receipts: [Receipt] = []
    try forEachLine(in: record) { (line) throws(RecordError) in
      receipts.append(try Receipt(line, parser: parser))
    }
    return receipts
  }
}
