// SPDX-License-Identifier: Apache-2.0
import CNghttp2
import HTTP2

/// The memory that nghttp2's callbacks work on, on the server side; raw memory as in `ClientState`.
struct ServerState {
  let pool: ServerRequestPool
  let token: UInt64
  /// The connection, which outlives its session.
  var connection: Unmanaged<HTTP2ServerConnection>?
  private(set) var open = OpenList<ServerRequest>()
  /// A request with complete header fields, before nghttp2 is told of it.
  var prepared: UnsafeMutablePointer<ServerRequest>?
  /// The request whose header block nghttp2 is reading.
  var current: UnsafeMutablePointer<ServerRequest>?
  var notices: [ConnectionNotice] = []
  var isGoingAway = false
  var complaint: String?
  /// The body size above which requests are announced before their end; nil announces none.
  var earlyAnswerLimit: Int?
  /// The concurrent stream limit last sent to the client.
  var streamLimit = UInt32.max
  /// The newest stream that the client has begun.
  private(set) var newestStream: Int32 = 0
  /// Whether a stream above the limit ends the connection.
  var endsAboveLimit = false
  /// Streams that the server has reset before their request ended, and streams above the limit.
  var cut = RecentStreams()
  var refused = RecentStreams()
  /// The newest stream that the client has reset.
  private(set) var resetByClient: Int32 = 0
  /// The number of streams reset by the client, minus the answered ones.
  var resetDebt = 0
  /// Whether the client floods the server, so that the connection must end with ENHANCE_YOUR_CALM.
  var isFlooded = false

  /// The number of resets beyond the answered streams that is allowed. nghttp2's own limit is the same, and ends a
  /// connection with INTERNAL_ERROR.
  static let resetLimit = 1_000

  static func from(_ user: UnsafeMutableRawPointer?) -> UnsafeMutablePointer<ServerState> {
    user.unsafelyUnwrapped.assumingMemoryBound(to: ServerState.self)
  }

  /// Returns the request of a new stream; nil if the client has opened too many.
  mutating func begin(_ stream: Int32) -> UnsafeMutablePointer<ServerRequest>? {
    newestStream = stream
    guard open.count < Int(streamLimit) else { return nil }
    let request = prepared ?? pool.take()
    request.pointee.streamID = stream
    request.pointee.connectionToken = token
    request.pointee.connection = connection
    open.insert(request)
    return request
  }

  /// Counts a stream reset by the client; returns false if there were too many ("rapid reset", CVE-2023-44487).
  mutating func countReset() -> Bool {
    resetDebt += 1
    if resetDebt > Self.resetLimit { isFlooded = true }
    return !isFlooded
  }

  /// Counts the client's reset of a stream.
  mutating func noteReset(_ stream: Int32) -> Bool {
    resetByClient = stream
    return countReset()
  }

  mutating func countAnswer() { resetDebt = max(0, resetDebt - 1) }

  /// Announces a request that has grown too large for a response at its end. Usually there is no limit, and then the
  /// state is not copied for the call.
  @inline(__always)
  static func announceIfLarge(
    _ request: UnsafeMutablePointer<ServerRequest>, _ state: UnsafeMutablePointer<ServerState>
  ) {
    if let limit = state.pointee.earlyAnswerLimit {
      announce(request, largerThan: limit, state.pointee.pool)
    }
  }

  private static func announce(
    _ request: UnsafeMutablePointer<ServerRequest>, largerThan limit: Int, _ pool: ServerRequestPool
  ) {
    guard !request.pointee.wasAnnounced,
      max(request.pointee.bodyTotal, request.pointee.declaredLength ?? 0) > limit
    else { return }
    pool.announce(request)
  }

  /// Handles the end of a stream. A request that the owner still holds is recycled when the owner releases it.
  mutating func close(_ request: UnsafeMutablePointer<ServerRequest>) {
    open.remove(request)
    if current == request { current = nil }
    request.pointee.connection = nil
    if !request.pointee.isHeld { pool.recycle(request) }
  }
}

/// The callbacks of every server session, registered once.
enum ServerCallbacks {
  nonisolated(unsafe) static let table = sessionCallbacks(
    beginHeaders: beginHeaders, header: header, dataChunk: dataChunk,
    frameReceived: frameReceived, streamClosed: streamClosed, complained: complained)

  private static func request(
    _ session: OpaquePointer?, _ stream: Int32
  ) -> UnsafeMutablePointer<ServerRequest>? {
    nghttp2_session_get_stream_user_data(session, stream)?
      .assumingMemoryBound(to: ServerRequest.self)
  }

