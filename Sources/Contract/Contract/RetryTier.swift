// SPDX-License-Identifier: Apache-2.0

/// A retry topic: first in, first out, each record due the same time after it was written. Shortest first.
public enum RetryTier: UInt8, Sendable, CaseIterable, Comparable {
  case seconds5
  case minute1
  case minutes15

  /// The time from writing a record until it is due, in milliseconds.
  public var delay: Int64 {
    switch self {
    case .seconds5: 5_000
    case .minute1: 60_000
    case .minutes15: 900_000
    }
  }

  /// The last part of the topic's name.
  public var suffix: StaticString {
    switch self {
    case .seconds5: "5s"
    case .minute1: "1m"
    case .minutes15: "15m"
    }
  }

  public static let shortest = allCases[0]
  public static let longest = allCases[allCases.count - 1]

  /// The shortest tier that waits at least this many milliseconds, or the longest one.
  public static func fitting(_ delay: Int64) -> RetryTier {
    for tier in allCases where tier.delay >= delay { return tier }
    return longest
  }

  /// The next longer tier; the longest returns itself.
  public var next: RetryTier { RetryTier(rawValue: rawValue + 1) ?? self }
  /// The next shorter tier; nil for the shortest.
  public var previous: RetryTier? { rawValue == 0 ? nil : RetryTier(rawValue: rawValue - 1) }

  public static func < (left: RetryTier, right: RetryTier) -> Bool {
    left.rawValue < right.rawValue
  }
}
