// SPDX-License-Identifier: Apache-2.0

/// Quantiles of measurements, from a histogram's buckets.
public enum MetricQuantile {
  /// - Parameters:
  ///   - quantile: 0…1.
  ///   - buckets: each bound in seconds with how many measurements are at most that long, those of the shorter bounds
  ///     among them; in any order. Those of one bound, from several series, are added up.
  /// - Returns: seconds, reckoned evenly within a bucket, as Prometheus does; the longest finite bound for what is
  ///   longer; nil without a measurement.
  public static func seconds(_ quantile: Double, _ buckets: [(bound: Double, count: Double)])
    -> Double?
  {
    var sums: [Double: Double] = [:]
    for bucket in buckets where !bucket.bound.isNaN {
      sums[bucket.bound, default: 0] += bucket.count
    }
    let sorted = sums.sorted { $0.key < $1.key }
    guard let all = sorted.last?.value, all > 0 else { return nil }
    let rank = min(max(quantile, 0), 1) * all
    var (lower, below) = (0.0, 0.0)
    for (bound, count) in sorted {
      if count >= rank, count > below {
        guard bound.isFinite else { return lower }
        return lower + (bound - lower) * max(0, rank - below) / (count - below)
      }
      if bound.isFinite { (lower, below) = (bound, max(below, count)) }
    }
    return lower
  }
}
