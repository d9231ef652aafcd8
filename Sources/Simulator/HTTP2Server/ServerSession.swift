// SPDX-License-Identifier: Apache-2.0
public import Bytes
public import HTTP2

/// The server side of one HTTP/2 connection without any I/O: bytes in, requests to a pool, bytes out.
public protocol ServerSession: AnyObject {
  /// Streams on which a request is being received or answered.
  var openStreams: Int { get }
  var isGoingAway: Bool { get }
  /// Nothing is to be read or written any more.
  var isFinished: Bool { get }
  /// The newest stream that the client has opened.
  var lastStreamID: Int32 { get }
  /// The client's error, in words.
  var complaint: String? { get }
  /// The last frame to a client that is thrown out; nil if there is none.
  var farewell: [UInt8]? { get }

  func attach(_ connection: HTTP2ServerConnection)
  /// Queues the first SETTINGS of a session that was made without.
  func start(_ settings: SessionSettings)
  func receive(_ bytes: UnsafeRawBufferPointer) throws(ConnectionFailure)
  /// Appends what is to be sent; whether there is more of it.
  func produceOutput(
    into buffer: inout ByteBuffer, upTo limit: Int
  ) throws(ConnectionFailure) -> Bool
  /// Answers a request. Header values and `body` must stay where they are until the stream closes.
  func respond(
    _ request: UnsafeMutablePointer<ServerRequest>, _ headers: borrowing HeaderList,
    body: UnsafeRawBufferPointer)
  /// Ends one stream with RST_STREAM.
  func reset(_ streamID: Int32, code: UInt32)
  /// Sends SETTINGS with new values.
  func update(_ change: SettingsChange)
  /// Sends GOAWAY; streams above `lastStreamID` (the newest one unless told) are not processed.
  func sendGoAway(lastStreamID: Int32?, code: UInt32, debug: [UInt8])
  /// The connection is gone: lets go of every request.
  func abandon()
  func drainNotices() -> [ConnectionNotice]
  func post(_ notice: ConnectionNotice)
}
