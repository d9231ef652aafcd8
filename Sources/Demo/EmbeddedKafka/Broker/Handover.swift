// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Glibc
import Synchronization

/// Passes one value from a thread to another that waits for it.
final class Handover<Result: Sendable>: Sendable {
  private let result = Mutex<Result?>(nil)
  private let wakeup = Wakeup()

  func put(_ value: Result) {
    result.withLock { $0 = value }
    wakeup.signal()
  }

  func take() -> Result {
    while true {
      if let value = result.withLock({ $0 }) { return value }
      var entry = pollfd(fd: wakeup.fd, events: Int16(POLLIN), revents: 0)
      _ = poll(&entry, 1, -1)
    }
  }
}
