// SPDX-License-Identifier: Apache-2.0

/// Reads the fields of a message of Kafka's protocol in its older form (before the flexible versions): integers in
/// network order, strings and arrays behind their length.
struct FieldReader {
  private let bytes: [UInt8]
  private(set) var position: Int

  init(_ bytes: [UInt8], at position: Int = 0) {
    self.bytes = bytes
    self.position = position
  }

  mutating func int16() -> Int16 { Int16(truncatingIfNeeded: integer(2)) }
  mutating func int32() -> Int32 { Int32(truncatingIfNeeded: integer(4)) }
  mutating func skip(_ count: Int) { position += count }

  /// nil for a null string.
  mutating func string() -> String? {
    let count = Int(int16())
    guard count >= 0 else { return nil }
    defer { position += count }
    return String(decoding: bytes[position..<position + count], as: UTF8.self)
  }

  /// Passes over a field of bytes.
  mutating func skipBytes() { skip(max(0, Int(int32()))) }

  /// The elements of an array, each as `read` reads it, with the bytes it takes; none for a null array.
  mutating func array<T>(_ read: (inout Self) -> T) -> [(value: T, bytes: ArraySlice<UInt8>)] {
    let count = int32()
    guard count > 0 else { return [] }
    return (0..<count).map { _ in
      let start = position
      let value = read(&self)
      return (value, bytes[start..<position])
    }
  }

  func bytes(from start: Int) -> ArraySlice<UInt8> { bytes[start..<position] }
  var rest: ArraySlice<UInt8> { bytes[position...] }

  private mutating func integer(_ width: Int) -> UInt64 {
    defer { position += width }
    return bytes[position..<position + width].reduce(0) { $0 << 8 | UInt64($1) }
  }
}

/// Writes the same.
struct FieldWriter {
  private(set) var bytes: [UInt8] = []

  mutating func int16(_ value: Int16) { integer(value) }
  mutating func int32(_ value: Int32) { integer(value) }
  mutating func int64(_ value: Int64) { integer(value) }
  mutating func raw(_ more: some Sequence<UInt8>) { bytes += more }

  mutating func string(_ text: String?) {
    guard let text else { return int16(-1) }
    int16(Int16(text.utf8.count))
    bytes += text.utf8
  }

  mutating func array<T>(_ elements: [T], _ write: (inout Self, T) -> Void) {
    int32(Int32(elements.count))
    for element in elements { write(&self, element) }
  }

  private mutating func integer(_ value: some FixedWidthInteger) {
    withUnsafeBytes(of: value.bigEndian) { bytes += $0 }
  }
}
