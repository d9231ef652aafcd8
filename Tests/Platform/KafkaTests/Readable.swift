// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Glibc

/// Whether the wakeup has been signalled and not cleared.
func isReadable(_ wakeup: Wakeup) -> Bool {
  var entry = pollfd(fd: wakeup.fd, events: Int16(POLLIN), revents: 0)
  return poll(&entry, 1, 0) == 1
}
