// SPDX-License-Identifier: Apache-2.0

public import Contract

/// The envelope of a notification record: its first line, as values where the sender decides by them, and as ranges of
/// the record where it only passes bytes on.
///
/// The record is the line, a newline, and the body for APNs. The line has fourteen positional fields, which decide
/// something or are in nearly every record, followed by any number of carried fields `key=value`, including unknown
/// keys. Anyone may have written it: parsing checks every field, so that each range is valid as a header value.
public struct Envelope: Sendable {
  /// The first field of a line. It changes only when a new field decides something that this version does not know; a
  /// carried field needs no new version.
  public static let version = "M2"
  /// The most bytes of a line, without its newline.
  public static let maximumLine = 2_432
  /// The most bytes of fields 0…10 and the keyed fields together, without the replay mark and the lane position: a
  /// retry adds a history of up to 89 bytes and a position of up to 50, a replay its mark of up to 38.
  public static let maximumKept = maximumLine - 188
  /// The most bytes of a body, for the push type with the highest limit.
  public static let maximumBody = 5_120

  /// Checks that a value begins as notifications of this version do.
  public static func begins(_ value: some Collection<UInt8>) -> Bool {
    value.starts(with: beginning)
  }

  private static let beginning = Array("\(version)\t".utf8)

  public internal(set) var lane = Lane.first
  public internal(set) var environment = Environment.production
  public internal(set) var pushType = PushType.alert
  /// Identifies one sending of this notification: app, environment and `apns-id`, plus the replayed dead letter, if
  /// any. So a notification that was already taken may be replayed, once for each of its dead letters; and one that
  /// went back from a retry topic to its lane differs from its earlier record. Only meaningful in this process
  /// (`DedupScope`).
  public internal(set) var dedupKey = NotificationID(high: 0, low: 0)
  public internal(set) var appHash: UInt64 = 0
  /// Envelopes to which one reader gave the same number, other than 0, have the same bytes up to the push type.
  public internal(set) var beginning: UInt32 = 0
  /// The kind of target that the record's key names.
  public internal(set) var target = PushTarget.device
  /// 10, 5 or 1.
  public internal(set) var priority: UInt8 = 0
  /// The number of attempts already made.
  public internal(set) var attempt: UInt16 = 0
  public internal(set) var id = NotificationID(high: 0, low: 0)
  /// `apns-expiration` in epoch seconds; `nil` (absent), 0 and a time have different meanings.
  public internal(set) var expiration: Int64?
  /// When the request was made, in milliseconds since the epoch.
  public internal(set) var created: Int64 = 0
  /// When it was first sent, in milliseconds; only on retry topics.
  public internal(set) var firstSeen: Int64?

  public internal(set) var laneText = ByteRange(start: 0, count: 0)
  public internal(set) var app = ByteRange(start: 0, count: 0)
  public internal(set) var topic = ByteRange(start: 0, count: 0)
  public internal(set) var pushTypeText = ByteRange(start: 0, count: 0)
  public internal(set) var priorityText = ByteRange(start: 0, count: 0)
  /// The text of the expiration; empty if there is none.
  public internal(set) var expirationText = ByteRange(start: 0, count: 0)
  public internal(set) var idText = ByteRange(start: 0, count: 0)
  /// The request id as the content of a JSON string, still escaped; empty if there is none.
  public internal(set) var requestID = ByteRange(start: 0, count: 0)
  /// The reason for the last retry; empty if there is none.
  public internal(set) var lastReason = ByteRange(start: 0, count: 0)
  /// Fields 0…10, which do not change when the record moves to a retry topic.
  public internal(set) var constantPart = ByteRange(start: 0, count: 0)
  /// The keyed fields, without the tab before them; they do not change either. Empty if there are none.
  public internal(set) var carried = ByteRange(start: 0, count: 0)
  /// True if `supersede` is among them: newer pushes with its key supersede this one.
  public internal(set) var hasStateKey = false
  /// True if it is the last state of its key, which is never superseded.
  public internal(set) var isFinal = false
  /// True if ingest found neither alert nor sound in the payload; only set for pushes that others can supersede.
  public internal(set) var isSilent = false
  /// True if it starts a Live Activity or media session.
  public internal(set) var isStart = false
  /// The `group` among the keyed fields; empty if there is none.
  public internal(set) var group = ByteRange(start: 0, count: 0)
  /// The campaign's name among the keyed fields; empty if there is none.
  public internal(set) var campaign = ByteRange(start: 0, count: 0)
  /// True if there are header fields among the keyed fields.
  public internal(set) var hasHeaders = false
  /// The start of the body, which extends to the record's end.
  public internal(set) var bodyStart = 0

  /// An empty envelope, for a slot without a record.
  public init() {}

