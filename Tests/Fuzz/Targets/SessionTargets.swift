// SPDX-License-Identifier: Apache-2.0
import EventLoop
import GatewaySimulator
import HTTP2

extension FuzzTarget {
  /// What a peer that calls itself APNs may send, to nghttp2: every request ends exactly once, whatever it is.
  static func clientSession() -> FuzzTarget {
    FuzzTarget(
      "client-session",
      checking: { bytes throws(Violation) in _ = try Conversation.heard(.nghttp2, bytes) })
  }

  /// The same to our own engine.
  static func engineSession() -> FuzzTarget {
    FuzzTarget(
      "engine-session",
      checking: { bytes throws(Violation) in _ = try Conversation.heard(.engine, bytes) })
  }

  /// The same to both: they hear the same, as far as both accept what the peer says. Where our engine ends the connection
  /// nghttp2 may go on, since it does not count every frame that moves nothing, and the other way round, since it is
  /// stricter in its order of checks; until then they agree. Our engine may also be the only one to refuse an answer: it
  /// takes fields that RFC 9113 §8.2.1 calls malformed for a stream error, and nghttp2 leaves them out.
  static func bothSessions() -> FuzzTarget {
    FuzzTarget(
      "both-sessions",
      checking: { bytes throws(Violation) in
        let engine = try Conversation.heard(.engine, bytes)
        let nghttp2 = try Conversation.heard(.nghttp2, bytes)
        guard engine.isWhole, nghttp2.isWhole else { return }
        // nghttp2 refuses an answer by the first part of a block, so that the next request fits before the block ends.
        let isOneRefused = (engine.ends + nghttp2.ends).contains { $0.isRefused }
        try Violation.unless(
          (isOneRefused || engine.ends.count == nghttp2.ends.count)
            && zip(engine.ends, nghttp2.ends).allSatisfy { $0.isRefused || $0.text == $1.text },
          "the engine: \(engine.ends.map(\.text)); nghttp2: \(nghttp2.ends.map(\.text))")
        try Violation.unless(
          engine.notices == nghttp2.notices,
          "the engine: \(engine.notices); nghttp2: \(nghttp2.notices)")
      })
  }

  /// What our engine writes for any requests, read by nghttp2 alone: the same fields and bodies, and no complaint.
  static func engineRequests() -> FuzzTarget {
    FuzzTarget(
      "engine-requests",
      checking: { bytes throws(Violation) in try RequestStream(bytes).check() })
  }
}

/// A server's bytes, said to a client with two requests.
private enum Conversation {
  struct Heard {
    /// The connection did not fail.
    var isWhole = true
    /// How each request ended.
    var ends: [End] = []
    /// SETTINGS and GOAWAY as the connection's owner hears of them.
    var notices: [ConnectionNotice] = []
  }

  struct End {
    /// Status, fate, body, and the fields that a sender reads.
    let text: String
    /// Its answer was not complete, and its stream ended with PROTOCOL_ERROR.
    let isRefused: Bool

    init(_ exchange: UnsafeMutablePointer<Exchange>) {
      text = exchange.end
      isRefused = !exchange.pointee.ended && exchange.pointee.closeCode == 1
    }
  }

  /// The input's first byte says in which pieces it comes.
  static func heard(
    _ http2: HTTP2Implementation, _ bytes: UnsafeRawBufferPointer
  ) throws(Violation) -> Heard {
    // A table of the usual size, so that both read every block.
    var settings = SessionSettings()
    settings.headerTableSize = 4_096
    let client = HTTP2ClientSession(http2, settings: settings)
    let exchanges = Exchanges(2)
    var heard = Heard()
    var sent = 0
    var output = ByteBuffer()
    var done: [UnsafeMutablePointer<Exchange>] = []
    var completed = 0
    func collect() {
      client.drainCompleted(into: &done)
      completed += done.count
      for exchange in done where exchange.pointee.fate == .pending { completed += 100 }
    }
    let piece = max(1, Int(bytes.first ?? 0))
    var rest = UnsafeRawBufferPointer(rebasing: bytes.dropFirst())
    repeat {
      if sent < exchanges.count, client.submit(exchanges.headers, exchanges[sent]) { sent += 1 }
      do throws(ConnectionFailure) {
        output.removeAll()
        while try client.produceOutput(into: &output, upTo: 16_384) { output.removeAll() }
        try client.receive(UnsafeRawBufferPointer(rebasing: rest.prefix(piece)))
      } catch {
        heard.isWhole = false
      }
      rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(piece))
      collect()
      heard.notices += client.drainNotices()
    } while heard.isWhole && !rest.isEmpty
    // nghttp2 has failed once its GOAWAY is written.
    output.removeAll()
    if heard.isWhole, (try? client.produceOutput(into: &output, upTo: .max)) == nil {
      heard.isWhole = false
    }
    heard.isWhole = heard.isWhole && !client.hasFailed
    client.abandon()
    collect()
    try Violation.unless(completed == sent, "\(sent) requests ended \(completed) times")
    try Violation.unless(client.openStreams == 0, "streams stay open")
    heard.ends = (0..<sent).map { End(exchanges[$0]) }
    return heard
  }
}

