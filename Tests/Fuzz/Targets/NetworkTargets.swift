// SPDX-License-Identifier: Apache-2.0
@testable import EventLoop
@testable import HTTP2

extension FuzzTarget {
  /// What a proxy answers to CONNECT: in pieces of any size (the first byte) it means the same, and what follows it
  /// belongs to the tunnel. A refusal's text can be logged.
  static func proxyAnswer() -> FuzzTarget {
    let request = ProxyRequest(host: "api.push.apple.com", port: 443, credentials: "user:secret")
    return FuzzTarget("proxy-answer") { bytes in
      let rest = UnsafeRawBufferPointer(rebasing: bytes.dropFirst())
      let whole = taken(rest, in: rest.count, ProxyTunnel(request))
      let parts = taken(rest, in: max(1, Int(bytes.first ?? 0)), ProxyTunnel(request))
      guard whole == parts else { return "in pieces it means \(parts), not \(whole)" }
      guard case .failed(let text) = whole else { return nil }
      let isPlain = text.utf8.allSatisfy { (32..<127).contains($0) }
      return isPlain && !text.contains("secret") ? nil : "a refusal that cannot be logged"
    }
  }

  private enum Taken: Equatable {
    case unfinished
    case open([UInt8])
    case failed(String)
  }

  private static func taken(
    _ bytes: UnsafeRawBufferPointer, in piece: Int, _ given: ProxyTunnel
  ) -> Taken {
    var tunnel = given
    for start in stride(from: 0, to: bytes.count, by: max(1, piece)) {
      let end = min(start + piece, bytes.count)
      do throws(ConnectionFailure) {
        let part = UnsafeRawBufferPointer(rebasing: bytes[start..<end])
        if let behind = try tunnel.receive(part) { return .open(behind + Array(bytes[end...])) }
      } catch {
        return .failed(error.description)
      }
    }
    return .unfinished
  }

  /// A file in the form of /etc/hosts; the first word of its first line is the name that is looked for.
  static func hosts() -> FuzzTarget {
    FuzzTarget("hosts") { bytes in
      let content = Array(bytes)
      let name = String(
        decoding: content.prefix { $0 != UInt8(ascii: " ") && $0 != 0x0A }, as: UTF8.self)
      let found = HostsFile.addresses(of: name, port: 443, listed: content)
      if Set(found).count != found.count { return "an address twice" }
      for address in found {
        guard SocketAddress(numeric: address.host, port: 443) == address else {
          return "an address does not survive writing"
        }
      }
      return nil
    }
  }
}
