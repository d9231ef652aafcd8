// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Glibc

/// TCP ports of 127.0.0.1 for processes that keep their address after a restart.
public enum FreePorts {
  /// Below the system's ephemeral ports (by default 32,768 and above), so that no other process gets a port by chance
  /// while its owner restarts.
  private static let range: Range<UInt16> = 15_000..<32_000

  /// Returns different ports that were free a moment ago.
  public static func find(_ count: Int) throws -> [UInt16] {
    guard count > 0 else { return [] }
    let socket = try listening()
    // Kept open until all are found: a closed one could be returned a second time.
    let others = try find(count - 1)
    return [socket.localAddress?.port ?? 0] + others
  }

  /// Claims this many consecutive ports that were free a moment ago.
  static func claim(_ count: Int = 1) throws -> (first: UInt16, claims: [PortClaim]) {
    for _ in 0..<100 {
      let first = try find(1)[0]
      let run = (0..<UInt16(max(1, count))).map { first + $0 }
      let claims = run.compactMap { PortClaim.take($0) }
      if claims.count == run.count, run.allSatisfy({ isFree($0) }) { return (first, claims) }
    }
    throw SystemError(code: EADDRINUSE, attempt: "cannot find \(count) free ports in a row")
  }

  private static func listening() throws -> Socket {
    for _ in 0..<100 {
      let port = UInt16.random(in: range)
      if let socket = try? Socket.listening(on: .loopback(port: port)) { return socket }
    }
    return try Socket.listening(on: .loopback(port: 0))
  }

  /// Whether a broker can listen on this port, even if connections of an earlier broker linger.
  static func isFree(_ port: UInt16) -> Bool {
    do {
      _ = try Socket.listening(on: .loopback(port: port))
      return true
    } catch {
      return false
    }
  }
}
