// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Glibc
import Testing

/// Repeats `step` until it returns true; returns false if time runs out before.
public func eventually(
  withinMilliseconds limit: UInt64 = 60_000, pauseMilliseconds: UInt32 = 5,
  _ step: () throws -> Bool
) rethrows -> Bool {
  let deadline = MonotonicClock.milliseconds() + limit
  while true {
    if try step() { return true }
    if MonotonicClock.milliseconds() >= deadline { return false }
    usleep(pauseMilliseconds * 1_000)
  }
}

/// Expects that `step` returns true before time runs out.
public func expectEventually(
  withinMilliseconds limit: UInt64 = 60_000, pauseMilliseconds: UInt32 = 5,
  fileID: String = #fileID, filePath: String = #filePath, line: Int = #line, column: Int = #column,
  _ step: () throws -> Bool
) rethrows {
  let isSo = try eventually(withinMilliseconds: limit, pauseMilliseconds: pauseMilliseconds, step)
  guard !isSo else { return }
  let place = SourceLocation(fileID: fileID, filePath: filePath, line: line, column: column)
  Issue.record("it was not so within \(limit) ms", sourceLocation: place)
}

/// Waits while something must not happen, or a peer must be silent: there is no event to wait for instead.
public func letPass(milliseconds: UInt32) { usleep(milliseconds * 1_000) }
