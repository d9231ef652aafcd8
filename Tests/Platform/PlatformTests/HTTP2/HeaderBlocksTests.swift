// SPDX-License-Identifier: Apache-2.0
import EventLoop
import GatewaySimulator
import HTTP
import HTTP2
import Testing

/// The server reads header blocks itself and tells nghttp2 in short: nothing of it may be seen from outside. Each input
/// goes to such a session and to one that leaves everything to nghttp2.
@Suite struct HeaderBlocksTests {
  typealias Field = (name: String, value: String)

  static let plain: [Field] = [
    (":method", "POST"), (":scheme", "https"), (":authority", "api.push.apple.com"),
    (":path", "/3/device/0a0b"),
    ("authorization", "bearer " + String(repeating: "aB3-_.", count: 30)),
    ("apns-topic", "com.example.app"), ("content-length", "2"), ("user-agent", "x ~!y"),
  ]

  static func replacing(_ name: String, _ value: String) -> [Field] {
    plain.map { $0.name == name ? (name, value) : $0 }
  }

  static func without(_ name: String) -> [Field] { plain.filter { $0.name != name } }

  /// Header fields that nghttp2 accepts, ignores, or answers with RST_STREAM.
  static let lists: [[Field]] = {
    var lists: [[Field]] = changed.map { replacing($0.name, $0.value) }
    for field in plain { lists.append(without(field.name)) }
    for field in added { lists.append(plain + [field]) }
    lists.append(plain)
    lists.append(plain + plain.suffix(1))
    lists.append([(":path", "/")] + plain)
    lists.append(Array(plain.reversed()))
    var many = plain
    for number in 0..<60 { many.append(("x-\(number)", "\(number)")) }
    lists.append(many)
    return lists
  }()

  private static let changed: [Field] = [
    (":method", "GET"), (":method", "CONNECT"), (":method", "POST "), (":scheme", "http"),
    (":scheme", "ftp"), (":path", ""), (":path", "*"), (":path", "/a b"), (":path", "/ä"),
    (":authority", ""), (":authority", "a/b"), (":authority", "a b"), ("content-length", "3"),
    ("content-length", "-2"), ("content-length", "999999999999"),
  ]

  private static let added: [Field] = [
    ("content-length", "2"), (":path", "/"), (":protocol", "x"), ("te", "trailers"), ("te", "gzip"),
    ("connection", "close"), ("keep-alive", "1"), ("proxy-connection", "x"),
    ("transfer-encoding", "chunked"), ("upgrade", "h2c"), ("host", "elsewhere"),
    ("priority", "u=1"), ("Upper", "x"), ("a b", "x"), ("", "x"), ("x", ""), ("x", " a"),
    ("x", "a "), ("x", "a\tb"), ("x", "a\u{1}b"), ("x", "\u{7F}1234567"), ("x", "ä"),
    ("x", String(repeating: "y", count: 20_000)),
    ("authorization", String(repeating: "\u{1}", count: 100)),
  ]

  @Test(arguments: lists.indices, [1, 7, Int.max])
  func `every list of header fields`(index: Int, piece: Int) throws {
    var client = HandMadeClient()
    // Twice: the second time the table knows some of them.
    for _ in 0..<2 {
      client.request(Self.lists[index])
      client.request(Self.plain)
    }
    expectSame(client.bytes, piece)
  }

  /// nghttp2 alone takes a CONTINUATION that comes byte by byte for very many.
  @Test(arguments: [9, Int.max])
  func `padding, priority, CONTINUATION and trailers`(piece: Int) {
    var client = HandMadeClient()
    client.request(Self.plain, padding: 9)
    client.request(Self.plain, priority: [0, 0, 0, 0, 15])
    client.request(Self.plain, padding: 3, priority: [0x80, 0, 0, 0, 15])
    client.request(Self.plain, parts: 4)
    client.request(Self.plain, padding: 1, priority: [0, 0, 0, 0, 1], parts: 3)
    client.request(Self.plain, trailers: [("x-trailer", "end")])
    client.request(Self.plain, trailers: [(":path", "/")])
    client.request(Self.plain)
    expectSame(client.bytes, piece)
  }

