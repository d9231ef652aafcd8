// SPDX-License-Identifier: Apache-2.0
import EventLoop

/// For programs that insist on being told a port, and servers that come back on theirs.
public enum FreePort {
  /// Below those that the system gives to whoever asks for any: nobody gets one by chance before it is used, or while
  /// the server on it is away. The ports of the product's own `FreePorts` are above.
  private static let range: Range<UInt16> = 10_000..<15_000

  /// A port on which nobody listens.
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
