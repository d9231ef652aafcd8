// SPDX-License-Identifier: Apache-2.0

internal import Contract

/// The keyed fields, which most records lack.
extension Envelope {
  /// Reads them up to the end of the line; the cursor is at the tab before the first one.
  @inline(never)
  mutating func readCarried(
    _ record: Span<UInt8>, _ cursor: inout EnvelopeCursor
  ) throws(EnvelopeError) {
    let start = cursor.position + 1
    var known: UInt64 = 0
    var headers = 0
    var mark = 0
    while cursor.lineGoesOn(in: record) {
      cursor.step()
      let (key, value) = try cursor.keyedField(in: record)
      let name = record.extracting(key.indices)
      if let row = CarriedField.row(ofKey: name) {
        let bit: UInt64 = 1 << UInt64(row.field.rawValue)
        guard known & bit == 0 else { throw Self.wrong(.repeated, key, row.field) }
        known |= bit
        if row.field == .replay || row.field == .position {
          mark += cursor.position - Int(key.start) + 1
        }
        try take(row, value, record)
      } else if CarriedHeaders.hasPrefix(name) {
        headers += 1
        guard headers <= CarriedHeaders.maximumCount else { throw Self.wrong(.tooMany, key) }
        // APNs refuses a header field that stands there twice.
        let earlier = record.extracting(start..<Int(key.start))
        guard !Self.hasKey(name, in: earlier) else { throw Self.wrong(.repeated, key) }
        try readHeader(key, value, record)
      }
    }
    carried = ByteRange(start: start, count: cursor.position - start)
    guard Int(constantPart.count) + Int(carried.count) - mark <= Self.maximumKept else {
      throw EnvelopeError(field: .keyed, problem: .tooLong, offset: cursor.position)
    }
    if target == .channel { try checkBroadcast() }
  }

  /// True if one of these fields, each with the tab after it, has this key.
  private static func hasKey(_ key: Span<UInt8>, in fields: Span<UInt8>) -> Bool {
    var place = 0
    while place < fields.count {
      let end = place + key.count
      if end < fields.count, fields[end] == UInt8(ascii: "=") {
        var index = 0
        while index < key.count, fields[place + index] == key[index] { index += 1 }
        if index == key.count { return true }
      }
      while place < fields.count, fields[place] != UInt8(ascii: "\t") { place += 1 }
      place += 1
    }
    return false
  }

  private mutating func take(
    _ row: CarriedField.Row, _ value: ByteRange, _ record: Span<UInt8>
  ) throws(EnvelopeError) {
    let text = record.extracting(value.indices)
    guard row.rule.allows(text) else { throw Self.wrong(.invalid, value, row.field) }
    switch row.field {
    case .target: target = PushTarget(text) ?? .device
    case .replay, .position: dedupKey = ReplayMark.mix(dedupKey, text)
    case .supersede: hasStateKey = true
    case .final: isFinal = true
    case .silent: isSilent = true
    case .start: isStart = true
    case .group: group = value
    case .campaign: campaign = value
    default: if row.isHeader { hasHeaders = true }
    }
  }

  private mutating func readHeader(
    _ key: ByteRange, _ value: ByteRange, _ record: Span<UInt8>
  ) throws(EnvelopeError) {
    do throws(CarriedHeaders.NameProblem) {
      try CarriedHeaders.checkName(record.extracting(key.indices))
    } catch {
      throw Self.wrong(error == .reserved ? .reservedName : .invalid, key)
    }
    if let place = CarriedHeaders.forbiddenPlace(inValue: record.extracting(value.indices)) {
      throw EnvelopeError(field: .keyed, problem: .invalid, offset: Int(value.start) + place)
    }
    hasHeaders = true
  }

  private func checkBroadcast() throws(EnvelopeError) {
    // A broadcast is a Live Activity push, and APNs requires an expiration.
    guard pushType == .liveactivity else {
      throw EnvelopeError(field: .pushType, problem: .invalid, offset: Int(pushTypeText.start))
    }
    guard expiration != nil else {
      throw EnvelopeError(field: .expiration, problem: .missing, offset: Int(expirationText.start))
    }
    // The app is a part of the path.
    guard Int(app.count) <= RequestRules.maximumName else {
      throw EnvelopeError(field: .app, problem: .tooLong, offset: Int(app.start))
    }
  }

  private static func wrong(
    _ problem: EnvelopeError.Problem, _ place: ByteRange, _ field: CarriedField? = nil
  ) -> EnvelopeError {
    EnvelopeError(field: .keyed, problem: problem, offset: Int(place.start), carried: field)
  }
}
