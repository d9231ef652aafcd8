// SPDX-License-Identifier: Apache-2.0
import Glibc
import ServiceKit

enum Confirmation {
  /// Continues only after `yes` on a terminal. Without a terminal it throws an error that names `--yes`.
  static func ask(_ deed: String) throws(ServiceFailure) {
    guard isatty(0) == 1, StandardError.isTerminal else {
      throw ServiceFailure("not a terminal; pass --yes to \(deed)")
    }
    StandardError.write("About to \(deed). Type yes to continue: ")
    guard readLine() == "yes" else { throw ServiceFailure("not confirmed; nothing changed") }
  }
}
