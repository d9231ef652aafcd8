// SPDX-License-Identifier: Apache-2.0
import CNghttp2
public import EventLoop
public import HTTP2

/// The server side of one HTTP/2 connection without any I/O. Owned by one thread.
public final class HTTP2ServerSession: ServerSession {
  let session: OpaquePointer
  private let state: UnsafeMutablePointer<ServerState>
  private let readsBlocks: Bool
  @exclusivity(unchecked) private var frames = ClientFrames()
  @exclusivity(unchecked) private var numbers = StreamNumbers()
  @exclusivity(unchecked) private var blocks: HeaderBlocks
  /// The deliberate faults of the server; nil if there are none.
  var faults: ServerFaults?

  /// Creates a session with these SETTINGS, or nil to pass them to `start`. Requests go to `pool` with `token`.
  ///
  /// - Parameter leavesBlocksToNGHTTP2: Only nghttp2 reads header blocks, which costs twice as much.
  public init(
    settings: SessionSettings?, pool: ServerRequestPool, token: UInt64,
    leavesBlocksToNGHTTP2: Bool = false
  ) {
    readsBlocks = !leavesBlocksToNGHTTP2
    blocks = HeaderBlocks(pool.blockScratch)
    state = .allocate(capacity: 1)
    state.initialize(to: ServerState(pool: pool, token: token))
    var options: OpaquePointer?
    nghttp2_option_new(&options)
    nghttp2_option_set_no_closed_streams(options, 1)
    // `ServerState` counts resets itself, and reports the reason.
    nghttp2_option_set_stream_reset_rate_limit(options, .max, .max)
    let created = pool.sessionMemory.forNewSession { [state] memory in
      var created: OpaquePointer?
      nghttp2_session_server_new3(&created, ServerCallbacks.table, state, options, memory)
      return created
    }
    nghttp2_option_del(options)
    guard let created else { preconditionFailure("no memory for an HTTP/2 session") }
    session = created
    if let settings { start(settings) }
  }

  deinit {
    abandon()
    nghttp2_session_del(session)
    state.deinitialize(count: 1)
    state.deallocate()
  }

  /// Streams on which a request is being received or answered.
  public var openStreams: Int { state.pointee.open.count }
  public var isGoingAway: Bool { state.pointee.isGoingAway }
  public var isFinished: Bool {
    nghttp2_session_want_read(session) == 0 && nghttp2_session_want_write(session) == 0
  }
  /// The newest stream that the client has opened.
  public var lastStreamID: Int32 { nghttp2_session_get_last_proc_stream_id(session) }

  /// Queues the first SETTINGS of a session created without.
  public func start(_ settings: SessionSettings) {
    state.pointee.streamLimit = settings.maxConcurrentStreams ?? .max
    var settings = settings
    settings.maxConcurrentStreams = settings.maxConcurrentStreams.map(StreamLimit.hidden)
    settings.submit(to: session, isClient: false)
  }

  public func attach(_ connection: HTTP2ServerConnection) {
    state.pointee.connection = Unmanaged.passUnretained(connection)
  }

  /// Answers a request. Header values and `body` must stay valid until the stream closes: constants, or memory of the
  /// request itself.
  public func respond(
    _ request: UnsafeMutablePointer<ServerRequest>, _ headers: borrowing HeaderList,
    body: UnsafeRawBufferPointer
  ) {
    request.pointee.isHeld = false
    state.pointee.countAnswer()
    let stream = request.pointee.streamID
    guard body.count > 0 || request.pointee.hasTrailers else {
      nghttp2_submit_response(session, stream, headers.fields, headers.count, nil)
      return
    }
    request.pointee.response = body.baseAddress
    request.pointee.responseCount = body.count
    var source = nghttp2_data_provider(
      source: nghttp2_data_source(ptr: request), read_callback: ServerCallbacks.readBody)
    nghttp2_submit_response(session, stream, headers.fields, headers.count, &source)
  }

  /// Ends one stream with RST_STREAM.
  public func reset(_ streamID: Int32, code: UInt32) {
    nghttp2_submit_rst_stream(session, noFlags, streamID, code)
  }

  /// Sends SETTINGS with new values.
  public func update(_ change: SettingsChange) {
    if let limit = change.maxConcurrentStreams { state.pointee.streamLimit = limit }
    var change = change
    change.maxConcurrentStreams = change.maxConcurrentStreams.map(StreamLimit.hidden)
    let entries = change.entries
    guard !entries.isEmpty else { return }
    nghttp2_submit_settings(session, noFlags, entries, entries.count)
  }

  /// The body size in bytes above which requests are announced before their end (`ServerRequestPool.drainEarly`); nil,
  /// the default, announces none.
  public var earlyAnswerLimit: Int? {
    get { state.pointee.earlyAnswerLimit }
    set { state.pointee.earlyAnswerLimit = newValue }
  }

  /// Whether a stream above the limit ends the connection instead of being reset.
  public var endsAboveLimit: Bool {
    get { state.pointee.endsAboveLimit }
    set { state.pointee.endsAboveLimit = newValue }
  }