/// Requests made of an input, and what a server on nghttp2 reads of them.
private struct RequestStream {
  private typealias Field = (name: [UInt8], value: [UInt8], indexing: HeaderIndexing)

  private let fields: [[Field]]
  private let bodies: [[UInt8]]
  private let settings: [SettingsChange]
  /// The request whose fields each one shares; nil: none.
  private let shared: [Int?]

  /// Names that a request may have more than once.
  private static let names = ["apns-topic", "apns-push-type", "x-a", "authorization", "apns-id"]
  private static let sizes: [UInt32] = [0, 64, 100, 4_096, 65_536]

  init(_ bytes: UnsafeRawBufferPointer) {
    var rest = Array(bytes)[...]
    func byte() -> Int { Int(rest.popFirst() ?? 0) }
    var fields: [[Field]] = []
    var bodies: [[UInt8]] = []
    var settings: [SettingsChange] = []
    var shared: [Int?] = []
    func size() -> UInt32 { Self.sizes[byte() % Self.sizes.count] }
    while !rest.isEmpty, fields.count < 40 {
      let passing = byte() % 2 == 0 ? nil : size()
      settings.append(SettingsChange(headerTableSize: size(), passingTableSize: passing))
      shared.append(byte() % 2 == 0 ? nil : byte() % (fields.count + 1))
      var own: [Field] = []
      for _ in 0..<byte() % 8 {
        let name = Array(Self.names[byte() % Self.names.count].utf8)
        let length = byte() % 40
        // Printable, with digits and letters of every length of code.
        let value = (0..<length).map { _ in UInt8(33 + byte() % 94) }
        let indexing: [HeaderIndexing] = [.allowed, .never]
        own.append((name, value, indexing[byte() % 2]))
      }
      fields.append(own)
      bodies.append([UInt8](repeating: UInt8(byte()), count: byte() * 4))
    }
    (self.fields, self.bodies, self.settings) = (fields, bodies, settings)
    self.shared = shared
  }

  /// A key for a request's fields. Its low bits say where they are kept, and few places are kept for many.
  private static func key(_ request: Int) -> UInt64 {
    UInt64(request + 1) << 8 | UInt64(request % 4)
  }

  func check() throws(Violation) {
    let pool = ServerRequestPool()
    let server = HTTP2ServerSession(
      settings: .gateway(maxConcurrentStreams: 100), pool: pool, token: 1,
      leavesBlocksToNGHTTP2: true)
    let client = HTTP2ClientSession(.engine)
    do throws(ConnectionFailure) {
      try Self.carry(client, server)
      for index in fields.indices {
        server.update(settings[index])
        if index % 3 == 0 { try Self.carry(client, server) }
        try send(index, client, server, pool)
      }
    } catch {
      throw Violation("\(error)")
    }
  }

  private func send(
    _ index: Int, _ client: HTTP2ClientSession, _ server: HTTP2ServerSession,
    _ pool: ServerRequestPool
  ) throws(ConnectionFailure) {
    let exchanges = Exchanges(1)
    var headers = HeaderList()
    var texts: [UnsafeMutableRawBufferPointer] = []
    defer { for text in texts { text.deallocate() } }
    func keep(_ bytes: [UInt8]) -> UnsafeRawBufferPointer {
      let memory = UnsafeMutableRawBufferPointer.allocate(
        byteCount: max(1, bytes.count), alignment: 1)
      memory.copyBytes(from: bytes)
      texts.append(memory)
      return UnsafeRawBufferPointer(rebasing: memory[..<bytes.count])
    }
    headers.append(":path", "/3/device/00")
    headers.append(":method", "POST")
    headers.append(":scheme", "https")
    headers.append(":authority", "localhost")
    var sent: [Field] = []
    if let shared = shared[index] {
      sent = fields[shared]
      for field in sent {
        headers.append(name: keep(field.name), keep(field.value), field.indexing)
      }
      headers.share(as: Self.key(shared))
    }
    for field in fields[index] {
      headers.append(name: keep(field.name), keep(field.value), field.indexing)
    }
    sent += fields[index]
    let body = keep(bodies[index])
    exchanges[0].pointee.body = body.baseAddress?.assumingMemoryBound(to: UInt8.self)
    exchanges[0].pointee.bodyCount = UInt32(body.count)
    guard client.submit(headers, exchanges[0]) else { throw .http2("a request was refused") }
    try Self.carry(client, server)
    var ready: [UnsafeMutablePointer<ServerRequest>] = []
    pool.drainReady(into: &ready)
    guard let request = ready.first, ready.count == 1 else { throw .http2("no request arrived") }
    let read = (4..<max(4, request.pointee.fieldCount)).map {
      (Array(request.pointee.name($0)), Array(request.pointee.value($0)))
    }
    guard read.count == sent.count,
      zip(read, sent).allSatisfy({ $0.0 == $1.name && $0.1 == $1.value }),
      request.pointee.bodyTotal == body.count
    else { throw .http2("request \(index) arrived as another one") }
    var answer = HeaderList()
    answer.append(":status", "200")
    server.respond(request, answer, body: UnsafeRawBufferPointer(start: nil, count: 0))
    try Self.carry(client, server)
    var done: [UnsafeMutablePointer<Exchange>] = []
    client.drainCompleted(into: &done)
    guard done.first?.pointee.status == 200 else { throw .http2("the answer did not arrive") }
  }

