// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Glibc

/// A field of the last block, so that fields repeated with every push, such as the provider token, are decoded once.
struct RepeatedField: ~Copyable {
  /// The number of fields of a block that are remembered.
  static let places = 16

  /// The encoded field, its name and its value.
  private var bytes = ByteBuffer(capacity: 0)
  private var codedCount: Int32 = 0
  private var nameCount: Int32 = 0
  private var generation = -1

  /// Returns the field's length if it is in `block` at `position`; nil if something else is, or the HPACK dynamic table
  /// has changed.
  @inline(__always)
  func length(in block: UnsafeRawBufferPointer, at position: Int, _ generation: Int) -> Int? {
    let count = Int(codedCount)
    guard self.generation == generation, count > 0, block.count - position >= count,
      let here = block.baseAddress, let known = bytes.bytes.baseAddress
    else { return nil }
    return memcmp(here + position, known, count) == 0 ? count : nil
  }

  var name: UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(rebasing: bytes.bytes[Int(codedCount)..<Int(codedCount + nameCount)])
  }
  var value: UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(rebasing: bytes.bytes[Int(codedCount + nameCount)...])
  }

  /// Remembers a field, unless it is to be added to the HPACK dynamic table: each occurrence adds it again.
  mutating func keep(
    _ field: UnsafeRawBufferPointer, _ name: UnsafeRawBufferPointer,
    _ value: UnsafeRawBufferPointer, _ generation: Int
  ) {
    codedCount = 0
    guard field[0] & 0xC0 != 0x40 else { return }
    bytes.removeAll()
    bytes.reserve(field.count + name.count + value.count)
    bytes.append(field)
    bytes.append(name)
    bytes.append(value)
    codedCount = Int32(field.count)
    nameCount = Int32(name.count)
    self.generation = generation
  }
}
