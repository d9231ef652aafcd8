// SPDX-License-Identifier: Apache-2.0
import EventLoop

/// TCP ports of 127.0.0.1 for processes that keep their address when they are started again.
package enum FreePorts {
  /// Ports that were free a moment ago, each another one.
  package static func find(_ count: Int) throws -> [UInt16] {
    guard count > 0 else { return [] }
    let socket = try Socket.listening(on: .loopback(port: 0))
    // Open until all are found: one that is closed again may be handed out a second time.
    let others = try find(count - 1)
    return [socket.localAddress?.port ?? 0] + others
  }

  /// Whether a broker could listen on this port. One that connections of an earlier broker still linger on is free.
  static func isFree(_ port: UInt16) -> Bool {
    do {
      _ = try Socket.listening(on: .loopback(port: port))
      return true
    } catch {
      return false
    }
  }
}
