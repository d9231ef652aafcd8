// SPDX-License-Identifier: Apache-2.0
import CNghttp2
import EventLoop
import HTTP

/// The client side of one HTTP/2 connection on nghttp2. Owned by one thread.
public final class NGHTTP2ClientSession {
  private let session: OpaquePointer
  private let state: UnsafeMutablePointer<ClientState>
  /// Looks at the first frame; nil afterwards.
  private var early: EarlyGoAway? = EarlyGoAway()
  /// The server refused the connection with its first frame.
  private var isRefused = false

  /// A session whose preface and SETTINGS wait to be taken.
  ///
  /// - Parameter firstStreamID: odd; above 1 to see what happens near the last one.
  init(settings: SessionSettings, firstStreamID: Int32) {
    state = .allocate(capacity: 1)
    state.initialize(to: ClientState())
    var options: OpaquePointer?
    nghttp2_option_new(&options)
    nghttp2_option_set_peer_max_concurrent_streams(options, 1)
    nghttp2_option_set_no_closed_streams(options, 1)
    var created: OpaquePointer?
    nghttp2_session_client_new2(&created, ClientCallbacks.table, state, options)
    nghttp2_option_del(options)
    guard let created else { preconditionFailure("no memory for an HTTP/2 session") }
    session = created
    settings.submit(to: session, isClient: true)
    if firstStreamID > 1 { nghttp2_session_set_next_stream_id(session, firstStreamID) }
  }

  deinit {
    nghttp2_session_del(session)
    state.deinitialize(count: 1)
    state.deallocate()
  }

  /// Requests that have been submitted and are not completed.
  var openStreams: Int { state.pointee.open.count }
  /// The number of streams that the peer allows at once; 1 until it has said.
  var remoteMaxConcurrentStreams: UInt32 { state.pointee.remoteMaxConcurrentStreams }
  /// GOAWAY was received or sent: no new streams.
  var isGoingAway: Bool { state.pointee.isGoingAway }
  /// The id that the next request gets, 1, 3, 5…; above 2³¹−1 there are no more.
  var nextStreamID: UInt32 { nghttp2_session_get_next_stream_id(session) }
  /// Both sides are done: nothing to send and nothing to wait for.
  var isFinished: Bool {
    isRefused
      || (nghttp2_session_want_read(session) == 0 && nghttp2_session_want_write(session) == 0)
  }
  /// Bytes that the connection's flow control lets us send now; 0 or less: blocked by the window.
  var connectionWindow: Int32 { nghttp2_session_get_remote_window_size(session) }

  /// Queues a request. False when no stream can be opened now: the peer's limit is reached, it is
  /// going away, or stream ids are used up. The first request always fits.
  func submit(_ headers: borrowing HeaderList, _ exchange: UnsafeMutablePointer<Exchange>) -> Bool {
    guard state.pointee.open.count < state.pointee.remoteMaxConcurrentStreams,
      !state.pointee.isGoingAway
    else { return false }
    exchange.pointee.prepare()
    let stream: Int32
    if exchange.pointee.bodyCount > 0 {
      var body = nghttp2_data_provider(
        source: nghttp2_data_source(ptr: exchange), read_callback: ClientCallbacks.readBody)
      stream = nghttp2_submit_request(
        session, nil, headers.fields, headers.count, &body, exchange)
    } else {
      stream = nghttp2_submit_request(session, nil, headers.fields, headers.count, nil, exchange)
    }
    guard stream > 0 else { return false }
    exchange.pointee.streamID = stream
    state.pointee.insert(exchange)
    return true
  }

  /// Gives a request up (RST_STREAM); it completes with the next output, as ambiguous unless a
  /// status had arrived.
  func reset(_ exchange: UnsafeMutablePointer<Exchange>, code: UInt32) {
    guard exchange.pointee.fate == .pending, exchange.pointee.streamID > 0 else { return }
    nghttp2_submit_rst_stream(session, noFlags, exchange.pointee.streamID, code)
  }

