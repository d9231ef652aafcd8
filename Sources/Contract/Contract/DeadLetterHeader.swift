// SPDX-License-Identifier: Apache-2.0

/// The headers of a dead letter, which keeps the record's key and value.
public enum DeadLetterHeader {
  /// The reason as a code: see `DeadLetterReason`.
  public static let reason = "martlet-reason"
  /// The field at fault and the fault, in words.
  public static let detail = "martlet-detail"
  /// The process that gave up: a code of `DeadLetterStage`.
  public static let stage = "martlet-stage"
  /// The number of times that it was sent to APNs.
  public static let attempts = "martlet-attempts"
  /// The origin of the record: `topic/partition/offset`.
  public static let origin = "martlet-origin"
  /// When it became a dead letter, in milliseconds since the epoch.
  public static let at = "martlet-at"
  /// The one invalid token of an otherwise valid request.
  public static let token = "martlet-token"
  public static let requestID = "martlet-request-id"
  public static let apnsID = "martlet-apns-id"

  /// The most bytes that a header quotes of a record, which may be as long as the record.
  public static let longest = 1_024
}

/// The part of a record that a dead letter keeps, in bytes. Anyone may have written it, longer than our own producer
/// allows.
public struct DeadLetterCut: Equatable, Sendable {
  /// A broker's usual record limit, less room for the headers: a longer key and value are cut.
  public static let longest = 900_000
  /// The most bytes of a key and of a value that are then kept.
  public static let kept = 64 << 10

  /// The most bytes of keys and values that the letters about one record keep: one for each bad token of a request, they
  /// would have the square of its size.
  public static let mostOfRecord = 16 << 20

  /// The bytes of key and value that are kept.
  public let key: Int
  public let value: Int
  /// The remark added to the detail: which of the two was cut, and its original length; empty if neither was.
  public let remark: String

  /// Decides for a record's key and value of these lengths.
  ///
  /// - Parameter written: the bytes of keys and values that earlier letters about the record have kept.
  public init(key: Int, value: Int, written: Int = 0) {
    let isTooLong = key + value > Self.longest
    self.init(
      key, value,
      atMost: written + key + value > Self.mostOfRecord
        ? DeadLetterHeader.longest : isTooLong ? Self.kept : .max)
  }

  private init(_ key: Int, _ value: Int, atMost most: Int) {
    (self.key, self.value) = (min(key, most), min(value, most))
    remark = Self.words("key", self.key, of: key) + Self.words("value", self.value, of: value)
  }

  /// The sizes to which a letter too large for its topic is cut, in turn.
  private static let steps = [kept, DeadLetterHeader.longest]

  /// Decides for a letter that is too large for its topic; nil when it cannot be cut further.
  public init?(ofRefusedKey key: Int, value: Int) {
    guard let most = Self.steps.first(where: { $0 < max(key, value) }) else { return nil }
    self.init(key, value, atMost: most)
  }

  private static func words(_ part: String, _ kept: Int, of bytes: Int) -> String {
    kept == bytes ? "" : " (\(part) cut to \(kept) of \(bytes) bytes)"
  }

  /// True if a letter's detail ends with this remark.
  public static func isRemarked(_ detail: String) -> Bool {
    detail.hasSuffix(" bytes)")
      && steps.contains { most in
        ["key", "value"].contains { detail.contains("(\($0) cut to \(most) of ") }
      }
  }
}

/// The reason why a record became a dead letter.
public enum DeadLetterReason: String, Sendable, CaseIterable {
  case invalidRequest = "invalid_request"
  case invalidToken = "invalid_token"
  case invalidEnvelope = "invalid_envelope"
  case invalidFeedback = "invalid_feedback"
  case invalidDevice = "invalid_device"
  /// A record of `push.schedule` that cannot be read.
  case invalidSchedule = "invalid_schedule"
  case noCredential = "no_credential"
  case retriesExhausted = "retries_exhausted"
  /// The record is too large for one of Martlet's topics.
  case recordTooLarge = "record_too_large"
  /// A webhook's endpoint did not accept the events in time.
  case undelivered = "webhook_undelivered"
  /// A record of `push.receipts` that cannot be worked on.
  case invalidReceipts = "invalid_receipts"
}

/// The process that wrote a dead letter.
public enum DeadLetterStage: String, Sendable, CaseIterable {
  case ingest
  case sender
  case feedback
  case webhooks
  case scheduler
}
