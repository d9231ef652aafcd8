// SPDX-License-Identifier: Apache-2.0

/// A gateway with a limited capacity: it processes requests one at a time.
public struct WorkQueue: Sendable {
  /// The time at which all queued requests are done, in monotonic microseconds.
  private var doneAt: UInt64 = 0

  public init() {}

  /// Queues a request.
  ///
  /// - Parameters:
  ///   - capacity: Requests per second, at least one.
  ///   - most: The maximum number of queued requests.
  ///   - now: Monotonic milliseconds.
  /// - Returns: The milliseconds until it is answered; nil if the queue is full.
  public mutating func take(capacity: Int, most: Int, now: UInt64) -> UInt64? {
    let (time, each) = (now * 1_000, 1_000_000 / Double(capacity))
    let begin = max(doneAt, time)
    guard Double(begin - time) <= Double(most) * each else { return nil }
    // Fractions of a microsecond are carried over to the next request.
    rest += each
    doneAt = begin + UInt64(rest)
    rest -= rest.rounded(.down)
    return (doneAt - time) / 1_000
  }

  private var rest: Double = 0
}
