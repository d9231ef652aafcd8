// SPDX-License-Identifier: Apache-2.0
import Glibc

/// Standard input, output and error.
enum StandardDescriptors {
  /// Opens `/dev/null` in place of those that the process was started without: the files and sockets that it opens first
  /// would get their numbers, and then the log.
  static func open() {
    for descriptor in [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO]
    where fcntl(descriptor, F_GETFD) < 0 {
      // The system gives the lowest number that is free, which is this one.
      _ = Glibc.open("/dev/null", O_RDWR)
    }
  }
}
