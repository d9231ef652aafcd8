// SPDX-License-Identifier: Apache-2.0

/// Frames about the connection, and those that only move numbers.
extension ClientEngine {
  /// RFC 9113 §6.5.
  mutating func settings(
    _ header: FrameHeader, _ payload: Span<UInt8>
  ) throws(ConnectionError) -> ClientEvent? {
    guard header.stream == 0 else {
      throw ConnectionError(.protocolError, "SETTINGS on a stream")
    }
    try noise.spend("SETTINGS frames")
    guard !header.has(FrameHeader.ack) else { return try acknowledged(payload) }
    // A server that names no limit has none (§6.5.2).
    if !hasSettings { peer.maxConcurrentStreams = .max }
    let extremes = try peer.apply(payload)
    hasSettings = true
    if let largest = extremes.largestWindow {
      mayUnblock = true
      for slot in 0..<streams.slotCount where streams[slot].id != 0 {
        try checkWindow(streams[slot].sendCredit + largest)
      }
    }
    if let least = extremes.leastTableSize {
      // The encoder announces the smallest one, too (RFC 7541 §4.2).
      encoder.changeLimit(least)
      encoder.changeLimit(peer.headerTableSize)
    }
    FrameHeader(length: 0, type: .settings, flags: FrameHeader.ack, stream: 0)
      .append(to: &control)
    return .settings(maxConcurrentStreams: peer.maxConcurrentStreams)
  }

  private mutating func acknowledged(_ payload: Span<UInt8>) throws(ConnectionError) -> ClientEvent?
  {
    guard payload.count == 0 else {
      throw ConnectionError(.frameSizeError, "an acknowledgement of SETTINGS with a payload")
    }
    if !isAcknowledged {
      isAcknowledged = true
      decoder.changeLimit(Int(local.headerTableSize))
    }
    return nil
  }

  private func checkWindow(_ window: Int) throws(ConnectionError) {
    guard window <= PeerSettings.largestWindow else {
      throw ConnectionError(.flowControlError, "a window above 2³¹−1")
    }
  }

  /// RFC 9113 §6.7.
  mutating func ping(
    _ header: FrameHeader, _ payload: Span<UInt8>
  ) throws(ConnectionError) -> ClientEvent? {
    guard header.stream == 0 else { throw ConnectionError(.protocolError, "PING on a stream") }
    guard payload.count == 8 else {
      throw ConnectionError(.frameSizeError, "PING of \(payload.count) bytes")
    }
    try noise.spend("PING frames")
    let value = UInt64(payload.bigEndian(at: 0)) << 32 | UInt64(payload.bigEndian(at: 4))
    guard !header.has(FrameHeader.ack) else {
      return pings.isAnswered(by: value) ? .pong(value) : nil
    }
    FrameHeader(length: 8, type: .ping, flags: FrameHeader.ack, stream: 0).append(to: &control)
    control.append(copying: payload)
    return nil
  }

  /// RFC 9113 §6.8.
  mutating func goAway(
    _ header: FrameHeader, _ payload: Span<UInt8>
  ) throws(ConnectionError) -> ClientEvent? {
    guard header.stream == 0 else { throw ConnectionError(.protocolError, "GOAWAY on a stream") }
    guard payload.count >= 8 else {
      throw ConnectionError(.frameSizeError, "GOAWAY of \(payload.count) bytes")
    }
    try noise.spend("GOAWAY frames")
    let last = payload.bigEndian(at: 0) & 0x7FFF_FFFF
    hasReceivedGoAway = true
    sweep = Sweep(next: 0, last: last, code: .refusedStream)
    body.removeAll(keepingCapacity: true)
    body.append(copying: payload.extracting(8..<payload.count))
    return .goAway(lastStreamID: last, code: payload.bigEndian(at: 4))
  }

  /// RFC 9113 §6.4.
  mutating func resetStream(
    _ header: FrameHeader, _ payload: Span<UInt8>
  ) throws(ConnectionError) -> ClientEvent? {
    let slot = try slot(header.stream, "RST_STREAM")
    guard payload.count == 4 else {
      throw ConnectionError(.frameSizeError, "RST_STREAM of \(payload.count) bytes")
    }
    try noise.spend("RST_STREAM frames")
    guard let slot else { return nil }
    return .closed(close(slot, code: payload.bigEndian(at: 0)))
  }

  /// RFC 9113 §5.3.2: priorities mean nothing to a client.
  mutating func priority(_ header: FrameHeader) throws(ConnectionError) -> ClientEvent? {
    guard header.stream != 0 else {
      throw ConnectionError(.protocolError, "PRIORITY on stream 0")
    }
    try noise.spend("PRIORITY frames")
    guard header.length != 5 else { return nil }
    // A stream error (§6.3), also of a stream that is not open.
    guard let slot = streams.slot(of: header.stream), streams[slot].isWritten else { return nil }
    return .closed(streamError(slot, .frameSizeError))
  }

  /// RFC 9113 §6.9.
  mutating func windowUpdate(
    _ header: FrameHeader, _ payload: Span<UInt8>
  ) throws(ConnectionError) -> ClientEvent? {
    guard payload.count == 4 else {
      throw ConnectionError(.frameSizeError, "WINDOW_UPDATE of \(payload.count) bytes")
    }
    let credit = Int(payload.bigEndian(at: 0) & 0x7FFF_FFFF)
    mayUnblock = true
    guard header.stream != 0 else {
      guard credit > 0 else {
        throw ConnectionError(.protocolError, "WINDOW_UPDATE of 0 for the connection")
      }
      try checkWindow(sendWindow + credit)
      sendWindow += credit
      return nil
    }
    guard let slot = try slot(header.stream, "WINDOW_UPDATE") else {
      try noise.spend("frames on closed streams")
      return nil
    }
    guard credit > 0 else { return .closed(streamError(slot, .protocolError)) }
    guard streams[slot].sendCredit + credit + peer.initialWindowSize <= PeerSettings.largestWindow
    else { return .closed(streamError(slot, .flowControlError)) }
    streams[slot].sendCredit += credit
    return nil
  }

  /// Counts DATA against the connection's window, and gives the peer room once half of it is used. Nothing of it is
  /// kept, so no window is ever shut.
  mutating func receive(_ count: Int) {
    unacknowledged += count
    guard unacknowledged * 2 >= max(LocalSettings.defaultWindow, Int(local.connectionWindow)) else {
      return
    }
    queueWindowUpdate(0, unacknowledged)
    unacknowledged = 0
  }

  /// The same for a stream that goes on.
  mutating func receive(_ count: Int, on slot: Int) {
    streams[slot].unacknowledged += count
    let given = streams[slot].unacknowledged
    guard given * 2 >= Int(local.initialWindowSize) else { return }
    queueWindowUpdate(streams[slot].id, given)
    streams[slot].unacknowledged = 0
  }

  private mutating func queueWindowUpdate(_ stream: UInt32, _ credit: Int) {
    FrameHeader(length: 4, type: .windowUpdate, flags: 0, stream: stream).append(to: &control)
    control.append(bigEndian: UInt32(truncatingIfNeeded: credit))
  }
}
