// SPDX-License-Identifier: Apache-2.0

/// The numbers of a client's streams, which only rise: one that was passed over may not be used any more (RFC 9113
/// §5.1.1).
struct StreamNumbers {
  /// Ranges of numbers that are remembered; a client that opens every stream has none.
  private static let mostRanges = 64
  private var newest: Int32 = -1
  private var skipped: [ClosedRange<Int32>] = []

  /// Takes the number of a header block into account; false if its stream was passed over.
  mutating func take(_ stream: Int32) -> Bool {
    guard stream > newest else { return !skipped.contains { $0.contains(stream) } }
    if stream > newest + 2 {
      if skipped.count == Self.mostRanges { skipped.removeFirst() }
      skipped.append(newest + 2...stream - 2)
    }
    newest = stream
    return true
  }
}
