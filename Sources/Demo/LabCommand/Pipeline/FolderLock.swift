// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Glibc
import ServiceKit

/// Locks a folder for one process: two pipelines in it would overwrite each other's keys, logs and database.
///
/// It is a kernel lock on an open file, which ends with the process in any case.
final class FolderLock {
  private let descriptor: Int32

  /// - Throws: The owner of the folder, if another process has it.
  init(_ folder: String) throws {
    let path = "\(folder)/lock"
    descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw SystemError.last("cannot open \(path)") }
    guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
      let code = errno
      guard code == EWOULDBLOCK else {
        throw SystemError(code: code, attempt: "cannot lock \(path)")
      }
      let owner = (try? File.text(path)) ?? ""
      throw ServiceFailure(
        "another martlet (process \(owner)) uses \(folder): stop it, or choose another --dir")
    }
    let text = Array("\(getpid())".utf8)
    ftruncate(descriptor, 0)
    _ = text.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
  }

  deinit { close(descriptor) }
}
