// SPDX-License-Identifier: Apache-2.0

internal import Contract

/// Walks an envelope line field by field.
struct EnvelopeCursor {
  /// The index of the next byte to read: the first of the next field.
  private(set) var position: Int

  private static let tab: UInt8 = 0x09
  /// The most digits of a number: enough for any time in milliseconds, and far from overflowing.
  private static let mostDigits = 16
  private static let newline: UInt8 = 0x0A

  init(at position: Int = 0) { self.position = position }

  /// Reads field 0, which identifies the known form of the others.
  @inline(__always)
  mutating func version(in record: Span<UInt8>) throws(EnvelopeError) {
    let range = try field(.version, in: record)
    guard range.count == 2, record[0] == UInt8(ascii: "M"), record[1] == UInt8(ascii: "2") else {
      throw EnvelopeError(field: .version, problem: .unknownVersion, offset: 0)
    }
  }

  /// Reads a field that is followed by another one.
  @inline(__always)
  mutating func field(
    _ field: EnvelopeField, in record: Span<UInt8>
  ) throws(EnvelopeError) -> ByteRange {
    let range = try content(field, in: record)
    guard record[position] == Self.tab else {
      throw EnvelopeError(field: following(field), problem: .lineEnded, offset: position)
    }
    position += 1
    return range
  }

  /// Whether another field follows the one just read.
  @inline(__always)
  func lineGoesOn(in record: Span<UInt8>) -> Bool { record[position] == Self.tab }

  /// Skips the tab or newline after a field.
  @inline(__always)
  mutating func step() { position += 1 }

  /// Reads a field `key=value`; the value may be empty.
  mutating func keyedField(
    in record: Span<UInt8>
  ) throws(EnvelopeError) -> (key: ByteRange, value: ByteRange) {
    let range = try content(.keyed, in: record)
    let start = Int(range.start)
    var end = start
    while end < position && record[end] != UInt8(ascii: "=") { end += 1 }
    guard end < position, CarriedHeaders.isToken(record.extracting(start..<end)) else {
      throw EnvelopeError(field: .keyed, problem: .noKey, offset: start)
    }
    return (
      ByteRange(start: start, count: end - start),
      ByteRange(start: end + 1, count: position - end - 1)
    )
  }

  /// Reads a field of decimal digits, possibly empty, in one pass; a fault is determined by reading it again.
  @inline(__always)
  mutating func number(
    _ field: EnvelopeField, in record: Span<UInt8>
  ) throws(EnvelopeError) -> (range: ByteRange, value: Int64?) {
    let start = position
    let limit = min(record.count, start + Self.mostDigits + 1)
    var index = start
    var value: Int64 = 0
    while index < limit {
      let digit = record[index] &- 0x30
      guard digit < 10 else { break }
      value = value &* 10 &+ Int64(digit)
      index += 1
    }
    if index < limit && record[index] == Self.tab && index <= Envelope.maximumLine {
      position = index + 1
      return (ByteRange(start: start, count: index - start), index > start ? value : nil)
    }
    let range = try self.field(field, in: record)
    return (range, try integer(field, range, in: record))
  }

  /// Reads the `apns-id`, which has a fixed length.
  @inline(__always)
  mutating func id(
    in record: Span<UInt8>
  ) throws(EnvelopeError) -> (range: ByteRange, value: NotificationID) {
    let start = position
    let end = start + NotificationID.textLength
    if end < record.count && record[end] == Self.tab, end <= Envelope.maximumLine,
      let id = NotificationID(record, at: start)
    {
      position = end + 1
      return (ByteRange(start: start, count: NotificationID.textLength), id)
    }
    throw invalid(.apnsID, try field(.apnsID, in: record))
  }

  /// Reads the bundle id or the topic, a required name that is valid in a header, in one pass; a fault is determined by
  /// reading it again.
  @inline(__always)
  mutating func name(
    _ field: EnvelopeField, in record: Span<UInt8>
  ) throws(EnvelopeError) -> ByteRange {
    let start = position
    let limit = min(record.count, Envelope.maximumLine + 1)
    var index = start
    while index < limit && RequestRules.isNameCharacter(record[index]) { index += 1 }
    guard index > start, index < limit, record[index] == Self.tab else {
      throw try notName(field, in: record)
    }
    position = index + 1
    return ByteRange(start: start, count: index - start)
  }

  @inline(never)
  private mutating func notName(
    _ field: EnvelopeField, in record: Span<UInt8>
  ) throws(EnvelopeError) -> EnvelopeError {
    let range = try self.field(field, in: record)
    guard !range.isEmpty else {
      return EnvelopeError(field: field, problem: .missing, offset: Int(range.start))
    }
    let place = range.indices.first { !RequestRules.isNameCharacter(record[$0]) }
    return EnvelopeError(field: field, problem: .invalid, offset: place ?? Int(range.start))
  }

  /// The bytes up to the next tab or newline, to which `position` moves; `lineGoesOn` tells which of the two it is, and
  /// `step` skips it.
  @inline(__always)
  mutating func content(
    _ field: EnvelopeField, in record: Span<UInt8>
  ) throws(EnvelopeError) -> ByteRange {
    let start = position
    let limit = min(record.count, Envelope.maximumLine + 1)
    var index = start
    while index < limit && record[index] >= 0x20 { index += 1 }
    guard index < limit else {
      throw EnvelopeError(
        field: field, problem: limit < record.count ? .tooLong : .unterminated, offset: index)
    }
    position = index
    guard record[index] == Self.tab || record[index] == Self.newline else {
      throw EnvelopeError(field: field, problem: .controlCharacter, offset: index)
    }
    return ByteRange(start: start, count: index - start)
  }

  /// The value of a field of decimal digits, or `nil` if it is empty.
  @inline(__always)
  func integer(
    _ field: EnvelopeField, _ range: ByteRange, in record: Span<UInt8>
  ) throws(EnvelopeError) -> Int64? {
    guard !range.isEmpty else { return nil }
    guard range.count <= Self.mostDigits else { throw invalid(field, range) }
    var value: Int64 = 0
    for index in range.indices {
      let digit = record[index] &- 0x30
      guard digit < 10 else { throw EnvelopeError(field: field, problem: .invalid, offset: index) }
      value = value &* 10 &+ Int64(digit)
    }
    return value
  }

  func invalid(_ field: EnvelopeField, _ range: ByteRange) -> EnvelopeError {
    EnvelopeError(
      field: field, problem: range.isEmpty ? .missing : .invalid, offset: Int(range.start))
  }

  private func following(_ field: EnvelopeField) -> EnvelopeField {
    EnvelopeField(rawValue: field.rawValue + 1) ?? field
  }
}
