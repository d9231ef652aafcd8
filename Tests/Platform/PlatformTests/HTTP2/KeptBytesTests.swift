// SPDX-License-Identifier: Apache-2.0
import EventLoop
import HTTP2
import Testing

@testable import GatewaySimulator

/// Bytes of responses that are made for one request each.
@Suite struct KeptBytesTests {
  @Test func `they are released with their stream, also while another one stays open`() throws {
    let pool = ServerRequestPool()
    let session = HTTP2ServerSession(
      settings: .gateway(maxConcurrentStreams: 10), pool: pool, token: 1)
    var client = HandMadeClient()
    for _ in 0..<2 {
      client.request([
        (":method", "POST"), (":scheme", "https"), (":path", "/3/device/00"), (":authority", "x"),
      ])
    }
    try client.bytes.withUnsafeBytes { try session.receive($0) }
    var ready: [UnsafeMutablePointer<ServerRequest>] = []
    pool.drainReady(into: &ready)
    try #require(ready.count == 2)
    let request = ready[1]
    var headers = HeaderList()
    headers.append(":status", request.pointee.keep("418".utf8), .never)
    let body = request.pointee.keep(Array("short and stout".utf8))
    session.respond(request, headers, body: body)
    #expect(request.pointee.kept != nil)
    var output = ByteBuffer()
    _ = try session.produceOutput(into: &output, upTo: .max)
    #expect(Array(output.bytes.suffix(15)) == Array("short and stout".utf8))
    #expect(session.openStreams == 1)
    #expect(request.pointee.kept == nil)
  }
}
