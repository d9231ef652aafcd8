// SPDX-License-Identifier: Apache-2.0
import EventLoop

/// The sockets of connections that the server has ended, kept until their clients have read the end.
///
/// Closing a socket while client data is unread or in flight sends a reset, and the client may lose the GOAWAY before
/// it. So the server half-closes first, and reads and discards what the client still sends until the client closes its
/// side (RFC 9112, section 9.6). One per loop, on its thread.
public final class ClosingSockets {
  /// The time that a client has to close its side, in milliseconds.
  public static let patience: UInt64 = 1_000
  /// The maximum number of sockets; more are closed at once.
  public static let most = 1_024
  /// The longest interval at which the owner must call `turn` while there are sockets, in milliseconds.
  public static let interval: UInt64 = 20
  /// The number of reads per socket and turn, so that a client that never stops sending does not stop the loop.
  private static let readsATurn = 16

  private final class Closing {
    let socket: Socket
    let ends: UInt64

    init(_ socket: consuming Socket, ends: UInt64) {
      self.socket = socket
      self.ends = ends
    }
  }

  private var sockets: [Closing] = []
  private let dropped: UnsafeMutableRawBufferPointer

  public init() { dropped = .allocate(byteCount: 16 * 1_024, alignment: 16) }

  deinit { dropped.deallocate() }

  public var isEmpty: Bool { sockets.isEmpty }

  /// Half-closes a connection.
  func add(_ socket: consuming Socket) {
    guard sockets.count < Self.most else { return }
    socket.finishWriting()
    sockets.append(Closing(socket, ends: MonotonicClock.milliseconds() + Self.patience))
  }

  /// Closes the sockets whose clients have closed their side or exceeded the time limit.
  ///
  /// - Parameter now: Monotonic milliseconds.
  public func turn(now: UInt64) {
    guard !sockets.isEmpty else { return }
    sockets.removeAll { now >= $0.ends || isEnded($0.socket) }
  }

  private func isEnded(_ socket: borrowing Socket) -> Bool {
    for _ in 0..<Self.readsATurn {
      switch socket.read(into: dropped) {
      case .moved: continue
      case .wouldBlock: return false
      case .end, .failed: return true
      }
    }
    return false
  }
}
