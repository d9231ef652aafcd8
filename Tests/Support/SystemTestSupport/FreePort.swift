// SPDX-License-Identifier: Apache-2.0
import EventLoop

/// For programs that insist on being told a port.
package enum FreePort {
  /// A port that was free a moment ago. Somebody may take it before it is used: try again then.
  package static func find() throws -> UInt16 {
    guard let loopback = SocketAddress(numeric: "127.0.0.1", port: 0),
      let port = try Socket.listening(on: loopback).localAddress?.port
    else { throw NoFreePort() }
    return port
  }
}

/// No port was free.
package struct NoFreePort: Error {
  package init() {}
}