  @Test(arguments: [1, Int.max])
  func `a frame or header block against the rules ends the connection`(piece: Int) {
    let broken: [(inout HandMadeClient) -> Void] = [
      { $0.frame(1, 5, 1, [0x80]) }, { $0.frame(1, 5, 1, [0xFF, 0x80, 0x01]) },
      { $0.frame(1, 5, 1, [0x00, 0x05, 0x61]) }, { $0.frame(1, 5, 1, [0x00, 0x81, 0x00]) },
      { $0.frame(1, 5, 1, [0x3F, 0xE2, 0x1F, 0x83]) }, { $0.frame(1, 5, 1, [0x83, 0x20]) },
      { $0.frame(1, 0x0D, 1, [200, 0x83]) }, { $0.frame(1, 0x0D, 1, []) },
      { $0.frame(1, 0x25, 1, [0, 0]) }, { $0.frame(1, 0x25, 1, [0, 0, 0, 1, 0, 0x83]) },
      { $0.frame(1, 5, 0, [0x83]) }, { $0.frame(1, 5, 2, [0x83]) }, { $0.frame(9, 4, 1, [0x83]) },
      {
        $0.frame(1, 1, 1, [0x83])
        $0.frame(6, 0, 0, [UInt8](repeating: 0, count: 8))
      },
      {
        $0.frame(1, 1, 1, [0x83])
        $0.frame(9, 4, 3, [0x87])
      },
      {
        $0.frame(1, 1, 1, [0x83])
        $0.frame(1, 5, 3, [0x87])
      },
      { client in
        client.frame(1, 1, 1, [0x83])
        for _ in 0..<40 { client.frame(9, 0, 1, [0x87]) }
      },
      { $0.frame(1, 5, 1, [UInt8](repeating: 0x83, count: 16_385)) },
      {
        $0.frame(1, 5, 9, [0x83])
        $0.frame(1, 5, 7, [0x83])
      },
    ]
    for breaks in broken {
      var client = HandMadeClient()
      client.request(Self.plain)
      breaks(&client)
      expectSame(client.bytes, piece)
    }
  }

  @Test func `streams beyond the limit are refused, and their blocks are read`() {
    var client = HandMadeClient()
    for number in 0..<6 { client.request(Self.plain + [("x-number", "\(number)")], body: nil) }
    let result = expectSame(client.bytes, .max, limit: 2)
    #expect(result.requests.isEmpty)
  }

  @Test func `a request's fields are all there, as they came`() throws {
    var client = HandMadeClient()
    for _ in 0..<3 { client.request(Self.plain) }
    let result = expectSame(client.bytes, .max)
    try #require(result.requests.count == 3)
    for request in result.requests {
      #expect(request.fields == Self.plain.map { "\($0.name): \($0.value)" })
      #expect(request.body == Array("{}".utf8))
    }
  }

  /// Bytes anywhere in the blocks of good requests are changed.
  @Test(arguments: 0..<400)
  func `header blocks with changed bytes are read as nghttp2 reads them`(seed: UInt64) {
    var client = HandMadeClient()
    for _ in 0..<3 { client.request(Self.plain) }
    let end = client.bytes.count
    // A frame that has become longer ends in these, which mean nothing: nghttp2 alone reads the part of it that is there.
    for _ in 0..<1_000 { client.frame(6, 1, 0, [UInt8](repeating: 0, count: 8)) }
    var bytes = client.bytes
    var state = seed &* 0x9E37_79B9_7F4A_7C15 | 1
    for _ in 0...seed % 3 {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      let place = 33 + Int(state >> 33) % (end - 33)
      bytes[place] = UInt8(truncatingIfNeeded: state >> 20)
    }
    expectSame(bytes, seed % 2 == 0 ? .max : 11)
  }

  // MARK: Comparing

  struct Outcome: Equatable {
    struct Request: Equatable {
      var stream: Int32
      var fields: [String]
      var size: Int
      var body: [UInt8]
    }

    var requests: [Request] = []
    var output: [UInt8] = []
    var hasFailed = false
    var openStreams = 0
  }

  @discardableResult
  private func expectSame(_ bytes: [UInt8], _ piece: Int, limit: UInt32 = 100) -> Outcome {
    let own = Self.outcome(of: bytes, piece, limit, leavesBlocks: false)
    let reference = Self.outcome(of: bytes, piece, limit, leavesBlocks: true)
    #expect(own == reference)
    return own
  }

