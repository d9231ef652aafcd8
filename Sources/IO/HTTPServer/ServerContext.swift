// SPDX-License-Identifier: Apache-2.0
import CMicrohttpd
import Glibc

/// The context of libmicrohttpd's callbacks, in both servers.
class ServerContext {
  let connections: OpenConnections

  /// - Parameter connections: how many may be open, at least 32.
  init(connections: Int) { self.connections = OpenConnections(limit: connections) }

  /// Starts a daemon at a numeric IPv4 address.
  ///
  /// - Parameter start: starts it at the address, in network byte order; nil with `errno` if it does not start.
  static func listen(
    host: String, port: UInt16, _ start: (UInt32) -> OpaquePointer?
  ) throws(HTTPServerError) -> OpaquePointer {
    var address = in_addr()
    guard inet_pton(AF_INET, host, &address) == 1 else {
      throw HTTPServerError(description: "\(host) is not a numeric IPv4 address")
    }
    errno = 0
    if let daemon = start(address.s_addr) { return daemon }
    let reason = errno == 0 ? "the server did not start" : String(cString: strerror(errno))
    throw HTTPServerError(description: "cannot listen on \(host):\(port): \(reason)")
  }
}

/// A connection has begun, or is gone.
func connectionChanged(
  _ context: UnsafeMutableRawPointer?, _ connection: OpaquePointer?,
  _ state: UnsafeMutablePointer<UnsafeMutableRawPointer?>?,
  _ change: MHD_ConnectionNotificationCode
) {
  guard let context, let connection else { return }
  Unmanaged<ServerContext>.fromOpaque(context).takeUnretainedValue()
    .connections.changed(connection, change)
}
