// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import HTTP2
import Records

/// The bytes of one loop's pushes, by the slots that the `Dispatcher` gives them.
///
/// Pushes never move, so HTTP/2 may hold pointers into them. Owner: one sender loop.
struct PushTable: ~Copyable {
  private static let slotsInChunk = 256

  private var chunks: [UnsafeMutablePointer<Push>] = []
  private var blocks = BlockPool()

  /// The slot's push. The pointer stays valid as long as the table lives.
  subscript(_ slot: UInt32) -> UnsafeMutablePointer<Push> {
    chunks[Int(slot) / Self.slotsInChunk] + Int(slot) % Self.slotsInChunk
  }

  /// Copies a record into a slot; the record's own memory can go.
  mutating func fill(
    _ slot: UInt32, key: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer,
    _ envelope: Envelope
  ) {
    while Int(slot) >= chunks.count * Self.slotsInChunk { grow() }
    let bytes = Push.blockBytes(token: key.count, value: value.count, envelope)
    let size = BlockPool.size(fitting: bytes)
    let push = self[slot]
    push.pointee.fill(blocks.take(size), size, key, value, envelope)
    push.pointee.exchange.owner = slot
  }

  /// Asks for what the end of the slot's push needs beside its exchange, which the answer was just written to.
  func prefetch(_ slot: UInt32) {
    let push = self[slot]
    let answer = MemoryLayout<Exchange>.size
    Prefetch.bytes(UnsafeRawPointer(push) + answer, MemoryLayout<Push>.size - answer)
    Prefetch.bytes(push.pointee.block, push.pointee.headCount)
  }

  /// The pushes of two slots change places. Neither may have a stream: HTTP/2 holds pointers into those that do.
  mutating func exchange(_ slot: UInt32, _ other: UInt32) {
    let (one, two) = (self[slot], self[other])
    swap(&one.pointee, &two.pointee)
    one.pointee.exchange.owner = slot
    two.pointee.exchange.owner = other
  }

  /// The slot's push has ended: its memory is free for others.
  mutating func empty(_ slot: UInt32) {
    let push = self[slot]
    blocks.put(push.pointee.block, Int(push.pointee.blockSize))
  }

  private mutating func grow() {
    let chunk = UnsafeMutablePointer<Push>.allocate(capacity: Self.slotsInChunk)
    for index in 0..<Self.slotsInChunk { (chunk + index).initialize(to: Push()) }
    chunks.append(chunk)
  }

  deinit {
    for chunk in chunks { chunk.deallocate() }
  }
}
