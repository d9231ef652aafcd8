// SPDX-License-Identifier: Apache-2.0
public import EventLoop

/// An address that neither accepts nor refuses connections: its listener's queue is full, and the kernel drops packets.
public final class BlackHole: Sendable {
  public let address: SocketAddress
  private let listener: Socket
  private let first: Socket
  private let second: Socket
  private let third: Socket

  public init(at address: SocketAddress) throws {
    listener = try Socket.listening(on: address, backlog: 0)
    self.address = listener.localAddress ?? address
    // One is accepted; the kernel may accept another one before the queue is full.
    first = try Socket.connecting(to: self.address)
    second = try Socket.connecting(to: self.address)
    third = try Socket.connecting(to: self.address)
  }
}
