// SPDX-License-Identifier: Apache-2.0

/// A host name or address and a TCP port, as in `localhost:9092` or `[::1]:9092`.
public struct Endpoint: Sendable, Hashable, CustomStringConvertible {
  /// Without the square brackets of an IPv6 address.
  public let host: String
  public let port: UInt16

  /// The host to listen at: a numeric address, if it is one or `localhost`.
  public var numericHost: String { host == "localhost" ? "127.0.0.1" : host }

  public init(host: String, port: UInt16) {
    self.host = host
    self.port = port
  }

  public init(parsing text: String) throws(ValueProblem) {
    guard let colon = text.lastIndex(of: ":") else { throw ValueProblem(text: "must be host:port") }
    let digits = text[text.index(after: colon)...]
    // UInt16 would take a sign.
    guard !digits.hasPrefix("+"), let port = UInt16(digits) else {
      throw ValueProblem(text: "must be host:port with a port from 0 to 65535")
    }
    var host = text[..<colon]
    if host.hasPrefix("["), host.hasSuffix("]") {
      host = host.dropFirst().dropLast()
    } else if host.contains(":") {
      throw ValueProblem(text: "must be host:port; an IPv6 address must be in square brackets")
    }
    let isHost = !host.isEmpty && host.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7f }
    guard isHost, !host.contains("/") else {
      throw ValueProblem(text: "must be host:port, without a scheme or blanks")
    }
    guard !host.contains("["), !host.contains("]") else {
      throw ValueProblem(text: "must be host:port; square brackets stand around an IPv6 address")
    }
    self.init(host: String(host), port: port)
  }

  public var description: String { "\(bracketed):\(port)" }

  /// The authority of an https URI (RFC 3986 §3.2), without a port that is the scheme's own.
  public var httpsAuthority: String { port == 443 ? bracketed : description }

  private var bracketed: String { host.contains(":") ? "[\(host)]" : host }
}
