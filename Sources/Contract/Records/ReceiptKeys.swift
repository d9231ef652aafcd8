// SPDX-License-Identifier: Apache-2.0

internal import Contract

/// The keys by which a stored receipt is found. The rest of its line is only checked.
public struct ReceiptKeys: Equatable, Sendable {
  /// The time of the outcome, milliseconds since the epoch.
  public let at: Int64
  public let app: String?
  /// The request id.
  public let id: String?
  /// The `apns-id` in canonical form.
  public let apnsID: String?

  /// The keys of a line. Throws if it is not a receipt.
  public init(_ line: UnsafeRawBufferPointer, parser: JSONParser) throws(RecordError) {
    if let written = Self(written: line) {
      self = written
      return
    }
    try self.init(parsing: line, parser)
  }

  init(parsing line: UnsafeRawBufferPointer, _ parser: JSONParser) throws(RecordError) {
    let receipt = try Receipt(line, parser: parser)
    (at, app, id) = (receipt.at, receipt.app, receipt.id)
    apnsID = receipt.apnsID.map { "\($0)" }
  }

  /// The keys of a line in the form of `ReceiptEncoder`; nil for any other form.
  init?(written line: UnsafeRawBufferPointer) {
    var record = WrittenRecord(line)
    guard record.takes(#"{"outcome":""#), let outcome = record.text(), outcome.isOutcome,
      let apnsID = record.text(after: #"","apns_id":""#), apnsID?.isCanonicalID ?? true,
      let id = record.text(after: #"","id":""#), let app = record.text(after: #"","app":""#),
      record.skipsEnvironment(), record.text(after: #"","token":""#) != nil,
      record.text(after: #"","channel":""#) != nil,
      let lane = record.text(after: #"","lane":""#), lane?.isLane ?? true,
      record.text(after: #"","reason":""#) != nil, record.text(after: #"","detail":""#) != nil,
      record.text(after: #"","apns_unique_id":""#) != nil,
      record.text(after: #"","answered_apns_id":""#) != nil,
      record.text(after: #"","apns_request_id":""#) != nil, record.takes("\""),
      let status = record.number(after: #","status":"#, upTo: 599), status ?? 100 >= 100,
      record.number(after: #","attempts":"#, upTo: Int64(UInt16.max)) != nil,
      record.time(after: #","created":"#) != nil, record.takes(#","at":"#),
      let at = record.time(),
      record.number(after: #","retry_after":"#, upTo: Int64(UInt32.max)) != nil,
      record.time(after: #","timestamp":"#) != nil, record.skipsCarried(), record.takes("}"),
      record.isAtEnd
    else { return nil }
    self.at = at
    self.app = app?.asciiText
    self.id = id?.asciiText
    self.apnsID = apnsID?.asciiText
  }
}

extension WrittenRecord {
  fileprivate mutating func skipsEnvironment() -> Bool {
    !takes(#"","environment":""#) || environment() != nil
  }

  /// Skips the carried fields of receipts, in the order of `CarriedField.table`.
  fileprivate mutating func skipsCarried() -> Bool {
    guard !takes(#","data":"#) || skipsStrings() else { return false }
    return skipsText(after: #","replay":""#) && skipsText(after: #","traceparent":""#)
      && skipsText(after: #","group":""#) && skipsTexts(after: #","warnings":["#)
      && skipsText(after: #","campaign":""#)
  }

  /// Skips an array of strings after these bytes.
  private mutating func skipsTexts(after literal: StaticString) -> Bool {
    guard takes(literal), !takes("]") else { return true }
    repeat {
      guard takes("\""), text() != nil, takes("\"") else { return false }
    } while takes(",")
    return takes("]")
  }

  private mutating func skipsText(after literal: StaticString) -> Bool {
    !takes(literal) || (text() != nil && takes("\""))
  }

  /// Skips an object of strings.
  private mutating func skipsStrings() -> Bool {
    guard takes("{") else { return false }
    if takes("}") { return true }
    repeat {
      guard takes("\""), text() != nil, takes("\":\""), text() != nil, takes("\"") else {
        return false
      }
    } while takes(",")
    return takes("}")
  }
}

extension UnsafeRawBufferPointer {
  private func withSpan<R>(_ body: (Span<UInt8>) -> R) -> R {
    withMemoryRebound(to: UInt8.self) { body($0.span) }
  }

  fileprivate var isOutcome: Bool { withSpan { Outcome($0) != nil } }

  fileprivate var isLane: Bool { withSpan { Lanes.any.find($0) != nil } }

  /// True for text in the form of `NotificationID.description`.
  fileprivate var isCanonicalID: Bool {
    count == NotificationID.textLength && withSpan { NotificationID($0) != nil }
      && !contains { $0 &- UInt8(ascii: "A") < 6 }
  }
}
