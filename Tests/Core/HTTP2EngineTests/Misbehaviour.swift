// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import HTTP2Engine

/// One thing that a server may do wrong, after request 1 has been written and before it is answered.
struct Misbehaviour: Sendable, CustomTestStringConvertible {
  /// What ends, and with which error.
  enum End: Sendable, Equatable {
    case connection(ErrorCode)
    case stream(ErrorCode)
    /// Nothing: the connection and its requests go on.
    case nothing
  }

  let what: String
  let bytes: [UInt8]
  let end: End

  init(_ what: String, _ bytes: [UInt8], _ end: End) {
    self.what = what
    self.bytes = bytes
    self.end = end
  }

  var testDescription: String { what }

  private static let ok: [UInt8] = [0x88]
  private static func settings(_ id: UInt8, _ value: UInt32) -> [UInt8] {
    frame(.settings, [0, id] + bigEndian(value))
  }
  private static func head(_ block: [UInt8], end: Bool = true) -> [UInt8] {
    frame(.headers, flags: end ? 5 : 4, stream: 1, block)
  }

  static let frames: [Misbehaviour] = [
    // §4.1, §4.2
    .init(
      "a frame of an unknown type is ignored", rawFrame(99, flags: 255, stream: 5, [1]), .nothing),
    .init(
      "a frame larger than SETTINGS_MAX_FRAME_SIZE", [0, 0x40, 1, 0, 0, 0, 0, 0, 1],
      .connection(.frameSizeError)),
    .init(
      "the reserved bit of a stream id is ignored", rawFrame(1, flags: 5, stream: 0x8000_0001, ok),
      .nothing),
    // §5.1
    .init("DATA on an idle stream", frame(.data, stream: 9, [1]), .connection(.protocolError)),
    .init(
      "HEADERS on an idle stream", frame(.headers, flags: 5, stream: 9, ok),
      .connection(.protocolError)),
    .init(
      "RST_STREAM on an idle stream", frame(.resetStream, stream: 9, bigEndian(8)),
      .connection(.protocolError)),
    .init(
      "WINDOW_UPDATE on an idle stream", frame(.windowUpdate, stream: 9, bigEndian(8)),
      .connection(.protocolError)),
    .init(
      "a stream that the server opens", frame(.headers, flags: 5, stream: 2, ok),
      .connection(.protocolError)),
    .init(
      "PRIORITY on an idle stream is ignored", frame(.priority, stream: 9, [0, 0, 0, 0, 1]),
      .nothing),
    // §6.1
    .init("DATA on stream 0", frame(.data, [1]), .connection(.protocolError)),
    .init(
      "DATA before the answer's HEADERS", frame(.data, stream: 1, [1]), .stream(.protocolError)),
    .init(
      "DATA with more padding than frame", frame(.data, flags: 8, stream: 1, [9, 1]),
      .connection(.protocolError)),
    .init(
      "padded DATA without a length", frame(.data, flags: 8, stream: 1), .connection(.protocolError)
    ),
    // §6.2
    .init("HEADERS on stream 0", frame(.headers, flags: 5, ok), .connection(.protocolError)),
    .init(
      "HEADERS with more padding than frame", frame(.headers, flags: 13, stream: 1, [9] + ok),
      .connection(.protocolError)),
    .init(
      "HEADERS too short for their priority", frame(.headers, flags: 37, stream: 1, ok),
      .connection(.frameSizeError)),
    // §6.3
    .init("PRIORITY on stream 0", frame(.priority, [0, 0, 0, 0, 1]), .connection(.protocolError)),
    .init(
      "PRIORITY of another length", frame(.priority, stream: 1, [0, 0, 0, 0]),
      .stream(.frameSizeError)),
    // §6.4
    .init("RST_STREAM on stream 0", frame(.resetStream, bigEndian(8)), .connection(.protocolError)),
    .init(
      "RST_STREAM of another length", frame(.resetStream, stream: 1, [0, 0, 8]),
      .connection(.frameSizeError)),
    // §6.5
    .init("SETTINGS on a stream", frame(.settings, stream: 1), .connection(.protocolError)),
    .init(
      "SETTINGS of another length", frame(.settings, [0, 3, 0, 0, 0]), .connection(.frameSizeError)),
    .init(
      "an acknowledgement of SETTINGS with a payload",
      frame(.settings, flags: 1, [0, 3] + bigEndian(1)), .connection(.frameSizeError)),
    .init("SETTINGS_ENABLE_PUSH 1", settings(2, 1), .connection(.protocolError)),
    .init("SETTINGS_ENABLE_PUSH 2", settings(2, 2), .connection(.protocolError)),
    .init("SETTINGS_ENABLE_PUSH 0", settings(2, 0), .nothing),
    .init("SETTINGS_INITIAL_WINDOW_SIZE 2³¹", settings(4, 1 << 31), .connection(.flowControlError)),
    .init("SETTINGS_MAX_FRAME_SIZE 16,383", settings(5, 16_383), .connection(.protocolError)),
    .init("SETTINGS_MAX_FRAME_SIZE 2²⁴", settings(5, 1 << 24), .connection(.protocolError)),
    .init("an unknown setting", settings(77, 1), .nothing),
    .init(
      "the same setting twice: the last one counts",
      frame(.settings, [0, 3] + bigEndian(0) + [0, 3] + bigEndian(100)), .nothing),
    // §6.6
    .init(
      "PUSH_PROMISE", frame(.pushPromise, flags: 4, stream: 1, bigEndian(2) + ok),
      .connection(.protocolError)),
    // §6.7
    .init(
      "PING on a stream", frame(.ping, stream: 1, [1, 2, 3, 4, 5, 6, 7, 8]),
      .connection(.protocolError)),
    .init(
      "PING of another length", frame(.ping, [1, 2, 3, 4, 5, 6, 7]), .connection(.frameSizeError)),
    .init(
      "an acknowledgement of a PING that was not sent",
      frame(.ping, flags: 1, [1, 2, 3, 4, 5, 6, 7, 8]), .nothing),
    // §6.8
    .init(
      "GOAWAY on a stream", frame(.goAway, stream: 1, bigEndian(1) + bigEndian(0)),
      .connection(.protocolError)),
    .init("GOAWAY of another length", frame(.goAway, bigEndian(1)), .connection(.frameSizeError)),
    // §6.9
    .init(
      "WINDOW_UPDATE of 0 on a stream", frame(.windowUpdate, stream: 1, bigEndian(0)),
      .stream(.protocolError)),
    .init(
      "WINDOW_UPDATE of 0 on the connection", frame(.windowUpdate, bigEndian(0)),
      .connection(.protocolError)),
    .init(
      "WINDOW_UPDATE of another length", frame(.windowUpdate, [0, 0, 1]),
      .connection(.frameSizeError)),
    .init(
      "a stream's window above 2³¹−1", frame(.windowUpdate, stream: 1, bigEndian(0x7FFF_FFFF)),
      .stream(.flowControlError)),
    .init(
      "the connection's window above 2³¹−1", frame(.windowUpdate, bigEndian(0x7FFF_FFFF)),
      .connection(.flowControlError)),
    .init(
      "windows above 2³¹−1 by SETTINGS",
      frame(.windowUpdate, stream: 1, bigEndian(0x7FFF_0000)) + settings(4, 0x7FFF_FFFF),
      .connection(.flowControlError)),
    // §6.10
    .init(
      "CONTINUATION without HEADERS", frame(.continuation, flags: 4, stream: 1, ok),
      .connection(.protocolError)),
    .init(
      "a frame inside a header block",
      frame(.headers, flags: 1, stream: 1, ok) + frame(.ping, [1, 2, 3, 4, 5, 6, 7, 8]),
      .connection(.protocolError)),
    .init(
      "CONTINUATION on another stream",
      frame(.headers, flags: 1, stream: 1, ok) + frame(.continuation, flags: 4, stream: 3),
      .connection(.protocolError)),
    .init(
      "HEADERS inside a header block",
      frame(.headers, flags: 1, stream: 1, ok) + frame(.headers, flags: 5, stream: 1, ok),
      .connection(.protocolError)),
    .init(
      "an unknown frame inside a header block",
      frame(.headers, flags: 1, stream: 1, ok) + rawFrame(99), .connection(.protocolError)),
  ]