  /// Asks the peer for a sign of life; the answer is a `.pong` notice.
  func ping() {
    let now = MonotonicClock.nanoseconds()
    state.pointee.pings.sent(now)
    withUnsafeBytes(of: now) { bytes in
      _ = nghttp2_submit_ping(
        session, noFlags, bytes.baseAddress?.assumingMemoryBound(to: UInt8.self))
    }
  }

  /// Tells the peer that no new requests follow; open ones go on.
  func goAway() {
    guard !state.pointee.isGoingAway else { return }
    state.pointee.isGoingAway = true
    nghttp2_submit_goaway(session, noFlags, 0, NGHTTP2_NO_ERROR.rawValue, nil, 0)
  }

  /// Takes bytes from the peer. Throws when the connection cannot go on.
  func receive(_ bytes: UnsafeRawBufferPointer) throws(ConnectionFailure) {
    guard early == nil else { return try receiveFirst(bytes) }
    let start = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
    let result = nghttp2_session_mem_recv(session, start, bytes.count)
    guard result >= 0 else { throw failure(Int32(result)) }
  }

  private func receiveFirst(_ bytes: UnsafeRawBufferPointer) throws(ConnectionFailure) {
    guard !isRefused, let finding = early?.receive(bytes) else { return }
    switch finding {
    case .undecided: return
    case .none(let bytes):
      early = nil
      let result = nghttp2_session_mem_recv(session, bytes, bytes.count)
      guard result >= 0 else { throw failure(Int32(result)) }
    case .goAway(let last, let code, let debug):
      isRefused = true
      state.pointee.isGoingAway = true
      state.pointee.notices.append(.goAway(lastStreamID: last, code: code, debug: debug))
      while let exchange = state.pointee.open.first {
        let isUnprocessed = exchange.pointee.streamID > last
        exchange.pointee.closeCode =
          isUnprocessed ? HTTP2ErrorCode.refusedStream : HTTP2ErrorCode.internalError
        state.pointee.complete(exchange, as: isUnprocessed ? .unprocessed : .ambiguous)
      }
    }
  }

  /// Appends what is to be sent until `buffer` holds at least `limit` bytes or nothing is left.
  /// True when more may be left.
  func produceOutput(
    into buffer: inout ByteBuffer, upTo limit: Int
  ) throws(ConnectionFailure) -> Bool {
    while buffer.count < limit {
      var chunk: UnsafePointer<UInt8>?
      let count = nghttp2_session_mem_send(session, &chunk)
      guard count > 0 else {
        if count < 0 { throw failure(Int32(count)) }
        return false
      }
      buffer.append(UnsafeRawBufferPointer(start: chunk, count: count))
    }
    return true
  }

  /// The connection is gone: every open exchange completes, by what is known about it.
  func abandon() {
    state.pointee.isGoingAway = true
    while let exchange = state.pointee.open.first {
      let isWritten = nghttp2_session_find_stream(session, exchange.pointee.streamID) != nil
      exchange.pointee.closeCode = HTTP2ErrorCode.internalError
      state.pointee.complete(
        exchange,
        as: exchange.pointee.status != 0 ? .answered : isWritten ? .ambiguous : .unprocessed)
    }
  }

  /// Replaces `list` by the exchanges that completed since the last call. Both lists keep their
  /// room, so a steady flow does not allocate.
  func drainCompleted(into list: inout [UnsafeMutablePointer<Exchange>]) {
    list.removeAll(keepingCapacity: true)
    guard !state.pointee.completed.isEmpty else { return }
    swap(&list, &state.pointee.completed)
  }

  /// The notices of the connection since the last call.
  func drainNotices() -> [ConnectionNotice] {
    guard !state.pointee.notices.isEmpty else { return [] }
    let taken = state.pointee.notices
    state.pointee.notices = []
    return taken
  }

  func post(_ notice: ConnectionNotice) { state.pointee.notices.append(notice) }

  /// The last message of nghttp2, for the report of a connection it has ended.
  var complaint: String? { state.pointee.complaint }

  private var noFlags: UInt8 { UInt8(NGHTTP2_FLAG_NONE.rawValue) }

  private func failure(_ code: Int32) -> ConnectionFailure {
    .session(code, complaint: state.pointee.complaint)
  }
}
