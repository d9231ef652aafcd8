// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Glibc
import ServiceKit
import Telemetry

/// Records who has changed what with a command, in the command's log and in syslog (facility authpriv), which outlives
/// the terminal.
enum Audit {
  /// `user@host` by the system account, with the user before sudo: `root (sudo ann)@host`. `USER` is not trustworthy.
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

  /// The end of a subject: the number of records that Kafka may have or not.
  static func doubt(_ unanswered: Int) -> String {
    unanswered > 0 ? "; \(unanswered) more may be stored or not" : ""
  }

  /// How long a command that gives up waits for the answers to what it has produced, in milliseconds.
  static let lastWait: UInt64 = 2_000

  /// - Parameters:
  ///   - deed: The action, such as `replay`.
  ///   - subject: The objects of the action, with counts.
  static func note(_ deed: String, _ subject: String, _ context: ServiceContext) {
    context.log(OperatorLog.audit, ["by": actor, "deed": deed, "subject": subject])
    let time = Timestamp.text(milliseconds: WallClock.milliseconds())
    "martlet audit: \(time) by=\(actor) deed=\(deed) subject=\(subject)".withCString { text in
      withVaList([text]) { vsyslog(priority, "%s", $0) }
    }
  }
}