  static let messages: [Misbehaviour] = [
    // RFC 7541, RFC 9113 §4.3
    .init("an index that no table has", head([0xBE]), .connection(.compressionError)),
    .init(
      "a header block that is cut off", head([0x88, 0x40, 0x05, 0x61]),
      .connection(.compressionError)),
    .init(
      "Huffman padding that is too long", head([0x88, 0x00, 0x82, 0x1F, 0xFF, 0x00]),
      .connection(.compressionError)),
    .init(
      "a table larger than announced", head([0x3F, 0xE1, 0x1F, 0x88]),
      .connection(.compressionError)),
    // §8.1, §8.2, §8.3
    .init("an answer without a status", head(field("apns-id", "a")), .stream(.protocolError)),
    .init("an empty header block", head([]), .stream(.protocolError)),
    .init("a status of two digits", head(field(":status", "20")), .stream(.protocolError)),
    .init("a status of letters", head(field(":status", "2ok")), .stream(.protocolError)),
    .init("a status below 100", head(field(":status", "099")), .stream(.protocolError)),
    .init("two statuses", head([0x88, 0x8C]), .stream(.protocolError)),
    .init("a status behind a field", head(field("a", "b") + ok), .stream(.protocolError)),
    .init(
      "a request's pseudo-header field", head(ok + field(":path", "/")), .stream(.protocolError)),
    .init(
      "an unknown pseudo-header field", head(field(":colour", "red") + ok), .stream(.protocolError)),
    .init("a name in capitals", head(ok + field("Apns-Id", "a")), .stream(.protocolError)),
    .init("an empty name", head(ok + field("", "a")), .stream(.protocolError)),
    .init("a name with a space", head(ok + field("a b", "a")), .stream(.protocolError)),
    .init("a value with a line break", head(ok + field("a", "b\nc")), .stream(.protocolError)),
    .init("a value with a zero byte", head(ok + field("a", "b\0")), .stream(.protocolError)),
    .init("a value with a space at its end", head(ok + field("a", "b ")), .stream(.protocolError)),
    .init("the field connection", head(ok + field("connection", "close")), .stream(.protocolError)),
    .init(
      "the field transfer-encoding", head(ok + field("transfer-encoding", "chunked")),
      .stream(.protocolError)),
    .init("status 101", head(field(":status", "101"), end: false), .stream(.protocolError)),
    .init(
      "an interim answer that ends the stream", head(field(":status", "103")),
      .stream(.protocolError)),
    .init("an interim answer", head(field(":status", "103"), end: false), .nothing),
    .init(
      "trailers that do not end the answer",
      head(ok, end: false) + head(field("a", "b"), end: false), .stream(.protocolError)),
    .init("trailers with a status", head(ok, end: false) + head(ok), .stream(.protocolError)),
    .init(
      "trailers with a name in capitals", head(ok, end: false) + head(field("A", "b")),
      .stream(.protocolError)),
    .init(
      "DATA beyond the first window, which is given room as it comes",
      head(ok, end: false)
        + (0..<5).flatMap { _ in frame(.data, stream: 1, [UInt8](repeating: 1, count: 16_384)) },
      .nothing),
  ]
}
