// SPDX-License-Identifier: Apache-2.0

/// A retry topic: first in, first out, every record due the same time after it was written.
public enum RetryTier: UInt8, Sendable, CaseIterable, Comparable {
  case seconds5
  case minute1
  case minutes15

  /// The time from the writing of a record until it is due, in milliseconds.
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

  public static func < (left: RetryTier, right: RetryTier) -> Bool {
    left.rawValue < right.rawValue
  }
}
