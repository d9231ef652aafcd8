// SPDX-License-Identifier: Apache-2.0
public import EventLoop
public import HTTP2

/// The server side of one HTTP/2 connection without any I/O: bytes in, requests to a pool, bytes out.
public protocol ServerSession: AnyObject {
  /// Streams on which a request is being received or answered.
  var openStreams: Int { get }
  var isGoingAway: Bool { get }
  /// Whether nothing more is to be read or written.
  var isFinished: Bool { get }
  /// The newest stream that the client has opened.
  var lastStreamID: Int32 { get }
  /// A description of the client's error.
  var complaint: String? { get }
  /// The last frame to a client that is disconnected; nil if there is none.
  var farewell: [UInt8]? { get }

  func attach(_ connection: HTTP2ServerConnection)
  /// Queues the first SETTINGS of a session created without.
  func start(_ settings: SessionSettings)
  func receive(_ bytes: UnsafeRawBufferPointer) throws(ConnectionFailure)
  /// Appends the bytes to send; returns whether there are more.
  func produceOutput(
    into buffer: inout ByteBuffer, upTo limit: Int
  ) throws(ConnectionFailure) -> Bool
  /// Answers a request. Header values and `body` must stay valid until the stream closes.
  func respond(
    _ request: UnsafeMutablePointer<ServerRequest>, _ headers: borrowing HeaderList,
    body: UnsafeRawBufferPointer)
  /// Ends one stream with RST_STREAM.
  func reset(_ streamID: Int32, code: UInt32)
  /// Sends SETTINGS with new values.
  func update(_ change: SettingsChange)
  /// Sends GOAWAY; streams above `lastStreamID` (by default the newest one) are not processed.
  func sendGoAway(lastStreamID: Int32?, code: UInt32, debug: [UInt8])
  /// Releases every request after the connection is gone.
  func abandon()
  func drainNotices() -> [ConnectionNotice]
  func post(_ notice: ConnectionNotice)
}
