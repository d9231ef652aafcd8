// SPDX-License-Identifier: Apache-2.0
import CLinux
import Glibc

/// Tells systemd how the service is (sd_notify(3)): one datagram a message to the socket that `NOTIFY_SOCKET` names.
/// Does nothing where there is none.
package struct SystemdNotifier: Sendable {
  private let path: String?
  /// Within how many milliseconds systemd wants to hear `watchdog` again; nil if it does not.
  package let watchdogMilliseconds: UInt64?

  /// - Parameter environment: `NOTIFY_SOCKET`, `WATCHDOG_USEC` and `WATCHDOG_PID` are looked at.
  package init(_ environment: (String) -> String? = Self.variable) {
    path = environment("NOTIFY_SOCKET").flatMap { $0.isEmpty ? nil : $0 }
    // The variables are inherited: a child is not meant.
    let isMeant = environment("WATCHDOG_PID").map { $0 == "\(getpid())" } ?? true
    let period = environment("WATCHDOG_USEC").flatMap { UInt64($0) }
    watchdogMilliseconds =
      isMeant && path != nil ? period.flatMap { $0 >= 1_000 ? $0 / 1_000 : nil } : nil
  }

  package static func variable(_ name: String) -> String? {
    getenv(name).map { String(cString: $0) }
  }

  /// The service is ready.
  package func ready() { send("READY=1") }
  /// It begins to stop.
  package func stopping() { send("STOPPING=1") }
  /// It is alive.
  package func watchdog() { send("WATCHDOG=1") }

  /// - Returns: whether the socket took it.
  @discardableResult package func send(_ message: String) -> Bool {
    guard let path, var address = Self.address(path) else { return false }
    let socket = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    guard socket >= 0 else { return false }
    defer { close(socket) }
    // What precedes the name, and the name: an abstract one has no end mark.
    let length = MemoryLayout<sockaddr_un>.offset(of: \.sun_path)! + path.utf8.count
    let bytes = Array(message.utf8)
    let sent = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        sendto(
          socket, bytes, bytes.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT),
          $0, socklen_t(length))
      }
    }
    return sent == bytes.count
  }

  /// `@name` is an abstract socket, whose name begins with a NUL.
  private static func address(_ path: String) -> sockaddr_un? {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    var bytes = Array(path.utf8)
    guard let first = bytes.first, bytes.count < MemoryLayout.size(ofValue: address.sun_path),
      first == UInt8(ascii: "@") || first == UInt8(ascii: "/")
    else { return nil }
    if first == UInt8(ascii: "@") { bytes[0] = 0 }
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
    return address
  }
}
