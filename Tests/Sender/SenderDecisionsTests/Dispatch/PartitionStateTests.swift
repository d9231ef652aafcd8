// SPDX-License-Identifier: Apache-2.0
import Contract
import Testing

@testable import ConsumerGroup
@testable import SenderDecisions

/// A partition as a loop decides by it.
@Suite struct PartitionStateTests {
  @Test func `a partition says when offsets go back, and works on nothing below where it is`() {
    // The group began with the first record there was: no offset lies below that.
    for start in [nil, 0] as [Int64?] {
      var partition = PartitionState(
        GrantedPartition(topicKind: .lane(.bulk), resume: ResumePoint(next: start)),
        bounds: PartitionBounds(), window: 0)
      for offset in 0..<10 as Range<Int64> { #expect(partition.admit(offset) == .new) }
      partition.acknowledged(0)
      #expect(partition.drainWentBackFrom() == nil)
      #expect(partition.admit(0) == .alreadyCompleted)
      #expect(partition.admit(1) == .alreadyReceived)
      #expect(partition.drainWentBackFrom() == 10)
      #expect(partition.drainWentBackFrom() == nil)
    }
  }

  /// The partition has gone on without its window, and a record has freed an id that the window has.
  @Test func `a window that comes late does not take a freed id back`() {
    var partition = PartitionState(
      GrantedPartition(
        topicKind: .lane(.bulk), resume: ResumePoint(next: 5), windowDeadline: 100),
      bounds: PartitionBounds(), window: 10)
    let freed = NotificationID(high: 0, low: 1)
    let delivered = NotificationID(high: 0, low: 2)
    _ = partition.report(as: 0, now: 100)
    #expect(partition.admit(5) == .new)
    partition.free(freed)
    var window = DedupWindow(capacity: 10)
    for id in [freed, delivered] { _ = window.insert(id) }
    partition.inherit(window, isWhole: true)
    #expect(partition.take(delivered, payload: 0) == .repeated)
    #expect(partition.take(freed, payload: 0) == .first)
  }

  /// The log may be the same one, read again from its first record.
  @Test func `records from below the start of reading are not worked on`() {
    var partition = PartitionState(
      GrantedPartition(topicKind: .lane(.bulk), resume: ResumePoint(next: 5)),
      bounds: PartitionBounds(), window: 100)
    for offset in 0..<5 as Range<Int64> { #expect(partition.admit(offset) == .alreadyCompleted) }
    #expect(partition.drainWentBackFrom() == 5)
    #expect(partition.admit(5) == .new)
    #expect(partition.drainWentBackFrom() == nil)
  }

  /// A recreated topic that has as many records as were committed of the old one, and fewer than its map names.
  @Test func `the log has to reach as far as the map that was committed`() {
    var partition = PartitionState(
      GrantedPartition(
        topicKind: .lane(.bulk), resume: ResumePoint(next: 5, completedAbove: [7..<9])),
      bounds: PartitionBounds(), window: 0)
    #expect(partition.admit(0) == .alreadyCompleted)
    #expect(partition.drainWentBackFrom() == 9)
  }

  /// A recreated topic of which nothing was read before: no offset goes back.
  @Test func `the log is looked at when its map first passes over a record`() {
    var partition = PartitionState(
      GrantedPartition(
        topicKind: .lane(.bulk), resume: ResumePoint(next: 0, completedAbove: [1..<3, 5..<14])),
      bounds: PartitionBounds(), window: 0)
    #expect(partition.admit(0) == .new)
    #expect(partition.drainWentBackFrom() == nil)
    #expect(partition.admit(1) == .alreadyCompleted)
    #expect(partition.drainWentBackFrom() == 14)
    #expect(partition.admit(2) == .alreadyCompleted)
    #expect(partition.drainWentBackFrom() == nil)
  }

  /// That the log is the one of the map was known when it was asked first; since then the topic was made again.
  @Test func `the log is looked at each time that offsets go back, and not for what follows`() {
    var partition = PartitionState(
      GrantedPartition(
        topicKind: .lane(.bulk), resume: ResumePoint(next: 4, completedAbove: [4..<14])),
      bounds: PartitionBounds(), window: 0)
    #expect(partition.admit(4) == .alreadyCompleted)
    #expect(partition.drainWentBackFrom() == 14)
    for _ in 0..<3 {
      #expect(partition.admit(0) == .alreadyCompleted)
      #expect(partition.drainWentBackFrom() == 14)
      for offset in [1, 2, 4] as [Int64] {
        #expect(partition.admit(offset) == .alreadyCompleted)
        #expect(partition.drainWentBackFrom() == nil)
      }
    }
  }

  /// It may be a repeat of an older push, whose id is not read again yet: what is newer than that must not end for it.
  @Test func `a record that was completed before supersedes none while ids are missing`() {
    for deadline in [nil, 1_000] as [UInt64?] {
      var partition = PartitionState(
        GrantedPartition(
          topicKind: .lane(.bulk), resume: ResumePoint(next: 5, completedAbove: [7..<9]),
          windowDeadline: deadline), bounds: PartitionBounds(), window: 100)
      partition.noteState(StateFacts(3), at: 8)
      #expect(partition.states.find(3)?.position == (deadline == nil ? 8 : nil))
      #expect(partition.states.forgotten == (deadline == nil ? -1 : 8))
      partition.inherit(DedupWindow(capacity: 100), isWhole: true)
      partition.noteState(StateFacts(3), at: 7)
      #expect(partition.states.find(3)?.position == (deadline == nil ? 8 : 7))
    }
  }

  @Test func `while states are missing, of one that comes back a newer one may have been sent`() {
    for (deadline, moves) in [(nil, 1), (1_000, 1), (1_000, 0)] as [(UInt64?, UInt16)] {
      var partition = PartitionState(
        GrantedPartition(
          topicKind: .lane(.bulk), resume: ResumePoint(next: 50), windowDeadline: deadline),
        bounds: PartitionBounds(), window: 100)
      let state = StateFacts(
        3, of: NotificationID(high: 1, low: 2),
        position: LanePosition(partition: 0, offset: 40, moves: moves, tier: .minute1))
      func standing() -> StateVerdict { partition.begin(state, in: 1, underWay: nil) }
      #expect(standing() == .newest(at: 40, isUnknown: deadline != nil && moves > 0))
      partition.inherit(DedupWindow(capacity: 100), isWhole: true)
      #expect(standing() == .newest(at: 40, isUnknown: false))
    }
  }
}
