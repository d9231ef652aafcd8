// SPDX-License-Identifier: Apache-2.0
import CLinux
import Glibc

/// Wakes a loop that waits in its `Poller` and says which of its sources did, by number (pipe(2)).
///
/// For a loop with many sources of which few have something at a time: looking at all of them whenever one
/// signals costs more than the work. A source writes its number, four bytes in this machine's order, to
/// `input`. The descriptors live as long as the object.
public final class SourceSignals: Sendable {
  /// The descriptor to watch for reading.
  public let fd: Int32
  /// The end of the pipe to which sources write their numbers. A write never blocks; one that finds the pipe full
  /// (16,000 numbers that was never received) is lost, so a waiting thread polls all sources from time to time.
  public let input: Int32
  /// Numbers taken with one read.
  private static let atOnce = 256

  /// Opens a pipe. Made at start-up only; a process that has no descriptor left for it cannot run, so
  /// failure ends the process with a message.
  public init() {
    var ends: [Int32] = [-1, -1]
    let code = martlet_pipe(&ends, O_NONBLOCK)
    precondition(code == 0, "cannot open a pipe (errno \(errno)); raise the open files limit")
    (fd, input) = (ends[0], ends[1])
  }

  deinit {
    close(fd)
    close(input)
  }

  /// Signals as a source does. Safe from any thread.
  public func signal(_ number: UInt32) {
    var number = number
    _ = write(input, &number, MemoryLayout<UInt32>.size)
  }

  /// Calls `body` with the numbers that have come, some more than once. What does not fit into one read keeps
  /// the descriptor readable. Owned by one thread.
  public func take(_ body: (UInt32) -> Void) {
    withUnsafeTemporaryAllocation(of: UInt32.self, capacity: Self.atOnce) { numbers in
      let size = MemoryLayout<UInt32>.size
      let count = read(fd, numbers.baseAddress, Self.atOnce * size)
      guard count > 0 else { return }
      // Writes of four bytes are whole, so reads of a multiple of four are.
      for index in 0..<count / size { body(numbers[index]) }
    }
  }
}
