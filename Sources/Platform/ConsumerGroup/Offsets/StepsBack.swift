// SPDX-License-Identifier: Apache-2.0

/// Notices each time that the reader of a partition is set back. It may read the same log again, or another one that was
/// made in its place: whoever asks once for each time misses none, and asks nothing for the records that follow.
public struct StepsBack: Sendable {
  private var expected: Int64 = -1
  private var next: Int64 = 0

  public init() {}

  /// A record came that lies below the one that was expected.
  ///
  /// - Returns: whether the reader was set back to it; false if it follows the one before.
  public mutating func isOne(_ offset: Int64, below expected: Int64) -> Bool {
    defer { (self.expected, next) = (expected, offset + 1) }
    return expected != self.expected || offset < next
  }
}
