// SPDX-License-Identifier: Apache-2.0
import CNghttp2
import Glibc

/// The memory of all nghttp2 sessions of one loop. Owned by one thread; outlives the sessions.
///
/// - Small blocks, of which each request needs a few, are reused without calling malloc.
/// - All sessions write their frames into one block. Otherwise each would have its own 16 KiB, more than half of an
///   idle connection's memory. Its contents are copied before another session writes
///   (`HTTP2ServerSession.produceOutput`).
final class SessionMemory {
  private let state: UnsafeMutablePointer<State>

  init() {
    state = .allocate(capacity: 1)
    state.initialize(to: State())
  }

  deinit {
    state.pointee.freeAll()
    state.deallocate()
  }

  /// Calls `body` with the functions for `nghttp2_session_server_new3`.
  func forNewSession<R>(_ body: (UnsafeMutablePointer<nghttp2_mem>) -> R) -> R {
    state.pointee.isOpening = true
    defer { state.pointee.isOpening = false }
    var memory = nghttp2_mem(
      mem_user_data: state, malloc: { size, state in State.of(state).pointee.allocate(size) },
      free: { block, state in State.of(state).pointee.free(block) },
      calloc: { count, size, state in State.of(state).pointee.allocateZeroed(count * size) },
      realloc: { block, size, state in State.of(state).pointee.reallocate(block, size) })
    return body(&memory)
  }

  private struct State {
    /// Whether a session is being created.
    var isOpening = false
    /// The block for frames: the only one of this size that a new nghttp2 session allocates. nil before the first one.
    private var frame: UnsafeMutableRawPointer?
    private var frameSize = 0
    /// The first free block of each size class, which holds the address of the next one.
    private var free: InlineArray<16, UnsafeMutableRawPointer?> = .init(repeating: nil)

    /// nghttp2's frame buffer holds a header and a payload of the largest size allowed by default (RFC 9113 §4.2).
    private static let smallestFrame = 16_384
    private static let step = 32
    /// The size of the header before each block, which keeps malloc's alignment.
    private static let header = 16

    static func of(_ pointer: UnsafeMutableRawPointer?) -> UnsafeMutablePointer<State> {
      pointer.unsafelyUnwrapped.assumingMemoryBound(to: State.self)
    }

    mutating func allocate(_ size: Int) -> UnsafeMutableRawPointer? {
      if isOpening, size >= Self.smallestFrame { return frame(size) }
      let place = (size + Self.step - 1) / Self.step
      if place < 16, let block = free[place] {
        free[place] = block.load(as: UnsafeMutableRawPointer?.self)
        return block
      }
      let room = place < 16 ? place * Self.step : size
      guard let start = malloc(Self.header + max(room, Self.step)) else { return nil }
      start.storeBytes(of: room, as: Int.self)
      return start + Self.header
    }

    /// Returns the shared block; a second one in the same session is the session's own.
    private mutating func frame(_ size: Int) -> UnsafeMutableRawPointer? {
      isOpening = false
      if frame == nil {
        frame = allocate(size)
        frameSize = size
      }
      return size == frameSize ? frame : allocate(size)
    }

    mutating func allocateZeroed(_ size: Int) -> UnsafeMutableRawPointer? {
      let block = allocate(size)
      if let block { memset(block, 0, size) }
      return block
    }

    mutating func reallocate(
      _ block: UnsafeMutableRawPointer?, _ size: Int
    ) -> UnsafeMutableRawPointer? {
      guard let block else { return allocate(size) }
      let larger = allocate(size)
      if let larger {
        larger.copyMemory(from: block, byteCount: min(size, Self.size(of: block)))
        free(block)
      }
      return larger
    }

    mutating func free(_ block: UnsafeMutableRawPointer?) {
      guard let block, block != frame else { return }
      let place = (Self.size(of: block) + Self.step - 1) / Self.step
      guard place < 16 else { return Glibc.free(block - Self.header) }
      block.storeBytes(of: free[place], as: UnsafeMutableRawPointer?.self)
      free[place] = block
    }

    /// The usable size of a block.
    private static func size(of block: UnsafeMutableRawPointer) -> Int {
      (block - header).load(as: Int.self)
    }

    mutating func freeAll() {
      for place in free.indices {
        while let block = free[place] {
          free[place] = block.load(as: UnsafeMutableRawPointer?.self)
          Glibc.free(block - Self.header)
        }
      }
      if let frame { Glibc.free(frame - Self.header) }
    }
  }
}
