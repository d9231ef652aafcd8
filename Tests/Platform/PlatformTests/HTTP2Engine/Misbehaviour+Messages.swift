// SPDX-License-Identifier: Apache-2.0
import HTTP

/// What is wrong with an answer.
extension Misbehaviour {
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
    .init("the index 0", head([0x80]), .connection(.compressionError)),
    .init(
      "an integer without an end", head([0xFF, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01]),
      .connection(.compressionError)),
    .init(
      "the end-of-string symbol", head([0x88, 0x00, 0x84, 0xFF, 0xFF, 0xFF, 0xFF, 0x00]),
      .connection(.compressionError)),
    .init(
      "a change of the table's size behind a field", head([0x88, 0x20]),
      .connection(.compressionError)),
    .init(
      "a change of the table's size in trailers", head(ok, end: false) + head([0x20]), .nothing),
    .init(
      "a string longer than its block", head([0x88, 0x00, 0x7F, 0xFF, 0xFF, 0x03, 0x61]),
      .connection(.compressionError)),
    // §8.1, §8.2, §8.3
    .init(
      "a body shorter than content-length", head(ok + length("3"), end: false) + body("ab"),
      .stream(.protocolError)),
    .init(
      "a body longer than content-length", head(ok + length("1"), end: false) + body("ab"),
      .stream(.protocolError)),
    .init("no body in spite of content-length", head(ok + length("1")), .stream(.protocolError)),
    .init(
      "trailers before all of content-length",
      head(ok + length("1"), end: false) + head(field("a", "b")), .stream(.protocolError)),
    .init("content-length twice", head(ok + length("0") + length("0")), .stream(.protocolError)),
    .init("content-length that is no number", head(ok + length("-1")), .stream(.protocolError)),
    .init("content-length of nothing", head(ok + length("")), .stream(.protocolError)),
    .init(
      "content-length in an interim answer",
      head(field(":status", "103") + length("0"), end: false), .stream(.protocolError)),
    .init("content-length with a 204", head([0x89] + length("1")), .stream(.protocolError)),
    .init("a body with a 204", head([0x89], end: false) + body("a"), .stream(.protocolError)),
    .init("a 304 that says how long the body would be", head([0x8B] + length("9")), .nothing),
    .init(
      "a body as long as content-length", head(ok + length("2"), end: false) + body("ab"), .nothing),
    .init("content-length 0 and no body", head(ok + length("0")), .nothing),
    .init("the field te", head(ok + field("te", "gzip")), .stream(.protocolError)),
    .init("the field keep-alive", head(ok + field("keep-alive", "1")), .stream(.protocolError)),
    .init("the field upgrade", head(ok + field("upgrade", "h3")), .stream(.protocolError)),
    .init("a status of four digits", head(field(":status", "1000")), .stream(.protocolError)),
    .init("a status with a sign", head(field(":status", "+20")), .stream(.protocolError)),
    .init("a name that is no token", head(ok + field("[a", "b")), .stream(.protocolError)),
    .init("a name above ASCII", head(ok + field("é", "a")), .stream(.protocolError)),
    .init("a value with a carriage return", head(ok + field("a", "b\r")), .stream(.protocolError)),
    .init("a value with a tab in front", head(ok + field("a", "\tb")), .stream(.protocolError)),
    .init(
      "a value with a control character", head(ok + field("a", "b\u{6}c")), .stream(.protocolError)),
    .init("a value with DEL", head(ok + field("a", "b\u{7F}")), .stream(.protocolError)),
    .init("a value with a tab inside", head(ok + field("a", "b\tc")), .nothing),
    .init("a value above ASCII", head(ok + field("a", "é")), .nothing),
    .init(
      "an answer behind an interim one",
      head(field(":status", "100"), end: false) + head(field(":status", "103"), end: false)
        + head(ok),
      .nothing),
    .init(
      "DATA behind an interim answer", head(field(":status", "103"), end: false) + body("a"),
      .stream(.protocolError)),
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
