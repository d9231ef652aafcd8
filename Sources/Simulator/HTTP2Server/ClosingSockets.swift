// SPDX-License-Identifier: Apache-2.0
import EventLoop

/// The sockets of connections that the server has ended, until their clients have read so.
///
/// A socket that is closed while something of its client is still to be read, or on its way, answers with a reset,
/// and the client may lose the GOAWAY before it. So the server's side is closed first, and what the client
/// still sends is read and dropped until it closes its own (RFC 9112, section 9.6). One per loop, on its thread.
public final class ClosingSockets {
  /// The time that a client may take, in milliseconds.
  public static let patience: UInt64 = 1_000
  /// More than these are closed at once.
  public static let most = 1_024
  /// Whoever owns it calls `turn` at least this often while it is not empty, in milliseconds.
  public static let interval: UInt64 = 20
  /// Reads of one socket in a turn: a client that never stops sending does not stop the loop.
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

  /// Closes the server's side of a connection.
  func add(_ socket: consuming Socket) {
    guard sockets.count < Self.most else { return }
    socket.finishWriting()
    sockets.append(Closing(socket, ends: MonotonicClock.milliseconds() + Self.patience))
  }

  /// Closes those whose clients have closed theirs, or have taken too long.
  ///
  /// - Parameter now: monotonic milliseconds.
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
