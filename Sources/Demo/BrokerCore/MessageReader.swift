// SPDX-License-Identifier: Apache-2.0

/// Reads messages of Kafka's protocol by their schema. Every length is checked against the available bytes.
public struct MessageReader {
  /// The bytes are not a message of that schema and version.
  public struct Malformed: Error, Equatable {}

  /// The maximum number of values in a message, which limits the memory of a request.
  public static let mostValues = 1 << 18
  private var rest: ArraySlice<UInt8>
  private var values = 0

  public init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

  public mutating func message(
    _ schema: [FieldSchema], version: Int16, isFlexible: Bool
  ) throws(Malformed) -> Value {
    var fields: [Value.Field] = []
    fields.reserveCapacity(schema.count)
    for field in schema {
      let isHere = field.versions.contains(version) && field.tag == nil
      let value = try isHere ? self.value(field, version: version, isFlexible) : field.standard
      fields.append(.init(name: field.name, value: value))
    }
    guard isFlexible else { return .fields(fields) }
    for _ in 0..<(try count(try varint())) {
      let (tag, size) = (try varint(), try count(try varint()))
      let place = schema.firstIndex { $0.tag == tag && $0.versions.contains(version) }
      let body = try take(size)
      guard let place else { continue }
      var inner = MessageReader(body)
      inner.values = values
      fields[place].value = try inner.value(schema[place], version: version, true)
      values = inner.values
    }
    return .fields(fields)
  }

  /// Skips the tagged fields of a header.
  public mutating func skipTags() throws(Malformed) {
    _ = try message([], version: 0, isFlexible: true)
  }

  public mutating func int(_ size: Int) throws(Malformed) -> Int64 {
    let bytes = try take(size)
    var value = Int64(Int8(bitPattern: bytes[bytes.startIndex]))
    for byte in bytes.dropFirst() { value = value << 8 | Int64(byte) }
    return value
  }

  /// Reads a string with a two-byte length; nil for null.
  public mutating func shortText() throws(Malformed) -> String? {
    let length = Int(try int(2))
    return length < 0 ? nil : String(decoding: try take(length), as: UTF8.self)
  }

  private mutating func value(
    _ field: FieldSchema, version: Int16, _ isFlexible: Bool
  ) throws(Malformed) -> Value {
    try value(field.kind, version, isFlexible, mayBeNull: version >= field.nullableFrom)
  }

  private mutating func value(
    _ kind: FieldSchema.Kind, _ version: Int16, _ isFlexible: Bool, mayBeNull: Bool = false
  ) throws(Malformed) -> Value {
    values += 1
    guard values <= Self.mostValues else { throw Malformed() }
    switch kind {
    case .int(let size): return .int(try int(size))
    case .uuid: return .bytes(try take(16))
    case .fields(let schema): return try message(schema, version: version, isFlexible: isFlexible)
    case .text, .bytes, .records, .list: break
    }
    guard let length = try length(of: kind, isFlexible) else {
      // Old clients send null where only later versions allow it.
      guard mayBeNull || kind == .records || kind == .bytes else { throw Malformed() }
      return .null
    }
    switch kind {
    case .list(let element):
      var list: [Value] = []
      list.reserveCapacity(min(length, 1_024))
      for _ in 0..<length { list.append(try value(element, version, isFlexible)) }
      return .list(list)
    case .text: return .text(String(decoding: try take(length), as: UTF8.self))
    default: return .bytes(try take(length))
    }
  }

  /// Reads a length; nil for null.
  private mutating func length(
    of kind: FieldSchema.Kind, _ isFlexible: Bool
  ) throws(Malformed) -> Int? {
    if isFlexible {
      let length = try varint()
      return length == 0 ? nil : try count(length - 1)
    }
    let length = try int(kind == .text ? 2 : 4)
    return length < 0 ? nil : try count(UInt64(length))
  }

  /// Every element takes at least one byte.
  private func count(_ value: UInt64) throws(Malformed) -> Int {
    guard value <= rest.count else { throw Malformed() }
    return Int(value)
  }

  private mutating func varint() throws(Malformed) -> UInt64 {
    var value: UInt64 = 0
    for shift in stride(from: 0, to: 35, by: 7) {
      let byte = try take(1).first!
      value |= UInt64(byte & 0x7F) << UInt64(shift)
      if byte < 0x80 { return value }
    }
    throw Malformed()
  }

  private mutating func take(_ count: Int) throws(Malformed) -> ArraySlice<UInt8> {
    guard count >= 0, count <= rest.count else { throw Malformed() }
    defer { rest = rest.dropFirst(count) }
    return rest.prefix(count)
  }
}
