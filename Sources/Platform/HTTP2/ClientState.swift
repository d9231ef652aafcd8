// SPDX-License-Identifier: Apache-2.0
import CNghttp2
import EventLoop
import HTTP
import Waiting

/// The memory that nghttp2's callbacks work on: raw memory, so that a callback costs neither reference counting nor
/// exclusivity checks.
struct ClientState {
  private(set) var open = OpenList<Exchange>()
  /// The exchange whose answer's header block is being read.
  var current: UnsafeMutablePointer<Exchange>?
  var completed: [UnsafeMutablePointer<Exchange>] = []
  var notices: [ConnectionNotice] = []
  /// APNs allows one stream before it says more; the RFC's "unlimited" would be wrong here.
  var remoteMaxConcurrentStreams: UInt32 = 1
  var isGoingAway = false
  var pings = OutstandingPings()
  /// nghttp2's words about the last thing that went wrong.
  var complaint: String?

  static func from(_ user: UnsafeMutableRawPointer?) -> UnsafeMutablePointer<ClientState> {
    user.unsafelyUnwrapped.assumingMemoryBound(to: ClientState.self)
  }

  mutating func insert(_ exchange: UnsafeMutablePointer<Exchange>) { open.insert(exchange) }

  /// Takes an exchange off the list and hands it to the owner. Each goes through here once.
  mutating func complete(_ exchange: UnsafeMutablePointer<Exchange>, as fate: ExchangeFate) {
    open.remove(exchange)
    if current == exchange { current = nil }
    exchange.pointee.fate = fate
    completed.append(exchange)
  }

  mutating func remember(_ settings: UInt32) {
    remoteMaxConcurrentStreams = settings
    notices.append(.settings(maxConcurrentStreams: settings))
  }
}

/// The callbacks of every client session, registered once.
enum ClientCallbacks {
  nonisolated(unsafe) static let table = sessionCallbacks(
    beginHeaders: beginHeaders, header: header, dataChunk: dataChunk,
    frameReceived: frameReceived, streamClosed: streamClosed, complained: complained,
    frameNotSent: frameNotSent)

  private static func exchange(
    _ session: OpaquePointer?, _ stream: Int32
  ) -> UnsafeMutablePointer<Exchange>? {
    nghttp2_session_get_stream_user_data(session, stream)?.assumingMemoryBound(to: Exchange.self)
  }

  private static let beginHeaders: nghttp2_on_begin_headers_callback = { session, frame, user in
    ClientState.from(user).pointee.current = exchange(
      session, frame.unsafelyUnwrapped.pointee.hd.stream_id)
    return 0
  }

  private static let header: nghttp2_on_header_callback = {
    _, _, name, nameCount, value, valueCount, _, user in
    guard let exchange = ClientState.from(user).pointee.current, let name, let value else {
      return 0
    }
    // Names are told apart by their length first; most answers carry only :status and apns-id.
    switch nameCount {
    case 7 where name[0] == UInt8(ascii: ":"):
      guard let status = number(value, valueCount), status >= 200, status < 1_000 else { break }
      exchange.pointee.status = UInt16(status)
    case 7 where valueCount == 36 && equals(name, "apns-id"):
      guard
        !exchange.pointee.noteID(
          isSent: isSent(value, exchange.pointee.sentID))
      else { break }
      for index in 0..<36 { exchange.pointee.otherID[index] = value[index] }
      exchange.pointee.hasOtherID = true
    case 15 where valueCount == 36 && equals(name, "apns-request-id"):
      guard
        !exchange.pointee.noteID(
          isSent: isSent(value, exchange.pointee.sentID))
      else { break }
      for index in 0..<36 { exchange.pointee.otherRequestID[index] = value[index] }
      exchange.pointee.hasOtherRequestID = true
    case 14 where valueCount == 36 && equals(name, "apns-unique-id"):
      for index in 0..<36 { exchange.pointee.uniqueID[index] = value[index] }
      exchange.pointee.hasUniqueID = true
    case 11 where equals(name, "retry-after"):
      exchange.pointee.retryAfter = RetryAfter(
        UnsafeBufferPointer(start: value, count: valueCount).span)
    case 4 where valueCount == 29 && equals(name, "date"):
      guard let date = exchange.pointee.date else { break }
      date.update(from: value, count: 29)
      exchange.pointee.hasDate = true
    default: break
    }
    return 0
  }

  private static let dataChunk: nghttp2_on_data_chunk_recv_callback = {
    session, _, stream, bytes, count, _ in
    guard let exchange = exchange(session, stream), let bytes else { return 0 }
    exchange.pointee.responseTotal &+= UInt32(truncatingIfNeeded: count)
    let kept = Int(exchange.pointee.responseCount)
    let taken = min(count, Int(exchange.pointee.responseCapacity) - kept)
    guard taken > 0, let room = exchange.pointee.response else { return 0 }
    (room + kept).update(from: bytes, count: taken)
    exchange.pointee.responseCount = UInt16(kept + taken)
    return 0
  }

