// SPDX-License-Identifier: Apache-2.0

/// The recent rate of a producer, which says whether waiting for further records fills a batch.
///
/// A record that goes at once costs a request of its own. That is worth it while the next one comes later than any
/// `linger.ms` would wait; at a thousand records a second it doubles the cost of each and gains a few milliseconds.
struct ProducerPace {
  /// Milliseconds over which the rate is taken.
  private static let window: UInt64 = 100
  /// Records a second from which on they linger.
  private static let busy: UInt64 = 200

  private var since: UInt64 = 0
  private var before: UInt64 = 0
  private var isBusy = false

  /// True while records come so fast that they should linger.
  ///
  /// - Parameters:
  ///   - now: monotonic milliseconds.
  ///   - produced: records since the producer was made.
  mutating func isBusy(now: UInt64, produced: UInt64) -> Bool {
    guard now >= since + Self.window else { return isBusy }
    isBusy = (produced - before) * 1_000 > (now - since) * Self.busy
    (since, before) = (now, produced)
    return isBusy
  }
}
