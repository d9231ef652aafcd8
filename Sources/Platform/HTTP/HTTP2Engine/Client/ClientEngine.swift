// SPDX-License-Identifier: Apache-2.0

/// The client side of one HTTP/2 connection (RFC 9113) as a value: the peer's bytes in, events out; requests in, bytes
/// out. It knows which requests have been written, so one that was not is never in doubt.
///
/// The owner passes arrived bytes to `next` until it returns nil, and takes what is to be written from `nextOutput`.
/// Requests are told apart by tokens, numbers of the owner's choice.
public struct ClientEngine: ~Copyable {
  let local: LocalSettings
  public internal(set) var peer = PeerSettings()
  var reader = FrameReader(limit: LocalSettings.maxFrameSize)
  var decoder: HeaderDecoder
  var encoder: HeaderEncoder
  var names = NameIndexes()
  var prepared: [PreparedFields] = []
  var streams: StreamTable
  var noise = NoiseBudget()
  var pings = OutstandingPings()

  /// Small frames that wait to be written: acknowledgements, window updates, resets, GOAWAY.
  var control: [UInt8]
  /// A header block whose end has not arrived.
  var block = HeaderBlock()
  /// The fields of the answer whose head arrived last.
  public internal(set) var head = AnswerHead()
  /// The bytes of the last body part, or what GOAWAY said.
  public internal(set) var body: [UInt8] = []

  /// The answer whose last part of a body was returned ends with the next event.
  var endedToken: UInt?
  /// Events behind the one that was returned.
  var pending: [ClosedStream] = []
  /// Slots that a GOAWAY or the end of the connection has yet to look at; nil: none.
  var sweep: Sweep?
  /// Requests whose body waits for a window, by stream id, oldest first.
  var blocked: [UInt32] = []
  var mayUnblock = false
  /// The stream ids below it have been written or given up.
  var writeCursor: UInt32
  /// The start of the header block that is being written, and the stream whose body is.
  var blockStart = 0
  var bodySlot = 0
  /// Open streams of which something was written.
  var writtenCount = 0

  /// The credit that flow control leaves us on the whole connection; 0 or less: blocked.
  public internal(set) var sendWindow = LocalSettings.defaultWindow
  /// The bytes that the peer has sent since we last gave it credit.
  var unacknowledged = 0

  /// The preface has been seen: SETTINGS.
  var hasSettings = false
  /// Our SETTINGS have been acknowledged.
  var isAcknowledged = false
  /// When the peer's first bytes arrived, in milliseconds; nil before.
  var firstArrival: UInt64?
  public internal(set) var hasReceivedGoAway = false
  public internal(set) var hasSentGoAway = false
  /// The peer's error that ended the connection.
  public internal(set) var failure: ConnectionError?

  public init(_ settings: LocalSettings = LocalSettings()) {
    local = settings
    decoder = HeaderDecoder(listLimit: Int(settings.maxHeaderListSize))
    encoder = HeaderEncoder()
    streams = StreamTable(firstID: settings.firstStreamID)
    writeCursor = settings.firstStreamID
    control = settings.preface
  }

  // MARK: State

  /// Requests that were opened and have not ended.
  public var openStreams: Int { streams.count }
  /// No new requests: GOAWAY was received or sent, or the connection has failed.
  public var isGoingAway: Bool { hasReceivedGoAway || hasSentGoAway || failure != nil }
  /// Nothing is left to write or to wait for.
  public var isFinished: Bool {
    guard control.isEmpty, pending.isEmpty, sweep == nil, endedToken == nil else { return false }
    return failure != nil || (isGoingAway && streams.count == 0)
  }
  /// The id of the next request's stream; above 2³¹−1 there are no more.
  public var nextStreamID: UInt32 { streams.nextID }
  /// Nothing has been written of the streams with this id and above.
  public var unwrittenFrom: UInt32 { writeCursor }

  // MARK: Requests

  /// Opens a stream for a request, which `nextOutput` asks for later.
  ///
  /// - Returns: the stream's id; nil when there is none now: the peer's limit is reached, it is going away, or the ids
  ///   are used up.
  public mutating func open(_ token: UInt, bodyCount: Int, prepared index: Int? = nil) -> UInt32? {
    guard streams.count < Int(peer.maxConcurrentStreams), !isGoingAway,
      let id = streams.open(
        Stream(
          token: token, bodyCount: bodyCount, prepared: Int32(truncatingIfNeeded: index ?? -1)))
    else { return nil }
    if let index { prepared[index].waiting += 1 }
    return id
  }

