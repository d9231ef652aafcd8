// SPDX-License-Identifier: Apache-2.0
import CNghttp2
public import EventLoop
public import HTTP2

/// The session for load tests: it assumes that every request is valid and reads no header fields. What remains of
/// HTTP/2 is frames, windows, the stream limit, PING and SETTINGS.
///
/// It has no HPACK dynamic table: it needs none to read, and responds with literals without indexing.
public final class FastServerSession: ServerSession {
  private let pool: ServerRequestPool
  private let token: UInt64
  private var connection: Unmanaged<HTTP2ServerConnection>?
  private var scanner = FrameScanner()
  private var outgoing = ByteBuffer(capacity: 0)
  private var notices: [ConnectionNotice] = []
  /// Requests that are complete and unanswered.
  private var open = OpenList<ServerRequest>()
  /// Streams whose request is incomplete. They are few: a client sends header fields and body together.
  private var incomplete: [Int32] = []
  private var maxConcurrentStreams = UInt32.max
  public private(set) var lastStreamID: Int32 = 0
  public private(set) var isGoingAway = false
  /// Body bytes not yet returned to the connection's window.
  private var consumed = 0
  /// Half of a connection's initial window.
  private static let windowStep = 32_768

  public let complaint: String? = nil
  public let farewell: [UInt8]? = nil

  public init(settings: SessionSettings?, pool: ServerRequestPool, token: UInt64) {
    self.pool = pool
    self.token = token
    if let settings { start(settings) }
  }

  deinit { abandon() }

  public var openStreams: Int { open.count + incomplete.count }
  public var isFinished: Bool { isGoingAway && openStreams == 0 && outgoing.isEmpty }

  public func attach(_ connection: HTTP2ServerConnection) {
    self.connection = Unmanaged.passUnretained(connection)
  }

  public func start(_ settings: SessionSettings) {
    send(
      settings: [
        (NGHTTP2_SETTINGS_HEADER_TABLE_SIZE, settings.headerTableSize),
        (NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, settings.maxConcurrentStreams),
        (NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, settings.initialWindowSize),
        (NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, settings.maxHeaderListSize),
      ])
    maxConcurrentStreams = settings.maxConcurrentStreams ?? .max
  }

  public func update(_ change: SettingsChange) {
    send(
      settings: change.entries.map {
        (nghttp2_settings_id(rawValue: UInt32($0.settings_id)), $0.value)
      })
    if let limit = change.maxConcurrentStreams { maxConcurrentStreams = limit }
  }

  private func send(settings: [(nghttp2_settings_id, UInt32?)]) {
    var payload: [UInt8] = []
    for case (let id, let value?) in settings {
      payload += [
        UInt8(truncatingIfNeeded: id.rawValue >> 8), UInt8(truncatingIfNeeded: id.rawValue),
      ]
      payload += ServerFaults.bigEndian(value)
    }
    append(ServerFaults.frame(type: NGHTTP2_SETTINGS, payload))
  }

  // MARK: In

  public func receive(_ bytes: UnsafeRawBufferPointer) throws(ConnectionFailure) {
    var offset = 0
    while let frame = try scanner.next(bytes, &offset) { handle(frame) }
  }

  private func handle(_ frame: FrameScanner.Frame) {
    let isAcknowledgement = frame.flags & UInt8(NGHTTP2_FLAG_ACK.rawValue) != 0
    switch UInt32(frame.type) {
    case NGHTTP2_DATA.rawValue: receiveBody(frame)
    case NGHTTP2_HEADERS.rawValue: receiveHeaders(frame)
    case NGHTTP2_RST_STREAM.rawValue: incomplete.removeAll { $0 == frame.stream }
    case NGHTTP2_SETTINGS.rawValue where !isAcknowledgement:
      begin(0, UInt8(NGHTTP2_SETTINGS.rawValue), UInt8(NGHTTP2_FLAG_ACK.rawValue), 0)
    case NGHTTP2_PING.rawValue where !isAcknowledgement:
      begin(8, UInt8(NGHTTP2_PING.rawValue), UInt8(NGHTTP2_FLAG_ACK.rawValue), 0)
      append(frame.head)
    case NGHTTP2_GOAWAY.rawValue: isGoingAway = true
    default: break
    }
  }

  private func receiveHeaders(_ frame: FrameScanner.Frame) {
    let isEnd = Self.isEnd(frame)
    guard frame.stream > lastStreamID else {
      // Trailers.
      if isEnd { complete(frame.stream) }
      return
    }
    lastStreamID = frame.stream
    guard openStreams < Int(maxConcurrentStreams) else {
      return reset(frame.stream, code: HTTP2ErrorCode.refusedStream)
    }
    incomplete.append(frame.stream)
    if isEnd { complete(frame.stream) }
  }

  private func receiveBody(_ frame: FrameScanner.Frame) {
    consumed += frame.length
    if consumed >= Self.windowStep {
      sendWindow(0, consumed)
      consumed = 0
    }
    if Self.isEnd(frame) {
      complete(frame.stream)
    } else if frame.length > 0 {
      sendWindow(frame.stream, frame.length)
    }
  }

