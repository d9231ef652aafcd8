// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import SenderDecisions

/// Outcomes on their way to the receipts topic, in batches by `ReceiptLimits`. A record's offset is complete when Kafka has acknowledged the batch that holds its receipt.
///
/// Owner: one sender loop.
struct ReceiptBatches: ~Copyable {
  /// The lines of the batch being filled.
  var lines = ByteBuffer(capacity: 64 << 10)
  /// The records that the lines complete.
  private var origins: [Origin] = []
  /// Batches that are complete and that the producer had no room for, oldest first: one record must not grow
  /// beyond what the broker takes while it waits.
  private var aside: [(lines: [UInt8], origins: [Origin])] = []
  /// Batches that were produced and not yet acknowledged, in slots that are reused.
  private var flying: [[Origin]] = []
  private var free: [Int] = []
  /// Monotonic milliseconds of the first line.
  private(set) var begun: UInt64 = 0

  var isEmpty: Bool { origins.isEmpty && aside.isEmpty }
  /// False while a batch rather grows than goes: enough of them wait for their acknowledgement.
  var mayFly: Bool { flyingCount < ReceiptLimits.flying }
  var isFull: Bool {
    lines.count >= ReceiptLimits.bytes || (origins.count >= ReceiptLimits.outcomes && mayFly)
  }
  /// True if the batch should go now.
  func isDue(now: UInt64) -> Bool {
    isFull || (mayFly && now >= begun + ReceiptLimits.age)
  }
  /// Outcomes that Kafka has not acknowledged, those of the batch being filled included.
  private(set) var unacknowledged = 0
  /// Batches waiting for their acknowledgement.
  var flyingCount: Int { flying.count - free.count }

  /// Notes that the line just appended to `lines` completes this record.
  mutating func lineAdded(for origin: Origin, now: UInt64) {
    if origins.isEmpty { begun = now }
    origins.append(origin)
    unacknowledged += 1
  }

  /// Batches that have to go before `lines`.
  var asideCount: Int { aside.count }
  /// The oldest batch that has to go before `lines`; nil when there is none.
  var nextAside: [UInt8]? { aside.first?.lines }

  /// The producer has no room for the batch, which is full: begins another one.
  mutating func putAside() {
    aside.append((Array(lines.bytes), origins))
    origins.removeAll(keepingCapacity: true)
    lines.removeAll()
  }

  /// The slot that the batch will fly in; the caller produces `nextAside`, or else `lines`, and then calls
  /// `launched`.
  mutating func launchSlot() -> Int {
    if let slot = free.last { return slot }
    flying.append([])
    free.append(flying.count - 1)
    return flying.count - 1
  }

  /// The batch was produced in this slot: the next one begins.
  mutating func launched(in slot: Int) {
    free.removeLast()
    guard aside.isEmpty else {
      flying[slot] = aside.removeFirst().origins
      return
    }
    swap(&flying[slot], &origins)
    lines.removeAll()
  }

  /// Kafka refused the batch that flew in this slot: it goes again, before all others.
  mutating func takeBack(_ slot: Int, _ lines: [UInt8]) {
    aside.insert((lines, flying[slot]), at: 0)
    flying[slot] = []
    free.append(slot)
  }

  /// Makes two batches of the one that goes next; false when it has one line only.
  mutating func halveNext() -> Bool {
    guard let (lines, origins) = aside.first, origins.count > 1 else { return false }
    let half = origins.count / 2
    var end = 0
    for _ in 0..<half { end = 1 + (lines[end...].firstIndex(of: UInt8(ascii: "\n")) ?? end) }
    aside[0] = (Array(lines[..<(end - 1)]), Array(origins[..<half]))
    aside.insert((Array(lines[end...]), Array(origins[half...])), at: 1)
    return true
  }

  /// Kafka acknowledged the batch: hands back its records, to be completed.
  mutating func landed(in slot: Int, _ complete: (Origin) -> Void) {
    for origin in flying[slot] { complete(origin) }
    unacknowledged -= flying[slot].count
    flying[slot].removeAll(keepingCapacity: true)
    if origins.capacity == 0 { swap(&flying[slot], &origins) }
    free.append(slot)
  }
}
