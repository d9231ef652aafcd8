// SPDX-License-Identifier: Apache-2.0
import EventLoop

/// Accepted sockets that wait for their TLS handshake to begin, oldest first, and the number of handshakes under way.
///
/// A handshake that waits for its client occupies as much memory as an idle connection. When thousands of clients
/// connect at once, the ones who came first finish theirs before the others begin.
struct Arrivals {
  /// While so many handshakes are under way, another one begins only now and then: some clients never finish.
  static let handshakeLimit = 256
  /// Milliseconds between those.
  static let interval: UInt64 = 10

  final class Arrival {
    private var socket: Socket?
    let listener: GatewayListener

    init(_ socket: consuming Socket, _ listener: GatewayListener) {
      self.socket = consume socket
      self.listener = listener
    }

    /// The socket, once.
    func take() -> Socket? { socket.take() }
  }

  var handshakes = 0
  private var nextBeyondLimit: UInt64 = 0
  private var queue: [Arrival] = []
  /// The place of the oldest one in `queue`.
  private var oldest = 0

  var isEmpty: Bool { oldest == queue.count }

  mutating func add(_ socket: consuming Socket, _ listener: GatewayListener) {
    queue.append(Arrival(socket, listener))
  }

  /// The oldest one; nil if none waits, or its handshake cannot begin now.
  ///
  /// - Parameter now: monotonic milliseconds.
  mutating func takeFirst(now: UInt64) -> Arrival? {
    guard !isEmpty, handshakes < Self.handshakeLimit || now >= nextBeyondLimit else { return nil }
    nextBeyondLimit = now + Self.interval
    let arrival = queue[oldest]
    oldest += 1
    if isEmpty { removeAll() }
    return arrival
  }

  mutating func removeAll() {
    queue.removeAll(keepingCapacity: true)
    oldest = 0
  }
}
