// SPDX-License-Identifier: Apache-2.0

public import Contract
public import EventLoop

/// Writes the values of notification records: the envelope line, a newline, the body.
///
/// All notifications of a request differ only in their `apns-id`, so the value is written once and the id replaced in
/// place for each token.
public struct EnvelopeEncoder: ~Copyable {
  private var buffer = ByteBuffer(capacity: 8 << 10)
  private var idStart = 0
  /// The position of the id as the collapse id; 0 if it is not that.
  private var collapseIDStart = 0
  private var carriedRange = 0..<0
  private var beginning = RepeatedBeginning()

  public init() {}

  /// The record's value. Valid until the encoder is used again.
  public var value: UnsafeRawBufferPointer { buffer.bytes }

  /// The text of the `apns-id` in the value.
  public var idText: UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(rebasing: buffer.bytes[idStart..<idStart + NotificationID.textLength])
  }

  /// The keyed fields of the value.
  public var carried: CarriedFields {
    CarriedFields(UnsafeRawBufferPointer(rebasing: buffer.bytes[carriedRange]))
  }

  /// Writes the value of a request's notifications. The id follows with `setID`.
  ///
  /// - Parameters:
  ///   - created: the Kafka timestamp of the request, in milliseconds.
  ///   - traceParent: a valid `traceparent`, or empty.
  public mutating func begin(
    _ request: borrowing PushRequest, created: Int64,
    traceParent: UnsafeRawBufferPointer = UnsafeRawBufferPointer(start: nil, count: 0)
  ) {
    buffer.removeAll()
    collapseIDStart = 0
    beginning.append(request, to: &buffer)
    if let expiration = request.expiration(created: created) { buffer.append(decimal: expiration) }
    buffer.append(Self.tab)
    idStart = buffer.count
    buffer.append("00000000-0000-0000-0000-000000000000\t")
    buffer.append(decimal: created)
    buffer.append(Self.tab)
    buffer.append(request.escapedID)
    buffer.append("\t\t\t")
    appendCarried(request, traceParent)
    buffer.append(UInt8(ascii: "\n"))
    buffer.append(request.payload)
  }

  private mutating func appendCarried(
    _ request: borrowing PushRequest, _ traceParent: UnsafeRawBufferPointer
  ) {
    let start = buffer.count
    if request.isBroadcast {
      let name = PushTarget.channel.name
      CarriedFields.append(
        .target, UnsafeRawBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount),
        to: &buffer)
    }
    if request.isCarrying { appendCarried(of: request) }
    if request.activity != .none { appendActivity(of: request) }
    if request.isSilent { appendSilence(of: request) }
    if !request.warnings.isEmpty {
      CarriedFields.appendKey(CarriedField.warnings.row.key, to: &buffer)
      buffer.append(request.warnings.listText)
    }
    if !traceParent.isEmpty { CarriedFields.append(.traceParent, traceParent, to: &buffer) }
    // Skip the tab that precedes them.
    carriedRange = min(start + 1, buffer.count)..<buffer.count
  }

  private mutating func appendCarried(of request: borrowing PushRequest) {
    for row in CarriedField.texts {
      let text = request[row.field]
      if !text.isEmpty { CarriedFields.append(row.field, text, to: &buffer) }
    }
    request.headers.appendFields(to: &buffer)
    if let data = request.data {
      CarriedFields.appendKey(CarriedField.data.row.key, to: &buffer)
      data.appendObject(to: &buffer)
    }
  }

  /// For an activity, the newest state wins and none follows the end. A start is shown only once, even if its answer is
  /// lost and it is sent again.
  private mutating func appendActivity(of request: borrowing PushRequest) {
    let (isKeyed, key) = (!request[.supersede].isEmpty, request.defaultKey)
    if let key, !isKeyed {
      CarriedFields.appendKey(CarriedField.supersede.row.key, to: &buffer)
      buffer.append(key)
    }
    let isBound = !request[.collapseID].isEmpty
    let isBroadcast = request.isBroadcast
    switch request.activity {
    case .end:
      guard isKeyed || key != nil else { return }
      appendFlag(.final)
    case .start:
      appendFlag(.start)
      if isBound || isBroadcast { return }
      CarriedFields.appendKey(CarriedField.collapseID.row.key, to: &buffer)
      collapseIDStart = buffer.count
      buffer.append("00000000-0000-0000-0000-000000000000")
    default: break
    }
  }

  /// Marks silent pushes where newer ones may supersede others, which must not remove an alert.
  private mutating func appendSilence(of request: borrowing PushRequest) {
    let isKeyed = request.defaultKey != nil
    let named = request[.supersede].count + request[.collapseID].count
    if isKeyed || named > 0 { appendFlag(.silent) }
  }

  private mutating func appendFlag(_ field: CarriedField) {
    CarriedFields.appendKey(field.row.key, to: &buffer)
    buffer.append(UInt8(ascii: "1"))
  }

  /// Puts the `apns-id` into the value.
  public mutating func setID(_ id: NotificationID) {
    buffer.overwrite(at: idStart, with: id)
    if collapseIDStart > 0 { buffer.overwrite(at: collapseIDStart, with: id) }
  }

  /// Writes the value of a record that moves to a retry topic: the same envelope and body with a new history. `reason`
  /// must have no control characters (APNs' reasons have none).
  ///
  /// - Parameter position: its position in its lane, if it has a key by which newer pushes supersede it.
  public static func encodeRetry(
    of record: UnsafeRawBufferPointer, _ envelope: borrowing Envelope, attempt: UInt16,
    firstSeen: Int64, reason: UnsafeRawBufferPointer, position: LanePosition? = nil,
    into buffer: inout ByteBuffer
  ) {
    buffer.append(UnsafeRawBufferPointer(rebasing: record[envelope.constantPart.indices]))
    buffer.append(tab)
    buffer.append(decimal: Int64(attempt))
    buffer.append(tab)
    buffer.append(decimal: firstSeen)
    buffer.append(tab)
    // An unknown reason may be any text: it must not break the line or make it too long.
    for byte in reason.prefix(64) { buffer.append(byte < 0x20 ? 0x20 : byte) }
    if let position {
      appendFields(of: record, envelope, without: .position, into: &buffer)
      CarriedFields.appendKey(CarriedField.position.row.key, to: &buffer)
      buffer.append(position.text)
    } else if !envelope.carried.isEmpty {
      buffer.append(tab)
      buffer.append(UnsafeRawBufferPointer(rebasing: record[envelope.carried.indices]))
    }
    buffer.append(UInt8(ascii: "\n"))
    buffer.append(UnsafeRawBufferPointer(rebasing: record[envelope.bodyStart...]))
  }

  /// Writes the value of a notification resent from a dead letter: the same fields and body, but created now, without a
  /// history, and marked with its dead letter.
  public static func encodeReplay(
    of record: UnsafeRawBufferPointer, _ envelope: borrowing Envelope, created: Int64,
    mark: String, into buffer: inout ByteBuffer
  ) {
    let createdStart = envelope.idText.indices.upperBound + 1
    buffer.append(UnsafeRawBufferPointer(rebasing: record[..<createdStart]))
    buffer.append(decimal: created)
    // Including the tab before the request id.
    let idStart = envelope.requestID.indices.lowerBound - 1
    let kept = record[idStart..<envelope.constantPart.indices.upperBound]
    buffer.append(UnsafeRawBufferPointer(rebasing: kept))
    buffer.append("\t\t\t")
    appendFields(of: record, envelope, without: .replay, .position, into: &buffer)
    CarriedFields.appendKey(CarriedField.replay.row.key, to: &buffer)
    buffer.append(mark)
    buffer.append(UInt8(ascii: "\n"))
    buffer.append(UnsafeRawBufferPointer(rebasing: record[envelope.bodyStart...]))
  }

  /// Appends a record's keyed fields, except those that belong to the record and not to its notification.
  private static func appendFields(
    of record: UnsafeRawBufferPointer, _ envelope: borrowing Envelope,
    without left: CarriedField..., into buffer: inout ByteBuffer
  ) {
    envelope.carried(in: record).forEachField { key, value in
      if left.contains(where: { key.elementsEqual($0.row.key.utf8) }) { return }
      buffer.append(tab)
      let count = key.count + 1 + value.count
      buffer.append(UnsafeRawBufferPointer(start: key.baseAddress, count: count))
    }
  }

  private static let tab = UInt8(ascii: "\t")
}

