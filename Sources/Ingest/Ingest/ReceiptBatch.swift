// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Records

/// Receipts on their way, in batches by `ReceiptLimits`. A request is complete when the batches that hold its receipts are acknowledged.
///
/// Owner: the ingest loop.
struct ReceiptBatch: ~Copyable {
  private(set) var lines = ByteBuffer(capacity: 64 << 10)
  /// The request of each line.
  private var slots: [Int] = []
  /// The requests of batches that were sent and are not acknowledged, in places that are reused.
  private var flying: [[Int]] = []
  private var free: [Int] = []
  /// Monotonic milliseconds of the first line.
  private var begun: UInt64 = 0

  var isEmpty: Bool { slots.isEmpty }
  var isFull: Bool { slots.count >= ReceiptLimits.outcomes || lines.count >= ReceiptLimits.bytes }

  func isDue(_ now: UInt64) -> Bool {
    !isEmpty && (isFull || now &- begun >= ReceiptLimits.age)
  }

  mutating func append(_ line: borrowing ReceiptLine, for slot: Int, now: UInt64) {
    if slots.isEmpty { begun = now }
    ReceiptEncoder.append(line, into: &lines)
    slots.append(slot)
  }

  /// The same for a line that is written already.
  mutating func append(_ line: [UInt8], for slot: Int, now: UInt64) {
    if slots.isEmpty { begun = now } else { lines.append(UInt8(ascii: "\n")) }
    lines.append(line)
    slots.append(slot)
  }

  /// The place that the batch takes if it is sent now.
  mutating func nextPlace() -> Int {
    if let place = free.last { return place }
    flying.append([])
    free.append(flying.count - 1)
    return flying.count - 1
  }

  /// The batch was sent under `nextPlace()`; a new one begins.
  mutating func sent() {
    let place = free.removeLast()
    swap(&flying[place], &slots)
    lines.removeAll()
  }

  /// The batch in this place is acknowledged: moves its requests to `settled`.
  mutating func acknowledged(_ place: Int, into settled: inout [Int]) {
    settled.append(contentsOf: flying[place])
    flying[place].removeAll(keepingCapacity: true)
    free.append(place)
  }
}
