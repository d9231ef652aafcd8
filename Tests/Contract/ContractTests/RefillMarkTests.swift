// SPDX-License-Identifier: Apache-2.0
import Contract
import Testing

@Suite struct RefillMarkTests {
  private struct Take {
    var records: Int
    var bytes = 0
    var isEmpty = false
  }

  /// Whether each of these takes is told of, in turn.
  private func told(_ mark: RefillMark, _ takes: [Take]) -> [Bool] {
    var mark = mark
    var offset: Int64 = -1
    return takes.map {
      offset += Int64($0.records)
      return mark.take(
        records: $0.records, through: $0.records == 0 ? nil : offset, bytes: $0.bytes,
        isEmpty: $0.isEmpty)
    }
  }

  @Test func `each half of a share is told of`() {
    let mark = RefillMark(records: 400, bytes: 1 << 20)
    let takes = [199, 1, 199, 5_000, 1].map { Take(records: $0) }
    #expect(told(mark, takes) == [false, true, false, true, false])
  }

  @Test func `half of the bytes counts as well`() {
    let mark = RefillMark(records: 400, bytes: 1_000)
    let takes = [499, 1, 499].map { Take(records: 1, bytes: $0) }
    #expect(told(mark, takes) == [false, true, false])
  }

  /// Whether it learns that from a take of nothing or from one of less than it asked for.
  @Test(arguments: [true, false])
  func `a reader that keeps up tells nothing`(takesNothing: Bool) {
    let takes =
      takesNothing
      ? [Take(records: 150), Take(records: 0, isEmpty: true)] : [Take(records: 150, isEmpty: true)]
    let mark = RefillMark(records: 400, bytes: 1 << 20)
    #expect(!told(mark, Array(repeating: takes, count: 1_000).flatMap { $0 }).contains(true))
  }

  @Test func `a take that empties a full partition is told of`() {
    let mark = RefillMark(records: 400, bytes: 1 << 20)
    #expect(told(mark, [Take(records: 400, isEmpty: true)]) == [true])
  }

  /// A partition of transactions of one record each holds as many markers as records.
  @Test func `records that are not handed over count by their offsets`() {
    var mark = RefillMark(records: 400, bytes: 1 << 20)
    let told = (0..<200).map { number in
      mark.take(records: 1, through: Int64(number) * 2, bytes: 0, isEmpty: false)
    }
    #expect(told.filter { $0 }.count == 1 && told[100])  // the first offset counts as 1
  }

  /// An offset that is none (of an error), or an earlier one, is no distance.
  @Test(arguments: [-1_001, 5] as [Int64])
  func `a message about the partition counts as one record`(offset: Int64) {
    var mark = RefillMark(records: 4, bytes: 1 << 20)
    let told = [1_000_000, offset].map {
      mark.take(records: 1, through: $0, bytes: 0, isEmpty: false)
    }
    #expect(told == [false, true])
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
          let word = mark.take(
            records: taken, through: Int64(waiting - left), bytes: taken, isEmpty: taken < step)
          if word && left < share { isTold = true }
        }
        #expect(isTold, "share \(share), \(waiting) waiting, \(step) at a time")
      }
    }
  }
}
