// SPDX-License-Identifier: Apache-2.0
import Bytes

/// The request to an HTTP proxy: a tunnel to one host (RFC 9110 §9.3.6). May hold a password: never printed.
public struct ProxyRequest: Sendable {
  let bytes: [UInt8]
  let hasCredentials: Bool

  /// - Parameter credentials: `user:password`, sent as Basic authentication (RFC 7617), or nil.
  public init(host: String, port: UInt16, credentials: String?) {
    let target = host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
    var text = "CONNECT \(target) HTTP/1.1\r\nHost: \(target)\r\n"
    if let credentials {
      text += "Proxy-Authorization: Basic \(Self.base64(Array(credentials.utf8)))\r\n"
    }
    bytes = Array((text + "\r\n").utf8)
    hasCredentials = credentials != nil
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
  /// No proxy has more to say than this before the tunnel.
  static let answerLimit = 16 * 1_024

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
    guard let end = endOfHead else {
      guard answer.count <= Self.answerLimit else {
        throw .proxy("the proxy's answer has no end")
      }
      return nil
    }
    let line = answer.prefix { $0 != 0x0D && $0 != 0x0A }
    let words = line.split(separator: 0x20, maxSplits: 2, omittingEmptySubsequences: true)
    guard words.count >= 2, words[0].starts(with: Array("HTTP/1.".utf8)), words[1].count == 3,
      let status = Int(String(decoding: words[1], as: UTF8.self))
    else { throw .proxy("the proxy does not answer like an HTTP proxy") }
    guard (200..<300).contains(status) else { throw .proxy(refusal(status, words.dropFirst(2))) }
    return Array(answer[end...])
  }

  /// The proxy closed the connection instead of answering.
  var closed: ConnectionFailure {
    .proxy(
      answer.isEmpty
        ? "the proxy closed the connection without an answer"
        : "the proxy closed the connection in the middle of its answer")
  }

  private var endOfHead: Int? {
    guard answer.count >= 4 else { return nil }
    for index in 0...answer.count - 4
    where answer[index] == 0x0D && answer[index + 1] == 0x0A && answer[index + 2] == 0x0D
      && answer[index + 3] == 0x0A
    { return index + 4 }
    return nil
  }

  private func refusal(_ status: Int, _ reason: ArraySlice<ArraySlice<UInt8>>) -> String {
    let words = (reason.first ?? []).prefix(64).map {
      (32..<127).contains($0) ? $0 : UInt8(ascii: "?")
    }
    let text = words.isEmpty ? "\(status)" : "\(status) \(String(decoding: words, as: UTF8.self))"
    // 407 is what RFC 9110 §15.5.8 asks for; tinyproxy 1.11 says 401 to a wrong password.
    guard status == 407 || status == 401 else { return "the proxy refuses the tunnel: \(text)" }
    return "the proxy refuses the tunnel: \(text); "
      + (request.hasCredentials
        ? "its user and password are wrong" : "it wants a user and a password")
  }
}
