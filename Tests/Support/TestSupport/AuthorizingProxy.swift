// SPDX-License-Identifier: Apache-2.0
import BrokerCore
public import Bytes
public import Diagnosis
import EventLoop
import Glibc
import Synchronization

/// A broker with an authorizer: stands in front of an embedded broker and refuses what one user may not do, as Kafka
/// does. The embedded broker has no authorizer.
///
/// Its cluster has another id, so that programs take it for a real cluster. Requests of a connection are answered one
/// after the other, as Kafka does. Safe to use from any thread.
public final class AuthorizingProxy: Sendable {
  /// `host:port` for clients.
  public let bootstrap: String
  private let listener: Int32
  private let port: UInt16
  private let user: Mutex<AuthorizedUser>
  private let connections = Mutex<(open: Set<Int32>, isClosed: Bool)>(([], false))

  /// - Parameters:
  ///   - bootstrap: `127.0.0.1:port` of a cluster of one broker.
  ///   - rights: what the user may do.
  public init(to bootstrap: String, rights: [KafkaRight]) throws(SystemError) {
    guard let broker = bootstrap.split(separator: ":").last.flatMap({ UInt16($0) }) else {
      throw SystemError(code: EINVAL, attempt: "\(bootstrap) names no port")
    }
    listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    guard listener >= 0, Self.bindToLoopback(listener), listen(listener, 64) == 0 else {
      throw SystemError(code: errno, attempt: "cannot listen on 127.0.0.1")
    }
    port = Self.port(of: listener)
    self.bootstrap = "127.0.0.1:\(port)"
    user = Mutex(AuthorizedUser(rights))
    let thread = try LoopThread(name: "authorizer") { [self] in accept(to: broker) }
    thread.detach()
  }

  /// Ends all connections and listens no longer. The proxy lives until then.
  public func close() {
    shutdown(listener, Int32(SHUT_RDWR))
    connections.withLock {
      $0.isClosed = true
      for descriptor in $0.open { shutdown(descriptor, Int32(SHUT_RDWR)) }
    }
  }

  public func grant(_ operation: KafkaRight.Operation, _ resource: KafkaRight.Resource) {
    user.withLock { $0.grant(operation, resource) }
  }

  public func revoke(_ operation: KafkaRight.Operation, _ resource: KafkaRight.Resource) {
    user.withLock { $0.revoke(operation, resource) }
  }

  // MARK: Connections

  private static func bindToLoopback(_ descriptor: Int32) -> Bool {
    var address = loopback(0)
    return withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
      }
    }
  }

  private static func loopback(_ port: UInt16) -> sockaddr_in {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    address.sin_port = port.bigEndian
    return address
  }

  private static func port(of descriptor: Int32) -> UInt16 {
    var address = sockaddr_in()
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    _ = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &size) }
    }
    return UInt16(bigEndian: address.sin_port)
  }

  private func accept(to broker: UInt16) {
    while true {
      let client = Glibc.accept(listener, nil, nil)
      guard client >= 0 else { break }
      _ = fcntl(client, F_SETFD, FD_CLOEXEC)
      let isTaken = connections.withLock { connections in
        if !connections.isClosed { connections.open.insert(client) }
        return !connections.isClosed
      }
      do {
        let thread = try LoopThread(name: "authorizer") { [self] in
          if isTaken { serve(client, broker) }
          connections.withLock { _ = $0.open.remove(client) }
          Glibc.close(client)
        }
        thread.detach()
      } catch {
        Glibc.close(client)
      }
    }
    Glibc.close(listener)
  }

  private func serve(_ client: Int32, _ broker: UInt16) {
    let upstream = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    defer { Glibc.close(upstream) }
    var address = Self.loopback(broker)
    let isConnected = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(upstream, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
      }
    }
    guard isConnected else { return }
    while let request = Self.frame(of: client) {
      // Asked when it arrives, as the broker does.
      let authorization = Authorization(user: user.withLock { $0 }, port: port)
      let answer = authorization.answer(to: request) { forwarded in
        Self.send(forwarded, to: upstream) ? Self.frame(of: upstream) : nil
      }
      guard let answer, Self.send(answer, to: client) else { return }
    }
  }

  /// The next message behind its length.
  private static func frame(of descriptor: Int32) -> [UInt8]? {
    guard let length = bytes(4, of: descriptor) else { return nil }
    return bytes(length.reduce(0) { $0 << 8 | Int($1) }, of: descriptor)
  }

  private static func bytes(_ count: Int, of descriptor: Int32) -> [UInt8]? {
    var bytes = [UInt8](repeating: 0, count: count)
    var received = 0
    while received < count {
      let more = bytes.withUnsafeMutableBytes {
        recv(descriptor, $0.baseAddress! + received, count - received, 0)
      }
      guard more > 0 else { return nil }
      received += more
    }
    return bytes
  }

  private static func send(_ message: [UInt8], to descriptor: Int32) -> Bool {
    var frame = MessageWriter()
    frame.int(Int64(message.count), 4)
    frame.bytes += message
    var sent = 0
    while sent < frame.bytes.count {
      let more = frame.bytes.withUnsafeBytes {
        Glibc.send(
          descriptor, $0.baseAddress! + sent, $0.count - sent, Int32(MSG_NOSIGNAL))
      }
      guard more > 0 else { return false }
      sent += more
    }
    return true
  }
}
