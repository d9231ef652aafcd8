// SPDX-License-Identifier: Apache-2.0
import EventLoop
import HTTP

/// The client side of one HTTP/2 connection on `ClientEngine`: gives it the bytes of exchanges, which it knows by their
/// addresses. Owned by one thread.
public final class EngineClientSession {
  // No property is handed to a callback, so what every push touches goes without run-time checks of overlapping access.
  @exclusivity(unchecked) private var engine: ClientEngine
  @exclusivity(unchecked) private var waiting = WaitingRequests()
  @exclusivity(unchecked) private var completed: [UnsafeMutablePointer<Exchange>] = []
  private var notices: [ConnectionNotice] = []

  init(settings: SessionSettings, firstStreamID: Int32) {
    var local = LocalSettings()
    local.firstStreamID = UInt32(settings.firstStreamID ?? firstStreamID)
    local.maxConcurrentStreams = settings.maxConcurrentStreams
    local.headerTableSize = settings.headerTableSize ?? local.headerTableSize
    local.initialWindowSize = max(local.initialWindowSize, settings.initialWindowSize ?? 0)
    local.maxHeaderListSize = settings.maxHeaderListSize ?? local.maxHeaderListSize
    local.connectionWindow = max(
      local.connectionWindow, UInt32(clamping: settings.connectionWindow ?? 0))
    engine = ClientEngine(local)
  }

  var openStreams: Int { engine.openStreams }
  var remoteMaxConcurrentStreams: UInt32 { engine.peer.maxConcurrentStreams }
  /// A connection that fails does not go away in good order.
  var isGoingAway: Bool { engine.isGoingAway && engine.failure == nil }
  var nextStreamID: UInt32 { engine.nextStreamID }
  var isFinished: Bool { engine.isFinished }
  var connectionWindow: Int32 { Int32(clamping: engine.sendWindow) }
  var complaint: String? { engine.failure?.reason }

  // MARK: Requests

  func submit(_ headers: borrowing HeaderList, _ exchange: UnsafeMutablePointer<Exchange>) -> Bool {
    let prepared = headers.sharedCount > 0 ? prepare(headers) : nil
    let bodyCount = Int(exchange.pointee.bodyCount)
    guard
      let stream = engine.open(
        UInt(bitPattern: exchange), bodyCount: bodyCount, prepared: prepared)
    else { return false }
    exchange.pointee.prepare()
    exchange.pointee.streamID = Int32(bitPattern: stream)
    waiting.append(stream: stream, headers, prepared: prepared)
    return true
  }

  /// The engine's number of the fields that the request shares with others.
  private func prepare(_ headers: borrowing HeaderList) -> Int {
    if let known = engine.prepared(headers.sharedKey) { return known }
    return engine.prepare(headers.sharedKey, headers.sharedFields)
  }

  func reset(_ exchange: UnsafeMutablePointer<Exchange>, code: UInt32) {
    guard exchange.pointee.fate == .pending, exchange.pointee.streamID > 0 else { return }
    let stream = UInt32(bitPattern: exchange.pointee.streamID)
    if let closed = engine.reset(stream, code: code) { complete(closed) }
  }

  func ping() { engine.ping(MonotonicClock.nanoseconds()) }

  func goAway() {
    engine.goAway()
    while let stream = engine.handedBack() { complete(stream) }
  }

  /// The connection is about to be closed: as `goAway`, and nothing more of any request is written.
  func leave() {
    goAway()
    engine.dropBodies()
  }

  // MARK: Bytes in

  func receive(_ bytes: UnsafeRawBufferPointer) {
    let octets = bytes.bindMemory(to: UInt8.self)
    let now = MonotonicClock.milliseconds()
    prefetchAnswered(octets.span)
    var position = 0
    while let event = engine.next(in: octets.span, at: &position, now: now) { handle(event) }
  }

  /// Asks for the memory that answers are written to, and for the ids that theirs are compared with.
  private func prefetchAnswered(_ octets: Span<UInt8>) {
    var position = 0
    while let token = engine.nextAnswered(in: octets, at: &position) {
      guard let exchange = exchange(token) else { continue }
      Prefetch.bytes(exchange, MemoryLayout<Exchange>.size)
      if let id = exchange.pointee.sentID { Prefetch.bytes(id, 36) }
    }
  }

  @inline(__always)
  private func handle(_ event: ClientEvent) {
    switch event {
    case .head(let token, let isComplete):
      guard let exchange = exchange(token) else { return }
      exchange.pointee.take(engine.head)
      if isComplete { end(exchange) }
    default: handleOther(event)
    }
  }

