// SPDX-License-Identifier: Apache-2.0

import Contract
import Glibc
import SenderDecisions
import Testing
import Waiting

@Suite struct RetryPacingTests {
  /// The times at which so many records go that failed in one moment, from when they are due, in milliseconds. Each
  /// is read as soon as the one before it is gone, as the loop does.
  private func releases(_ count: Int, of tier: RetryTier, seed: UInt64) -> [Int64] {
    var random = SeededGenerator(seed: seed)
    var pacing = RetryPacing(tier)
    let wall: Int64 = 1_790_000_000_000
    let begun: UInt64 = 1_000_000
    let due = Int64(begun) + tier.delay
    var now = begun
    return (0..<count).map { _ in
      let at = pacing.pace(
        written: wall, wall: wall + Int64(now - begun), now: now, random: random.next())
      now = max(now, at)
      return Int64(at) - due
    }
  }

  /// A thousand pushes fail in one moment: they come back in order, never early, a few at first, then more and more.
  @Test(arguments: RetryTier.allCases)
  func `what failed together does not come back together`(tier: RetryTier) {
    let releases = releases(1_000, of: tier, seed: 1)
    #expect(releases[0] >= 0)
    #expect(releases == releases.sorted())
    #expect(releases.count { $0 < 200 } < 40, "a wave begins with a hundred a second")
    for start in stride(from: 0 as Int64, to: 2_400, by: 100) {
      let burst = releases.count { (start..<start + 100).contains($0) }
      #expect(burst < 200, "\(burst) from \(start) ms on")
    }
  }

  /// The bound that the documents state: N due records of a partition go within ln(1 + N/100) seconds, however many
  /// of them were fetched.
  @Test(arguments: [20, 1_667, 20_000, 1_000_000])
  func `a full tier drains within its bound`(count: Int) {
    for seed in 0..<3 as Range<UInt64> {
      let took = releases(count, of: .minute1, seed: seed).last!
      let bound = 1_000 * log(1 + Double(count) / 100)
      #expect(Double(took) < 1.2 * bound + 50, "\(took) ms for \(count), seed \(seed)")
    }
  }

  @Test func `a single retry is hardly delayed`() {
    for seed in 0..<100 as Range<UInt64> {
      #expect(releases(1, of: .seconds5, seed: seed) == [0])
      #expect(releases(2, of: .seconds5, seed: seed).last! <= 20)
    }
  }

  /// Five thousand a second that are not due together need no spreading: once the pace has found that out, each
  /// goes when it is due.
  @Test func `a steady stream goes at its own pace`() {
    var random = SeededGenerator(seed: 7)
    var pacing = RetryPacing(.seconds5)
    let wall: Int64 = 1_790_000_000_000
    var now: UInt64 = 1_000_000
    for number in 0..<100_000 {
      let written = wall + Int64(number / 5)
      let at = pacing.pace(
        written: written, wall: wall + Int64(now) - 1_000_000, now: now, random: random.next())
      now = max(now, at)
      guard number > 50_000 else { continue }
      let late = Int64(at) - (1_000_000 + Int64(number / 5) + RetryTier.seconds5.delay)
      #expect(late <= 30, "record \(number)")
    }
  }

  /// After a pause the destination may be another one than it was: a wave begins slowly again.
  @Test func `a wave after a pause begins slowly`() {
    var random = SeededGenerator(seed: 8)
    var pacing = RetryPacing(.seconds5)
    func wave(at begun: UInt64) -> [UInt64] {
      var now = begun
      return (0..<500).map { _ in
        let at = pacing.pace(written: 0, wall: 900_000, now: now, random: random.next())
        now = max(now, at)
        return at
      }
    }
    let first = wave(at: 1_000_000)
    #expect(first.last! >= 1_001_000 && first.last! < 1_003_000)
    let second = wave(at: first.last! + 3_000)
    #expect(second.last! - second[0] >= 1_000)
  }

  /// Anyone may have written a record of a retry topic, with any timestamp.
  @Test(arguments: RetryTier.allCases, [.min, -1, 0, 4_102_444_800_000, .max - 1, .max] as [Int64])
  func `no timestamp holds a line longer than its tier`(tier: RetryTier, written: Int64) {
    var random = SeededGenerator(seed: 3)
    var pacing = RetryPacing(tier)
    let now: UInt64 = 50_000
    let wall: Int64 = 1_790_000_000_000
    let latest = now + UInt64(tier.delay + 200)
    for stamp in [written, wall, written, .min, .max, written] {
      let at = pacing.pace(written: stamp, wall: wall, now: now, random: random.next())
      #expect(at <= latest, "\(stamp)")
    }
  }

  /// A clock that is set back makes what is on the topic a thing of the future: the line moves on at its pace.
  @Test(arguments: [-3_600_000, -1_000, 0] as [Int64])
  func `a step of the clock does not stop the line`(step: Int64) {
    var random = SeededGenerator(seed: 4)
    var pacing = RetryPacing(.minutes15)
    let begun: Int64 = 1_790_000_000_000
    var now: UInt64 = 1_000_000
    // A hundred records, one written each 10 ms; the clock steps when the tenth is read.
    for number in 0..<100 as Range<Int64> {
      let wall = begun + Int64(now) - 1_000_000 + (number >= 10 ? step : 0)
      let at = pacing.pace(
        written: begun + 10 * number, wall: wall, now: now, random: random.next())
      now = max(now, at)
    }
    let tookMilliseconds = Int64(now) - 1_000_000
    #expect(tookMilliseconds >= 900_000)
    #expect(tookMilliseconds < 900_000 + 3_000)
  }
}
