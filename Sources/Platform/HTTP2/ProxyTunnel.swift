// SPDX-License-Identifier: Apache-2.0
import HTTP

/// The request to an HTTP proxy: a tunnel to one host (RFC 9110 §9.3.6). May hold a password: never printed.
public struct ProxyRequest: Sendable {
  let bytes: [UInt8]
  let hasCredentials: Bool
  /// `host:port`.
  let target: String

  /// - Parameter credentials: `user:password`, sent as Basic authentication (RFC 7617), or nil.
  public init(host: String, port: UInt16, credentials: String?) {
    let target = host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
    var text = "CONNECT \(target) HTTP/1.1\r\nHost: \(target)\r\n"
    if let credentials {
      text += "Proxy-Authorization: Basic \(Self.base64(Array(credentials.utf8)))\r\n"
    }
    bytes = Array((text + "\r\n").utf8)
    hasCredentials = credentials != nil
    self.target = target
  }

  /// RFC 4648 §4.
  static func base64(_ bytes: [UInt8]) -> String {
    let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
    var text: [UInt8] = []
    for start in stride(from: 0, to: bytes.count, by: 3) {
      let group = bytes[start..<min(start + 3, bytes.count)]
      let bits = (0..<3).reduce(0) { sum, place in
        sum << 8 | (place < group.count ? Int(group[start + place]) : 0)
      }
      for place in 0..<4 {
        let isFilled = place <= group.count
        text.append(isFilled ? alphabet[bits >> (18 - 6 * place) & 63] : UInt8(ascii: "="))
      }
    }
    return String(decoding: text, as: UTF8.self)
  }
}

/// The conversation with a proxy before TLS begins: the request out, the answer's head in.
struct ProxyTunnel {
  let request: ProxyRequest
  /// The request has been handed to the socket.
  var isAsked = false
  private var answer: [UInt8] = []

  init(_ request: ProxyRequest) { self.request = request }

  /// Takes bytes of the proxy.
  ///
  /// - Returns: the bytes behind its answer, which belong to the tunnel; nil while the answer is not complete.
  mutating func receive(_ bytes: UnsafeRawBufferPointer) throws(ConnectionFailure) -> [UInt8]? {
    answer += bytes
    while let end = endOfHead {
      guard let head = ProxyAnswer(head: Array(answer[..<end])) else {
        throw .proxy(.notHTTP(answer))
      }
      guard head.isInterim else {
        guard head.opensTunnel else {
          throw .proxy(
            ProxyFailure(head, target: request.target, hasCredentials: request.hasCredentials))
        }
        return Array(answer[end...])
      }
      answer.removeFirst(end)
    }
    // What is no HTTP may never have an empty line.
    let start = Array("HTTP/".utf8)
    guard answer.prefix(start.count).elementsEqual(start.prefix(answer.count)) else {
      throw .proxy(.notHTTP(answer))
    }
    guard answer.count <= ProxyAnswer.limit else { throw .proxy(.endless) }
    return nil
  }

  /// The proxy closed the connection instead of answering.
  var closed: ConnectionFailure { .proxy(.closed(hasBegun: !answer.isEmpty)) }

  /// Behind the first empty line. Lines of some proxies end in LF alone (RFC 9112 §2.2).
  private var endOfHead: Int? {
    for index in answer.indices where answer[index] == 0x0A {
      let behind = answer[(index + 1)...]
      if behind.first == 0x0A { return index + 2 }
      if behind.starts(with: [0x0D, 0x0A]) { return index + 3 }
    }
    return nil
  }
}
