// SPDX-License-Identifier: Apache-2.0
public import CNghttp2

/// nghttp2's table of what one side of a connection wants to hear. Made once for each side, and never freed.
public func sessionCallbacks(
  beginHeaders: nghttp2_on_begin_headers_callback, header: nghttp2_on_header_callback,
  dataChunk: nghttp2_on_data_chunk_recv_callback, frameReceived: nghttp2_on_frame_recv_callback,
  streamClosed: nghttp2_on_stream_close_callback, complained: nghttp2_error_callback2,
  frameNotSent: nghttp2_on_frame_not_send_callback? = nil
) -> OpaquePointer {
  var created: OpaquePointer?
  nghttp2_session_callbacks_new(&created)
  guard let table = created else { preconditionFailure("no memory for HTTP/2 callbacks") }
  nghttp2_session_callbacks_set_on_begin_headers_callback(table, beginHeaders)
  nghttp2_session_callbacks_set_on_header_callback(table, header)
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(table, dataChunk)
  nghttp2_session_callbacks_set_on_frame_recv_callback(table, frameReceived)
  nghttp2_session_callbacks_set_on_stream_close_callback(table, streamClosed)
  nghttp2_session_callbacks_set_error_callback2(table, complained)
  if let frameNotSent {
    nghttp2_session_callbacks_set_on_frame_not_send_callback(table, frameNotSent)
  }
  return table
}

extension ConnectionFailure {
  /// nghttp2 cannot go on: its error in words, and what it complained about before, if it did.
  public static func session(_ code: Int32, complaint: String?) -> ConnectionFailure {
    let words = String(cString: nghttp2_strerror(code))
    guard let complaint else { return .http2(words) }
    return .http2("\(words) (\(complaint))")
  }
}

extension ConnectionNotice {
  /// A GOAWAY that arrived; its debug bytes are cut at 256.
  public static func received(_ frame: nghttp2_goaway) -> ConnectionNotice {
    let debug = UnsafeBufferPointer(
      start: frame.opaque_data, count: min(frame.opaque_data_len, 256))
    return .goAway(
      lastStreamID: frame.last_stream_id, code: frame.error_code, debug: Array(debug))
  }
}
