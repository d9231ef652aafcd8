// SPDX-License-Identifier: Apache-2.0
import Bytes
import EventLoop
import Glibc

/// TCP ports of 127.0.0.1 for processes that keep their address when they are started again.
public enum FreePorts {
  /// Below those that the system gives to whoever asks for any (32,768 and above unless somebody has changed that): while
  /// a process is away, nobody gets its port by chance.
  private static let range: Range<UInt16> = 15_000..<32_000

  /// Ports that were free a moment ago, each another one.
  public static func find(_ count: Int) throws -> [UInt16] {
    guard count > 0 else { return [] }
    let socket = try listening()
    // Open until all are found: one that is closed again may be handed out a second time.
    let others = try find(count - 1)
    return [socket.localAddress?.port ?? 0] + others
  }

  /// The first of so many ports with numbers one after the other, which were free a moment ago.
  static func first(ofRun count: Int) throws -> UInt16 {
    for _ in 0..<100 {
      let port = try find(1)[0]
      if (1..<UInt16(max(1, count))).allSatisfy({ isFree(port + $0) }) { return port }
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

  /// True if a broker could listen on this port. One that connections of an earlier broker still linger on is free.
  static func isFree(_ port: UInt16) -> Bool {
    do {
      _ = try Socket.listening(on: .loopback(port: port))
      return true
    } catch {
      return false
    }
  }
}
