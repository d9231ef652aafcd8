// SPDX-License-Identifier: Apache-2.0
import Delivery
import Pipeline
import Testing

@testable import Dispatch

@Suite("A partition as a loop decides by it")
struct PartitionStateTests {
  @Test
  func `a partition says when offsets go back, and works on nothing below where it is`() {
    // The group began with the first record there was: no offset lies below that.
    for start in [nil, 0] as [Int64?] {
      var partition = PartitionState(
        GrantedPartition(feed: .lane(.bulk), resume: ResumePoint(next: start)),
        bounds: PartitionBounds(), window: 0)
      for offset in 0..<10 as Range<Int64> { #expect(partition.admit(offset) == .new) }
      partition.ledger?.completed(0)
      #expect(partition.takeFault() == nil)
      #expect(partition.admit(0) == .alreadyCompleted)
      #expect(partition.admit(1) == .alreadyReceived)
      #expect(partition.takeFault() == .wentBack(from: 10))
      #expect(partition.takeFault() == nil)
    }
  }
}
