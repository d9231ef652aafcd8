// SPDX-License-Identifier: Apache-2.0

/// Writes messages of Kafka's protocol by their schema. Fields missing in a value get their default; fields that the
/// version does not have are omitted.
public struct MessageWriter {
  public var bytes: [UInt8] = []
  /// Stored records that are not in `bytes`, and their positions in it.
  public private(set) var gaps: [(place: Int, range: StoredRange)] = []
  /// Appends stored records; returns false to leave a gap for them.
  private let load: (StoredRange, inout [UInt8]) -> Bool

  public init(load: @escaping (StoredRange, inout [UInt8]) -> Bool = { _, _ in true }) {
    self.load = load
  }

  /// The size of the message in bytes, including its gaps.
  public var count: Int { gaps.reduce(bytes.count) { $0 + $1.range.range.count } }

  public mutating func message(
    _ value: Value, _ schema: [FieldSchema], version: Int16, isFlexible: Bool
  ) {
    if case .fields(let fields) = value {
      assert(
        fields.allSatisfy { field in schema.contains { $0.name == field.name } },
        "no such field: \(fields.map(\.name)) of \(schema.map(\.name))")
    }
    var tagged: [(tag: UInt64, bytes: [UInt8])] = []
    for field in schema where field.versions.contains(version) {
      let given = value[field.name]
      let mayBeNull = version >= field.nullableFrom
      if let tag = field.tag {
        guard !given.isNull, given != field.standard else { continue }
        var inner = MessageWriter(load: load)
        inner.append(given, field.kind, version, true, mayBeNull: mayBeNull)
        tagged.append((tag, inner.bytes))
      } else {
        append(
          given.isNull ? field.standard : given, field.kind, version, isFlexible,
          mayBeNull: mayBeNull)
      }
    }
    guard isFlexible else { return }
    varint(UInt64(tagged.count))
    for field in tagged.sorted(by: { $0.tag < $1.tag }) {
      varint(field.tag)
      varint(UInt64(field.bytes.count))
      bytes += field.bytes
    }
  }

  public mutating func int(_ value: Int64, _ size: Int) {
    for place in stride(from: (size - 1) * 8, through: 0, by: -8) {
      bytes.append(UInt8(truncatingIfNeeded: value >> Int64(place)))
    }
  }

  private mutating func append(
    _ value: Value, _ kind: FieldSchema.Kind, _ version: Int16, _ isFlexible: Bool, mayBeNull: Bool
  ) {
    switch kind {
    case .int(let size): return int(value.int, size)
    case .uuid: bytes += value.bytes.count == 16 ? value.bytes : ArraySlice(repeating: 0, count: 16)
    case .fields(let schema):
      return message(value, schema, version: version, isFlexible: isFlexible)
    case .text:
      guard case .text(let text) = value else { return length(mayBeNull ? nil : 0, 2, isFlexible) }
      length(text.utf8.count, 2, isFlexible)
      bytes += text.utf8
    case .bytes, .records:
      switch value {
      case .bytes(let body):
        length(body.count, 4, isFlexible)
        bytes += body
      case .stored(let ranges):
        length(ranges.reduce(0) { $0 + $1.range.count }, 4, isFlexible)
        for range in ranges where !load(range, &bytes) { gaps.append((bytes.count, range)) }
      default: length(mayBeNull ? nil : 0, 4, isFlexible)
      }
    case .list(let element):
      guard case .list(let list) = value else { return length(mayBeNull ? nil : 0, 4, isFlexible) }
      length(list.count, 4, isFlexible)
      for entry in list { append(entry, element, version, isFlexible, mayBeNull: false) }
    }
  }

  private mutating func length(_ count: Int?, _ size: Int, _ isFlexible: Bool) {
    if isFlexible {
      varint(count.map { UInt64($0) + 1 } ?? 0)
    } else {
      int(Int64(count ?? -1), size)
    }
  }

  private mutating func varint(_ value: UInt64) {
    var rest = value
    while rest >= 0x80 {
      bytes.append(UInt8(rest & 0x7F) | 0x80)
      rest >>= 7
    }
    bytes.append(UInt8(rest))
  }
}
