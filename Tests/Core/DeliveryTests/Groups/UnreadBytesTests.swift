// SPDX-License-Identifier: Apache-2.0
import Delivery
import Random
import Testing

@Suite struct UnreadBytesTests {
  private static let spacing: Int64 = 64 << 10

  @Test func `counts what was acknowledged and is not committed`() {
    var unread = UnreadBytes()
    #expect(unread.count == 0)
    for offset in 0..<10 as Range<Int64> { unread.acknowledged(at: offset, bytes: 100) }
    #expect(unread.count == 1_000)
    unread.committed(4)
    #expect(unread.count == 600)
    unread.committed(3)
    #expect(unread.count == 600, "commits that go back say nothing new")
    unread.committed(10)
    #expect(unread.count == 0)
  }

  @Test func `a gap is what another writer wrote`() {
    var unread = UnreadBytes()
    unread.acknowledged(at: 0, bytes: 1_000)
    unread.acknowledged(at: 4_999, bytes: 1_000)
    #expect(unread.count == 5_000_000)
    unread.committed(5_000)
    #expect(unread.count == 0)
    unread.committed(9_000)
    #expect(unread.count == 0, "what others write behind it is seen with the next record")
    unread.acknowledged(at: 9_001, bytes: 1_000)
    #expect(unread.count == 2_000)
  }

  @Test func `a topic with a history is unread until the group's commits are known`() {
    var unread = UnreadBytes()
    unread.acknowledged(at: 1_000_000_000_000, bytes: 1 << 30)
    #expect(unread.count > 1 << 40)
    unread.committed(1_000_000_000_000)
    #expect(unread.count <= 1 << 30 && unread.count >= 0)
    unread.committed(1_000_000_000_001)
    #expect(unread.count == 0)
  }

  @Test func `a record acknowledged late was already counted as a gap`() {
    var unread = UnreadBytes()
    unread.acknowledged(at: 0, bytes: 100)
    unread.acknowledged(at: 2, bytes: 100)
    unread.acknowledged(at: 1, bytes: 100)
    #expect(unread.count == 300)
  }

  @Test func `a group that never commits leaves everything unread`() {
    var unread = UnreadBytes()
    for offset in 0..<100_000 as Range<Int64> { unread.acknowledged(at: offset, bytes: 1_000) }
    #expect(unread.count == 100_000_000)
    unread.committed(100_000)
    #expect(unread.count == 0)
  }

  /// Sizes of two kinds, of which an average would be wrong, and commits anywhere.
  @Test(arguments: 0..<30 as Range<UInt64>)
  func `is off by no more than the marks are apart`(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var unread = UnreadBytes()
    var log = WholeLog()
    let largest = 200 + random.below(20_000)
    for offset in 0..<20_000 as Range<Int64> {
      let bytes = Int64(random.oneIn(20) ? largest : 100 + random.below(100))
      unread.acknowledged(at: offset, bytes: bytes)
      log.append(bytes)
      if random.oneIn(50) {
        unread.committed(log.commit(&random))
      }
      let truth = log.unread
      #expect(
        abs(unread.count - truth) <= Self.spacing + Int64(largest), "seed \(seed), offset \(offset)"
      )
      if abs(unread.count - truth) > Self.spacing + Int64(largest) { return }
    }
  }

  /// Two writers of the same sizes: each sees the other's records as gaps.
  @Test(arguments: 0..<10 as Range<UInt64>)
  func `with two writers is off by a fifth at most`(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var unread = UnreadBytes()
    var log = WholeLog()
    for offset in 0..<50_000 as Range<Int64> {
      let bytes = Int64(random.oneIn(20) ? 2_000 : 100 + random.below(100))
      log.append(bytes)
      let isOwn = random.oneIn(2)
      if isOwn { unread.acknowledged(at: offset, bytes: bytes) }
      if random.oneIn(2_000) {
        unread.committed(log.commit(&random))
      }
      guard isOwn else { continue }
      let truth = log.unread
      #expect(
        abs(unread.count - truth) <= Self.spacing + truth / 5, "seed \(seed), offset \(offset)")
      if abs(unread.count - truth) > Self.spacing + truth / 5 { return }
    }
  }
}

/// A partition of which the size of every record is kept.
private struct WholeLog {
  /// What was written before each offset, and in all.
  private var upTo: [Int64] = [0]
  private var committed = 0

  var unread: Int64 { upTo[upTo.count - 1] - upTo[committed] }

  mutating func append(_ bytes: Int64) { upTo.append(upTo[upTo.count - 1] + bytes) }

  /// Commits any offset from the last one on, and returns it.
  mutating func commit(_ random: inout SeededGenerator) -> Int64 {
    committed += random.below(upTo.count - committed)
    return Int64(committed)
  }
}
