// SPDX-License-Identifier: Apache-2.0
import Glibc
import ServiceKit

/// Asks before something that cannot be taken back.
enum Confirmation {
  /// Goes on only after `yes` on a terminal. Not on a terminal it throws and names `--yes`.
  static func ask(_ deed: String) throws(ServiceFailure) {
    guard isatty(0) == 1, StandardError.isTerminal else {
      throw ServiceFailure("not a terminal; pass --yes to \(deed)")
    }
    StandardError.write("About to \(deed). Type yes to continue: ")
    guard readLine() == "yes" else { throw ServiceFailure("not confirmed; nothing changed") }
  }
}
