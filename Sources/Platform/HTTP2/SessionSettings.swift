// SPDX-License-Identifier: Apache-2.0
import CNghttp2

/// The SETTINGS that one side sends (RFC 9113 §6.5.2); nil leaves a value at the RFC's default.
public struct SessionSettings: Sendable {
  public var maxConcurrentStreams: UInt32?
  public var headerTableSize: UInt32?
  public var initialWindowSize: UInt32?
  public var maxFrameSize: UInt32?
  public var maxHeaderListSize: UInt32?
  /// Receive window of the whole connection, 65,535 unless raised.
  public var connectionWindow: Int32?
  /// Id of a client's first stream, odd: near 2³¹−1 to see what becomes of it when ids run out.
  public var firstStreamID: Int32?

  public init() {}

  /// Queues the SETTINGS frame (and a window update) as the session's first frames.
  public func submit(to session: OpaquePointer, isClient: Bool) {
    var entries: [nghttp2_settings_entry] = []
    func add(_ id: nghttp2_settings_id, _ value: UInt32?) {
      guard let value else { return }
      entries.append(nghttp2_settings_entry(settings_id: Int32(id.rawValue), value: value))
    }
    add(NGHTTP2_SETTINGS_HEADER_TABLE_SIZE, headerTableSize)
    if isClient { add(NGHTTP2_SETTINGS_ENABLE_PUSH, 0) }
    add(NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, maxConcurrentStreams)
    add(NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, initialWindowSize)
    add(NGHTTP2_SETTINGS_MAX_FRAME_SIZE, maxFrameSize)
    add(NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, maxHeaderListSize)
    if isClient, let firstStreamID { nghttp2_session_set_next_stream_id(session, firstStreamID) }
    let none = UInt8(NGHTTP2_FLAG_NONE.rawValue)
    nghttp2_submit_settings(session, none, entries, entries.count)
    if let connectionWindow {
      nghttp2_session_set_local_window_size(session, none, 0, connectionWindow)
    }
  }
}

/// HTTP/2 error codes (RFC 9113 §7) that the callers of this room use.
public enum HTTP2ErrorCode {
  public static let noError: UInt32 = 0
  public static let protocolError: UInt32 = 1
  public static let internalError: UInt32 = 2
  public static let streamClosed: UInt32 = 5
  public static let refusedStream: UInt32 = 7
  public static let cancel: UInt32 = 8
  public static let enhanceYourCalm: UInt32 = 11

  /// The names of all codes, by code.
  public static let names = [
    "NO_ERROR", "PROTOCOL_ERROR", "INTERNAL_ERROR", "FLOW_CONTROL_ERROR", "SETTINGS_TIMEOUT",
    "STREAM_CLOSED", "FRAME_SIZE_ERROR", "REFUSED_STREAM", "CANCEL", "COMPRESSION_ERROR",
    "CONNECT_ERROR", "ENHANCE_YOUR_CALM", "INADEQUATE_SECURITY", "HTTP_1_1_REQUIRED",
  ]
}
