// SPDX-License-Identifier: Apache-2.0

/// The buckets of every latency histogram, and what one has counted.
public struct LatencyCounts: Sendable, Equatable {
  /// The upper ends of the buckets in milliseconds, 1 ms to an hour; what is longer counts in a further bucket.
  public static let bounds: [Int64] = [
    1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 30_000, 60_000, 300_000,
    600_000, 1_800_000, 3_600_000,
  ]
  /// One for each bound, and one for what is longer.
  public let counts: [Int]
  /// Milliseconds.
  public let sum: Int

  public init(counts: [Int] = Array(repeating: 0, count: bounds.count + 1), sum: Int = 0) {
    precondition(counts.count == Self.bounds.count + 1, "one count a bucket")
    self.counts = counts
    self.sum = sum
  }

  public var count: Int { counts.reduce(0, +) }

  public func merged(with other: LatencyCounts) -> LatencyCounts {
    LatencyCounts(counts: zip(counts, other.counts).map { $0 + $1 }, sum: sum + other.sum)
  }

  /// The bucket that a time counts in: the first whose bound it does not exceed.
  public static func bucket(of milliseconds: Int64) -> Int {
    bounds.firstIndex { milliseconds <= $0 } ?? bounds.count
  }
}
