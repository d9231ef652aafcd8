// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Glibc
import ServiceKit

/// Treats the end of standard input as a request to stop, so that a gateway always ends with its test suite.
enum InputEnd {
  /// Waits until a stop is requested or `input` ends, which then requests one. Only pipes, sockets and terminals count;
  /// `/dev/null` and files do not, so that a shell can start a gateway with `&`.
  static func wait(_ input: Int32, or signals: ServiceSignals) {
    let wakeup = Wakeup()
    signals.subscribe(wakeup)
    var entries = [
      pollfd(fd: wakeup.fd, events: Int16(POLLIN), revents: 0),
      pollfd(fd: isAttended(input) ? input : -1, events: Int16(POLLIN), revents: 0),
    ]
    while !signals.isStopping {
      _ = poll(&entries, 2, -1)
      wakeup.clear()
      if entries[1].revents != 0, hasEnded(input) { signals.requestStop() }
    }
  }

  private static func isAttended(_ input: Int32) -> Bool {
    var status = stat()
    guard fstat(input, &status) == 0 else { return false }
    let kind = status.st_mode & S_IFMT
    return kind == S_IFIFO || kind == S_IFSOCK || isatty(input) == 1
  }

  /// Reads and discards what is available.
  private static func hasEnded(_ input: Int32) -> Bool {
    var bytes = [UInt8](repeating: 0, count: 4_096)
    let count = read(input, &bytes, bytes.count)
    return count == 0 || count < 0 && errno != EINTR && errno != EAGAIN
  }
}
