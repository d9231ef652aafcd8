// SPDX-License-Identifier: Apache-2.0

/// The recent rate of a producer, which decides whether waiting for further records would fill a batch.
///
/// A record that is sent at once costs a request of its own. That is worthwhile while the next one comes later than any
/// `linger.ms` would wait; at a thousand records per second it doubles the cost of each and gains a few milliseconds.
struct ProducerPace {
  /// The window over which the rate is measured, in milliseconds.
  private static let window: UInt64 = 100
  /// The rate from which records linger, in records per second.
  private static let busy: UInt64 = 200

  private var since: UInt64 = 0
  private var before: UInt64 = 0
  private var isBusy = false

  /// True while records arrive so fast that they should linger.
  ///
  /// - Parameter produced: records since the producer was made.
  mutating func isBusy(now: UInt64, produced: UInt64) -> Bool {
    guard now >= since + Self.window else { return isBusy }
    isBusy = (produced - before) * 1_000 > (now - since) * Self.busy
    (since, before) = (now, produced)
    return isBusy
  }
}
