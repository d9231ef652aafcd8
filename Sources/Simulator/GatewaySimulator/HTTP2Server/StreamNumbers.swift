// SPDX-License-Identifier: Apache-2.0

/// The ids of a client's streams, which only increase: an id that was skipped cannot be used later (RFC 9113 §5.1.1).
struct StreamNumbers {
  /// The number of remembered id ranges; a client that opens every stream has none.
  private static let mostRanges = 64
  private var newest: Int32 = -1
  private var skipped: [ClosedRange<Int32>] = []

  /// Records the stream id of a header block; returns false if the stream was skipped.
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
