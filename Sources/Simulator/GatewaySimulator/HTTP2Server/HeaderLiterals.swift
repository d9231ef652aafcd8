// SPDX-License-Identifier: Apache-2.0
import EventLoop

/// Writes header fields as literals that enter no table, without Huffman coding (RFC 7541 §6.2.2, §6.2.3).
enum HeaderLiterals {
  static func write(
    _ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, isNeverIndexed: Bool,
    into buffer: inout ByteBuffer
  ) {
    buffer.append(isNeverIndexed ? 0x10 : 0x00 as UInt8)
    write(name, into: &buffer)
    write(value, into: &buffer)
  }

  static func write(
    fieldsOf request: UnsafeMutablePointer<ServerRequest>, into buffer: inout ByteBuffer
  ) {
    for index in 0..<request.pointee.keptFields {
      write(
        request.pointee.name(index), request.pointee.value(index),
        isNeverIndexed: request.pointee.isNeverIndexed(index), into: &buffer)
    }
  }

  /// Writes a string with its length (RFC 7541 §5.1, §5.2).
  private static func write(_ text: UnsafeRawBufferPointer, into buffer: inout ByteBuffer) {
    if text.count < 127 {
      buffer.append(UInt8(text.count))
    } else {
      buffer.append(127)
      var rest = text.count - 127
      while rest >= 0x80 {
        buffer.append(UInt8(truncatingIfNeeded: rest) | 0x80)
        rest >>= 7
      }
      buffer.append(UInt8(rest))
    }
    buffer.append(text)
  }
}
