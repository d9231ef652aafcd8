// SPDX-License-Identifier: Apache-2.0
import Bytes
import Glibc

/// The last long literal: a provider token comes again with every push, and is not decoded again.
struct RepeatedField: ~Copyable {
  /// Shorter ones are decoded as fast.
  static let least = 64

  private var coded = ByteBuffer()
  private var text = ByteBuffer()
  private var nameCount = 0

  /// Its length as it stands in `block` at `position`; nil if something else stands there.
  @inline(__always)
  func length(in block: UnsafeRawBufferPointer, at position: Int) -> Int? {
    let count = coded.count
    guard count > 0, block.count - position >= count, block[position] == coded.bytes[0],
      let here = block.baseAddress, let known = coded.bytes.baseAddress
    else { return nil }
    return memcmp(here + position, known, count) == 0 ? count : nil
  }

  var name: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: text.bytes[..<nameCount]) }
  var value: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: text.bytes[nameCount...]) }

  /// Remembers a field if the same bytes always mean it: a literal that enters no table, whose name is in none that
  /// changes, with a value of ordinary characters.
  mutating func keep(
    _ field: UnsafeRawBufferPointer, _ name: UnsafeRawBufferPointer,
    _ value: UnsafeRawBufferPointer
  ) {
    guard field[0] < 0x20, field[0] & 0x0F < 15 || field[1] <= Self.lastStaticIndex - 15,
      PlainRequest.isOrdinary(value)
    else { return }
    coded.removeAll()
    coded.append(field)
    text.removeAll()
    text.append(name)
    text.append(value)
    nameCount = name.count
  }

  private static let lastStaticIndex: UInt8 = 61
}
