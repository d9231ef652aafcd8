// SPDX-License-Identifier: Apache-2.0

/// Detects each time that the reader of a partition is set back. It may read the same log again, or a recreated one: a
/// caller that asks once each time misses none, and need not ask for the records that follow.
public struct StepsBack: Sendable {
  private var expected: Int64 = -1
  private var next: Int64 = 0

  public init() {}

  /// Notes a record below the expected offset.
  ///
  /// - Returns: whether the reader was set back to it; false if it follows the record before.
  public mutating func isOne(_ offset: Int64, below expected: Int64) -> Bool {
    defer { (self.expected, next) = (expected, offset + 1) }
    return expected != self.expected || offset < next
  }
}
