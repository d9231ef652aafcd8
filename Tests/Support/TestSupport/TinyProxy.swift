// SPDX-License-Identifier: Apache-2.0
public import EventLoop
import Synchronization

/// An HTTP proxy that supports only CONNECT, for a few connections: it relays between the client and one address,
/// whatever host was requested.
public final class TinyProxy: Sendable {
  public struct Seen: Sendable {
    public var requests: [String] = []
    public var tunnels = 0
  }

  public let address: SocketAddress
  private let shared: Shared
  private nonisolated(unsafe) var thread: LoopThread?

  /// The state shared by the thread and the test; it may briefly outlive the proxy.
  private final class Shared: Sendable {
    let target: SocketAddress
    /// The required value of Proxy-Authorization; nil for none.
    let authorization: String?
    let challenges: String
    let answer: String
    let firstAtMost: Int
    let closesTunnels: Bool
    let state = Mutex(Seen())
    let isStopping = Atomic(false)

    init(
      _ target: SocketAddress, _ authorization: String?, _ challenges: String, _ answer: String,
      firstAtMost: Int, closesTunnels: Bool
    ) {
      self.challenges = challenges
      self.closesTunnels = closesTunnels
      self.firstAtMost = firstAtMost
      self.target = target
      self.authorization = authorization
      self.answer = answer
    }
  }

  public var seen: Seen { shared.state.withLock { $0 } }

  /// - Parameters:
  ///   - challenges: The value of Proxy-Authenticate.
  ///   - answer: The response to an accepted request.
  ///   - firstAtMost: The maximum size of the client's first data: like some firewalls, it drops larger ones.
  ///   - closesTunnels: Whether it closes each tunnel as soon as it is open.
  ///   - port: The port of an earlier proxy; nil uses a free one.
  public init(
    to target: SocketAddress, authorization: String? = nil, challenges: String = "Basic",
    answer: String = "HTTP/1.1 200 Connection established\r\nVia: tiny\r\n\r\n",
    firstAtMost: Int = .max, closesTunnels: Bool = false, port: UInt16? = nil
  ) throws {
    let listener = try Socket.listening(on: .loopback(port: port ?? FreePort.find()))
    address = listener.localAddress ?? .loopback(port: 0)
    let shared = Shared(
      target, authorization, challenges, answer, firstAtMost: firstAtMost,
      closesTunnels: closesTunnels)
    self.shared = shared
    let box = Handover(listener)
    thread = nil
    thread = try LoopThread(name: "proxy") {
      guard let socket = box.take() else { return }
      try? Run(shared).serve(socket)
    }
  }

  deinit {
    shared.isStopping.store(true, ordering: .releasing)
    thread.take()?.join()
  }

  private final class Tunnel {
    let client: SocketBox
    var server: SocketBox?
    var head: [UInt8] = []
    var hasSpoken = false
    init(_ client: consuming Socket) { self.client = SocketBox(client) }
  }

  private final class Run {
    let proxy: Shared
    let poller: Poller
    var tunnels: [UInt64: Tunnel] = [:]
    var next: UInt64 = 2
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 << 10, alignment: 8)

    init(_ proxy: Shared) throws {
      self.proxy = proxy
      poller = try Poller()
    }

    deinit { buffer.deallocate() }

    func serve(_ listener: consuming Socket) throws {
      try poller.add(listener.fd, token: 0, .readable)
      var events: [ReadyEvent] = []
      while !proxy.isStopping.load(ordering: .acquiring) {
        poller.wait(timeoutMilliseconds: 5, into: &events)
        for event in events {
          if event.token == 0 {
            while let socket = try listener.accept() {
              try poller.add(socket.fd, token: next, .readable)
              tunnels[next] = Tunnel(socket)
              next += 2
            }
          } else if let tunnel = tunnels[event.token & ~1] {
            if try !move(tunnel, event.token) { tunnels[event.token & ~1] = nil }
          }
        }
      }
    }

    /// - Returns: False if the tunnel is over.
    private func move(_ tunnel: Tunnel, _ token: UInt64) throws -> Bool {
      let isServer = token & 1 == 1
      guard let from = isServer ? tunnel.server : tunnel.client else { return false }
      guard case .moved(let count) = from.socket.read(into: buffer) else { return false }
      let bytes = UnsafeRawBufferPointer(rebasing: buffer[..<count])
      if let to = isServer ? tunnel.client : tunnel.server {
        if !tunnel.hasSpoken, count > proxy.firstAtMost { return true }
        tunnel.hasSpoken = true
        to.writeAll(bytes)
        return true
      }
      tunnel.head += bytes
      guard tunnel.head.suffix(4).elementsEqual("\r\n\r\n".utf8) else { return true }
      let text = String(decoding: tunnel.head, as: UTF8.self)
      proxy.state.withLock { $0.requests.append(text) }
      if let wanted = proxy.authorization, !text.contains("Proxy-Authorization: \(wanted)\r\n") {
        tunnel.client.write(
          "HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: \(proxy.challenges)\r\n\r\n"
        )
        return false
      }
      let server = SocketBox(try Socket.connecting(to: proxy.target))
      // Nobody may listen there any more.
      let isOpen = eventually(withinMilliseconds: 5_000, pauseMilliseconds: 1) {
        server.socket.peerAddress != nil
      }
      guard isOpen else { return false }
      try poller.add(server.socket.fd, token: token | 1, .readable)
      tunnel.server = server
      proxy.state.withLock { $0.tunnels += 1 }
      tunnel.client.write(proxy.answer)
      return !proxy.closesTunnels
    }
  }
}

/// A socket in a class, for dictionaries.
final class SocketBox {
  let socket: Socket
  init(_ socket: consuming Socket) { self.socket = socket }

  func writeAll(_ bytes: UnsafeRawBufferPointer) {
    var rest = bytes
    while !rest.isEmpty, case .moved(let count) = socket.write(rest) {
      rest = UnsafeRawBufferPointer(rebasing: rest[count...])
    }
  }

  func write(_ text: String) { Array(text.utf8).withUnsafeBytes { writeAll($0) } }
}
