// SPDX-License-Identifier: Apache-2.0
import EventLoop

/// The time that a command may take with all that it does, from now on.
public struct TimeLimit {
  private let end: UInt64

  public init(milliseconds: Int) {
    end = MonotonicClock.milliseconds() + UInt64(max(0, milliseconds))
  }

  /// Milliseconds that are left; 0 when the time is up.
  public var left: Int {
    let now = MonotonicClock.milliseconds()
    return now < end ? Int(end - now) : 0
  }
}
