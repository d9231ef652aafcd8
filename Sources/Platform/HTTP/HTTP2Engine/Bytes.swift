// SPDX-License-Identifier: Apache-2.0

extension OutputSpan<UInt8> {
  /// Copies bytes to the end. The compiler makes wide moves of it.
  @inline(__always)
  mutating func append(copying bytes: Span<UInt8>) {
    for index in bytes.indices { append(bytes[index]) }
  }

  /// Appends a number in network order.
  @inline(__always)
  mutating func append(bigEndian value: UInt32) {
    append(UInt8(truncatingIfNeeded: value >> 24))
    append(UInt8(truncatingIfNeeded: value >> 16))
    append(UInt8(truncatingIfNeeded: value >> 8))
    append(UInt8(truncatingIfNeeded: value))
  }
}

extension Span<UInt8> {
  /// A number of 32 bits in network order.
  @inline(__always)
  func bigEndian(at start: Int) -> UInt32 {
    let bytes = extracting(start..<start + 4)
    return UInt32(bytes[0]) << 24 | UInt32(bytes[1]) << 16 | UInt32(bytes[2]) << 8
      | UInt32(bytes[3])
  }

  /// True if both hold the same bytes.
  @inline(__always)
  func equals(_ other: Span<UInt8>) -> Bool {
    guard count == other.count else { return false }
    for index in indices where self[index] != other[index] { return false }
    return true
  }

  /// True if the span holds these ASCII characters.
  func equals(_ text: [UInt8]) -> Bool { equals(text.span) }
}

extension [UInt8] {
  /// Appends the bytes of a span.
  mutating func append(copying bytes: Span<UInt8>) {
    reserveCapacity(count + bytes.count)
    for index in bytes.indices { append(bytes[index]) }
  }

  /// Appends a number in network order.
  mutating func append(bigEndian value: UInt32) {
    append(UInt8(truncatingIfNeeded: value >> 24))
    append(UInt8(truncatingIfNeeded: value >> 16))
    append(UInt8(truncatingIfNeeded: value >> 8))
    append(UInt8(truncatingIfNeeded: value))
  }
}
