// SPDX-License-Identifier: Apache-2.0
public import EventLoop

/// An address that takes no connection and refuses none: its listener's queue is full, and the system drops what comes.
public final class BlackHole: Sendable {
  public let address: SocketAddress
  private let listener: Socket
  private let first: Socket
  private let second: Socket
  private let third: Socket

  public init(at address: SocketAddress) throws {
    listener = try Socket.listening(on: address, backlog: 0)
    self.address = listener.localAddress ?? address
    // One is taken; the kernel may take another one before it notices.
    first = try Socket.connecting(to: self.address)
    second = try Socket.connecting(to: self.address)
    third = try Socket.connecting(to: self.address)
  }
}
