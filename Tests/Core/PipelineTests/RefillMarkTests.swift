// SPDX-License-Identifier: Apache-2.0
import Pipeline
import Testing

@Suite struct RefillMarkTests {
  /// Whether each of these takes is told of, in turn.
  private func told(_ mark: RefillMark, _ takes: [(records: Int, bytes: Int)]) -> [Bool] {
    var mark = mark
    return takes.map { mark.take(records: $0.records, bytes: $0.bytes) }
  }

  @Test func `each half of a share is told of`() {
    let mark = RefillMark(records: 400, bytes: 1 << 20)
    let takes = [199, 1, 199, 5_000, 1].map { (records: $0, bytes: 0) }
    #expect(told(mark, takes) == [false, true, false, true, false])
  }

  @Test func `half of the bytes counts as well`() {
    let mark = RefillMark(records: 400, bytes: 1_000)
    let takes = [499, 1, 499].map { (records: 1, bytes: $0) }
    #expect(told(mark, takes) == [false, true, false])
  }

  @Test func `a reader that keeps up tells nothing`() {
    let mark = RefillMark(records: 400, bytes: 1 << 20)
    let takes = [(records: 150, bytes: 60_000), (records: 0, bytes: 0)]
    #expect(!told(mark, Array(repeating: takes, count: 1_000).flatMap { $0 }).contains(true))
  }

  /// Whatever is taken at once: a partition that was full has room when the last word about it is given.
  @Test(arguments: [1, 2, 7, 99, 100, 101, 250])
  func `no full partition is emptied without a word`(step: Int) {
    for share in [1, 2, 3, 100, 251] {
      for waiting in share...(share + 60) {
        var mark = RefillMark(records: share, bytes: 1 << 20)
        var left = waiting
        var isTold = false
        while left > 0 {
          let taken = min(step, left)
          left -= taken
          if mark.take(records: taken, bytes: taken) && left < share { isTold = true }
        }
        #expect(isTold, "share \(share), \(waiting) waiting, \(step) at a time")
      }
    }
  }
}