  private static let frameReceived: nghttp2_on_frame_recv_callback = { session, frame, user in
    let frame = frame.unsafelyUnwrapped
    let flags = UInt32(frame.pointee.hd.flags)
    switch UInt32(frame.pointee.hd.type) {
    case NGHTTP2_HEADERS.rawValue, NGHTTP2_DATA.rawValue:
      guard flags & NGHTTP2_FLAG_END_STREAM.rawValue != 0 else { return 0 }
      exchange(session, frame.pointee.hd.stream_id)?.pointee.ended = true
    case NGHTTP2_SETTINGS.rawValue where flags & NGHTTP2_FLAG_ACK.rawValue == 0:
      ClientState.from(user).pointee.remember(
        nghttp2_session_get_remote_settings(session, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS))
    case NGHTTP2_GOAWAY.rawValue:
      let state = ClientState.from(user)
      state.pointee.isGoingAway = true
      state.pointee.notices.append(ConnectionNotice.received(frame.pointee.goaway))
    case NGHTTP2_PING.rawValue where flags & NGHTTP2_FLAG_ACK.rawValue != 0:
      let sent = withUnsafeBytes(of: frame.pointee.ping.opaque_data) {
        $0.loadUnaligned(as: UInt64.self)
      }
      guard ClientState.from(user).pointee.pings.isAnswered(by: sent) else { return 0 }
      let elapsed = MonotonicClock.nanoseconds() &- sent
      ClientState.from(user).pointee.notices.append(.pong(roundTripNanoseconds: elapsed))
    default: break
    }
    return 0
  }

  private static let streamClosed: nghttp2_on_stream_close_callback = {
    session, stream, code, user in
    guard let exchange = exchange(session, stream) else { return 0 }
    exchange.pointee.closeCode = code
    let isUnprocessed = exchange.pointee.isUnwritten || code == HTTP2ErrorCode.refusedStream
    let fate: ExchangeFate =
      exchange.pointee.status != 0 ? .answered : isUnprocessed ? .unprocessed : .ambiguous
    ClientState.from(user).pointee.complete(exchange, as: fate)
    return 0
  }

  /// nghttp2 gives a frame up that was still queued: a request's first one says that nothing of it was written. The
  /// close of its stream follows.
  private static let frameNotSent: nghttp2_on_frame_not_send_callback = { session, frame, _, _ in
    let header = frame.unsafelyUnwrapped.pointee.hd
    guard UInt32(header.type) == NGHTTP2_HEADERS.rawValue else { return 0 }
    exchange(session, header.stream_id)?.pointee.isUnwritten = true
    return 0
  }

  private static let complained: nghttp2_error_callback2 = { _, _, message, count, user in
    guard let message else { return 0 }
    let bytes = UnsafeRawBufferPointer(start: message, count: min(count, 256))
    ClientState.from(user).pointee.complaint = String(decoding: bytes, as: UTF8.self)
    return 0
  }

  /// Copies the next part of a request's body.
  static let readBody: nghttp2_data_source_read_callback = {
    _, _, buffer, capacity, flags, source, _ in
    let exchange = source.unsafelyUnwrapped.pointee.ptr.assumingMemoryBound(to: Exchange.self)
    let sent = exchange.pointee.bodySent
    let count = min(capacity, Int(exchange.pointee.bodyCount - sent))
    if count > 0, let body = exchange.pointee.body, let buffer {
      buffer.update(from: body + Int(sent), count: count)
    }
    exchange.pointee.bodySent = sent + UInt32(count)
    if exchange.pointee.bodySent == exchange.pointee.bodyCount {
      flags.unsafelyUnwrapped.pointee |= NGHTTP2_DATA_FLAG_EOF.rawValue
    }
    return count
  }

  private static func equals(_ name: UnsafePointer<UInt8>, _ text: StaticString) -> Bool {
    let other = text.utf8Start
    for index in 0..<text.utf8CodeUnitCount where name[index] != other[index] { return false }
    return true
  }

  /// True if an id of 36 characters is the one that was sent; the case of its letters does not matter.
  private static func isSent(_ id: UnsafePointer<UInt8>, _ sent: UnsafePointer<UInt8>?) -> Bool {
    guard let sent else { return false }
    // Digits and hyphens have the bit that makes letters small.
    for index in 0..<36 where id[index] | 0x20 != sent[index] | 0x20 { return false }
    return true
  }

  /// Decimal digits only, at most nine.
  private static func number(_ digits: UnsafePointer<UInt8>, _ count: Int) -> UInt32? {
    guard count > 0, count <= 9 else { return nil }
    var value: UInt32 = 0
    for index in 0..<count {
      let digit = digits[index] &- UInt8(ascii: "0")
      guard digit < 10 else { return nil }
      value = value * 10 + UInt32(digit)
    }
    return value
  }
}
