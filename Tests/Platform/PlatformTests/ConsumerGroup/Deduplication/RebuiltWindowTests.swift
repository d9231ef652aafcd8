// SPDX-License-Identifier: Apache-2.0
import Contract
import Testing

@testable import ConsumerGroup

@Suite struct RebuiltWindowTests {
  private func id(_ offset: Int64) -> NotificationID {
    NotificationID(high: 0, low: UInt64(bitPattern: offset))
  }

  private func offsets(_ window: DedupWindow) -> [Int64] {
    var all: [Int64] = []
    window.visit { id, _ in all.append(Int64(bitPattern: id.low)) }
    return all
  }

  private func read(_ window: inout RebuiltWindow, _ offsets: Range<Int64>) {
    for offset in offsets { window.insert(.init(id(offset)), at: offset) }
  }

  @Test func `a window that is read from its newest part on forgets its oldest ids first`() {
    var rebuilt = RebuiltWindow(kept: nil, missing: 0..<40, capacity: 40)
    read(&rebuilt, 36..<40)
    #expect(offsets(rebuilt.window(isWhole: false)) == Array(36..<40))
    read(&rebuilt, 0..<36)
    var window = rebuilt.window(isWhole: true)
    #expect(offsets(window) == Array(0..<40))
    for offset in 40..<50 as Range<Int64> { _ = window.insert(id(offset)) }
    #expect(offsets(window) == Array(10..<50))
  }

  @Test
  func
    `ids that were kept come before those that are read, and part of the rest counts for nothing yet`()
  {
    var kept = DedupWindow(capacity: 40)
    for offset in 0..<20 as Range<Int64> { _ = kept.insert(id(offset)) }
    var rebuilt = RebuiltWindow(kept: kept, missing: 20..<40, capacity: 40)
    read(&rebuilt, 38..<40)
    read(&rebuilt, 20..<30)
    #expect(offsets(rebuilt.window(isWhole: false)) == Array(0..<20) + [38, 39])
    read(&rebuilt, 30..<38)
    #expect(offsets(rebuilt.window(isWhole: true)) == Array(0..<40))
  }

  @Test func `reading twice changes nothing`() {
    var rebuilt = RebuiltWindow(kept: nil, missing: 0..<40, capacity: 40)
    for _ in 0..<2 {
      read(&rebuilt, 36..<40)
      read(&rebuilt, 0..<36)
    }
    #expect(offsets(rebuilt.window(isWhole: true)) == Array(0..<40))
  }

  /// A record says that an id is free again: wherever it stands, what was before it counts for nothing, what comes after it
  /// does. It is read in any order of the parts.
  @Test(
    arguments: [(1, 2, 3), (1, 2, 39), (1, 38, 39), (20, 21, 22), (36, 37, 38)]
      as [(Int64, Int64, Int64)])
  func `an id that is free again counts as taken only by what came after`(
    first: Int64, freed: Int64, again: Int64
  ) {
    for isTakenAgain in [false, true] {
      for isNewestFirst in [true, false] {
        var rebuilt = RebuiltWindow(kept: nil, missing: 0..<40, capacity: 60)
        for _ in 0..<2 {
          for part in isNewestFirst ? [36..<40, 0..<36] : [0..<36, 36..<40] as [Range<Int64>] {
            for offset in part {
              switch offset {
              case freed: rebuilt.free(id(1_000), at: offset)
              case first: rebuilt.insert(.init(id(1_000)), at: offset)
              case again where isTakenAgain: rebuilt.insert(.init(id(1_000)), at: offset)
              default: rebuilt.insert(.init(id(offset)), at: offset)
              }
            }
          }
        }
        let window = rebuilt.window(isWhole: true)
        #expect(window.contains(id(1_000)) == isTakenAgain)
        #expect(window.contains(id(0)) && window.contains(id(35)))
      }
    }
    var kept = DedupWindow(capacity: 60)
    _ = kept.insert(id(1_000))
    var rebuilt = RebuiltWindow(kept: kept, missing: 0..<40, capacity: 60)
    rebuilt.free(id(1_000), at: freed)
    #expect(!rebuilt.window(isWhole: true).contains(id(1_000)))
  }

  /// Records with no id of their own, and offsets that are none (a transaction's markers), leave gaps.
  @Test(arguments: [0..<0, 5..<6, 5..<15, 0..<25] as [Range<Int64>])
  func `a short tail is one part`(missing: Range<Int64>) {
    var rebuilt = RebuiltWindow(kept: nil, missing: missing, capacity: 40)
    read(&rebuilt, missing)
    #expect(offsets(rebuilt.window(isWhole: true)) == Array(missing))
  }

  @Test func `states are known from before and from ahead, and a repeat is none`() {
    var rebuilt = RebuiltWindow(kept: nil, missing: 100..<140, capacity: 40)
    func insert(
      _ offset: Int64, _ identity: UInt64, id other: Int64? = nil, at position: Int64 = -1
    ) {
      rebuilt.insert(
        .init(id(other ?? offset), identity: identity, position: position, push: UInt32(offset)),
        at: offset)
    }
    // The newest part comes first.
    insert(138, 1, id: 110)
    insert(139, 2, at: 50)
    insert(137, 5, at: 1_000)
    insert(150, 3)
    insert(151, 4, id: 120)
    insert(110, 1)
    insert(120, 4)
    #expect(rebuilt.window(isWhole: false).states.isEmpty)
    let window = rebuilt.window(isWhole: true)
    #expect(window.states.find(1)?.position == 110, "138 repeats it")
    #expect(window.states.find(2)?.position == 50, "it came back from a retry topic")
    #expect(window.states.find(5)?.position == 0, "its first record was in a log before")
    #expect(window.states.find(3)?.position == 150, "it may have been sent")
    #expect(window.states.find(4)?.position == 120)
    #expect(window.states.find(1)?.push == 110 && window.states.find(3)?.push == 150)
    #expect(window.states.forgotten == 99)
    // What is ahead comes again.
    #expect(!window.contains(id(150)) && window.contains(id(120)))
  }
}
