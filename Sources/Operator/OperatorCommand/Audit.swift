// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Glibc
import ServiceKit
import Telemetry

/// Records who has changed what by a command: a line in the command's log, and the same in the system's (syslog,
/// facility authpriv), which is still there when the terminal is gone.
enum Audit {
  /// `user@host` by the system's account, with who became it by sudo: `root (sudo ann)@host`. USER could say anything.
  static let actor: String = {
    let user = getpwuid(getuid()).map { String(cString: $0.pointee.pw_name) } ?? "\(getuid())"
    let sudo = getenv("SUDO_USER").map { " (sudo \(TerminalText.plain(String(cString: $0))))" }
    var name = [CChar](repeating: 0, count: 256)
    gethostname(&name, name.count - 1)
    let host = String(decoding: name.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    return "\(user)\(sudo ?? "")@\(host)"
  }()

  /// Facility authpriv, priority notice (syslog(3)).
  private static let priority: Int32 = 10 << 3 | 5

  /// - Parameters:
  ///   - deed: what was done, such as `replay`.
  ///   - subject: to what, with counts.
  static func note(_ deed: String, _ subject: String, _ context: ServiceContext) {
    context.log.info("audit", ["by": actor, "deed": deed, "subject": subject])
    let time = Timestamp.text(milliseconds: WallClock.milliseconds())
    "martlet audit: \(time) by=\(actor) deed=\(deed) subject=\(subject)".withCString { text in
      withVaList([text]) { vsyslog(priority, "%s", $0) }
    }
  }
}
