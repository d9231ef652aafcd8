// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Glibc

/// Free ports, for programs that must be given one and servers that restart on the same one.
public enum FreePort {
  /// Below the system's ephemeral ports, so that no process gets a port by chance before it is used or while its server
  /// is away. The product's own `FreePorts` are above.
  private static let range: Range<UInt16> = 10_000..<15_000

  /// Returns a port on which nothing listens, and which no other test gets while this process lives.
  public static func find() throws -> UInt16 {
    for _ in 0..<100 {
      let port = UInt16.random(in: range)
      guard claim(port), let socket = try? Socket.listening(on: .loopback(port: port)) else {
        continue
      }
      _ = consume socket
      return port
    }
    throw NoFreePort()
  }

  /// Binds an abstract socket with the port in its name; it ends with this process.
  private static func claim(_ port: UInt16) -> Bool {
    guard let address = UnixAddress("@martlet-test-port-\(port)") else { return false }
    let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    let isMine = address.withPointer { bind(descriptor, $0, $1) } == 0
    if !isMine, descriptor >= 0 { close(descriptor) }
    return isMine
  }
}

/// No port was free.
public struct NoFreePort: Error {
  public init() {}
}
