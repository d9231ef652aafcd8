// SPDX-License-Identifier: Apache-2.0
import EventLoop
import SenderDecisions

extension SocketAddress {
  init(_ peer: PeerAddress) {
    guard let address = SocketAddress(bytes: peer.bytes, port: peer.port) else {
      preconditionFailure("an address has 4 or 16 bytes")
    }
    self = address
  }

  /// The address as the dispatcher knows it.
  var peer: PeerAddress {
    guard let peer = PeerAddress(bytes: bytes, port: port) else {
      preconditionFailure("an address has 4 or 16 bytes")
    }
    return peer
  }
}
