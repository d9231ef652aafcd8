// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import Kafka

@Suite struct ReadProgressTests {
  @Test func `a log is read when its records up to the end are, and missing offsets are counted`() {
    var progress = ReadProgress()
    progress.begin(at: 5)
    progress.begin(at: 0)
    #expect(progress.hasRead(to: [5, 0], now: 0) && !progress.hasRead(to: [8, 0], now: 9_999))
    #expect(progress.read(0, 5) == 0 && progress.read(0, 8) == 2 && progress.read(0, 3) == 0)
    #expect(progress.read(0, 7) == 3 && progress.hasRead(to: [8, 0], now: 0))
  }

  /// A topic that others write to in transactions, while another partition of it is never quiet.
  @Test func `a marker at a log's end keeps nobody waiting, though other partitions go on`() {
    var progress = ReadProgress()
    progress.begin(at: 0)
    progress.begin(at: 0)
    #expect(progress.read(0, 0) == 0)
    progress.ended(0, now: 100)
    var end: UInt64?
    for now in stride(from: UInt64(100), to: 3_000, by: 50) {
      #expect(progress.read(1, Int64(now / 50 - 2)) == 0)
      if end == nil, progress.hasRead(to: [2, 4], now: now) { end = now }
    }
    #expect(end == 1_100)
    #expect(progress.read(0, 2) == 1, "what was held back comes")
    #expect(!progress.hasRead(to: [4, 4], now: 9_999))
  }
}
