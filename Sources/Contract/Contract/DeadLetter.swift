// SPDX-License-Identifier: Apache-2.0

/// The position of a record, which may no longer exist: written as `topic/partition/offset`.
public struct DeadLetterOrigin: Hashable, Sendable, CustomStringConvertible {
  public let topic: String
  public let partition: Int32
  public let offset: Int64

  public init(topic: String, partition: Int32, offset: Int64) {
    self.topic = topic
    self.partition = partition
    self.offset = offset
  }

  /// The origin in a header; nil for a malformed text.
  public init?(_ text: String) {
    let parts = text.split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count == 3, Self.isTopic(parts[0]), let partition = Int32(parts[1]),
      let offset = Int64(parts[2]), partition >= 0, offset >= 0
    else { return nil }
    self.init(topic: String(parts[0]), partition: partition, offset: offset)
  }

  /// True for a valid Kafka topic name: 1 to 249 letters, digits, `.`, `_` and `-`.
  private static func isTopic(_ name: Substring) -> Bool {
    (1...249).contains(name.utf8.count)
      && name.utf8.allSatisfy { byte in
        (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte & 0xDF)
          || byte == 0x2E || byte == 0x5F || byte == 0x2D
      }
  }

  public var description: String { "\(topic)/\(partition)/\(offset)" }
}

/// The headers that a dead letter carries beside the key and value of its record: the headers of `push.dead-letters`.
///
/// Writers encode with `headers`, readers decode with `init(header:)`. An absent header is nil; codes are texts,
/// because a newer writer may use more of them.
public struct DeadLetter: Equatable, Sendable {
  /// A code of `DeadLetterReason`; empty without its header.
  public var reason: String
  /// The field at fault and the fault, in words.
  public var detail: String
  /// A code of `DeadLetterStage`; empty without its header.
  public var stage: String
  /// The number of times that it was sent to APNs.
  public var attempts: Int?
  public var origin: DeadLetterOrigin?
  /// When it became a dead letter, in milliseconds since the epoch.
  public var at: Int64?
  /// The one invalid token of an otherwise valid request.
  public var token: String?
  public var requestID: String?
  public var apnsID: String?
  /// The trace that the request belongs to (W3C Trace Context).
  public var traceParent: String?

  public init(
    _ reason: DeadLetterReason, _ detail: String, by stage: DeadLetterStage, attempts: Int = 0,
    from origin: DeadLetterOrigin, at: Int64
  ) {
    self.reason = reason.rawValue
    self.detail = detail
    self.stage = stage.rawValue
    self.attempts = attempts
    self.origin = origin
    self.at = at
  }

  public static let crashed = "the process crashed twice while it worked on this record"

  /// Reads the headers of a record.
  ///
  /// - Parameter header: the value of the last header with a name, or nil.
  public init(header: (_ name: String) -> String?) {
    reason = header(DeadLetterHeader.reason) ?? ""
    detail = header(DeadLetterHeader.detail) ?? ""
    stage = header(DeadLetterHeader.stage) ?? ""
    attempts = header(DeadLetterHeader.attempts).flatMap { text in UInt16(text).map { Int($0) } }
    origin = header(DeadLetterHeader.origin).flatMap { DeadLetterOrigin($0) }
    at = header(DeadLetterHeader.at).flatMap { text in
      Int64(text).flatMap { OutsideTime.problem($0) == nil ? $0 : nil }
    }
    token = header(DeadLetterHeader.token)
    requestID = header(DeadLetterHeader.requestID)
    apnsID = header(DeadLetterHeader.apnsID)
    traceParent = header(TraceParent.header)
  }

  /// The headers to write, in order. A text longer than `DeadLetterHeader.longest` bytes is shortened: it may quote a
  /// record of any length.
  public var headers: [(name: String, value: String)] {
    let all: [(String, String?)] = [
      (DeadLetterHeader.reason, reason), (DeadLetterHeader.detail, detail),
      (DeadLetterHeader.stage, stage), (DeadLetterHeader.attempts, attempts.map { "\($0)" }),
      (DeadLetterHeader.origin, origin?.description), (DeadLetterHeader.at, at.map { "\($0)" }),
      (DeadLetterHeader.token, token), (DeadLetterHeader.requestID, requestID),
      (DeadLetterHeader.apnsID, apnsID), (TraceParent.header, traceParent),
    ]
    return all.compactMap { name, value in
      value.map { (name, $0.beginning(bytes: DeadLetterHeader.longest)) }
    }
  }

  /// Adds to the detail that key or value were cut.
  public mutating func note(_ cut: DeadLetterCut) {
    guard !cut.remark.isEmpty else { return }
    let room = DeadLetterHeader.longest - cut.remark.utf8.count
    detail = detail.beginning(bytes: room) + cut.remark
  }
}
