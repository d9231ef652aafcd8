// SPDX-License-Identifier: Apache-2.0
import CNghttp2
import EventLoop
import HTTP2

/// Frames that a server suppresses.
public struct MutedFrames: OptionSet, Sendable {
  public let rawValue: UInt8
  public init(rawValue: UInt8) { self.rawValue = rawValue }
  /// Acknowledgements of PING.
  public static let pingAnswers = MutedFrames(rawValue: 1)
  public static let everything = MutedFrames(rawValue: 2)
}

/// Unusual but valid forms of a response (RFC 9113 §6.1, §6.2, §6.10, §8.1).
public struct AnswerShape: OptionSet, Sendable {
  public let rawValue: UInt8
  public init(rawValue: UInt8) { self.rawValue = rawValue }
  /// Sends every byte of the body in its own DATA frame.
  public static let manyDataFrames = AnswerShape(rawValue: 1)
  /// Splits the header block into two frames, HEADERS and CONTINUATION.
  public static let continuation = AnswerShape(rawValue: 2)
  /// Adds padding to HEADERS and DATA.
  public static let padding = AnswerShape(rawValue: 4)
  /// Adds a trailer field after the body.
  public static let trailers = AnswerShape(rawValue: 8)
  /// Sends a 103 before the response.
  public static let informational = AnswerShape(rawValue: 16)
}

/// The changes that a server makes to its own frames before sending: drops, holds, reshapes, adds. nghttp2 does not see
/// them, so its state of the streams stays correct.
struct ServerFaults {
  var muted: MutedFrames = []
  var holdsWindowUpdates = false
  /// WINDOW_UPDATE frames that are held back.
  private var delayed: [UInt8] = []
  /// Bytes to send before anything else.
  private var pending: [UInt8] = []
  /// The streams whose responses have an unusual form.
  var shapes: [Int32: AnswerShape] = [:]

  private static let headerSize = 9
  private static let paddingSize = 7

  private enum Flag {
    static let endStream: UInt8 = 1
    static let ack: UInt8 = 1
    static let endHeaders: UInt8 = 4
    static let padded: UInt8 = 8
  }

  mutating func drainPending(into buffer: inout ByteBuffer) {
    guard !pending.isEmpty else { return }
    pending.withUnsafeBytes { buffer.append($0) }
    pending.removeAll()
  }

  mutating func discardPending() { pending = [] }

  /// Appends bytes to the pending ones.
  mutating func add(_ bytes: some Sequence<UInt8>) { pending += bytes }

  mutating func releaseWindowUpdates() {
    holdsWindowUpdates = false
    add(delayed)
    delayed = []
  }

  /// Processes a frame that nghttp2 sends.
  mutating func pass(_ frame: UnsafeRawBufferPointer, into buffer: inout ByteBuffer) {
    guard frame.count >= Self.headerSize else { return buffer.append(frame) }
    if muted.contains(.everything) { return }
    let type = UInt32(frame[3])
    switch type {
    case NGHTTP2_PING.rawValue where muted.contains(.pingAnswers) && frame[4] & Flag.ack != 0:
      return
    case NGHTTP2_WINDOW_UPDATE.rawValue where holdsWindowUpdates: delayed += frame
    case NGHTTP2_HEADERS.rawValue, NGHTTP2_DATA.rawValue:
      let stream = frame.loadUnaligned(fromByteOffset: 5, as: Int32.self).bigEndian
      guard let shape = shapes[stream] else { return buffer.append(frame) }
      reshape(frame, shape, into: &buffer)
      if frame[4] & Flag.endStream != 0 { shapes[stream] = nil }
    default: buffer.append(frame)
    }
  }

  private func reshape(
    _ frame: UnsafeRawBufferPointer, _ shape: AnswerShape, into buffer: inout ByteBuffer
  ) {
    let payload = UnsafeRawBufferPointer(rebasing: frame[Self.headerSize...])
    let isData = UInt32(frame[3]) == NGHTTP2_DATA.rawValue
    let pieces: [Range<Int>] =
      if isData, shape.contains(.manyDataFrames), payload.count > 1 {
        payload.indices.map { $0..<$0 + 1 }
      } else if !isData, shape.contains(.continuation), payload.count > 1 {
        [0..<payload.count / 2, payload.count / 2..<payload.count]
      } else {
        [0..<payload.count]
      }
    for (index, piece) in pieces.enumerated() {
      var type = frame[3]
      var flags = frame[4]
      let isLast = index == pieces.count - 1
      if isData {
        if !isLast { flags &= ~Flag.endStream }
      } else {
        if !isLast { flags &= ~Flag.endHeaders }
        if index > 0 {
          type = UInt8(NGHTTP2_CONTINUATION.rawValue)
          flags &= Flag.endHeaders
        }
      }
      // CONTINUATION frames have no padding.
      let isPadded = shape.contains(.padding) && type != UInt8(NGHTTP2_CONTINUATION.rawValue)
      write(
        type: type, flags: isPadded ? flags | Flag.padded : flags, stream: frame[5..<9],
        UnsafeRawBufferPointer(rebasing: payload[piece]), isPadded: isPadded, into: &buffer)
    }
  }

  private func write(
    type: UInt8, flags: UInt8, stream: Slice<UnsafeRawBufferPointer>,
    _ payload: UnsafeRawBufferPointer, isPadded: Bool, into buffer: inout ByteBuffer
  ) {
    let count = payload.count + (isPadded ? 1 + Self.paddingSize : 0)
    var bytes = [
      UInt8(count >> 16 & 255), UInt8(count >> 8 & 255), UInt8(count & 255), type, flags,
    ]
    bytes += stream
    if isPadded { bytes.append(UInt8(Self.paddingSize)) }
    bytes += payload
    if isPadded { bytes += [UInt8](repeating: 0, count: Self.paddingSize) }
    bytes.withUnsafeBytes { buffer.append($0) }
  }

  /// Encodes a frame (RFC 9113 §4.1).
  static func frame(
    type: nghttp2_frame_type, flags: UInt8 = 0, stream: UInt32 = 0, _ payload: [UInt8]
  ) -> [UInt8] {
    let count = payload.count
    return [
      UInt8(count >> 16 & 255), UInt8(count >> 8 & 255), UInt8(count & 255), UInt8(type.rawValue),
      flags,
    ] + bigEndian(stream) + payload
  }

  static func bigEndian(_ value: UInt32) -> [UInt8] {
    [UInt8(value >> 24), UInt8(value >> 16 & 255), UInt8(value >> 8 & 255), UInt8(value & 255)]
  }

  /// Queues the trailer field that ends a response.
  static func submitTrailers(_ session: OpaquePointer?, _ stream: Int32) {
    var headers = HeaderList()
    headers.append("x-trailer", "end")
    nghttp2_submit_trailer(session, stream, headers.fields, headers.count)
  }
}
