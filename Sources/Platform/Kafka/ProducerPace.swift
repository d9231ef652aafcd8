// SPDX-License-Identifier: Apache-2.0

/// The recent rate of a producer, which decides whether waiting for further records would fill a batch.
///
/// A record that is sent at once costs a request of its own. That is worthwhile while the next one comes later than any
/// `linger.ms` would wait; at a thousand records per second it doubles the cost of each and gains a few milliseconds.
/// And it is where each record comes only after the answer to the one before, as from a client that waits: no other
/// joins it, however long it lingers.
struct ProducerPace {
  /// The window over which the rate is measured, in milliseconds.
  private static let window: UInt64 = 100
  /// The rate from which records linger, in records per second.
  private static let busy: UInt64 = 200
  /// How long records go at once after they were alone in spite of lingering, in milliseconds.
  private static let alone: UInt64 = 1_000

  private var since: UInt64 = 0
  private var before: (produced: UInt64, rests: UInt64) = (0, 0)
  private var isBusy = false
  private var aloneUntil: UInt64 = 0

  /// True while records arrive so fast that they should linger.
  ///
  /// - Parameters:
  ///   - produced: records since the producer was made.
  ///   - rests: the number of times since then that all of them were acknowledged.
  mutating func isBusy(now: UInt64, produced: UInt64, rests: UInt64) -> Bool {
    guard now >= since + Self.window else { return isBusy }
    let (records, rested) = (produced - before.produced, rests - before.rests)
    // Fewer than three for each two that lingered.
    if isBusy, records * 2 < rested * 3 { aloneUntil = now + Self.alone }
    isBusy = records * 1_000 > (now - since) * Self.busy && now >= aloneUntil
    (since, before) = (now, (produced, rests))
    return isBusy
  }
}
