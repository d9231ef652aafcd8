// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Glibc

/// A turn of the embedded broker's thread.
///
/// The thread looks for what it is to do, and then empties the pipe that woke it (librdkafka 2.0.2). What it is told in
/// between waits until its poll ends, a second later: with a dozen topics a broker took three seconds to start.
enum BrokerTurn {
  /// Longer than any turn; a broker that is down does not answer at all.
  private static let longestMilliseconds: Int32 = 2_000

  /// ApiVersions, version 0, of a client without a name: the length, then key, version, correlation and no client id.
  private static let request: [UInt8] = [0, 0, 0, 10, 0, 18, 0, 0, 0, 0, 0, 1, 0xFF, 0xFF]

  /// Returns when the thread has ended the turn in which it was told something: it answers a question only in a later
  /// one.
  static func awaitEnd(port: UInt16) {
    guard let socket = try? Socket.connecting(to: .loopback(port: port)),
      wait(for: POLLOUT, on: socket),
      case .moved = request.withUnsafeBytes({ socket.write($0) })
    else { return }
    _ = wait(for: POLLIN, on: socket)
  }

  private static func wait(for event: Int32, on socket: borrowing Socket) -> Bool {
    var entry = pollfd(fd: socket.fd, events: Int16(event), revents: 0)
    return poll(&entry, 1, longestMilliseconds) == 1
  }
}
