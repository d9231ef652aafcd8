// SPDX-License-Identifier: Apache-2.0
import ConsumerGroup
import Testing

@Suite struct OpenTransactionsTests {
  @Test func `a partition is held from when readers get no more although its log goes on`() throws {
    var open = OpenTransactions<Int>()
    open.note(1, stable: 10, end: 10, now: 0)
    open.note(2, stable: 10, end: nil, now: 0)
    #expect(open.longest(now: 5_000) == nil && open.count == 0)
    open.note(1, stable: 10, end: 25, now: 5_000)
    open.note(2, stable: 4, end: 9, now: 6_000)
    open.note(1, stable: 10, end: 90, now: 20_000)
    let longest = try #require(open.longest(now: 20_000))
    #expect(longest.partition == 1 && longest.offset == 10 && longest.milliseconds == 15_000)
    open.keep([2])
    #expect(open.longest(now: 20_000)?.partition == 2)
  }

  /// The end is not known after a fetch that failed, as while a partition gets another leader.
  @Test func `a transaction is open though the end of its log is not known for a while`() {
    var open = OpenTransactions<Int>()
    open.note(1, stable: 10, end: 25, now: 1_000)
    open.note(1, stable: 10, end: nil, now: 2_000)
    #expect(open.longest(now: 3_000)?.milliseconds == 2_000)
    open.note(1, stable: 25, end: nil, now: 4_000)
    #expect(open.count == 0)
  }

  @Test func `transactions that end one after the other hold nothing for long`() {
    var open = OpenTransactions<Int>()
    for turn in 0..<100 as Range<Int64> {
      open.note(1, stable: turn, end: turn + 10, now: UInt64(turn) * 1_000)
      #expect(open.longest(now: UInt64(turn) * 1_000)?.milliseconds == 0)
    }
    open.note(1, stable: 110, end: 110, now: 200_000)
    #expect(open.longest(now: 200_000) == nil)
  }
}
