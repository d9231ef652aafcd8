// SPDX-License-Identifier: Apache-2.0
import APNS
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
      partition.acknowledged(0)
      #expect(partition.takeFault() == nil)
      #expect(partition.admit(0) == .alreadyCompleted)
      #expect(partition.admit(1) == .alreadyReceived)
      #expect(partition.takeFault() == .wentBack(from: 10))
      #expect(partition.takeFault() == nil)
    }
  }

  /// The window was read when the new log had grown past the old offset, so it holds ids of records that are still to be
  /// taken.
  @Test
  func `a recreated topic's records are no repeats of themselves, whenever their ids were read`() {
    let ids = (1...5).map { NotificationID(high: 0, low: $0) }
    var window = DedupWindow(capacity: 100)
    for id in ids { _ = window.insert(id) }
    for comesLate in [false, true] {
      var partition = PartitionState(
        GrantedPartition(
          feed: .lane(.bulk), resume: ResumePoint(next: 5), window: comesLate ? nil : window,
          windowDeadline: comesLate ? 1_000 : nil),
        bounds: PartitionBounds(), window: 100)
      #expect(partition.admit(0) == .new)
      var isFirst = partition.isFirst(ids[0])
      #expect(isFirst)
      if comesLate { partition.inherit(window, isWhole: true) }
      for (offset, id) in ids.enumerated().dropFirst() {
        #expect(partition.admit(Int64(offset)) == .new)
        isFirst = partition.isFirst(id)
        #expect(isFirst, "late: \(comesLate)")
      }
      #expect(partition.takeFault() == .restarted(at: 0))
      isFirst = partition.isFirst(ids[0])
      #expect(!isFirst, "its own ids count")
    }
  }
}
