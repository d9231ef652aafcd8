// SPDX-License-Identifier: Apache-2.0

/// A gateway that works on its requests one after the other, so many a second: the others wait.
public struct WorkQueue: Sendable {
  /// When all that was taken is done, in monotonic microseconds.
  private var doneAt: UInt64 = 0

  public init() {}

  /// Takes a request.
  ///
  /// - Parameters:
  ///   - capacity: requests a second, at least one.
  ///   - most: requests that may wait.
  ///   - now: monotonic milliseconds.
  /// - Returns: milliseconds until it is answered; nil if too many wait.
  public mutating func take(capacity: Int, most: Int, now: UInt64) -> UInt64? {
    let (time, each) = (now * 1_000, 1_000_000 / Double(capacity))
    let begin = max(doneAt, time)
    guard Double(begin - time) <= Double(most) * each else { return nil }
    // Of a fraction of a microsecond each is done together with the next one.
    rest += each
    doneAt = begin + UInt64(rest)
    rest -= rest.rounded(.down)
    return (doneAt - time) / 1_000
  }

  private var rest: Double = 0
}
