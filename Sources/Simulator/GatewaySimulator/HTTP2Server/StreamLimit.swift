// SPDX-License-Identifier: Apache-2.0
import CNghttp2
import HTTP2

/// The stream limit that a client is told, which nghttp2 must not know: nghttp2 ends a connection at the first stream
/// above its limit, and APNs resets that stream (`ServerState.streamLimit`).
enum StreamLimit {
  /// A bit above every limit and every possible number of streams.
  private static let mark: UInt32 = 1 << 30
  private static let headerSize = 9
  private static let entrySize = 6

  /// The limit for nghttp2.
  static func hidden(_ limit: UInt32) -> UInt32 { limit | mark }

  /// Passes on a frame of nghttp2's; SETTINGS (RFC 9113 §6.5) with the limit for the client.
  static func reveal(_ frame: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer) -> Void) {
    guard frame.count > headerSize, UInt32(frame[3]) == NGHTTP2_SETTINGS.rawValue else {
      return body(frame)
    }
    var bytes = Array(frame)
    for entry in stride(from: headerSize, to: bytes.count, by: entrySize)
    where bytes[entry] == 0 && UInt32(bytes[entry + 1]) == limitID {
      bytes[entry + 2] &= ~UInt8(truncatingIfNeeded: mark >> 24)
    }
    bytes.withUnsafeBytes(body)
  }

  /// Ends a connection with a stream too many, as gateways of 2016 did (pushy#356).
  static func end(_ session: OpaquePointer?, lastStreamID: Int32) {
    let words = Array("Maximum active streams violated for this endpoint.".utf8)
    nghttp2_submit_goaway(
      session, UInt8(NGHTTP2_FLAG_NONE.rawValue), lastStreamID, HTTP2ErrorCode.refusedStream, words,
      words.count)
  }

  private static let limitID = NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS.rawValue
}
