// SPDX-License-Identifier: Apache-2.0
import EventLoop

/// Accepted sockets waiting for their TLS handshake to start, oldest first, and the number of handshakes in progress.
///
/// A handshake that waits for its client uses as much memory as an idle connection. When thousands of clients connect
/// at once, the first ones finish their handshakes before the others start.
struct Arrivals {
  /// The number of handshakes in progress at which new ones start only every `interval`: some clients never finish.
  static let handshakeLimit = 256
  /// The milliseconds between those starts.
  static let interval: UInt64 = 10

  final class Arrival {
    private var socket: Socket?
    let listener: GatewayListener

    init(_ socket: consuming Socket, _ listener: GatewayListener) {
      self.socket = consume socket
      self.listener = listener
    }

    /// Returns the socket, once.
    func take() -> Socket? { socket.take() }
  }

  var handshakes = 0
  private var nextBeyondLimit: UInt64 = 0
  private var queue: [Arrival] = []
  /// The index of the oldest socket in `queue`.
  private var oldest = 0

  var isEmpty: Bool { oldest == queue.count }

  mutating func add(_ socket: consuming Socket, _ listener: GatewayListener) {
    queue.append(Arrival(socket, listener))
  }

  /// Removes the oldest socket; nil if none waits or its handshake cannot start now.
  ///
  /// - Parameter now: Monotonic milliseconds.
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
