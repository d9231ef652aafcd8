// SPDX-License-Identifier: Apache-2.0
import EventLoop
import GatewaySimulator
import HTTP2

/// A client session, of either implementation, and a server session back to back, without sockets or TLS.
final class SessionPair {
  let client: HTTP2ClientSession
  let server: HTTP2ServerSession
  let pool: ServerRequestPool
  /// Requests that the server has not answered, in the order of arrival.
  var received: [UnsafeMutablePointer<ServerRequest>] = []
  /// Exchanges that came back, in order.
  var completed: [UnsafeMutablePointer<Exchange>] = []
  private var exchanges: [UnsafeMutablePointer<Exchange>] = []
  private var texts: [UnsafeMutableRawBufferPointer] = []

  init(
    _ http2: HTTP2Implementation, _ settings: SessionSettings = .gateway(maxConcurrentStreams: 100),
    firstStreamID: Int32 = 1, pool: ServerRequestPool = ServerRequestPool()
  ) {
    self.pool = pool
    client = HTTP2ClientSession(
      http2, settings: SessionSettings(), firstStreamID: firstStreamID)
    server = HTTP2ServerSession(settings: settings, pool: pool, token: 1)
  }

  deinit {
    for exchange in exchanges {
      exchange.pointee.response?.deallocate()
      exchange.deallocate()
    }
    for text in texts { text.deallocate() }
  }

  /// Carries bytes both ways until neither side has more.
  func settle() throws {
    var isQuiet = false
    while !isQuiet {
      let toServer = try carry(from: client.produceOutput, to: server.receive)
      let toClient = try carry(from: server.produceOutput, to: client.receive)
      isQuiet = !toServer && !toClient
      collect()
    }
  }

  /// Takes what the client has to send and loses it.
  func loseClientOutput() throws {
    var buffer = ByteBuffer()
    _ = try client.produceOutput(into: &buffer, upTo: .max)
  }

  /// The types and flags of the frames that the server has to send, which are lost.
  func serverFrames() throws -> [(type: UInt8, flags: UInt8)] {
    var buffer = ByteBuffer()
    _ = try server.produceOutput(into: &buffer, upTo: .max)
    let bytes = Array(buffer.bytes)
    var frames: [(type: UInt8, flags: UInt8)] = []
    var at = 0
    while at < bytes.count {
      frames.append((bytes[at + 3], bytes[at + 4]))
      at += 9 + Int(bytes[at]) << 16 + Int(bytes[at + 1]) << 8 + Int(bytes[at + 2])
    }
    return frames
  }

  func collect() {
    var ready: [UnsafeMutablePointer<ServerRequest>] = []
    pool.drainReady(into: &ready)
    received += ready
    var done: [UnsafeMutablePointer<Exchange>] = []
    client.drainCompleted(into: &done)
    completed += done
  }

  /// Takes at most about `limit` bytes of what the server has to send to the client; false at the end.
  func carryToClient(upTo limit: Int) throws -> Bool {
    var buffer = ByteBuffer(capacity: 0)
    let hasMore = try server.produceOutput(into: &buffer, upTo: limit)
    if !buffer.isEmpty { try client.receive(buffer.bytes) }
    return hasMore
  }

  private func carry(
    from produce: (inout ByteBuffer, Int) throws -> Bool,
    to receive: (UnsafeRawBufferPointer) throws -> Void
  ) throws -> Bool {
    var buffer = ByteBuffer()
    _ = try produce(&buffer, .max)
    guard !buffer.isEmpty else { return false }
    try receive(buffer.bytes)
    return true
  }

  /// A new exchange with room for `capacity` bytes of an answer.
  func exchange(body: String = "", capacity: Int = 256) -> UnsafeMutablePointer<Exchange> {
    let new = UnsafeMutablePointer<Exchange>.allocate(capacity: 1)
    new.initialize(to: Exchange(owner: UInt32(exchanges.count)))
    let bytes = text(body)
    if let start = bytes.baseAddress {
      new.pointee.body = UnsafePointer(start.assumingMemoryBound(to: UInt8.self))
    }
    new.pointee.bodyCount = UInt32(bytes.count)
    new.pointee.response = UnsafeMutablePointer<UInt8>.allocate(capacity: capacity)
    new.pointee.responseCapacity = UInt16(capacity)
    exchanges.append(new)
    return new
  }

  /// Submits a POST; nil when the session takes none now.
  func submit(path: String = "/3/device/00", body: String = "{}") -> UnsafeMutablePointer<Exchange>?
  {
    let exchange = self.exchange(body: body)
    return submit(exchange, path: path) ? exchange : nil
  }

  func submit(
    _ exchange: UnsafeMutablePointer<Exchange>, path: String = "/3/device/00",
    more: [(StaticString, String)] = []
  ) -> Bool {
    var headers = HeaderList()
    headers.append(":method", "POST")
    headers.append(":scheme", "https")
    headers.append(":authority", "localhost")
    headers.append(":path", UnsafeRawBufferPointer(text(path)))
    for (name, value) in more { headers.append(name, UnsafeRawBufferPointer(text(value)), .never) }
    return client.submit(headers, exchange)
  }

  /// Answers the oldest request.
  func answer(
    _ status: StaticString = "200", body: String = "", more: [(StaticString, String)] = []
  ) {
    let request = received.removeFirst()
    var headers = HeaderList()
    headers.append(":status", status)
    for (name, value) in more { headers.append(name, UnsafeRawBufferPointer(text(value)), .never) }
    server.respond(request, headers, body: UnsafeRawBufferPointer(text(body)))
  }

  /// Bytes that stay where they are as long as the pair.
  private func text(_ string: String) -> UnsafeMutableRawBufferPointer {
    let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: string.utf8.count, alignment: 1)
    bytes.copyBytes(from: string.utf8)
    texts.append(bytes)
    return bytes
  }
}

extension UnsafeRawBufferPointer {
  var string: String { String(decoding: self, as: UTF8.self) }
}

extension UnsafeMutablePointer<Exchange> {
  var answer: String { pointee.responseBytes.string }
}

/// A frame as it stands on the wire (RFC 9113 §4.1).
func frame(type: UInt8, flags: UInt8 = 0, stream: UInt32 = 0, _ payload: [UInt8]) -> [UInt8] {
  let count = payload.count
  return [UInt8(count >> 16 & 255), UInt8(count >> 8 & 255), UInt8(count & 255), type, flags]
    + bigEndian(stream) + payload
}
