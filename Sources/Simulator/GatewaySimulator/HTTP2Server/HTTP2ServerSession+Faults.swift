// SPDX-License-Identifier: Apache-2.0
import CNghttp2
import EventLoop
public import HTTP2

/// Deliberate faults of the server, for the gateway simulator.
extension HTTP2ServerSession {
  /// Suppresses frames of these kinds from now on. Frames that are already queued are sent, unless they are discarded
  /// too.
  public func mute(_ frames: MutedFrames, discardingQueued: Bool = false) {
    settle()
    if discardingQueued { faults?.discardPending() }
    faults?.muted.formUnion(frames)
  }

  /// Holds back WINDOW_UPDATE frames, or sends those that were held.
  public func holdWindowUpdates(_ isHeld: Bool) {
    settle()
    if isHeld { faults?.holdsWindowUpdates = true } else { faults?.releaseWindowUpdates() }
  }

  /// Gives the response to a request an unusual form; call it before `respond`.
  public func shape(_ request: UnsafeMutablePointer<ServerRequest>, _ shape: AnswerShape) {
    settle()
    faults?.shapes[request.pointee.streamID] = shape
    request.pointee.hasTrailers = shape.contains(.trailers)
    guard shape.contains(.informational) else { return }
    var headers = HeaderList()
    headers.append(":status", "103")
    nghttp2_submit_headers(
      session, noFlags, request.pointee.streamID, nil, headers.fields, headers.count, nil)
  }

  /// Sends only the header fields of a response, and resets the stream with `code`.
  public func respondPartly(
    _ request: UnsafeMutablePointer<ServerRequest>, _ headers: borrowing HeaderList, code: UInt32
  ) {
    request.pointee.isHeld = false
    let stream = request.pointee.streamID
    nghttp2_submit_headers(session, noFlags, stream, nil, headers.fields, headers.count, nil)
    // A reset overtakes what is queued for its stream.
    settle()
    reset(stream, code: code)
  }

  /// Answers a request before its end and tells the client to stop sending (RST_STREAM with
  /// NO_ERROR, RFC 9113 §8.1). The request must come from `drainEarly`.
  public func respondEarly(
    _ request: UnsafeMutablePointer<ServerRequest>, _ headers: borrowing HeaderList,
    body: UnsafeRawBufferPointer
  ) {
    respond(request, headers, body: body)
    settle()
    reset(request.pointee.streamID, code: HTTP2ErrorCode.noError)
  }

  /// Sends GOAWAY unchanged, even with an invalid last stream id. Requests are still accepted.
  public func sendRawGoAway(lastStreamID: UInt32, code: UInt32 = 0, debug: [UInt8]) {
    let payload = ServerFaults.bigEndian(lastStreamID) + ServerFaults.bigEndian(code) + debug
    sendRaw(ServerFaults.frame(type: NGHTTP2_GOAWAY, payload))
  }

  /// Sends RST_STREAM, even on a stream that has been answered.
  public func sendRawReset(_ stream: Int32, code: UInt32) {
    sendRaw(
      ServerFaults.frame(
        type: NGHTTP2_RST_STREAM, stream: UInt32(bitPattern: stream), ServerFaults.bigEndian(code)))
  }

  private func sendRaw(_ frame: [UInt8]) {
    settle()
    faults?.add(frame)
  }

  /// Moves what nghttp2 has queued into the pending bytes, so that later frames follow it.
  private func settle() {
    var output = ByteBuffer()
    // A session that has failed reports it again at the next flush.
    _ = try? produceOutput(into: &output, upTo: .max)
    if faults == nil { faults = ServerFaults() }
    faults?.add(output.bytes)
  }
}

extension HTTP2ServerConnection {
  public func update(_ change: SettingsChange) { session.update(change) }

  /// Stops reading and writing and leaves the socket open, as if the network had lost the connection.
  public func goSilent() {
    faulty?.mute(.everything)
    isReadingPaused = true
    staysOpen = true
  }
}
