// SPDX-License-Identifier: Apache-2.0

/// Fields that many requests share, written once: as long as the compression table stays as it is, their bytes are
/// copied from one header block to the next.
struct PreparedFields {
  struct Field {
    let name: [UInt8]
    let value: [UInt8]
    let indexing: FieldIndexing
  }

  /// The owner's number for these fields.
  let key: UInt64
  private let fields: [Field]
  /// The encoded fields while the table's generation is `generation`; nil: not written down.
  private var encoded: [UInt8]?
  private var generation = 0
  /// Requests that wait to be written and refer to these fields.
  var waiting = 0
  /// Bytes that the fields take at most.
  let bound: Int

  init(key: UInt64, _ fields: [Field]) {
    self.key = key
    self.fields = fields
    bound = fields.reduce(0) { $0 + HeaderEncoder.bound($1.name.count, $1.value.count) }
  }

  /// Appends the fields to a block.
  @inline(__always)
  mutating func append(with encoder: inout HeaderEncoder, to out: inout OutputSpan<UInt8>) {
    if let encoded, generation == encoder.generation { return out.append(copying: encoded.span) }
    encode(with: &encoder, to: &out)
  }

  private mutating func encode(with encoder: inout HeaderEncoder, to out: inout OutputSpan<UInt8>) {
    let before = encoder.generation
    let start = out.count
    for field in fields {
      encoder.append(field.name.span, field.value.span, field.indexing, to: &out)
    }
    // What entered the table now is an index the next time.
    guard encoder.generation == before else {
      encoded = nil
      return
    }
    generation = before
    encoded = out.span.extracting(start..<out.count).array
  }
}
