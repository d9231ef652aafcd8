// SPDX-License-Identifier: Apache-2.0
import CLinux
import Glibc

/// Time that never jumps; for deadlines, ages and measurements. Its zero means nothing.
public enum MonotonicClock {
  /// Nanoseconds since an arbitrary moment.
  public static func nanoseconds() -> UInt64 {
    var now = timespec()
    clock_gettime(CLOCK_MONOTONIC, &now)
    return UInt64(now.tv_sec) &* 1_000_000_000 &+ UInt64(now.tv_nsec)
  }

  /// Milliseconds since the same arbitrary moment.
  public static func milliseconds() -> UInt64 { nanoseconds() / 1_000_000 }
}

/// Time of day; for record timestamps and provider tokens.
public enum WallClock {
  /// Milliseconds since the UNIX epoch.
  public static func milliseconds() -> Int64 {
    var now = timespec()
    clock_gettime(CLOCK_REALTIME, &now)
    return Int64(now.tv_sec) * 1_000 + Int64(now.tv_nsec) / 1_000_000
  }

  /// Seconds since the UNIX epoch.
  public static func seconds() -> Int64 { milliseconds() / 1_000 }

  /// True if the kernel considers the clock to be synchronized (adjtimex(2)); nil if it does not tell.
  public static var isSynchronized: Bool? {
    var state = timex()
    let answer = adjtimex(&state)
    guard answer >= 0 else { return nil }
    return answer != TIME_ERROR && state.status & STA_UNSYNC == 0
  }
}
