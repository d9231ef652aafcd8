// SPDX-License-Identifier: Apache-2.0

/// Where a field's bytes stand in a record of at most 64 KiB.
package struct ByteRange: Equatable, Sendable {
  package let start: UInt16
  package let count: UInt16

  @inlinable
  package init(start: Int, count: Int) {
    self.start = UInt16(truncatingIfNeeded: start)
    self.count = UInt16(truncatingIfNeeded: count)
  }

  @inlinable
  package var isEmpty: Bool { count == 0 }

  @inlinable
  package var indices: Range<Int> { Int(start)..<Int(start) + Int(count) }
}
