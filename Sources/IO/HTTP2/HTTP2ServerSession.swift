// SPDX-License-Identifier: Apache-2.0
package import Bytes
import CNghttp2

/// The server side of one HTTP/2 connection without any I/O. Owned by one thread.
package final class HTTP2ServerSession {
  let session: OpaquePointer
  private let state: UnsafeMutablePointer<ServerState>
  /// What the server does wrong on purpose; nil is nothing.
  var faults: ServerFaults?

  /// A session whose SETTINGS wait to be taken; nil for those that `start` gives. Complete requests go to `pool`, marked with `token`.
  package init(settings: SessionSettings?, pool: ServerRequestPool, token: UInt64) {
    state = .allocate(capacity: 1)
    state.initialize(to: ServerState(pool: pool, token: token, keepsContent: pool.keepsContent))
    var options: OpaquePointer?
    nghttp2_option_new(&options)
    nghttp2_option_set_no_closed_streams(options, 1)
    var created: OpaquePointer?
    nghttp2_session_server_new2(&created, ServerCallbacks.table, state, options)
    nghttp2_option_del(options)
    guard let created else { preconditionFailure("no memory for an HTTP/2 session") }
    session = created
    settings?.submit(to: session, isClient: false)
  }

  deinit {
    abandon()
    nghttp2_session_del(session)
    state.deinitialize(count: 1)
    state.deallocate()
  }

  /// Streams on which a request is being received or answered.
  package var openStreams: Int { state.pointee.openCount }
  package var isGoingAway: Bool { state.pointee.isGoingAway }
  package var isFinished: Bool {
    nghttp2_session_want_read(session) == 0 && nghttp2_session_want_write(session) == 0
  }
  /// The newest stream that the client has opened.
  package var lastStreamID: Int32 { nghttp2_session_get_last_proc_stream_id(session) }

  /// Queues the first SETTINGS of a session that was made without.
  func start(_ settings: SessionSettings) { settings.submit(to: session, isClient: false) }

  func attach(_ connection: HTTP2ServerConnection) {
    state.pointee.connection = Unmanaged.passUnretained(connection)
  }

  /// Answers a request. Header values and `body` must stay where they are until the stream closes:
  /// constants, or memory of the request itself.
  package func respond(
    _ request: UnsafeMutablePointer<ServerRequest>, _ headers: borrowing HeaderList,
    body: UnsafeRawBufferPointer
  ) {
    request.pointee.isHeld = false
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
  package func reset(_ streamID: Int32, code: UInt32) {
    nghttp2_submit_rst_stream(session, noFlags, streamID, code)
  }

  /// Changes how many streams the client may have open.
  package func updateSettings(maxConcurrentStreams: UInt32) {
    update(SettingsChange(maxConcurrentStreams: maxConcurrentStreams))
  }

  /// Sends SETTINGS with new values.
  package func update(_ change: SettingsChange) {
    let entries = change.entries
    nghttp2_submit_settings(session, noFlags, entries, entries.count)
  }

  /// Requests are announced when their header fields are complete (`ServerRequestPool.takeEarly`).
  package var answersEarly: Bool {
    get { state.pointee.answersEarly }
    set { state.pointee.answersEarly = newValue }
  }

  /// Sends GOAWAY; streams above `lastStreamID` (the newest one unless told) are not processed.
  package func sendGoAway(lastStreamID: Int32? = nil, code: UInt32, debug: [UInt8]) {
    state.pointee.isGoingAway = true
    nghttp2_submit_goaway(
      session, noFlags, lastStreamID ?? self.lastStreamID, code, debug, debug.count)
  }

  package func receive(_ bytes: UnsafeRawBufferPointer) throws(ConnectionFailure) {
    let start = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
    let result = nghttp2_session_mem_recv(session, start, bytes.count)
    guard result >= 0 else { throw failure(Int32(result)) }
  }

  /// As on the client's side.
  package func produceOutput(
    into buffer: inout ByteBuffer, upTo limit: Int
  ) throws(ConnectionFailure) -> Bool {
    faults?.takePending(into: &buffer)
    while buffer.count < limit {
      var chunk: UnsafePointer<UInt8>?
      let count = nghttp2_session_mem_send(session, &chunk)
      guard count > 0 else {
        if count < 0 { throw failure(Int32(count)) }
        return false
      }
      let frame = UnsafeRawBufferPointer(start: chunk, count: count)
      if faults == nil { buffer.append(frame) } else { faults?.pass(frame, into: &buffer) }
    }
    return true
  }

  /// The connection is gone: lets go of every request.
  package func abandon() {
    while let request = state.pointee.open { state.pointee.close(request) }
  }

  package func takeNotices() -> [ConnectionNotice] {
    guard !state.pointee.notices.isEmpty else { return [] }
    let taken = state.pointee.notices
    state.pointee.notices = []
    return taken
  }

  func post(_ notice: ConnectionNotice) { state.pointee.notices.append(notice) }

  var complaint: String? { state.pointee.complaint }

  var noFlags: UInt8 { UInt8(NGHTTP2_FLAG_NONE.rawValue) }

  private func failure(_ code: Int32) -> ConnectionFailure {
    .session(code, complaint: state.pointee.complaint)
  }
}
