// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Glibc

/// Repeats `step` until it returns true; returns false if time runs out before.
public func eventually(
  withinMilliseconds limit: UInt64 = 10_000, pauseMilliseconds: UInt32 = 5,
  _ step: () throws -> Bool
) rethrows -> Bool {
  let deadline = MonotonicClock.milliseconds() + limit
  while true {
    if try step() { return true }
    if MonotonicClock.milliseconds() >= deadline { return false }
    usleep(pauseMilliseconds * 1_000)
  }
}

/// Waits while something must not happen, or a peer must be silent: there is no event to wait for instead.
public func letPass(milliseconds: UInt32) { usleep(milliseconds * 1_000) }
