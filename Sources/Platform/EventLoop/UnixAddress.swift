// SPDX-License-Identifier: Apache-2.0
import Glibc

/// The address of a Unix socket (unix(7)): a path, or `@name` for an abstract one, which is no file and ends with its
/// socket.
public struct UnixAddress {
  private var address = sockaddr_un()
  private let length: socklen_t

  /// - Parameter name: an absolute path or `@name`, shorter than 108 bytes; nil for anything else.
  public init?(_ name: String) {
    var bytes = Array(name.utf8)
    guard let first = bytes.first, bytes.count < MemoryLayout.size(ofValue: address.sun_path),
      first == UInt8(ascii: "@") || first == UInt8(ascii: "/")
    else { return nil }
    if first == UInt8(ascii: "@") { bytes[0] = 0 }
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
    // What precedes the name, and the name: an abstract one has no end mark.
    length = socklen_t(MemoryLayout<sockaddr_un>.offset(of: \.sun_path)! + bytes.count)
  }

  /// Calls `body` with the address as system calls take it.
  public func withPointer<R>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> R) -> R {
    withUnsafePointer(to: address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, length) }
    }
  }
}