  private static func isEnd(_ frame: FrameScanner.Frame) -> Bool {
    frame.flags & UInt8(NGHTTP2_FLAG_END_STREAM.rawValue) != 0
  }

  private func complete(_ stream: Int32) {
    guard let place = incomplete.lastIndex(of: stream) else { return }
    incomplete.remove(at: place)
    let request = pool.take()
    request.pointee.streamID = stream
    request.pointee.connectionToken = token
    request.pointee.connection = connection
    open.insert(request)
    pool.complete(request)
  }

  // MARK: Out

  /// Sends `:status: 200` by its index in the static table, and all other fields as literals without indexing (RFC 7541
  /// §6.2.2), with names and values below 127 bytes. There is no body.
  public func respond(
    _ request: UnsafeMutablePointer<ServerRequest>, _ headers: borrowing HeaderList,
    body: UnsafeRawBufferPointer
  ) {
    precondition(body.isEmpty, "the fast profile has no answer with a body")
    let isAccepted = headers.count > 0 && Self.isAccepted(headers.fields[0])
    var length = isAccepted ? 1 : 0
    let literals = (isAccepted ? 1 : 0)..<headers.count
    for index in literals {
      length += 3 + headers.fields[index].namelen + headers.fields[index].valuelen
    }
    let flags = NGHTTP2_FLAG_END_HEADERS.rawValue | NGHTTP2_FLAG_END_STREAM.rawValue
    begin(length, UInt8(NGHTTP2_HEADERS.rawValue), UInt8(flags), request.pointee.streamID)
    if isAccepted { outgoing.append(0x88) }
    for index in literals {
      let field = headers.fields[index]
      outgoing.append(0)
      append(field.name, field.namelen)
      append(field.value, field.valuelen)
    }
    request.pointee.isHeld = false
    close(request)
  }

  private static func isAccepted(_ field: nghttp2_nv) -> Bool {
    guard field.namelen == 7, field.valuelen == 3, let name = field.name, let value = field.value
    else { return false }
    return name[0] == UInt8(ascii: ":") && value[0] == UInt8(ascii: "2")
      && value[1] == UInt8(ascii: "0") && value[2] == UInt8(ascii: "0")
  }

  private func append(_ text: UnsafeMutablePointer<UInt8>?, _ count: Int) {
    precondition(count < 127)
    outgoing.append(UInt8(count))
    outgoing.append(UnsafeRawBufferPointer(start: text, count: count))
  }

  public func reset(_ streamID: Int32, code: UInt32) {
    begin(4, UInt8(NGHTTP2_RST_STREAM.rawValue), 0, streamID)
    append(ServerFaults.bigEndian(code))
    incomplete.removeAll { $0 == streamID }
    var next = open.first
    while let request = next {
      next = request.pointee.next
      if request.pointee.streamID == streamID { close(request) }
    }
  }

  public func sendGoAway(lastStreamID: Int32?, code: UInt32, debug: [UInt8]) {
    isGoingAway = true
    let last = UInt32(bitPattern: lastStreamID ?? self.lastStreamID)
    append(
      ServerFaults.frame(
        type: NGHTTP2_GOAWAY, ServerFaults.bigEndian(last) + ServerFaults.bigEndian(code) + debug))
  }

  private func sendWindow(_ stream: Int32, _ count: Int) {
    begin(4, UInt8(NGHTTP2_WINDOW_UPDATE.rawValue), 0, stream)
    append(ServerFaults.bigEndian(UInt32(count)))
  }

  /// Writes a frame header.
  private func begin(_ length: Int, _ type: UInt8, _ flags: UInt8, _ stream: Int32) {
    let size = UInt64(length) << 40
    let kind = UInt64(type) << 32 | UInt64(flags) << 24
    append(size | kind | UInt64(stream) >> 8)
    outgoing.append(UInt8(truncatingIfNeeded: stream))
  }

  private func append(_ number: UInt64) {
    withUnsafeBytes(of: number.bigEndian) { outgoing.append($0) }
  }

  private func append(_ bytes: [UInt8]) { bytes.withUnsafeBytes { outgoing.append($0) } }

  public func produceOutput(
    into buffer: inout ByteBuffer, upTo limit: Int
  ) throws(ConnectionFailure) -> Bool {
    let count = min(outgoing.count, max(0, limit - buffer.count))
    buffer.append(UnsafeRawBufferPointer(rebasing: outgoing.bytes[..<count]))
    outgoing.removeFirst(count)
    return !outgoing.isEmpty
  }

  // MARK: Requests

  private func close(_ request: UnsafeMutablePointer<ServerRequest>) {
    open.remove(request)
    request.pointee.connection = nil
    if !request.pointee.isHeld { pool.recycle(request) }
  }

  public func abandon() {
    while let request = open.first { close(request) }
    incomplete = []
  }

  public func drainNotices() -> [ConnectionNotice] {
    defer { notices = [] }
    return notices
  }

  public func post(_ notice: ConnectionNotice) { notices.append(notice) }
}
