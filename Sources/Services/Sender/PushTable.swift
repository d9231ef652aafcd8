// SPDX-License-Identifier: Apache-2.0
import Delivery

/// The pushes of one loop, from being taken out of Kafka to their outcome, in slots that are reused.
///
/// Slots never move, so nghttp2 may hold pointers into them. The slot index is the push's name everywhere
/// else: in exchanges, waiting lines and deadlines. Owner: one sender loop.
struct PushTable: ~Copyable {
  private static let slotsInChunk = 256

  private var chunks: [UnsafeMutablePointer<Push>] = []
  private var free: [UInt32] = []

  /// Pushes in the table now.
  private(set) var count = 0
  /// Those of them that are not transactional first sends.
  private(set) var others = 0

  /// The slot's push. The pointer stays valid as long as the table lives.
  subscript(_ slot: UInt32) -> UnsafeMutablePointer<Push> {
    chunks[Int(slot) / Self.slotsInChunk] + Int(slot) % Self.slotsInChunk
  }

  /// Slot indices stay below this when at most `pushes` are in the table at once.
  static func slots(for pushes: Int) -> Int {
    (pushes + slotsInChunk - 1) / slotsInChunk * slotsInChunk
  }

  /// Takes a free slot; its content is whatever was there and must be set by the caller.
  mutating func take(_ sendClass: SendClass, earlier: UInt16) -> UInt32 {
    if free.isEmpty { grow() }
    count += 1
    if sendClass != .transactional { others += 1 }
    let slot = free.removeLast()
    self[slot].pointee.life.begin(sendClass, earlier: earlier)
    return slot
  }

  /// Frees a slot for reuse: the push in it has its one end.
  mutating func put(_ slot: UInt32) {
    let push = self[slot]
    count -= 1
    if push.pointee.life.sendClass != .transactional { others -= 1 }
    push.pointee.life.end()
    free.append(slot)
  }

  /// Calls `body` with each push in the table. Not for hot paths.
  func visit(_ body: (UnsafeMutablePointer<Push>) -> Void) {
    var isFree = Array(repeating: false, count: chunks.count * Self.slotsInChunk)
    for slot in free { isFree[Int(slot)] = true }
    for slot in isFree.indices where !isFree[slot] { body(self[UInt32(slot)]) }
  }

  private mutating func grow() {
    let first = UInt32(chunks.count * Self.slotsInChunk)
    let chunk = UnsafeMutablePointer<Push>.allocate(capacity: Self.slotsInChunk)
    for index in 0..<Self.slotsInChunk { (chunk + index).initialize(to: Push()) }
    chunks.append(chunk)
    // Highest first, so that the lowest slots are taken first and stay warm in the cache.
    for index in (0..<UInt32(Self.slotsInChunk)).reversed() { free.append(first + index) }
  }

  deinit {
    for chunk in chunks { chunk.deallocate() }
  }
}
