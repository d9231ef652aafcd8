// SPDX-License-Identifier: Apache-2.0
import CLinux
import Glibc

/// A non-blocking TCP socket; closes itself.
public struct Socket: ~Copyable, Sendable {
  public let fd: Int32

  private init(owning fd: Int32) { self.fd = fd }

  deinit { close(fd) }

  /// The result of a read or write.
  public enum Transfer: Equatable {
    /// So many bytes moved (at least one).
    case moved(Int)
    /// Nothing now; wait for the poller.
    case wouldBlock
    /// The peer closed its side (reads only).
    case end
    /// The connection broke with this errno.
    case failed(Int32)
  }

  /// Starts connecting; the socket becomes writable when it is done or failed: ask `failure()`.
  /// Nagle's delay is off, keep-alive and a user timeout of 30 s find dead peers.
  public static func connecting(to address: SocketAddress) throws(SystemError) -> Socket {
    let socket = try open(address)
    socket.set(Int32(IPPROTO_TCP), TCP_NODELAY, 1)
    socket.set(SOL_SOCKET, SO_KEEPALIVE, 1)
    socket.set(Int32(IPPROTO_TCP), TCP_USER_TIMEOUT, 30_000)
    let fd = socket.fd
    let code = address.withSockaddr { connect(fd, $0, $1) }
    guard code == 0 || errno == EINPROGRESS else {
      throw SystemError.last("cannot connect to \(address)")
    }
    return socket
  }

  /// Listens on `address` (port 0: any free one, see `localAddress`). With `sharesPort` several
  /// sockets of one user may listen on the same port and the system spreads connections.
  public static func listening(
    on address: SocketAddress, sharesPort: Bool = false, backlog: Int32 = 1_024
  ) throws(SystemError) -> Socket {
    let socket = try open(address)
    socket.set(SOL_SOCKET, SO_REUSEADDR, 1)
    if sharesPort { socket.set(SOL_SOCKET, SO_REUSEPORT, 1) }
    let fd = socket.fd
    guard address.withSockaddr({ bind(fd, $0, $1) }) == 0 else {
      let code = errno
      throw SystemError(
        code: code, attempt: "cannot bind \(address)",
        remedy: code == EADDRINUSE ? "stop what listens there, or choose another port" : nil)
    }
    guard listen(fd, backlog) == 0 else { throw SystemError.last("cannot listen on \(address)") }
    return socket
  }

  private static func open(_ address: SocketAddress) throws(SystemError) -> Socket {
    let kind = Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
    let fd = Glibc.socket(address.family, kind, 0)
    guard fd >= 0 else { throw SystemError.last("cannot open a socket") }
    return Socket(owning: fd)
  }

  /// The next waiting connection, or nil when there is none. Throws for a failing listener (no
  /// descriptor left); a connection that died while waiting is skipped.
  public func accept() throws(SystemError) -> Socket? {
    while true {
      let accepted = martlet_accept(fd)
      if accepted >= 0 {
        let socket = Socket(owning: accepted)
        socket.set(Int32(IPPROTO_TCP), TCP_NODELAY, 1)
        return socket
      }
      switch errno {
      case EAGAIN: return nil
      case EINTR, ECONNABORTED, EPROTO: continue
      default: throw SystemError.last("cannot accept a connection")
      }
    }
  }

  public var localAddress: SocketAddress? { address(getsockname) }
  public var peerAddress: SocketAddress? { address(getpeername) }

  /// The result of `connecting` once the socket is writable: nil when connected.
  public func failure() -> SystemError? {
    var code: Int32 = 0
    var size = socklen_t(MemoryLayout<Int32>.size)
    getsockopt(fd, SOL_SOCKET, SO_ERROR, &code, &size)
    return code == 0 ? nil : SystemError(code: code, attempt: "cannot connect")
  }

  /// Reads what is there, at most `buffer.count` bytes.
  public func read(into buffer: UnsafeMutableRawBufferPointer) -> Transfer {
    while true {
      let count = recv(fd, buffer.baseAddress, buffer.count, 0)
      if count > 0 { return .moved(count) }
      if count == 0 { return .end }
      if errno == EINTR { continue }
      return errno == EAGAIN ? .wouldBlock : .failed(errno)
    }
  }

  /// Writes as much as the system takes; never raises SIGPIPE.
  public func write(_ bytes: UnsafeRawBufferPointer) -> Transfer {
    while true {
      let count = send(fd, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL))
      if count >= 0 { return .moved(count) }
      if errno == EINTR { continue }
      return errno == EAGAIN ? .wouldBlock : .failed(errno)
    }
  }

  /// Writes a part of a file, as much as the system takes.
  public func write(file: Int32, from place: Int, _ count: Int) -> Transfer {
    while true {
      var place = off_t(place)
      let count = sendfile(fd, file, &place, count)
      if count > 0 { return .moved(count) }
      if count == 0 { return .end }
      if errno == EINTR { continue }
      return errno == EAGAIN ? .wouldBlock : .failed(errno)
    }
  }

  /// Nothing more is written: the peer reads the end of the stream. Reading goes on.
  public func finishWriting() { shutdown(fd, Int32(SHUT_WR)) }

  /// A socket that listens does so no longer, and its port is free: closing it alone would not do while a process that is
  /// being started has a copy of it.
  public func stopListening() { shutdown(fd, Int32(SHUT_RDWR)) }

  /// Closes with a reset instead of a FIN (for tests and fault injection).
  public consuming func abort() {
    var now = linger(l_onoff: 1, l_linger: 0)
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, socklen_t(MemoryLayout<linger>.size))
  }

  /// Bounds the bytes that the system keeps for a peer that does not read, in place of its own choice of some MiB.
  public func limitSendBuffer(to bytes: Int32) { set(SOL_SOCKET, SO_SNDBUF, bytes) }

  private func set(_ level: Int32, _ option: Int32, _ value: Int32) {
    var value = value
    setsockopt(fd, level, option, &value, socklen_t(MemoryLayout<Int32>.size))
  }

  private func address(
    _ get: (Int32, UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> Int32
  ) -> SocketAddress? {
    var storage = sockaddr_storage()
    var size = socklen_t(MemoryLayout<sockaddr_storage>.size)
    return withUnsafeMutablePointer(to: &storage) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        guard get(fd, address, &size) == 0 else { return nil }
        return SocketAddress(UnsafePointer(address))
      }
    }
  }
}
