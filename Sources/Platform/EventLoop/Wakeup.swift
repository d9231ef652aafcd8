// SPDX-License-Identifier: Apache-2.0
import CLinux
import Glibc

/// Wakes a loop that waits in its `Poller`, from any thread (eventfd(2)).
///
/// Signals that arrive before the loop clears them collapse into one, so signalling is cheap and
/// never blocks. The descriptor lives as long as the object.
public final class Wakeup: Sendable {
  /// The descriptor to watch for reading; a C library may write eight bytes to it instead of
  /// calling `signal()`.
  public let fd: Int32

  /// Opens an eventfd. Made at start-up only; a process that has no descriptor left for it cannot
  /// run, so failure ends the process with a message.
  public init() {
    fd = eventfd(0, Int32(EFD_NONBLOCK) | Int32(EFD_CLOEXEC))
    precondition(fd >= 0, "cannot open an eventfd (errno \(errno)); raise the open files limit")
  }

  deinit { close(fd) }

  /// Makes the descriptor readable. Safe from any thread.
  public func signal() {
    var one: UInt64 = 1
    // EAGAIN means the counter is full, so the reader is already awake.
    _ = write(fd, &one, MemoryLayout<UInt64>.size)
  }

  /// Takes back all signals. Call it before looking at what was signalled, or one may be missed.
  public func clear() {
    var count: UInt64 = 0
    _ = read(fd, &count, MemoryLayout<UInt64>.size)
  }
}
