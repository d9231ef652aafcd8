// SPDX-License-Identifier: Apache-2.0
public import EventLoop
import Glibc

/// A TCP client that sends what no client library would. It waits at most 30 seconds for a byte.
public final class RawClient {
  private let descriptor: Int32

  public init(port: UInt16) throws(SystemError) {
    descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    let code = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    var patience = timeval(tv_sec: 30, tv_usec: 0)
    setsockopt(
      descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
    guard code == 0 else { throw .last("cannot connect") }
  }

  deinit { close(descriptor) }

  /// Returns false once the other side has closed.
  @discardableResult
  public func send(_ text: String) -> Bool { send(Array(text.utf8)) }

  @discardableResult
  public func send(_ bytes: [UInt8]) -> Bool {
    var sent = 0
    while sent < bytes.count {
      let count = bytes[sent...].withUnsafeBytes {
        Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
      }
      guard count > 0 else { return false }
      sent += count
    }
    return true
  }

  /// Reads to the end of the stream, a few bytes at a time, and discards everything.
  ///
  /// - Returns: The number of bytes.
  public func count() -> Int {
    var (total, piece) = (0, [UInt8](repeating: 0, count: 4_096))
    while true {
      let count = recv(descriptor, &piece, piece.count, 0)
      guard count > 0 else { return total }
      total += count
    }
  }

  /// Returns everything up to the end of the stream, or up to `text` if that comes first.
  public func receive(until text: String? = nil) -> String {
    var received: [UInt8] = []
    var piece = [UInt8](repeating: 0, count: 16_384)
    while true {
      let count = recv(descriptor, &piece, piece.count, 0)
      guard count > 0 else { break }
      received += piece[..<count]
      if let text, String(decoding: received, as: UTF8.self).contains(text) { break }
    }
    return String(decoding: received, as: UTF8.self)
  }

  /// Sends a complete request and returns the response up to the end of the stream, which the request should ask for.
  public static func exchange(_ text: String, port: UInt16) throws -> String {
    let client = try RawClient(port: port)
    client.send(text)
    return client.receive()
  }

  /// The status of a response; 0 if it is not one.
  public static func status(_ answer: String) -> Int {
    answer.hasPrefix("HTTP/1.1 ") ? Int(answer.dropFirst(9).prefix(3)) ?? 0 : 0
  }
}
