// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import HTTP

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

  static let ok: [UInt8] = [0x88]
  static func settings(_ id: UInt8, _ value: UInt32) -> [UInt8] {
    frame(.settings, [0, id] + bigEndian(value))
  }
  /// Request 1 has been answered.
  static let closed = head(ok)
  static func update(_ credit: UInt32) -> [UInt8] {
    frame(.windowUpdate, stream: 1, bigEndian(credit))
  }
  static func length(_ text: String) -> [UInt8] { field("content-length", text) }
  static func head(_ block: [UInt8], end: Bool = true) -> [UInt8] {
    frame(.headers, flags: end ? 5 : 4, stream: 1, block)
  }

  static func body(_ text: String) -> [UInt8] {
    frame(.data, flags: 1, stream: 1, Array(text.utf8))
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
    .init(
      "windows above 2³¹−1 by SETTINGS that take it back",
      frame(.windowUpdate, stream: 1, bigEndian(0x7FFF_0000))
        + frame(.settings, [0, 4] + bigEndian(0x7FFF_FFFF) + [0, 4] + bigEndian(65_535)),
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
      "PUSH_PROMISE for a stream that is closed",
      head(ok) + frame(.pushPromise, flags: 4, stream: 1, bigEndian(2) + ok),
      .connection(.protocolError)),
    .init(
      "GOAWAY that names more streams than the one before",
      frame(.goAway, bigEndian(3) + bigEndian(0)) + frame(.goAway, bigEndian(9) + bigEndian(0)),
      .nothing),
    .init("WINDOW_UPDATE on a closed stream", closed + update(1), .nothing),
    .init("WINDOW_UPDATE of 0 on a closed stream", closed + update(0), .nothing),
    .init("DATA on a closed stream", closed + frame(.data, stream: 1, [1]), .nothing),
    .init(
      "RST_STREAM on a closed stream", closed + frame(.resetStream, stream: 1, bigEndian(8)),
      .nothing),
    .init("HEADERS on a closed stream", closed + head(ok), .nothing),
    .init(
      "HEADERS on a closed stream that cannot be read", closed + head([0xBE]),
      .connection(.compressionError)),
    .init(
      "PRIORITY of a stream that depends on itself",
      frame(.priority, stream: 1, bigEndian(1) + [0]), .nothing),
    .init(
      "flags that a frame does not have", frame(.ping, flags: 0xFE, [1, 2, 3, 4, 5, 6, 7, 8]),
      .nothing),
    .init(
      "CONTINUATION behind a block that has ended",
      head(ok, end: false) + frame(.continuation, flags: 4, stream: 1), .connection(.protocolError)),
    .init(
      "SETTINGS inside a header block", frame(.headers, flags: 1, stream: 1, ok) + frame(.settings),
      .connection(.protocolError)),
    .init(
      "DATA that is all padding",
      head(ok, end: false) + frame(.data, flags: 8, stream: 1, [2, 0, 0]), .nothing),
    .init(
      "an unknown frame inside a header block",
      frame(.headers, flags: 1, stream: 1, ok) + rawFrame(99), .connection(.protocolError)),
  ]
}
