// SPDX-License-Identifier: Apache-2.0
import CLinux
import Glibc

/// One IPv4 or IPv6 address with its port.
public struct SocketAddress: Sendable, Hashable, CustomStringConvertible {
  /// The 4 or 16 address bytes in network order.
  public let bytes: [UInt8]
  public let port: UInt16

  /// Four bytes make an IPv4 address, sixteen an IPv6 address; anything else is refused.
  public init?(bytes: [UInt8], port: UInt16) {
    guard bytes.count == 4 || bytes.count == 16 else { return nil }
    self.bytes = bytes
    self.port = port
  }

  /// Reads a numeric address: `127.0.0.1`, `::1` or `[::1]`. Names are for `Resolver`.
  public init?(numeric host: String, port: UInt16) {
    var text = Substring(host)
    if text.hasPrefix("["), text.hasSuffix("]") { text = text.dropFirst().dropLast() }
    var four = in_addr()
    var six = in6_addr()
    if inet_pton(AF_INET, String(text), &four) == 1 {
      bytes = withUnsafeBytes(of: &four) { Array($0) }
    } else if inet_pton(AF_INET6, String(text), &six) == 1 {
      bytes = withUnsafeBytes(of: &six) { Array($0) }
    } else {
      return nil
    }
    self.port = port
  }

  /// `127.0.0.1` with the port.
  public static func loopback(port: UInt16) -> SocketAddress {
    SocketAddress(checked: [127, 0, 0, 1], port: port)
  }

  private init(checked bytes: [UInt8], port: UInt16) {
    self.bytes = bytes
    self.port = port
  }

  public func with(port: UInt16) -> SocketAddress { SocketAddress(checked: bytes, port: port) }

  /// The address without the port, IPv6 without brackets.
  public var host: String {
    var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
    _ = bytes.withUnsafeBytes {
      inet_ntop(family, $0.baseAddress, &text, socklen_t(INET6_ADDRSTRLEN))
    }
    return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  public var description: String { bytes.count == 16 ? "[\(host)]:\(port)" : "\(host):\(port)" }

  var family: Int32 { bytes.count == 16 ? AF_INET6 : AF_INET }

  /// Calls `body` with the C form of the address.
  func withSockaddr<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
    var storage = sockaddr_storage()
    let size = withUnsafeMutableBytes(of: &storage) { raw in
      if bytes.count == 16 {
        var address = sockaddr_in6()
        address.sin6_family = sa_family_t(AF_INET6)
        address.sin6_port = port.bigEndian
        withUnsafeMutableBytes(of: &address.sin6_addr) { $0.copyBytes(from: bytes) }
        raw.storeBytes(of: address, as: sockaddr_in6.self)
        return MemoryLayout<sockaddr_in6>.size
      }
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      address.sin_port = port.bigEndian
      withUnsafeMutableBytes(of: &address.sin_addr) { $0.copyBytes(from: bytes) }
      raw.storeBytes(of: address, as: sockaddr_in.self)
      return MemoryLayout<sockaddr_in>.size
    }
    return withUnsafePointer(to: &storage) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(size)) }
    }
  }

  /// Reads the C form; nil for other families.
  init?(_ address: UnsafePointer<sockaddr>) {
    switch Int32(address.pointee.sa_family) {
    case AF_INET:
      let value = UnsafeRawPointer(address).loadUnaligned(as: sockaddr_in.self)
      bytes = withUnsafeBytes(of: value.sin_addr) { Array($0) }
      port = UInt16(bigEndian: value.sin_port)
    case AF_INET6:
      let value = UnsafeRawPointer(address).loadUnaligned(as: sockaddr_in6.self)
      bytes = withUnsafeBytes(of: value.sin6_addr) { Array($0) }
      port = UInt16(bigEndian: value.sin6_port)
    default:
      return nil
    }
  }
}
