// SPDX-License-Identifier: Apache-2.0
import ConsumerGroup
import Testing

@Suite struct LogEndTests {
  @Test func `behind a transaction's marker nothing is left to do`() {
    var ledger = OffsetLedger(nextOffset: 5)
    for offset: Int64 in 5..<8 { #expect(ledger.received(offset) == .new) }
    for offset: Int64 in 5..<8 { ledger.completed(offset) }
    // The marker has offset 8.
    ledger.ended(at: 9)
    #expect(ledger.committable == 9 && ledger.incomplete == 0)
    #expect(ledger.received(9) == .new)
    #expect(ledger.committable == 9)
  }

  @Test func `an open record holds the end back until it is done`() {
    for open: Int64 in 0..<4 {
      var ledger = OffsetLedger(nextOffset: 0)
      for offset: Int64 in 0..<4 { _ = ledger.received(offset) }
      for offset: Int64 in 0..<4 where offset != open { ledger.completed(offset) }
      ledger.ended(at: 6)
      #expect(ledger.committable == open)
      ledger.completed(open)
      #expect(ledger.committable == 6)
    }
  }

  @Test func `an end that says nothing new changes nothing`() {
    var ledger = OffsetLedger(nextOffset: 3)
    _ = ledger.received(3)
    ledger.ended(at: 4)
    ledger.ended(at: 2)
    #expect(ledger.committable == 3 && ledger.nextOffset == 4 && ledger.incomplete == 1)
  }

  @Test(arguments: [1, 100, 5_000])
  func `a long stretch without records is passed over`(length: Int64) {
    var ledger = OffsetLedger(nextOffset: 0)
    _ = ledger.received(0)
    ledger.ended(at: 1 + length)
    #expect(ledger.committable == 0)
    ledger.completed(0)
    #expect(ledger.committable == 1 + length)
  }
}
