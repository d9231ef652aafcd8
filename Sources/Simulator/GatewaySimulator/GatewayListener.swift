// SPDX-License-Identifier: Apache-2.0
import EventLoop

/// A listener before its socket exists.
struct ListenerPlan {
  var address: SocketAddress
  let role: ListenerRole
  /// The index of the listener whose port it shares.
  let samePortAs: Int?

  init(_ address: SocketAddress, _ role: ListenerRole, samePortAs: Int? = nil) {
    self.address = address
    self.role = role
    self.samePortAs = samePortAs
  }
}

/// A listening socket that an array can hold, and its role.
final class GatewayListener: @unchecked Sendable {
  // Unchecked Sendable: created by the thread that starts a loop, then used by the loop only.
  let role: ListenerRole
  let address: SocketAddress
  /// The address without the port.
  let host: String
  private let sharesPort: Bool
  private var socket: Socket?

  /// Takes over a listening socket that is bound to `address`.
  init(
    _ socket: consuming Socket, at address: SocketAddress, sharesPort: Bool, _ role: ListenerRole
  ) {
    self.role = role
    self.address = address
    host = address.host
    self.sharesPort = sharesPort
    self.socket = consume socket
  }

  var isOpen: Bool { socket != nil }

  var fd: Int32 { socket?.fd ?? -1 }

  /// Accepts the next waiting connection.
  func accept() throws(SystemError) -> Socket? { try socket?.accept() }

  func close() { socket = nil }

  /// Listens again on the same address and port.
  func reopen() throws(SystemError) {
    socket = try Socket.listening(on: address, sharesPort: sharesPort)
  }
}
