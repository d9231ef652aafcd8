// SPDX-License-Identifier: Apache-2.0
import Glibc
import ServiceKit

enum Confirmation {
  /// Continues only after `yes` on a terminal. Without a terminal it throws an error that names `--yes`.
  static func ask(_ deed: String, _ context: ServiceContext) throws(ServiceFailure) {
    guard isatty(STDIN_FILENO) == 1, StandardError.isTerminal else {
      throw ServiceFailure("not a terminal; pass --yes to \(deed)")
    }
    StandardError.write("About to \(deed). Type yes to continue: ")
    try awaitLine(on: STDIN_FILENO, context)
    guard readLine() == "yes" else { throw ServiceFailure("not confirmed; nothing changed") }
  }

  /// Waits until a terminal has a line, or has ended; Ctrl-C ends the wait.
  static func awaitLine(on terminal: Int32, _ context: ServiceContext) throws(ServiceFailure) {
    var input = pollfd(fd: terminal, events: Int16(POLLIN), revents: 0)
    repeat {
      if context.signals.isStopping {
        throw context.signals.interrupted("not confirmed; nothing changed")
      }
    } while poll(&input, 1, 100) == 0
  }
}