  private static let beginHeaders: nghttp2_on_begin_headers_callback = { session, frame, user in
    let frame = frame.unsafelyUnwrapped
    let state = ServerState.from(user)
    state.pointee.current = nil
    // Trailers come with another category and are ignored.
    guard frame.pointee.headers.cat == NGHTTP2_HCAT_REQUEST else { return 0 }
    let before = state.pointee.newestStream
    guard let request = state.pointee.begin(frame.pointee.hd.stream_id) else {
      state.pointee.refused.insert(frame.pointee.hd.stream_id)
      if state.pointee.endsAboveLimit {
        state.pointee.isGoingAway = true
        StreamLimit.end(session, lastStreamID: before)
      }
      nghttp2_submit_rst_stream(
        session, UInt8(NGHTTP2_FLAG_NONE.rawValue), frame.pointee.hd.stream_id,
        HTTP2ErrorCode.refusedStream)
      return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue
    }
    nghttp2_session_set_stream_user_data(session, frame.pointee.hd.stream_id, request)
    // The fields of a prepared request are already in it.
    if state.pointee.prepared == nil { state.pointee.current = request }
    state.pointee.prepared = nil
    return 0
  }

  private static let header: nghttp2_on_header_callback = {
    _, _, name, nameCount, value, valueCount, flags, user in
    let state = ServerState.from(user)
    guard let request = state.pointee.current, let name, let value else { return 0 }
    let isNeverIndexed = UInt32(flags) & NGHTTP2_NV_FLAG_NO_INDEX.rawValue != 0
    request.pointee.addField(
      UnsafeRawBufferPointer(start: name, count: nameCount),
      UnsafeRawBufferPointer(start: value, count: valueCount), isNeverIndexed: isNeverIndexed)
    return 0
  }

  private static let dataChunk: nghttp2_on_data_chunk_recv_callback = {
    session, _, stream, bytes, count, user in
    guard let request = request(session, stream), let bytes else { return 0 }
    request.pointee.addBody(bytes, count)
    ServerState.announceIfLarge(request, ServerState.from(user))
    return 0
  }

  private static let frameReceived: nghttp2_on_frame_recv_callback = { session, frame, user in
    let frame = frame.unsafelyUnwrapped
    let flags = UInt32(frame.pointee.hd.flags)
    switch UInt32(frame.pointee.hd.type) {
    case NGHTTP2_HEADERS.rawValue, NGHTTP2_DATA.rawValue:
      guard let request = request(session, frame.pointee.hd.stream_id) else { return 0 }
      let state = ServerState.from(user)
      if flags & NGHTTP2_FLAG_END_STREAM.rawValue != 0 {
        state.pointee.pool.complete(request)
      } else if frame.pointee.hd.type == NGHTTP2_HEADERS.rawValue {
        ServerState.announceIfLarge(request, state)
      }
    case NGHTTP2_RST_STREAM.rawValue:
      let isTolerable = ServerState.from(user).pointee.noteReset(frame.pointee.hd.stream_id)
      return isTolerable ? 0 : NGHTTP2_ERR_CALLBACK_FAILURE.rawValue
    case NGHTTP2_SETTINGS.rawValue where flags & NGHTTP2_FLAG_ACK.rawValue == 0:
      let limit = nghttp2_session_get_remote_settings(
        session, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS)
      ServerState.from(user).pointee.notices.append(.settings(maxConcurrentStreams: limit))
    case NGHTTP2_GOAWAY.rawValue:
      let state = ServerState.from(user)
      state.pointee.isGoingAway = true
      state.pointee.notices.append(ConnectionNotice.received(frame.pointee.goaway))
    default: break
    }
    return 0
  }

  private static let streamClosed: nghttp2_on_stream_close_callback = { session, stream, _, user in
    let state = ServerState.from(user)
    if nghttp2_session_get_stream_remote_close(session, stream) == 0,
      stream != state.pointee.resetByClient
    {
      state.pointee.cut.insert(stream)
    }
    guard let request = request(session, stream) else { return 0 }
    state.pointee.close(request)
    return 0
  }

  private static let complained: nghttp2_error_callback2 = { _, _, message, count, user in
    guard let message else { return 0 }
    let bytes = UnsafeRawBufferPointer(start: message, count: min(count, 256))
    ServerState.from(user).pointee.complaint = String(decoding: bytes, as: UTF8.self)
    return 0
  }

  /// Copies the next part of a response's body.
  static let readBody: nghttp2_data_source_read_callback = {
    session, stream, buffer, capacity, flags, source, _ in
    let request = source.unsafelyUnwrapped.pointee.ptr.assumingMemoryBound(to: ServerRequest.self)
    let sent = request.pointee.responseSent
    let count = min(capacity, request.pointee.responseCount - sent)
    if count > 0, let body = request.pointee.response, let buffer {
      UnsafeMutableRawPointer(buffer).copyMemory(from: body + sent, byteCount: count)
    }
    request.pointee.responseSent = sent + count
    if request.pointee.responseSent == request.pointee.responseCount {
      flags.unsafelyUnwrapped.pointee |= NGHTTP2_DATA_FLAG_EOF.rawValue
      if request.pointee.hasTrailers {
        flags.unsafelyUnwrapped.pointee |= NGHTTP2_DATA_FLAG_NO_END_STREAM.rawValue
        ServerFaults.submitTrailers(session, stream)
      }
    }
    return count
  }
}