  private static func outcome(
    of bytes: [UInt8], _ piece: Int, _ limit: UInt32, leavesBlocks: Bool
  ) -> Outcome {
    let pool = ServerRequestPool()
    let session = HTTP2ServerSession(
      settings: .gateway(maxConcurrentStreams: limit), pool: pool, token: 1,
      leavesBlocksToNGHTTP2: leavesBlocks)
    var outcome = Outcome()
    var offset = 0
    while offset < bytes.count, !outcome.hasFailed {
      let end = offset + min(piece, bytes.count - offset)
      bytes[offset..<end].withUnsafeBytes { part in
        do { try session.receive(part) } catch { outcome.hasFailed = true }
      }
      offset = end
    }
    var output = ByteBuffer()
    _ = try? session.produceOutput(into: &output, upTo: .max)
    outcome.output = Array(output.bytes)
    outcome.openStreams = session.openStreams
    var ready: [UnsafeMutablePointer<ServerRequest>] = []
    pool.drainReady(into: &ready)
    outcome.requests = ready.map { request in
      Outcome.Request(
        stream: request.pointee.streamID, fields: fields(of: request),
        size: request.pointee.headerListSize, body: Array(request.pointee.body))
    }
    return outcome
  }

  private static func fields(of request: UnsafeMutablePointer<ServerRequest>) -> [String] {
    (0..<request.pointee.keptFields).map { index in
      let name = String(decoding: request.pointee.name(index), as: UTF8.self)
      let value = String(decoding: request.pointee.value(index), as: UTF8.self)
      return "\(name): \(value)" + (request.pointee.isNeverIndexed(index) ? " (never)" : "")
    }
  }
}

/// The bytes of a client, made by hand, so that they can be wrong.
struct HandMadeClient {
  private(set) var bytes =
    Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8) + [0, 0, 0, 4, 0, 0, 0, 0, 0]
  private var encoder = HeaderEncoder()
  private var stream: UInt32 = 1

  mutating func frame(_ type: UInt8, _ flags: UInt8, _ stream: UInt32, _ payload: [UInt8]) {
    let count = payload.count
    bytes += [UInt8(count >> 16), UInt8(count >> 8 & 255), UInt8(count & 255), type, flags]
    bytes += withUnsafeBytes(of: stream.bigEndian, Array.init)
    bytes += payload
  }

  /// - Parameters:
  ///   - parts: frames that carry the block.
  ///   - body: nil leaves the request open.
  mutating func request(
    _ fields: [HeaderBlocksTests.Field], padding: Int = 0, priority: [UInt8] = [], parts: Int = 1,
    body: String? = "{}", trailers: [HeaderBlocksTests.Field]? = nil
  ) {
    let block = encode(fields)
    let share = (block.count + parts - 1) / parts
    for part in 0..<parts {
      let piece = Array(
        block[min(block.count, part * share)..<min(block.count, (part + 1) * share)])
      let end: UInt8 = part == parts - 1 ? 4 : 0
      if part > 0 {
        frame(9, end, stream, piece)
        continue
      }
      let padded: [UInt8] = padding > 0 ? [UInt8(padding)] : []
      frame(
        1, end | (padding > 0 ? 8 : 0) | (priority.isEmpty ? 0 : 0x20), stream,
        padded + priority + piece + [UInt8](repeating: 0, count: padding))
    }
    if let body { frame(0, trailers == nil ? 1 : 0, stream, Array(body.utf8)) }
    if let trailers { frame(1, 5, stream, encode(trailers)) }
    stream += 2
  }

  /// Pseudo-header fields enter the table, tokens are never indexed, all else is Huffman-coded.
  private mutating func encode(_ fields: [HeaderBlocksTests.Field]) -> [UInt8] {
    var block = ByteBuffer()
    block.fill(upTo: 100) { encoder.beginBlock(&$0) }
    for field in fields {
      let (name, value) = (Array(field.name.utf8), Array(field.value.utf8))
      let indexing: FieldIndexing = name.first == UInt8(ascii: ":") ? .incremental : .literal
      block.fill(upTo: HeaderEncoder.bound(name.count, value.count)) {
        encoder.append(name.span, value.span, indexing, to: &$0)
      }
    }
    return Array(block.bytes)
  }
}
