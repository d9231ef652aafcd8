// SPDX-License-Identifier: Apache-2.0
import CZlib
public import EventLoop

/// Unpacks a gzip body piece by piece, at most a bounded amount at a time: a small body may be a large one packed.
public final class Inflater {
  /// The most bytes that one call unpacks.
  public static let piece = 64 << 10

  private let stream: UnsafeMutablePointer<z_stream>
  /// Packed bytes that were not looked at yet.
  private var packed = ByteBuffer(capacity: 4_096)
  public private(set) var isComplete = false
  private var mayHaveMore = false

  public init() {
    stream = .allocate(capacity: 1)
    stream.initialize(to: z_stream())
    // 16: a gzip header is expected.
    let code = inflateInit2_(stream, 16 + 15, zlibVersion(), Int32(MemoryLayout<z_stream>.size))
    precondition(code == Z_OK, "zlib does not start")
  }

  deinit {
    inflateEnd(stream)
    stream.deallocate()
  }

  /// True if `unpack` may return more without further input, or refuses what came behind the end.
  public var hasMore: Bool { !packed.isEmpty || mayHaveMore }

  public func append(_ bytes: UnsafeRawBufferPointer) { packed.append(bytes) }

  /// Appends the next piece. False when the input is no gzip, or goes on after its end.
  public func unpack(into output: inout ByteBuffer) -> Bool {
    if isComplete { return packed.isEmpty }
    var code = Z_OK
    output.append(upTo: Self.piece) { room in
      let input = packed.bytes
      stream.pointee.next_in = UnsafeMutablePointer(
        mutating: input.baseAddress?.assumingMemoryBound(to: UInt8.self))
      stream.pointee.avail_in = UInt32(input.count)
      stream.pointee.next_out = room.baseAddress?.assumingMemoryBound(to: UInt8.self)
      stream.pointee.avail_out = UInt32(room.count)
      code = inflate(stream, Z_NO_FLUSH)
      return room.count - Int(stream.pointee.avail_out)
    }
    packed.removeFirst(packed.count - Int(stream.pointee.avail_in))
    isComplete = code == Z_STREAM_END
    mayHaveMore = stream.pointee.avail_out == 0 && !isComplete
    if isComplete { return packed.isEmpty }
    return code == Z_OK || code == Z_BUF_ERROR
  }
}
