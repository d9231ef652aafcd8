// SPDX-License-Identifier: Apache-2.0
import Glibc

/// The stream to systemd's journal, if this process has one.
///
/// systemd names it in `JOURNAL_STREAM` by device and inode (systemd.exec(5)). The variable is inherited by children whose
/// output goes elsewhere, so it is compared with the descriptor.
public enum JournalStream {
  /// True if the text that this process writes to standard error becomes lines of the journal.
  public static let isStandardError = isJournal(
    STDERR_FILENO, named: SystemdNotifier.variable("JOURNAL_STREAM"))

  /// True if a descriptor is the stream that `JOURNAL_STREAM` names.
  public static func isJournal(_ descriptor: Int32, named name: String?) -> Bool {
    var status = stat()
    guard let name, fstat(descriptor, &status) == 0 else { return false }
    return name == "\(status.st_dev):\(status.st_ino)"
  }
}
