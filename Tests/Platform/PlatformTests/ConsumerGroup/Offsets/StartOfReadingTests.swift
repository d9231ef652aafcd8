// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import ConsumerGroup

@Suite struct StartOfReadingTests {
  private func unread(_ committed: [Int64?], _ ends: [RetentionGaps<Int>.Ends]) -> Int64? {
    var start = StartOfReading<Int>()
    for (partition, offset) in committed.enumerated() { start.begin(partition, committed: offset) }
    #expect(Set(start.wanted) == Set(committed.indices))
    return start.judge(
      Dictionary(uniqueKeysWithValues: ends.enumerated().map { ($0.offset, $0.element) }))
  }

  @Test func `a group without offsets, or with those of the first records, begins at them`() {
    #expect(unread([nil, nil], [(0, 10), (5, 8)]) == 13)
    #expect(unread([0, 5], [(0, 10), (5, 8)]) == 13)
    #expect(unread([nil, 5], [(0, 10), (5, 8)]) == 13)
  }

  @Test func `a group that goes on anywhere, or has nothing to read, is not told of`() {
    #expect(unread([3, nil], [(0, 10), (5, 8)]) == nil)
    #expect(unread([10, 0], [(0, 10), (0, 8)]) == nil)
    #expect(unread([nil, nil], [(0, 0), (7, 7)]) == nil)
    #expect(unread([], []) == nil)
    // An empty partition says nothing.
    #expect(unread([0, nil], [(0, 0), (0, 8)]) == 8)
  }

  @Test func `a group that begins anywhere is told of once, when all ends are known`() {
    var start = StartOfReading<Int>()
    start.begin(0, committed: nil)
    start.begin(1, committed: nil)
    #expect(start.judge([0: (0, 10)]) == nil)
    #expect(start.wanted == [1])
    #expect(start.judge([0: (0, 90), 1: (0, 1)]) == 11)
    #expect(start.judge([0: (0, 90), 1: (0, 1)]) == nil)
  }
}