  /// Sends GOAWAY; streams above `lastStreamID` (by default the newest one) are not processed.
  public func sendGoAway(lastStreamID: Int32? = nil, code: UInt32, debug: [UInt8]) {
    state.pointee.isGoingAway = true
    nghttp2_submit_goaway(
      session, noFlags, lastStreamID ?? self.lastStreamID, code, debug, debug.count)
  }

  public func receive(_ bytes: UnsafeRawBufferPointer) throws(ConnectionFailure) {
    try frames.take(bytes) { (piece) throws(ConnectionFailure) in
      switch piece {
      case .other(let bytes): try tell(bytes)
      case .block(let head, let frame):
        if head.stream & 1 == 1, !numbers.take(Int32(bitPattern: head.stream)) {
          // nghttp2 treats the stream as closed.
          nghttp2_session_terminate_session(session, HTTP2ErrorCode.protocolError)
        }
        if readsBlocks { try read(head, frame) } else { try tell(frame) }
        try refuseIfClosed(Int32(bitPattern: head.stream))
      }
    }
    for stream in frames.dataStreams { try refuseIfClosed(stream) }
    frames.dataStreams.removeAll(keepingCapacity: true)
  }

  /// nghttp2 ignores DATA and HEADERS on a closed stream; RFC 9113 §5.1 requires STREAM_CLOSED for them. What the client
  /// sent before it knew of the server's reset stays ignored, except for the first frame on a stream above the limit,
  /// which Apple's gateway answers; neither is a flood.
  private func refuseIfClosed(_ stream: Int32) throws(ConnectionFailure) {
    guard stream > 0, stream <= state.pointee.newestStream,
      nghttp2_session_get_stream_remote_close(session, stream) == -1
    else { return }
    if state.pointee.refused.remove(stream) {
      return reset(stream, code: HTTP2ErrorCode.streamClosed)
    }
    if state.pointee.cut.contains(stream) { return }
    guard state.pointee.countReset() else { throw failure(NGHTTP2_ERR_CALLBACK_FAILURE.rawValue) }
    reset(stream, code: HTTP2ErrorCode.streamClosed)
  }

  private func read(_ head: FrameHead, _ frame: UnsafeRawBufferPointer) throws(ConnectionFailure) {
    let pool = state.pointee.pool
    let request = pool.take()
    let isPrepared = blocks.read(head, frame, request)
    if isPrepared { state.pointee.prepared = request }
    defer {
      // nghttp2 has taken a prepared request if it has begun the stream.
      if !isPrepared || state.pointee.prepared != nil { pool.recycle(request) }
      state.pointee.prepared = nil
    }
    try tell(blocks.output)
  }

  private func tell(_ bytes: UnsafeRawBufferPointer) throws(ConnectionFailure) {
    let start = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
    let result = nghttp2_session_mem_recv(session, start, bytes.count)
    guard result >= 0 else {
      let code = Int32(result)
      if Self.floods.contains(code) { state.pointee.isFlooded = true }
      throw failure(code)
    }
  }

  /// The nghttp2 errors for clients that only cause work: PINGs or SETTINGS whose acknowledgements they do not read, or
  /// header blocks without an end.
  private static let floods = [
    NGHTTP2_ERR_FLOODED.rawValue, NGHTTP2_ERR_TOO_MANY_CONTINUATIONS.rawValue,
  ]

  /// The last frame to a client whose flood ended the session, which sends nothing more: GOAWAY with ENHANCE_YOUR_CALM
  /// (RFC 9113 §10.5). nil in all other cases.
  public var farewell: [UInt8]? {
    guard state.pointee.isFlooded else { return nil }
    let payload =
      ServerFaults.bigEndian(UInt32(bitPattern: max(0, lastStreamID)))
      + ServerFaults.bigEndian(HTTP2ErrorCode.enhanceYourCalm)
    return ServerFaults.frame(type: NGHTTP2_GOAWAY, payload)
  }

  /// Same as on the client's side.
  public func produceOutput(
    into buffer: inout ByteBuffer, upTo limit: Int
  ) throws(ConnectionFailure) -> Bool {
    faults?.drainPending(into: &buffer)
    while buffer.count < limit {
      var chunk: UnsafePointer<UInt8>?
      let count = nghttp2_session_mem_send(session, &chunk)
      guard count > 0 else {
        if count < 0 { throw failure(Int32(count)) }
        return false
      }
      StreamLimit.reveal(UnsafeRawBufferPointer(start: chunk, count: count)) { frame in
        if faults == nil { buffer.append(frame) } else { faults?.pass(frame, into: &buffer) }
      }
    }
    return true
  }

  /// Releases every request after the connection is gone.
  public func abandon() {
    while let request = state.pointee.open.first { state.pointee.close(request) }
  }

  public func drainNotices() -> [ConnectionNotice] {
    guard !state.pointee.notices.isEmpty else { return [] }
    let taken = state.pointee.notices
    state.pointee.notices = []
    return taken
  }

  public func post(_ notice: ConnectionNotice) { state.pointee.notices.append(notice) }

  public var complaint: String? { state.pointee.complaint }

  var noFlags: UInt8 { UInt8(NGHTTP2_FLAG_NONE.rawValue) }

  private func failure(_ code: Int32) -> ConnectionFailure {
    state.pointee.isFlooded
      ? .http2("the client floods the connection")
      : .session(code, complaint: state.pointee.complaint)
  }
}
