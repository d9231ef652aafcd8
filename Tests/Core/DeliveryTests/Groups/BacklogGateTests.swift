// SPDX-License-Identifier: Apache-2.0

import Delivery
import Random
import Testing

@Suite struct BacklogGateTests {
  /// Of a record that takes 1 MiB in the broker.
  private let mebibyte = 1_024 * 1_024 - BacklogGate.recordOverhead

  @Test func `closes above sixty percent and opens below fifty`() {
    var gate = BacklogGate(partitions: 2)
    for offset in 0..<3 as Range<Int64> {
      gate.acknowledged(1, offset: offset, bytes: mebibyte)
    }
    #expect(gate.isOpen, "3 MiB are 60 %, not more")
    gate.acknowledged(1, offset: 3, bytes: mebibyte)
    #expect(!gate.isOpen)
    #expect(!gate.isOpen(1))
    #expect(gate.isOpen(0))
    gate.committed(1, offset: 1)
    #expect(!gate.isOpen(1), "3 MiB: still above half")
    gate.committed(1, offset: 2)
    #expect(gate.isOpen(1))
    #expect(gate.isOpen)
  }

  @Test func `a table closes for ever when full`() {
    var gate = BacklogGate(partitions: 1, mode: .table)
    gate.acknowledged(0, offset: 3, bytes: mebibyte)
    #expect(!gate.isOpen)
    gate.committed(0, offset: 4)
    #expect(!gate.isOpen)
  }

  /// A writer that asks the gate before every record never has more unread than the broker keeps.
  @Test(arguments: 0..<20 as Range<UInt64>)
  func `a writer that asks never overruns the broker`(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var gate = BacklogGate(partitions: 1)
    var sizes: [Int] = []
    var unread = 0
    var read = 0
    let typical = 50 + random.below(5_000)
    for _ in 0..<50_000 {
      if gate.isOpen(0) {
        let bytes = typical / 2 + random.below(typical)
        gate.acknowledged(0, offset: Int64(sizes.count), bytes: bytes)
        sizes.append(bytes)
        unread += bytes
      }
      if random.oneIn(3), read < sizes.count {
        let count = min(sizes.count - read, random.below(5))
        for _ in 0..<count {
          unread -= sizes[read]
          read += 1
        }
        gate.committed(0, offset: Int64(read))
      }
      #expect(unread < BacklogGate.embeddedCapacity, "seed \(seed)")
      if unread >= BacklogGate.embeddedCapacity { return }
    }
  }
}
