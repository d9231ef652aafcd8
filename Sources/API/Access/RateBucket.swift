// SPDX-License-Identifier: Apache-2.0

/// The requests that a client may still make: a token bucket that holds one second of its rate.
///
/// A body that has begun may overdraw it, and the rest waits until the debt is paid: a long stream is slowed down but
/// never cut off.
public struct RateBucket: Sendable, Equatable {
  /// Items per second.
  public let rate: Int
  private var thousandths: Int
  private var updated: UInt64

  /// - Parameter rate: items per second, at least 1.
  public init(rate: Int, now: UInt64) {
    precondition(rate > 0, "a rate is at least one item per second")
    self.rate = rate
    thousandths = rate * 1_000
    updated = now
  }

  /// Takes items out, into debt if necessary.
  public mutating func take(_ items: Int, now: UInt64) {
    refill(now)
    thousandths -= items * 1_000
  }

  /// Milliseconds until a request is allowed; 0 means now.
  public mutating func wait(now: UInt64) -> UInt64 {
    refill(now)
    return thousandths > 0 ? 0 : UInt64(-thousandths / rate + 1)
  }

  private mutating func refill(_ now: UInt64) {
    guard now > updated else { return }
    // After a few seconds the bucket is full however large the debt: this prevents an overflow.
    let elapsed = Int(min(now - updated, 86_400_000))
    thousandths = min(rate * 1_000, thousandths + elapsed * rate)
    updated = now
  }
}
