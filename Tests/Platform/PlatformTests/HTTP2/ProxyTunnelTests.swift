// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import HTTP2

@Suite struct ProxyTunnelTests {
  @Test(arguments: ["\r\n", "\n"], [1, 3, 100])
  func `behind the empty line the tunnel begins, however lines end`(
    end: String, piece: Int
  ) throws {
    let answer = Array("HTTP/1.1 200 OK\(end)Via: x\(end)\(end)".utf8)
    let request = ProxyRequest(host: "api.push.apple.com", port: 443, credentials: nil)
    var tunnel = ProxyTunnel(request)
    var behind: [UInt8]?
    for start in stride(from: 0, to: answer.count, by: piece) {
      #expect(behind == nil)
      var part = Array(answer[start..<min(start + piece, answer.count)])
      if start + piece >= answer.count { part += [0x16, 0x0A, 0x0A] }
      behind = try part.withUnsafeBytes { try tunnel.receive($0) }
    }
    #expect(behind == [0x16, 0x0A, 0x0A])
  }

  @Test(arguments: [1, 7, 200])
  func `an interim answer is followed by the answer`(piece: Int) throws {
    let interim = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"
    let answer = Array((interim + "HTTP/1.1 200 OK\r\n\r\n").utf8)
    var tunnel = ProxyTunnel(
      ProxyRequest(host: "api.push.apple.com", port: 443, credentials: nil))
    var behind: [UInt8]?
    for start in stride(from: 0, to: answer.count, by: piece) {
      #expect(behind == nil)
      let part = Array(answer[start..<min(start + piece, answer.count)])
      behind = try part.withUnsafeBytes { try tunnel.receive($0) }
    }
    #expect(behind == [])
  }
}
