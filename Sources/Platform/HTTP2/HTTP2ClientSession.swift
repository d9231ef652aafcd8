// SPDX-License-Identifier: Apache-2.0
public import EventLoop

/// An HTTP/2 implementation.
public enum HTTP2Implementation: String, Sendable, CaseIterable {
  /// Our own (`HTTP2Engine`).
  case engine
  case nghttp2
}

/// The client side of one HTTP/2 connection without any I/O: bytes of the peer in, bytes for the
/// peer out. Owned by one thread.
public enum HTTP2ClientSession {
  case engine(EngineClientSession)
  case nghttp2(NGHTTP2ClientSession)

  /// A session whose preface and SETTINGS wait to be taken.
  ///
  /// - Parameter firstStreamID: odd; above 1 to see what happens near the last one.
  public init(
    _ implementation: HTTP2Implementation, settings: SessionSettings = SessionSettings(),
    firstStreamID: Int32 = 1
  ) {
    self =
      switch implementation {
      case .engine: .engine(EngineClientSession(settings: settings, firstStreamID: firstStreamID))
      case .nghttp2:
        .nghttp2(NGHTTP2ClientSession(settings: settings, firstStreamID: firstStreamID))
      }
  }

  /// Requests that have been submitted and are not completed.
  public var openStreams: Int {
    switch self {
    case .engine(let session): session.openStreams
    case .nghttp2(let session): session.openStreams
    }
  }
  /// The number of streams that the peer allows at once; 1 until it has said.
  public var remoteMaxConcurrentStreams: UInt32 {
    switch self {
    case .engine(let session): session.remoteMaxConcurrentStreams
    case .nghttp2(let session): session.remoteMaxConcurrentStreams
    }
  }
  /// GOAWAY was received or sent: no new streams.
  public var isGoingAway: Bool {
    switch self {
    case .engine(let session): session.isGoingAway
    case .nghttp2(let session): session.isGoingAway
    }
  }
  /// The id that the next request gets, 1, 3, 5…; above 2³¹−1 there are no more.
  public var nextStreamID: UInt32 {
    switch self {
    case .engine(let session): session.nextStreamID
    case .nghttp2(let session): session.nextStreamID
    }
  }
  /// Both sides are done: nothing to send and nothing to wait for.
  public var isFinished: Bool {
    switch self {
    case .engine(let session): session.isFinished
    case .nghttp2(let session): session.isFinished
    }
  }
  /// Bytes that the connection's flow control lets us send now; 0 or less: blocked by the window.
  public var connectionWindow: Int32 {
    switch self {
    case .engine(let session): session.connectionWindow
    case .nghttp2(let session): session.connectionWindow
    }
  }
  /// The peer broke the protocol, or says that we did, and nothing goes on.
  public var hasFailed: Bool {
    switch self {
    case .engine(let session): session.complaint != nil
    case .nghttp2(let session): session.isFinished
    }
  }
  /// The error in words, for the report of a connection that has ended.
  var complaint: String? {
    switch self {
    case .engine(let session): session.complaint
    case .nghttp2(let session): session.complaint
    }
  }

  /// Queues a request. False when no stream can be opened now: the peer's limit is reached, it is
  /// going away, or stream ids are used up. The first request always fits.
  public func submit(
    _ headers: borrowing HeaderList, _ exchange: UnsafeMutablePointer<Exchange>
  ) -> Bool {
    switch self {
    case .engine(let session): session.submit(headers, exchange)
    case .nghttp2(let session): session.submit(headers, exchange)
    }
  }

  /// Gives a request up (RST_STREAM). It completes with the next output: as unprocessed if nothing of it was written,
  /// else as ambiguous unless a status had arrived.
  public func reset(_ exchange: UnsafeMutablePointer<Exchange>, code: UInt32) {
    switch self {
    case .engine(let session): session.reset(exchange, code: code)
    case .nghttp2(let session): session.reset(exchange, code: code)
    }
  }

  /// Asks the peer for a sign of life; the answer is a `.pong` notice.
  public func ping() {
    switch self {
    case .engine(let session): session.ping()
    case .nghttp2(let session): session.ping()
    }
  }

  /// Tells the peer that no new requests follow; open ones go on. The engine gives those back that were not written.
  public func goAway() {
    switch self {
    case .engine(let session): session.goAway()
    case .nghttp2(let session): session.goAway()
    }
  }

  /// The same before the connection is closed: the engine writes nothing more of any request.
  func leave() {
    switch self {
    case .engine(let session): session.leave()
    case .nghttp2(let session): session.goAway()
    }
  }

  /// Takes bytes from the peer. Throws when the connection cannot go on.
  public func receive(_ bytes: UnsafeRawBufferPointer) throws(ConnectionFailure) {
    switch self {
    case .engine(let session): session.receive(bytes)
    case .nghttp2(let session): try session.receive(bytes)
    }
  }

  /// Appends what is to be sent until `buffer` holds at least `limit` bytes or nothing is left.
  /// True when more may be left.
  public func produceOutput(
    into buffer: inout ByteBuffer, upTo limit: Int
  ) throws(ConnectionFailure) -> Bool {
    switch self {
    case .engine(let session): session.produceOutput(into: &buffer, upTo: limit)
    case .nghttp2(let session): try session.produceOutput(into: &buffer, upTo: limit)
    }
  }

  /// The first stream of which nothing has been written; nghttp2 does not tell.
  var unwrittenFrom: UInt32 {
    switch self {
    case .engine(let session): session.unwrittenFrom
    case .nghttp2: .max
    }
  }

  /// The connection is gone: every open exchange completes, by what is known about it.
  ///
  /// - Parameter unsent: the first stream of which nothing left this machine, though it was written.
  public func abandon(unsentFrom unsent: UInt32 = .max) {
    switch self {
    case .engine(let session): session.abandon(unsentFrom: unsent)
    case .nghttp2(let session): session.abandon()
    }
  }

  /// Replaces `list` by the exchanges that completed since the last call. Both lists keep their
  /// room, so a steady flow does not allocate.
  public func drainCompleted(into list: inout [UnsafeMutablePointer<Exchange>]) {
    switch self {
    case .engine(let session): session.drainCompleted(into: &list)
    case .nghttp2(let session): session.drainCompleted(into: &list)
    }
  }

  /// The notices of the connection since the last call.
  public func drainNotices() -> [ConnectionNotice] {
    switch self {
    case .engine(let session): session.drainNotices()
    case .nghttp2(let session): session.drainNotices()
    }
  }

  func post(_ notice: ConnectionNotice) {
    switch self {
    case .engine(let session): session.post(notice)
    case .nghttp2(let session): session.post(notice)
    }
  }
}