  /// Carries bytes both ways until neither side has more.
  private static func carry(
    _ client: HTTP2ClientSession, _ server: HTTP2ServerSession
  ) throws(ConnectionFailure) {
    var buffer = ByteBuffer()
    repeat {
      buffer.removeAll()
      _ = try client.produceOutput(into: &buffer, upTo: .max)
      if !buffer.isEmpty { try server.receive(buffer.bytes) }
      buffer.removeAll()
      _ = try server.produceOutput(into: &buffer, upTo: .max)
      if !buffer.isEmpty { try client.receive(buffer.bytes) }
    } while !buffer.isEmpty
  }
}

/// Requests in memory that stays in place.
private final class Exchanges {
  private let memory: UnsafeMutablePointer<Exchange>
  private let answers: UnsafeMutablePointer<UInt8>
  private let dates: UnsafeMutablePointer<UInt8>
  private let sentID: UnsafeMutablePointer<UInt8>
  let count: Int
  private(set) var headers = HeaderList()

  private static let room = 64
  private static let dateCount = 29
  private static let id = "01234567-89ab-cdef-0123-456789abcdef"

  init(_ count: Int) {
    self.count = count
    memory = .allocate(capacity: count)
    answers = .allocate(capacity: count * Self.room)
    dates = .allocate(capacity: count * Self.dateCount)
    dates.initialize(repeating: 0, count: count * Self.dateCount)
    sentID = .allocate(capacity: 36)
    for (place, byte) in Self.id.utf8.enumerated() { sentID[place] = byte }
    for index in 0..<count {
      (memory + index).initialize(to: Exchange(owner: UInt32(index)))
      memory[index].response = answers + index * Self.room
      memory[index].responseCapacity = UInt16(Self.room)
      memory[index].date = dates + index * Self.dateCount
      memory[index].sentID = UnsafePointer(sentID)
    }
    headers.append(":method", "POST")
    headers.append(":scheme", "https")
    headers.append(":authority", "localhost")
    headers.append(":path", "/3/device/00")
  }

  deinit {
    answers.deallocate()
    dates.deallocate()
    sentID.deallocate()
    memory.deallocate()
  }

  subscript(index: Int) -> UnsafeMutablePointer<Exchange> { memory + index }
}

extension UnsafeMutablePointer<Exchange> {
  /// How a request ended, for comparison: nghttp2 also tells the first fields of a block whose end does not come.
  fileprivate var end: String {
    guard pointee.ended else {
      return pointee.fate == .unprocessed ? "unprocessed" : "without an answer's end"
    }
    let body = String(decoding: pointee.responseBytes, as: UTF8.self)
    return "\(pointee.status) \(pointee.fate) \(body)\(fields)"
  }

  private var fields: String {
    func text(_ bytes: InlineArray<36, UInt8>) -> String {
      String(decoding: bytes.indices.map { bytes[$0] }, as: UTF8.self)
    }
    var fields = ""
    if pointee.hasUniqueID { fields += " unique-id \(text(pointee.uniqueID))" }
    if pointee.hasOtherID { fields += " apns-id \(text(pointee.otherID))" }
    if pointee.hasOtherRequestID { fields += " request-id \(text(pointee.otherRequestID))" }
    if pointee.hasID { fields += pointee.hasSentID ? " its id" : " an id" }
    let wait = pointee.retryAfter(now: 1_000_000_000)
    if wait > 0 { fields += " retry-after \(wait)" }
    if pointee.hasDate, let date = pointee.date {
      fields +=
        " date " + String(decoding: UnsafeBufferPointer(start: date, count: 29), as: UTF8.self)
    }
    return fields
  }
}