  /// The keyed fields of the record that this envelope was read from.
  public func carried(in record: UnsafeRawBufferPointer) -> CarriedFields {
    CarriedFields(UnsafeRawBufferPointer(rebasing: record[carried.indices]))
  }

  /// Reads and checks the envelope of a record, without copying or allocating.
  public static func parse(
    _ record: Span<UInt8>, types: PushTypes = .builtIn, lanes: Lanes = .standard
  ) throws(EnvelopeError) -> Envelope {
    var cursor = EnvelopeCursor()
    var envelope = Envelope()
    try envelope.readRouting(record, &cursor, types, lanes)
    try envelope.readRest(record, &cursor)
    return envelope
  }

  /// Reads the fields after the push type.
  mutating func readRest(
    _ record: Span<UInt8>, _ cursor: inout EnvelopeCursor
  ) throws(EnvelopeError) {
    try readHeaders(record, &cursor)
    try readHistory(record, &cursor)
    bodyStart = cursor.position
    guard cursor.position < record.count else {
      throw EnvelopeError(field: .lastReason, problem: .emptyBody, offset: cursor.position)
    }
    guard record.count - cursor.position <= Self.maximumBody else {
      throw EnvelopeError(field: .lastReason, problem: .tooLong, offset: cursor.position)
    }
  }

  /// Reads the fields up to the push type.
  mutating func readRouting(
    _ record: Span<UInt8>, _ cursor: inout EnvelopeCursor, _ types: PushTypes, _ lanes: Lanes
  ) throws(EnvelopeError) {
    try cursor.version(in: record)
    laneText = try cursor.field(.lane, in: record)
    guard let known = lanes.find(record.extracting(laneText.indices)) else {
      throw cursor.invalid(.lane, laneText)
    }
    self.lane = known
    let environment = try cursor.field(.environment, in: record)
    guard let known = Environment(record.extracting(environment.indices)) else {
      throw cursor.invalid(.environment, environment)
    }
    self.environment = known
    app = try cursor.name(.app, in: record)
    topic = try cursor.name(.topic, in: record)
    pushTypeText = try cursor.field(.pushType, in: record)
    guard let known = types.find(record.extracting(pushTypeText.indices)) else {
      throw cursor.invalid(.pushType, pushTypeText)
    }
    pushType = known
    let name = record.extracting(app.indices)
    appHash = AppHash.of(name)
    dedupKey = DedupScope.bits(app: name, environment: self.environment)
  }

  private mutating func readHeaders(
    _ record: Span<UInt8>, _ cursor: inout EnvelopeCursor
  ) throws(EnvelopeError) {
    let value: Int64?
    (priorityText, value) = try cursor.number(.priority, in: record)
    // The text becomes a header value unchanged: only this spelling, not 010.
    guard let value, value == 10 || value == 5 || value == 1,
      priorityText.count == (value == 10 ? 2 : 1)
    else { throw cursor.invalid(.priority, priorityText) }
    priority = UInt8(truncatingIfNeeded: value)
    (expirationText, expiration) = try cursor.number(.expiration, in: record)
    guard expiration ?? 0 < RequestRules.timeLimit else {
      throw cursor.invalid(.expiration, expirationText)
    }
    (idText, id) = try cursor.id(in: record)
  }

  private mutating func readHistory(
    _ record: Span<UInt8>, _ cursor: inout EnvelopeCursor
  ) throws(EnvelopeError) {
    let (created, found) = try cursor.number(.created, in: record)
    guard let time = found, time <= OutsideTime.last else {
      throw cursor.invalid(.created, created)
    }
    self.created = time
    requestID = try cursor.field(.requestID, in: record)
    if !requestID.isEmpty {
      // Receipts contain it unchanged: an unescaped quote would break them.
      guard RequestRules.isEscapedText(record.extracting(requestID.indices)) else {
        throw cursor.invalid(.requestID, requestID)
      }
    }
    constantPart = ByteRange(start: 0, count: cursor.position - 1)
    guard constantPart.count <= Self.maximumKept else {
      throw EnvelopeError(field: .requestID, problem: .tooLong, offset: Self.maximumKept)
    }
    let (attempt, made) = try cursor.number(.attempt, in: record)
    let attempts = made ?? 0
    guard attempts <= 65_535 else { throw cursor.invalid(.attempt, attempt) }
    self.attempt = UInt16(truncatingIfNeeded: attempts)
    let (seen, first) = try cursor.number(.firstSeen, in: record)
    guard first ?? 0 <= OutsideTime.last else { throw cursor.invalid(.firstSeen, seen) }
    firstSeen = first
    lastReason = try cursor.content(.lastReason, in: record)
    // So far, `dedupKey` has only the scope.
    dedupKey = NotificationID(high: dedupKey.high ^ id.high, low: dedupKey.low ^ id.low)
    if cursor.lineGoesOn(in: record) { try readCarried(record, &cursor) }
    cursor.step()
  }
}
