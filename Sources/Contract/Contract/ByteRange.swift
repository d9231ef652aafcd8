// SPDX-License-Identifier: Apache-2.0

/// The range of a field's bytes in a record of at most 64 KiB.
public struct ByteRange: Equatable, Sendable {
  public let start: UInt16
  public let count: UInt16

  public init(start: Int, count: Int) {
    self.start = UInt16(truncatingIfNeeded: start)
    self.count = UInt16(truncatingIfNeeded: count)
  }

  public var isEmpty: Bool { count == 0 }

  public var indices: Range<Int> { Int(start)..<Int(start) + Int(count) }
}
