// SPDX-License-Identifier: Apache-2.0

extension ClientEngine {
  /// The output to write next. Whatever it names must be written before the next call.
  @inline(__always)
  public mutating func nextOutput() -> ClientOutput {
    if !control.isEmpty { return .control }
    guard failure == nil else { return .nothing }
    if mayUnblock, let output = nextBody() { return output }
    return nextRequest()
  }

  /// Bytes of the small frames that wait.
  public var controlCount: Int { control.count }

  /// Appends the small frames that wait, as many bytes as there is room for.
  public mutating func writeControl(to out: inout OutputSpan<UInt8>) {
    let count = min(control.count, out.freeCapacity)
    out.append(copying: control.span.extracting(0..<count))
    if count == control.count {
      control.removeAll(keepingCapacity: true)
    } else {
      control.removeFirst(count)
    }
  }

  /// Requests go out in the order of their stream ids, and none while the connection's window is shut for it: it would
  /// be in doubt for nothing.
  private mutating func nextRequest() -> ClientOutput {
    guard sweep == nil, writeCursor < streams.nextID else { return .nothing }
    while writeCursor < streams.nextID {
      if let slot = streams.slot(of: writeCursor) {
        guard !isShut(slot), writtenCount < Int(peer.maxConcurrentStreams) else { return .nothing }
        return .request(token: streams[slot].token)
      }
      writeCursor += 2
    }
    return .nothing
  }

  /// The connection's window has no room for the body, or its first frame, and the answers to others will make some.
  @inline(__always)
  private func isShut(_ slot: Int) -> Bool {
    let count = min(streams[slot].bodyCount, LocalSettings.maxFrameSize)
    return sendWindow < count && (writtenCount > 0 || sendWindow <= 0)
  }

  /// The oldest request whose body can go on.
  private mutating func nextBody() -> ClientOutput? {
    guard sendWindow > 0 else { return nil }
    for id in blocked {
      guard let slot = streams.slot(of: id) else { continue }
      let count = bodyRoom(slot)
      guard count > 0 else { continue }
      bodySlot = slot
      return .body(token: streams[slot].token, from: streams[slot].bodySent, count: count)
    }
    mayUnblock = false
    return nil
  }

  /// The number of bytes of a request's body that may go out in one frame now.
  @inline(__always)
  private func bodyRoom(_ slot: Int) -> Int {
    let left = streams[slot].bodyCount - streams[slot].bodySent
    let window = min(sendWindow, streams[slot].sendCredit + peer.initialWindowSize)
    return max(0, min(left, window, LocalSettings.maxFrameSize))
  }

  /// Appends the part of a body that `nextOutput` named.
  public mutating func writeBody(_ part: Span<UInt8>, to out: inout OutputSpan<UInt8>) {
    writeData(bodySlot, part, to: &out)
    guard streams[bodySlot].bodySent == streams[bodySlot].bodyCount else { return }
    streams[bodySlot].isBlocked = false
    let id = streams[bodySlot].id
    blocked.removeAll { $0 == id }
  }

  // MARK: Requests

  /// Begins the request that `nextOutput` named. Its fields follow: `append` in any order, pseudo-header fields first.
  @inline(__always)
  public mutating func beginRequest(to out: inout OutputSpan<UInt8>) {
    blockStart = out.count
    FrameHeader(length: 0, type: .headers, flags: 0, stream: writeCursor).append(to: &out)
    encoder.beginBlock(&out)
  }

  /// Appends a field whose value changes from request to request.
  @inline(__always)
  public mutating func append(
    _ name: FieldName, _ value: Span<UInt8>, to out: inout OutputSpan<UInt8>
  ) {
    names.append(name, value, with: &encoder, to: &out)
  }

  /// Appends any field.
  public mutating func append(
    name: Span<UInt8>, _ value: Span<UInt8>, _ indexing: FieldIndexing,
    to out: inout OutputSpan<UInt8>
  ) {
    encoder.append(name, value, indexing, to: &out)
  }

  /// Appends the fields that the request was opened with.
  @inline(__always)
  public mutating func appendPrepared(to out: inout OutputSpan<UInt8>) {
    guard let slot = streams.slot(of: writeCursor), let index = preparedIndex(slot) else { return }
    prepared[index].append(with: &encoder, to: &out)
  }

  /// Ends the header block, and appends the body or as much of it as the windows let through.
  ///
  /// - Returns: how much of it that was.
  @inline(__always)
  public mutating func endRequest(body: Span<UInt8>, to out: inout OutputSpan<UInt8>) -> Int {
    guard let slot = streams.slot(of: writeCursor) else { return 0 }
    writeCursor += 2
    dropPrepared(of: slot)
    streams[slot].isWritten = true
    writtenCount += 1
    let isEnd = streams[slot].bodyCount == 0
    let count = out.count - blockStart - FrameHeader.count
    if count <= LocalSettings.maxFrameSize {
      let flags = FrameHeader.endHeaders | (isEnd ? FrameHeader.endStream : 0)
      patch(count, flags: flags, at: blockStart, in: &out)
    } else {
      splitBlock(streams[slot].id, isEnd: isEnd, in: &out)
    }
    guard !isEnd else { return 0 }
    let room = bodyRoom(slot)
    if room > 0 { writeData(slot, body.extracting(0..<room), to: &out) }
    if streams[slot].bodySent < streams[slot].bodyCount {
      streams[slot].isBlocked = true
      blocked.append(streams[slot].id)
      mayUnblock = true
    }
    return room
  }

  /// Bytes of frames and changes of the table's size around the fields and the body of a request, `count` together.
  @inline(__always)
  public static func requestOverhead(_ count: Int) -> Int {
    64 + FrameHeader.count * (count / LocalSettings.maxFrameSize)
  }

  @inline(__always)
  private mutating func writeData(
    _ slot: Int, _ part: Span<UInt8>, to out: inout OutputSpan<UInt8>
  ) {
    streams[slot].sends(part.count)
    sendWindow -= part.count
    let isEnd = streams[slot].bodySent == streams[slot].bodyCount
    FrameHeader(
      length: part.count, type: .data, flags: isEnd ? FrameHeader.endStream : 0,
      stream: streams[slot].id
    ).append(to: &out)
    out.append(copying: part)
  }

  /// Writes the length and the flags of a frame whose payload is there.
  @inline(__always)
  private func patch(_ length: Int, flags: UInt8, at start: Int, in out: inout OutputSpan<UInt8>) {
    var bytes = out.mutableSpan
    bytes[start] = UInt8(truncatingIfNeeded: length >> 16)
    bytes[start + 1] = UInt8(truncatingIfNeeded: length >> 8)
    bytes[start + 2] = UInt8(truncatingIfNeeded: length)
    bytes[start + 4] = flags
  }

  /// A block larger than a frame goes on in CONTINUATION (RFC 9113 §6.10).
  private func splitBlock(_ stream: UInt32, isEnd: Bool, in out: inout OutputSpan<UInt8>) {
    let most = LocalSettings.maxFrameSize
    let block = out.span.extracting(blockStart + FrameHeader.count..<out.count).array
    out.removeLast(block.count + FrameHeader.count)
    for start in stride(from: 0, to: block.count, by: most) {
      let part = block.span.extracting(start..<min(start + most, block.count))
      let isLast = start + part.count == block.count
      let flags = isLast ? FrameHeader.endHeaders : 0
      FrameHeader(
        length: part.count, type: start == 0 ? .headers : .continuation,
        flags: start == 0 && isEnd ? flags | FrameHeader.endStream : flags, stream: stream
      ).append(to: &out)
      out.append(copying: part)
    }
  }
}
