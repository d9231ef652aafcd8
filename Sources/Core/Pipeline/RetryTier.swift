// SPDX-License-Identifier: Apache-2.0

/// A retry topic: first in, first out, every record due the same time after it was written.
package enum RetryTier: UInt8, Sendable, CaseIterable, Comparable {
  case seconds5
  case minute1
  case minutes15

  /// How long after it was written a record is due, in milliseconds.
  @inlinable
  package var delay: Int64 {
    switch self {
    case .seconds5: 5_000
    case .minute1: 60_000
    case .minutes15: 900_000
    }
  }

  /// When a record is due, in milliseconds since the epoch. A time that is still to come counts as now: whatever
  /// anybody stamps on a record, it holds its partition up for the tier's delay at most.
  ///
  /// - Parameter writtenAt: the record's time; negative for none.
  @inlinable
  package func due(writtenAt: Int64, now: Int64) -> Int64 { min(writtenAt, now) + delay }

  /// The last part of the topic's name.
  package var suffix: StaticString {
    switch self {
    case .seconds5: "5s"
    case .minute1: "1m"
    case .minutes15: "15m"
    }
  }

  package static func < (left: RetryTier, right: RetryTier) -> Bool {
    left.rawValue < right.rawValue
  }
}
