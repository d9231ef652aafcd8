// SPDX-License-Identifier: Apache-2.0

/// A growable buffer of bytes that its owner fills at the end and empties from the front.
///
/// The storage is one allocation that is kept when the content is removed, so a loop that reuses its
/// buffers does not allocate; `release` gives it back. `bytes` is valid until the next call that changes the buffer.
public struct ByteBuffer: ~Copyable {
  @usableFromInline var storage: UnsafeMutableRawPointer
  @usableFromInline var capacity: Int
  @usableFromInline var start: Int
  @usableFromInline var end: Int

  /// An empty buffer with room for `capacity` bytes (at least 16); with 0 it occupies no memory before the first one.
  @inlinable
  public init(capacity: Int = 256) {
    self.capacity = capacity == 0 ? 0 : max(capacity, 16)
    storage = self.capacity == 0 ? Self.nowhere : .allocate(byteCount: self.capacity, alignment: 16)
    start = 0
    end = 0
  }

  deinit {
    if capacity > 0 { storage.deallocate() }
  }

  /// The address of a buffer without memory; nothing is read or written there.
  @usableFromInline
  static var nowhere: UnsafeMutableRawPointer {
    UnsafeMutableRawPointer(bitPattern: 16).unsafelyUnwrapped
  }

  @inlinable
  public var count: Int { end - start }

  @inlinable
  public var isEmpty: Bool { end == start }

  /// Its bytes, oldest first. Valid until the buffer is changed.
  @inlinable
  public var bytes: UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: storage + start, count: end - start)
  }

  /// Calls `body` with its bytes, as a span for values.
  @inlinable
  public func withSpan<R, E: Error>(_ body: (Span<UInt8>) throws(E) -> R) throws(E) -> R {
    let typed = UnsafeBufferPointer(
      start: (storage + start).assumingMemoryBound(to: UInt8.self), count: end - start)
    return try body(typed.span)
  }

  /// Bytes of memory that it occupies.
  public var reservedBytes: Int { capacity }

  /// Forgets the content and keeps the capacity.
  @inlinable @inline(__always)
  public mutating func removeAll() {
    start = 0
    end = 0
  }

  /// Forgets the content and gives the memory back.
  public mutating func release() {
    self = ByteBuffer(capacity: 0)
  }

  /// Forgets the content, and leaves the memory to a buffer without any; gives it back if that has some.
  public mutating func leave(to other: inout ByteBuffer) {
    removeAll()
    if other.capacity == 0 { swap(&self, &other) } else { release() }
  }

  /// Removes the oldest `count` bytes; `count` must not exceed what is in it.
  @inlinable
  public mutating func removeFirst(_ count: Int) {
    precondition(count >= 0 && count <= end - start, "more removed than the buffer holds")
    start += count
    if start == end { removeAll() }
  }

  /// Removes what was appended after the buffer had `count` bytes: takes a half-written entry back.
  @inlinable
  public mutating func truncate(to count: Int) {
    precondition(count >= 0 && count <= end - start, "a buffer cannot be truncated to more")
    end = start + count
  }

  /// Makes room for `count` further bytes, so that appending them does not allocate.
  @inlinable @inline(__always)
  public mutating func reserve(_ count: Int) {
    if capacity - end < count { makeRoom(count) }
  }

  @usableFromInline
  mutating func makeRoom(_ count: Int) {
    let filled = end - start
    if capacity - filled >= count && start >= capacity / 2 {
      storage.copyMemory(from: storage + start, byteCount: filled)
    } else {
      let isAllocated = capacity > 0
      capacity = max(capacity * 2, filled + count, 16)
      let larger = UnsafeMutableRawPointer.allocate(byteCount: capacity, alignment: 16)
      larger.copyMemory(from: storage + start, byteCount: filled)
      if isAllocated { storage.deallocate() }
      storage = larger
    }
    start = 0
    end = filled
  }

  /// The `count` bytes from `offset`, to be changed in place. Valid until the buffer is changed otherwise.
  @inlinable
  public mutating func mutableBytes(at offset: Int, count: Int) -> UnsafeMutableRawBufferPointer {
    precondition(offset >= 0 && count >= 0 && offset + count <= end - start, "not in the buffer")
    return UnsafeMutableRawBufferPointer(start: storage + start + offset, count: count)
  }

  /// Lets `body` append up to `capacity` bytes at the end, as values do.
  @inlinable
  public mutating func fill(upTo capacity: Int, _ body: (inout OutputSpan<UInt8>) -> Void) {
    reserve(capacity)
    let room = UnsafeMutableBufferPointer(
      start: (storage + end).assumingMemoryBound(to: UInt8.self), count: capacity)
    var output = OutputSpan(buffer: room, initializedCount: 0)
    body(&output)
    end += output.finalize(for: room)
  }

  /// Lets `write` fill up to `capacity` bytes at the end; it returns how many it wrote.
  @inlinable
  @discardableResult
  public mutating func append<E: Error>(
    upTo capacity: Int, _ write: (UnsafeMutableRawBufferPointer) throws(E) -> Int
  ) throws(E) -> Int {
    reserve(capacity)
    let room = UnsafeMutableRawBufferPointer(start: storage + end, count: capacity)
    let written = try write(room)
    precondition(written >= 0 && written <= capacity, "more written than there was room for")
    end += written
    return written
  }
}
