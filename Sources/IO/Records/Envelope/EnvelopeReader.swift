// SPDX-License-Identifier: Apache-2.0

public import APNS
public import Contract
internal import Glibc

/// Reads the envelopes of many records, one after the other. The records of a campaign begin alike, up to the push type:
/// what begins as the record before did costs one comparison, in place of a look at each byte of five fields.
public struct EnvelopeReader: ~Copyable {
  /// Longer beginnings are read each time.
  private static let longest = 512

  private let types: PushTypes
  private let lanes: Lanes
  /// How the last record began, and what that says.
  private let beginning: UnsafeMutableRawPointer
  private var count = 0
  private var routing = Envelope()

  /// - Parameters:
  ///   - types: the push types that there are.
  ///   - lanes: the lanes that there are.
  public init(types: PushTypes = .builtIn, lanes: Lanes = .standard) {
    self.types = types
    self.lanes = lanes
    beginning = .allocate(byteCount: Self.longest, alignment: 16)
  }

  deinit { beginning.deallocate() }

  /// Reads and checks the envelope of a record, as `Envelope.parse` does.
  public mutating func read(_ record: UnsafeRawBufferPointer) throws(EnvelopeError) -> Envelope {
    let span = record.bindMemory(to: UInt8.self).span
    if count > 0, record.count > count, let start = record.baseAddress,
      memcmp(start, beginning, count) == 0
    {
      var envelope = routing
      var cursor = EnvelopeCursor(at: count)
      try envelope.readRest(span, &cursor)
      return envelope
    }
    return try readWhole(record, span)
  }

  private mutating func readWhole(
    _ record: UnsafeRawBufferPointer, _ span: Span<UInt8>
  ) throws(EnvelopeError) -> Envelope {
    var envelope = Envelope()
    var cursor = EnvelopeCursor()
    try envelope.readRouting(span, &cursor, types, lanes)
    if cursor.position <= Self.longest, let start = record.baseAddress {
      count = cursor.position
      beginning.copyMemory(from: start, byteCount: count)
      routing = envelope
    }
    try envelope.readRest(span, &cursor)
    return envelope
  }
}
