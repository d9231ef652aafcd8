// SPDX-License-Identifier: Apache-2.0
import Bytes
import Glibc

/// A field of the last block: what comes again with every push, such as the provider token, is not decoded again.
struct RepeatedField: ~Copyable {
  /// So many fields of a block are remembered.
  static let places = 24

  private var coded = ByteBuffer(capacity: 16)
  private var text = ByteBuffer(capacity: 16)
  private var nameCount = 0
  private var generation = -1

  /// Its length if it stands in `block` at `position`; nil if something else stands there, or the compression table
  /// has changed.
  @inline(__always)
  func length(
    in block: UnsafeRawBufferPointer, at position: Int, _ generation: Int
  ) -> Int? {
    let count = coded.count
    guard self.generation == generation, count > 0, block.count - position >= count,
      let here = block.baseAddress, let known = coded.bytes.baseAddress
    else { return nil }
    return memcmp(here + position, known, count) == 0 ? count : nil
  }

  var name: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: text.bytes[..<nameCount]) }
  var value: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: text.bytes[nameCount...]) }

  /// Remembers a field, unless it enters the compression table: that happens with every such field.
  mutating func keep(
    _ field: UnsafeRawBufferPointer, _ name: UnsafeRawBufferPointer,
    _ value: UnsafeRawBufferPointer, _ generation: Int
  ) {
    coded.removeAll()
    guard field[0] & 0xC0 != 0x40 else { return }
    coded.append(field)
    text.removeAll()
    text.append(name)
    text.append(value)
    nameCount = name.count
    self.generation = generation
  }
}
