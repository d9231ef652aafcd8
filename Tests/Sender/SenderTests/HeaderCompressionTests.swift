// SPDX-License-Identifier: Apache-2.0
import Contract
import Crypto
import EventLoop
import GatewaySimulator
import HTTP2
import Records
import SenderDecisions
import Settings
import Testing

@testable import Sender

/// How a header field is written (RFC 7541 §6).
private enum Representation: Equatable {
  case indexed
  /// A literal that enters the compression table.
  case indexing
  /// A literal that does not, here or on the way.
  case never
  case withoutIndexing
}

/// APNs' compression table is small: values that do not come again would push the others out.
@Suite struct HeaderCompressionTests {
  @Test
  func
    `on the wire: values of one request enter the compression table with the first request only`()
    throws
  {
    let blocks = try blocks(.nghttp2)
    // :method :scheme :authority :path authorization topic push-type priority expiration id collapse-id new-thing
    #expect(
      blocks[0] == [
        .indexed, .indexed, .indexing, .withoutIndexing, .never, .indexing, .indexing, .indexing,
        .indexing, .indexing, .indexing, .never,
      ])
    for later in blocks[1...] {
      #expect(
        later == [
          .indexed, .indexed, .indexed, .withoutIndexing, .never, .indexed, .indexed, .indexed,
          .never, .never, .never, .never,
        ])
    }
  }

  @Test(arguments: [false, true])
  func `the same by our own engine, and the provider token by choice`(indexesAuthorization: Bool)
    throws
  {
    let blocks = try blocks(.engine, indexesAuthorization: indexesAuthorization)
    // :path :method :scheme :authority authorization topic push-type priority expiration id collapse-id new-thing
    #expect(
      blocks[0] == [
        .withoutIndexing, .indexed, .indexed, .indexing,
        indexesAuthorization ? .indexing : .withoutIndexing, .indexing, .indexing, .indexing,
        .indexing, .indexing, .indexing, .withoutIndexing,
      ])
    for later in blocks[1...] {
      #expect(
        later == [
          .withoutIndexing, .indexed, .indexed, .indexed,
          indexesAuthorization ? .indexed : .withoutIndexing, .indexed, .indexed, .indexed,
          .withoutIndexing, .withoutIndexing, .withoutIndexing, .withoutIndexing,
        ])
    }
  }

  /// How the fields of three requests are written.
  private func blocks(
    _ http2: HTTP2Implementation, indexesAuthorization: Bool = false
  ) throws -> [[Representation]] {
    let pool = GatewayPool(
      number: 0, credential: "test", isNamed: true, kind: .production,
      gateway: Endpoint(host: "gateway.test", port: 443), tls: try .client(), http2: http2,
      indexesAuthorization: indexesAuthorization)
    pool.authorization = Authorization(token: Array("a.b.c".utf8))
    let connection = GatewayConnection(
      try HTTP2ClientConnection(
        poller: try Poller(), token: 1, tls: pool.tls, serverName: "gateway.test"),
      ConnectionID(pool: 0, index: 0), pool: pool, address: .loopback(port: 1))
    connection.changeToken()
    let session = HTTP2ClientSession(http2)
    var buffer = ByteBuffer()
    _ = try session.produceOutput(into: &buffer, upTo: .max)
    let server = HTTP2ServerSession(
      settings: .gateway(maxConcurrentStreams: 10), pool: ServerRequestPool(), token: 1)
    try server.receive(buffer.bytes)
    buffer.removeAll()
    _ = try server.produceOutput(into: &buffer, upTo: .max)
    try session.receive(buffer.bytes)
    return try (1...3).map { try block(of: $0, pool, connection, session) }
  }

  /// Sends one push's header fields and reads how they were written.
  private func block(
    of number: Int, _ pool: GatewayPool, _ connection: GatewayConnection,
    _ session: HTTP2ClientSession
  ) throws -> [Representation] {
    let push = UnsafeMutablePointer<Push>.allocate(capacity: 1)
    push.initialize(to: Push())
    let memory = UnsafeMutablePointer<UInt8>.allocate(capacity: 2_048)
    defer {
      push.deallocate()
      memory.deallocate()
    }
    let value = SenderRig.envelope(
      id: SenderRig.id(number), expiration: "179500000\(number)",
      carrying: ["apns-collapse-id=collapse-\(number)", "apns-new-thing=\(number)"])
    try Array(SenderRig.token(number).utf8).withUnsafeBytes { key in
      try Array(value.utf8).withUnsafeBytes { value in
        let envelope = try Envelope.parse(value.bindMemory(to: UInt8.self).span)
        push.pointee.fill(memory, 2_048, key, value, envelope)
      }
    }
    pool.headers.fill(for: push, on: connection)
    let exchange = UnsafeMutableRawPointer(push).assumingMemoryBound(to: Exchange.self)
    let isTaken = session.submit(pool.headers.list, exchange)
    try #require(isTaken)
    connection.hasSent = true
    var buffer = ByteBuffer()
    _ = try session.produceOutput(into: &buffer, upTo: .max)
    let block = try #require(Self.headerBlock(Array(buffer.bytes)))
    session.reset(exchange, code: HTTP2ErrorCode.cancel)
    buffer.removeAll()
    _ = try session.produceOutput(into: &buffer, upTo: .max)
    var completed: [UnsafeMutablePointer<Exchange>] = []
    session.drainCompleted(into: &completed)
    try #require(completed.count == 1)
    return Self.representations(block)
  }

  /// The payload of the first HEADERS frame.
  private static func headerBlock(_ bytes: [UInt8]) -> ArraySlice<UInt8>? {
    var at = 0
    while at + 9 <= bytes.count {
      let count = Int(bytes[at]) << 16 + Int(bytes[at + 1]) << 8 + Int(bytes[at + 2])
      if bytes[at + 3] == 1 { return bytes[(at + 9)..<(at + 9 + count)] }
      at += 9 + count
    }
    return nil
  }

  private static func representations(_ block: ArraySlice<UInt8>) -> [Representation] {
    var rest = block
    var found: [Representation] = []
    while let first = rest.first {
      let bits: Int
      switch first {
      case 0x80...: (bits, _) = (7, found.append(.indexed))
      case 0x40..<0x80: (bits, _) = (6, found.append(.indexing))
      // A change of the table's size is no field.
      case 0x20..<0x40: bits = 5
      case 0x10..<0x20: (bits, _) = (4, found.append(.never))
      default: (bits, _) = (4, found.append(.withoutIndexing))
      }
      let index = integer(&rest, bits)
      guard bits == 6 || bits == 4 else { continue }
      if index == 0 { skipText(&rest) }
      skipText(&rest)
    }
    return found
  }

  /// RFC 7541 §5.1.
  private static func integer(_ bytes: inout ArraySlice<UInt8>, _ bits: Int) -> Int {
    let mask = 1 << bits - 1
    var value = Int(bytes.removeFirst()) & mask
    guard value == mask else { return value }
    var shift = 0
    while let byte = bytes.popFirst() {
      value += Int(byte & 0x7F) << shift
      shift += 7
      if byte < 0x80 { break }
    }
    return value
  }

  private static func skipText(_ bytes: inout ArraySlice<UInt8>) {
    let count = integer(&bytes, 7)
    bytes = bytes.dropFirst(count)
  }
}