  /// Gives a request up. RST_STREAM follows if something of it was written; nil if it has ended.
  public mutating func reset(_ id: UInt32, code: UInt32) -> ClosedStream? {
    guard let slot = streams.slot(of: id) else { return nil }
    if streams[slot].isWritten {
      queueReset(id, code)
      // What the peer sends before it has read that.
      noise.gaveUp()
    }
    return close(slot, code: code)
  }

  /// Asks for a sign of life.
  public mutating func ping(_ payload: UInt64) {
    pings.sent(payload)
    FrameHeader(length: 8, type: .ping, flags: 0, stream: 0).append(to: &control)
    control.append(bigEndian: UInt32(truncatingIfNeeded: payload >> 32))
    control.append(bigEndian: UInt32(truncatingIfNeeded: payload))
  }

  /// Tells the peer that no new requests follow. Those of which nothing was written come back from `handedBack`; the
  /// other open ones go on.
  public mutating func goAway() {
    guard !hasSentGoAway, failure == nil else { return }
    queueGoAway(.noError)
    if sweep == nil { sweep = Sweep(next: 0, last: .max, code: .cancel) }
  }

  /// The next request that our own GOAWAY leaves unwritten: call until nil.
  public mutating func handedBack() -> ClosedStream? { sweepUnprocessed() }

  /// The connection is about to be closed: bodies that wait for a window stay as they are.
  public mutating func dropBodies() { blocked.removeAll() }

  /// The connection is gone: call until nil, each open request comes once.
  ///
  /// - Parameter unsent: the first stream of which nothing left this machine, though it was written.
  public mutating func abandoned(unsentFrom unsent: UInt32 = .max) -> ClosedStream? {
    if !pending.isEmpty { return pending.removeFirst() }
    hasReceivedGoAway = true
    var slot = sweep?.next ?? 0
    while slot < streams.slotCount {
      if streams[slot].id != 0 {
        sweep = Sweep(next: slot + 1, last: 0, code: .internalError)
        return close(
          slot, code: ErrorCode.internalError.rawValue, isUnseen: streams[slot].id >= unsent)
      }
      slot += 1
    }
    sweep = nil
    return nil
  }

  // MARK: Ends

  /// Frees a slot and says what is known of its request.
  ///
  /// - Parameter isUnseen: the peer has not taken note of it although it was written.
  mutating func close(_ slot: Int, code: UInt32, isUnseen: Bool = false) -> ClosedStream {
    let stream = streams[slot]
    release(slot)
    let isUnprocessed = !stream.isWritten || isUnseen || code == ErrorCode.refusedStream.rawValue
    return ClosedStream(
      token: stream.token, status: stream.status, code: code, isUnprocessed: isUnprocessed)
  }

  @inline(__always)
  mutating func release(_ slot: Int) {
    if streams[slot].isWritten {
      writtenCount -= 1
    } else {
      dropPrepared(of: slot)
    }
    if streams[slot].isBlocked {
      let id = streams[slot].id
      blocked.removeAll { $0 == id }
    }
    streams.close(slot)
  }

  @inline(__always)
  func preparedIndex(_ slot: Int) -> Int? {
    let index = Int(streams[slot].prepared)
    return index >= 0 ? index : nil
  }

  @inline(__always)
  mutating func dropPrepared(of slot: Int) {
    if let index = preparedIndex(slot) { prepared[index].waiting -= 1 }
  }

  mutating func queueReset(_ id: UInt32, _ code: UInt32) {
    FrameHeader(length: 4, type: .resetStream, flags: 0, stream: id).append(to: &control)
    control.append(bigEndian: code)
  }

  mutating func queueGoAway(_ code: ErrorCode) {
    hasSentGoAway = true
    FrameHeader(length: 8, type: .goAway, flags: 0, stream: 0).append(to: &control)
    // The server opens no streams, so none of them was processed.
    control.append(bigEndian: 0)
    control.append(bigEndian: code.rawValue)
  }
}

/// A walk over all slots that goes on with the next call.
struct Sweep {
  var next: Int
  /// Streams above it were not processed.
  let last: UInt32
  /// The error code that ends the requests.
  let code: ErrorCode
}
