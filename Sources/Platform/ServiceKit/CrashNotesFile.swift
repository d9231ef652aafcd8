// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Glibc
import Kafka
import Settings

enum CrashNotesFile {
  /// The notes of earlier crashes, with further ones noted from now on. Without a place for them the process goes on,
  /// and a service says what that means.
  ///
  /// - Parameter isService: it has the setting `--crash-notes`. A command, which a person starts again, has none.
  static func notes(
    of program: String, _ isService: Bool, _ values: SettingValues, _ log: Logger
  ) -> CrashNotes {
    do throws(SystemError) {
      let setting = isService ? values[CommonSettings.crashNotes] : nil
      let path = if let setting { setting } else { try usualPath(program) }
      let notes = try CrashNotes(path: path)
      if !notes.isEmpty {
        log(ServiceKitLog.crashesNoted, ["file": path, "records": "\(notes.count)"])
      }
      return notes
    } catch {
      guard isService else { return CrashNotes() }
      log(ServiceKitLog.noCrashNotes, ["error": "\(error)"])
      return CrashNotes()
    }
  }

  private static func usualPath(_ program: String) throws(SystemError) -> String {
    if let folder = getenv("STATE_DIRECTORY"),
      let first = String(cString: folder).split(separator: ":").first
    {
      return "\(first)/crash-notes"
    }
    let folder = "/tmp/martlet-\(geteuid())"
    try File.makeFolder(folder)
    // Somebody else may have made it, or a link.
    var status = stat()
    guard lstat(folder, &status) == 0, status.st_mode & S_IFMT == S_IFDIR,
      status.st_uid == geteuid(), status.st_mode & (S_IWGRP | S_IWOTH) == 0
    else { throw SystemError(code: EPERM, attempt: "cannot trust \(folder)") }
    return "\(folder)/\(program.replacingBlanks).crash-notes"
  }
}