extension ByteBuffer {
  /// Appends an id in its canonical form, lower case.
  public mutating func append(_ id: NotificationID) {
    let start = count
    append("00000000-0000-0000-0000-000000000000")
    overwrite(at: start, with: id)
  }

  /// Replaces 36 bytes by an id in its canonical form.
  mutating func overwrite(at offset: Int, with id: NotificationID) {
    let text = mutableBytes(at: offset, count: NotificationID.textLength)
    let (a, b) = (HexWord.text(id.high >> 32), HexWord.text(id.high))
    let (c, d) = (HexWord.text(id.low >> 32), HexWord.text(id.low))
    text.storeBytes(of: a.bigEndian, as: UInt64.self)
    text.storeBytes(of: Self.four(b >> 32), toByteOffset: 9, as: UInt32.self)
    text.storeBytes(of: Self.four(b), toByteOffset: 14, as: UInt32.self)
    text.storeBytes(of: Self.four(c >> 32), toByteOffset: 19, as: UInt32.self)
    text.storeBytes(of: Self.four(c), toByteOffset: 24, as: UInt32.self)
    text.storeBytes(of: d.bigEndian, toByteOffset: 28, as: UInt64.self)
    text[8] = UInt8(ascii: "-")
    text[13] = UInt8(ascii: "-")
    text[18] = UInt8(ascii: "-")
    text[23] = UInt8(ascii: "-")
  }

  /// The four characters of the low half, most significant first, in memory order.
  private static func four(_ characters: UInt64) -> UInt32 {
    UInt32(truncatingIfNeeded: characters).bigEndian
  }
}
