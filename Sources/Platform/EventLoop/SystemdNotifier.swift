// SPDX-License-Identifier: Apache-2.0
import CLinux
import Glibc

/// Tells systemd how the service is (sd_notify(3)): one datagram a message to the socket that `NOTIFY_SOCKET` names.
/// Does nothing where there is none.
public struct SystemdNotifier: Sendable {
  private let path: String?
  /// Within how many milliseconds systemd wants to hear `watchdog` again; nil if it does not.
  public let watchdogMilliseconds: UInt64?

  /// - Parameter environment: `NOTIFY_SOCKET`, `WATCHDOG_USEC` and `WATCHDOG_PID` are looked at.
  public init(_ environment: (String) -> String? = Self.variable) {
    path = environment("NOTIFY_SOCKET").flatMap { $0.isEmpty ? nil : $0 }
    // The variables are inherited: a child is not meant.
    let isMeant = environment("WATCHDOG_PID").map { $0 == "\(getpid())" } ?? true
    let period = environment("WATCHDOG_USEC").flatMap { UInt64($0) }
    watchdogMilliseconds =
      isMeant && path != nil ? period.flatMap { $0 >= 1_000 ? $0 / 1_000 : nil } : nil
  }

  public static func variable(_ name: String) -> String? {
    getenv(name).map { String(cString: $0) }
  }

  /// True if systemd listens.
  public var isActive: Bool { path != nil }

  /// The process runs with valid settings. Whether it can do its work is told by `status`, and by `/readyz`: a host must
  /// not wait for Kafka to finish its boot.
  public func started() { send("READY=1") }
  /// Reports the state of the process, in a few words for `systemctl status`.
  public func status(_ words: String) {
    send("STATUS=" + words.filter { !$0.isNewline })
  }
  public func stopping() { send("STOPPING=1") }
  public func watchdog() { send("WATCHDOG=1") }

  @discardableResult public func send(_ message: String) -> Bool {
    guard let address = path.flatMap({ UnixAddress($0) }) else { return false }
    let socket = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    guard socket >= 0 else { return false }
    defer { close(socket) }
    let bytes = Array(message.utf8)
    let sent = address.withPointer {
      sendto(socket, bytes, bytes.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT), $0, $1)
    }
    return sent == bytes.count
  }
}