  private func handleOther(_ event: ClientEvent) {
    switch event {
    case .head: return
    case .settings(let limit): notices.append(.settings(maxConcurrentStreams: limit))
    case .body(let token):
      let body = engine.body
      exchange(token)?.pointee.append(body.span)
    case .ended(let token): if let exchange = exchange(token) { end(exchange) }
    case .closed(let stream): complete(stream)
    case .goAway(let last, let code):
      notices.append(
        .goAway(
          lastStreamID: Int32(bitPattern: last), code: code, debug: Array(engine.body.prefix(256))))
    case .pong(let sent):
      notices.append(.pong(roundTripNanoseconds: MonotonicClock.nanoseconds() &- sent))
    }
  }

  private func exchange(_ token: UInt) -> UnsafeMutablePointer<Exchange>? {
    UnsafeMutablePointer(bitPattern: token)
  }

  @inline(__always)
  private func end(_ exchange: UnsafeMutablePointer<Exchange>) {
    exchange.pointee.ended = true
    exchange.pointee.fate = .answered
    completed.append(exchange)
  }

  private func complete(_ stream: ClosedStream) {
    guard let exchange = exchange(stream.token) else { return }
    exchange.pointee.closeCode = stream.code
    exchange.pointee.fate =
      stream.status != 0 ? .answered : stream.isUnprocessed ? .unprocessed : .ambiguous
    completed.append(exchange)
  }

  // MARK: Bytes out

  func produceOutput(into buffer: inout ByteBuffer, upTo limit: Int) -> Bool {
    while buffer.count < limit {
      switch engine.nextOutput() {
      case .nothing: return false
      case .control: buffer.fill(upTo: engine.controlCount) { engine.writeControl(to: &$0) }
      case .request(let token):
        guard let exchange = exchange(token) else { return false }
        write(exchange, &buffer)
      case .body(let token, let start, let count):
        guard let exchange = exchange(token), let body = exchange.pointee.body else { return false }
        let part = UnsafeBufferPointer(start: body + start, count: count)
        buffer.fill(upTo: FrameHeader.count + count) { engine.writeBody(part.span, to: &$0) }
        exchange.pointee.bodySent = UInt32(start + count)
      }
    }
    return true
  }

  @inline(__always)
  private func write(_ exchange: UnsafeMutablePointer<Exchange>, _ buffer: inout ByteBuffer) {
    let (bound, prepared) = waiting.skip(to: UInt32(bitPattern: exchange.pointee.streamID))
    // A push keeps its path, its fields and its body side by side.
    if let soon = waiting.soon { Prefetch.bytes(soon, bound + Int(exchange.pointee.bodyCount)) }
    let body = UnsafeBufferPointer(
      start: exchange.pointee.body, count: Int(exchange.pointee.bodyCount))
    let shared = prepared.map { engine.preparedBound($0) } ?? 0
    let room = bound + shared + min(body.count, LocalSettings.maxFrameSize)
    buffer.fill(upTo: room + ClientEngine.requestOverhead(room)) { out in
      engine.beginRequest(to: &out)
      waiting.take { field, isFirst in
        append(field, to: &out)
        if isFirst { engine.appendPrepared(to: &out) }
      }
      exchange.pointee.bodySent = UInt32(engine.endRequest(body: body.span, to: &out))
    }
  }

  @inline(__always)
  private func append(_ field: WaitingRequests.Field, to out: inout OutputSpan<UInt8>) {
    let value = UnsafeBufferPointer(start: field.value, count: field.valueCount)
    if let name = field.mark.name {
      engine.append(name, value.span, to: &out)
    } else {
      let name = UnsafeBufferPointer(start: field.name, count: field.nameCount)
      engine.append(name: name.span, value.span, field.mark.indexing.written, to: &out)
    }
  }

  // MARK: Ends

  /// Nothing has been written of the streams with this id and above.
  var unwrittenFrom: UInt32 { engine.unwrittenFrom }

  func abandon(unsentFrom unsent: UInt32) {
    while let stream = engine.abandoned(unsentFrom: unsent) { complete(stream) }
    waiting.removeAll()
  }

  func drainCompleted(into list: inout [UnsafeMutablePointer<Exchange>]) {
    list.removeAll(keepingCapacity: true)
    guard !completed.isEmpty else { return }
    swap(&list, &completed)
  }

  func drainNotices() -> [ConnectionNotice] {
    guard !notices.isEmpty else { return [] }
    let taken = notices
    notices = []
    return taken
  }

  func post(_ notice: ConnectionNotice) { notices.append(notice) }
}
