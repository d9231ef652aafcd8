// SPDX-License-Identifier: Apache-2.0

extension ClientEngine {
  /// Takes the peer's bytes from `position` on, which it moves, up to the next event; nil: all are taken.
  ///
  /// What the peer does wrong ends the connection: `failure` says it, GOAWAY waits to be written, and what arrives
  /// later is dropped.
  ///
  /// - Parameter now: the time in milliseconds, of any origin.
  public mutating func next(
    in input: Span<UInt8>, at position: inout Int, now: UInt64
  ) -> ClientEvent? {
    if let token = endedToken.take() { return .ended(token: token) }
    if !pending.isEmpty { return .closed(pending.removeFirst()) }
    if sweep != nil, let closed = sweepUnprocessed() { return .closed(closed) }
    guard failure == nil else {
      position = input.count
      return nil
    }
    noise.time(now)
    do throws(ConnectionError) {
      while position < input.count {
        if let event = try frame(input, &position) { return event }
      }
      if !isAcknowledged { try checkAcknowledgement(now) }
      return nil
    } catch {
      fail(error)
      position = input.count
      return nil
    }
  }

  private mutating func frame(
    _ input: Span<UInt8>, _ position: inout Int
  ) throws(ConnectionError) -> ClientEvent? {
    switch try reader.next(in: input, at: &position) {
    case .none: return nil
    case .inPlace(let header, let range): return try handle(header, input.extracting(range))
    case .partial(let header):
      var bytes: [UInt8] = []
      swap(&bytes, &reader.partial)
      let event = try handle(header, bytes.span.extracting(FrameHeader.count..<bytes.count))
      bytes.removeAll(keepingCapacity: true)
      swap(&bytes, &reader.partial)
      return event
    }
  }

  @inline(__always)
  private mutating func handle(
    _ header: FrameHeader, _ payload: Span<UInt8>
  ) throws(ConnectionError) -> ClientEvent? {
    if hasSettings, header.type == FrameType.headers.rawValue, block.stream == nil {
      return try headers(header, payload)
    }
    return try handleOther(header, payload)
  }

  private mutating func handleOther(
    _ header: FrameHeader, _ payload: Span<UInt8>
  ) throws(ConnectionError) -> ClientEvent? {
    let type = FrameType(rawValue: header.type)
    if let stream = block.stream, type != .continuation || header.stream != stream {
      throw ConnectionError(.protocolError, "a frame inside a header block")
    }
    // A server that refuses the connection may say so before its SETTINGS.
    guard
      hasSettings || type == .goAway
        || (type == .settings && !header.has(FrameHeader.ack))
    else { throw ConnectionError(.protocolError, "the first frame is not SETTINGS") }
    switch type {
    case .data: return try data(header, payload)
    case .headers: return try headers(header, payload)
    case .priority: return try priority(header)
    case .resetStream: return try resetStream(header, payload)
    case .settings: return try settings(header, payload)
    case .pushPromise:
      throw ConnectionError(.protocolError, "PUSH_PROMISE, which SETTINGS forbid")
    case .ping: return try ping(header, payload)
    case .goAway: return try goAway(header, payload)
    case .windowUpdate: return try windowUpdate(header, payload)
    case .continuation: return try continuation(header, payload)
    case nil:
      try noise.spend("frames of unknown types")
      return nil
    }
  }

  /// RFC 9113 §6.5.3. A peer that sends nothing at all is not noticed here.
  private mutating func checkAcknowledgement(_ now: UInt64) throws(ConnectionError) {
    guard let firstArrival else {
      self.firstArrival = now
      return
    }
    guard now < firstArrival + Self.settingsTimeout else {
      throw ConnectionError(.settingsTimeout, "SETTINGS were not acknowledged")
    }
  }

  /// The peer acknowledges our SETTINGS within so many milliseconds of its first bytes.
  static let settingsTimeout: UInt64 = 10_000

  /// The connection cannot go on; its requests end with `abandoned`.
  private mutating func fail(_ error: ConnectionError) {
    failure = error
    queueGoAway(error.code)
  }

  /// The next request above the last stream of a GOAWAY, or that was not written.
  mutating func sweepUnprocessed() -> ClosedStream? {
    guard let sweep else { return nil }
    var slot = sweep.next
    while slot < streams.slotCount {
      let stream = streams[slot]
      if stream.id != 0, stream.id > sweep.last || !stream.isWritten {
        self.sweep = Sweep(next: slot + 1, last: sweep.last, code: sweep.code)
        return close(slot, code: sweep.code.rawValue, isUnseen: stream.id > sweep.last)
      }
      slot += 1
    }
    self.sweep = nil
    return nil
  }

  /// A stream error (RFC 9113 §5.4.2): RST_STREAM, and the request ends.
  mutating func streamError(_ slot: Int, _ code: ErrorCode) -> ClosedStream {
    queueReset(streams[slot].id, code.rawValue)
    return close(slot, code: code.rawValue)
  }

  /// The slot of a stream that a frame is about; nil: it is closed.
  @inline(__always)
  mutating func slot(_ id: UInt32, _ frame: StaticString) throws(ConnectionError) -> Int? {
    guard id & 1 == 1, !streams.isIdle(id) else { throw Self.idle(id, frame) }
    guard let slot = streams.slot(of: id) else { return nil }
    guard streams[slot].isWritten else { throw Self.idle(id, frame) }
    return slot
  }

  private static func idle(_ id: UInt32, _ frame: StaticString) -> ConnectionError {
    let reason = id == 0 ? "\(frame) on stream 0" : "\(frame) on stream \(id), which is idle"
    return ConnectionError(.protocolError, reason)
  }
}
