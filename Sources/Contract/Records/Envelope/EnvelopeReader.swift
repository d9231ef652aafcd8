// SPDX-License-Identifier: Apache-2.0

public import Contract
internal import Glibc

/// Reads the envelopes of many records in sequence. The records of an app begin alike, up to the push type: a known
/// beginning costs one comparison instead of parsing each byte of five fields.
public struct EnvelopeReader: ~Copyable {
  private let types: PushTypes
  private let lanes: Lanes
  private var beginnings = EnvelopeBeginnings()

  /// - Parameters:
  ///   - types: the known push types.
  ///   - lanes: the known lanes.
  public init(types: PushTypes = .builtIn, lanes: Lanes = .standard) {
    self.types = types
    self.lanes = lanes
  }

  /// Reads and checks the envelope of a record, as `Envelope.parse` does.
  public mutating func read(_ record: UnsafeRawBufferPointer) throws(EnvelopeError) -> Envelope {
    let span = record.bindMemory(to: UInt8.self).span
    guard let known = beginnings.find(record) else { return try readWhole(record, span) }
    var envelope = known.pointee.routing
    var cursor = EnvelopeCursor(at: known.pointee.count)
    try envelope.readRest(span, &cursor)
    return envelope
  }

  private mutating func readWhole(
    _ record: UnsafeRawBufferPointer, _ span: Span<UInt8>
  ) throws(EnvelopeError) -> Envelope {
    var envelope = Envelope()
    var cursor = EnvelopeCursor()
    try envelope.readRouting(span, &cursor, types, lanes)
    beginnings.keep(UnsafeRawBufferPointer(rebasing: record[..<cursor.position]), envelope)
    try envelope.readRest(span, &cursor)
    return envelope
  }
}
