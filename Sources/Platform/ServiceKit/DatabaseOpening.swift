// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Glibc

extension ServiceContext {
  /// Opens a service's database, and waits for one that is locked.
  ///
  /// - Parameters:
  ///   - file: its path; nil for a database on a server.
  ///   - mayPass: whether a failure is one that may pass by itself, such as a lock or a full disk; a wrong path is none.
  /// - Returns: nil when a stop was requested meanwhile.
  public func openDatabase<Database, Failure: Error>(
    file: String?, open: () throws(Failure) -> Database, mayPass: (Failure) -> Bool
  ) throws(ServiceFailure) -> Database? {
    var isReported = false
    while !signals.isStopping {
      do throws(Failure) {
        let database = try open()
        status.set("database", obstacle: nil)
        if let file { warnOfExposure(file) }
        return database
      } catch {
        guard mayPass(error) else { throw ServiceFailure("\(error)") }
        if !isReported {
          log(ServiceKitLog.databaseNotOpened, ["error": "\(error)"])
        }
        isReported = true
        status.set("database", obstacle: "the database cannot be opened: \(error)")
        usleep(500_000)
      }
    }
    return nil
  }

  /// Says that a database of an older version is brought up to date.
  ///
  /// - Parameters:
  ///   - version: of its schema.
  ///   - known: the version that it gets.
  public func noteUpdate(version: Int, known: Int) {
    log(ServiceKitLog.databaseMigrates, ["version": "\(version)", "to": "\(known)"])
  }

  /// An older version made the file with the process's umask; an administrator may want it so.
  private func warnOfExposure(_ file: String) {
    guard let problem = (try? File.exposure(of: file)) ?? nil else { return }
    log(ServiceKitLog.databaseExposed, ["problem": problem])
  }
}
