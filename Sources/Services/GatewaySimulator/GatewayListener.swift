// SPDX-License-Identifier: Apache-2.0
import Bytes
import EventLoop

/// A listening socket in a form that an array can hold, and what it plays.
final class GatewayListener: @unchecked Sendable {
  // Sendable by hand: made by the thread that starts a loop, then the loop's own.
  let role: ListenerRole
  private var socket: Socket?

  init(_ socket: consuming Socket, _ role: ListenerRole) {
    self.role = role
    self.socket = consume socket
  }

  var fd: Int32 { socket?.fd ?? -1 }

  /// The next waiting connection.
  func accept() throws(SystemError) -> Socket? { try socket?.accept() }

  func close() { socket = nil }
}
