// SPDX-License-Identifier: Apache-2.0

/// Requests waiting for their response: a timer wheel with one-millisecond slots. Adding and removing a request takes
/// constant time.
public struct AnswerWheel: ~Copyable {
  private static let slotCount: UInt64 = 4_096
  private let slots: UnsafeMutablePointer<UnsafeMutablePointer<ServerRequest>?>
  /// The time before which all due requests have been taken.
  private var now: UInt64
  public private(set) var count = 0

  /// Creates a wheel that starts at `now` (ms of a monotonic clock).
  public init(now: UInt64) {
    self.now = now
    slots = .allocate(capacity: Int(Self.slotCount))
    slots.initialize(repeating: nil, count: Int(Self.slotCount))
  }

  deinit { slots.deallocate() }

  /// Adds a request at its `due` time (ms); one in the past is due at the next turn.
  public mutating func add(_ request: UnsafeMutablePointer<ServerRequest>) {
    let slot = Int(max(request.pointee.due, now) % Self.slotCount)
    request.pointee.link = slots[slot]
    slots[slot] = request
    count += 1
  }

  /// Removes the requests that are due by `time` and returns them as a linked list.
  public mutating func due(by time: UInt64) -> UnsafeMutablePointer<ServerRequest>? {
    var taken: UnsafeMutablePointer<ServerRequest>?
    guard count > 0 else {
      now = max(now, time + 1)
      return nil
    }
    // After a long pause one rotation visits every slot.
    let first = time >= now + Self.slotCount ? time - Self.slotCount + 1 : now
    var moment = first
    while moment <= time {
      let slot = Int(moment % Self.slotCount)
      var entry = slots[slot]
      slots[slot] = nil
      while let request = entry {
        entry = request.pointee.link
        // Waits longer than a rotation stay in their slot.
        let isDue = request.pointee.due <= time
        request.pointee.link = isDue ? taken : slots[slot]
        if isDue { taken = request } else { slots[slot] = request }
        if isDue { count -= 1 }
      }
      moment += 1
    }
    now = max(now, time + 1)
    return taken
  }

  /// Returns the milliseconds from `time` to the next non-empty slot; nil if nothing waits.
  public func wait(from time: UInt64) -> UInt64? {
    guard count > 0 else { return nil }
    for offset in 0..<Self.slotCount where slots[Int((now + offset) % Self.slotCount)] != nil {
      let moment = now + offset
      return moment > time ? moment - time : 0
    }
    return 0
  }
}
