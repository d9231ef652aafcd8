// SPDX-License-Identifier: Apache-2.0

/// Counts of times in buckets whose width grows with the time: 32 buckets for each doubling, so a
/// percentile is at most 3.2 % too high, over the whole range of UInt64. Any unit.
public struct LatencyHistogram: Sendable, Equatable {
  private static let bucketBits = 5
  private static let bucketsPerDoubling = 1 << bucketBits

  private var buckets = [Int](repeating: 0, count: (64 - bucketBits + 1) * bucketsPerDoubling)
  public private(set) var count = 0
  public private(set) var maximum: UInt64 = 0

  public init() {}

  public mutating func record(_ value: UInt64) {
    buckets[Self.bucket(of: value)] += 1
    count += 1
    maximum = max(maximum, value)
  }

  /// The smallest time that `fraction` (0…1) of the recorded ones do not exceed, rounded up to
  /// its bucket's end; 0 when nothing was recorded.
  public func percentile(_ fraction: Double) -> UInt64 {
    guard count > 0 else { return 0 }
    let wanted = max(1, Int((fraction * Double(count)).rounded(.up)))
    var seen = 0
    for (index, number) in buckets.enumerated() where number > 0 {
      seen += number
      if seen >= wanted { return min(Self.upperBound(of: index), maximum) }
    }
    return maximum
  }

  /// Values below 64 have a bucket of their own; above, the five bits after the leading one
  /// choose it.
  static func bucket(of value: UInt64) -> Int {
    let exponent = max(0, 63 - value.leadingZeroBitCount - bucketBits)
    return exponent * bucketsPerDoubling + Int(value >> UInt64(exponent))
  }

  /// The largest value of a bucket.
  static func upperBound(of bucket: Int) -> UInt64 {
    guard bucket >= 2 * bucketsPerDoubling else { return UInt64(bucket) }
    let exponent = UInt64(bucket / bucketsPerDoubling - 1)
    let mantissa = UInt64(bucket % bucketsPerDoubling + bucketsPerDoubling)
    return (mantissa << exponent) + ((1 << exponent) - 1)
  }
}
