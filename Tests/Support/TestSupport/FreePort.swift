// SPDX-License-Identifier: Apache-2.0
import EventLoop

/// Free ports, for programs that must be given one and servers that restart on the same one.
public enum FreePort {
  /// Below the system's ephemeral ports, so that no process gets a port by chance before it is used or while its server
  /// is away. The product's own `FreePorts` are above.
  private static let range: Range<UInt16> = 10_000..<15_000

  /// Returns a port on which nothing listens.
  public static func find() throws -> UInt16 {
    for _ in 0..<100 {
      let port = UInt16.random(in: range)
      guard let socket = try? Socket.listening(on: .loopback(port: port)) else { continue }
      _ = consume socket
      return port
    }
    throw NoFreePort()
  }
}

/// No port was free.
public struct NoFreePort: Error {
  public init() {}
}
