// SPDX-License-Identifier: Apache-2.0
import Contract
import Testing

@testable import Access

@Suite struct BodyBillTests {
  @Test func `requests, empty lines and unpacked bytes are charged once`() {
    var bill = BodyBill()
    #expect(bill.due() == 0 && !bill.isBegun)
    bill.requests = 3
    bill.emptyLines = 4
    #expect(bill.due() == 7 && bill.isBegun)
    #expect(bill.due() == 0)
    bill.bytes = 20 * BodyBill.bytesPerRequest + 1
    #expect(bill.due() == 13, "bytes without requests")
    bill.requests = 10
    #expect(bill.due() == 0, "paid by the bytes")
    bill.requests = 20
    #expect(bill.due() == 4)
  }

  @Test func `a body whose requests are mostly refused is none`() {
    var bill = BodyBill()
    bill.requests = 1_000
    bill.refused = 1_000
    #expect(!bill.isMostlyRefused)
    bill.emptyLines = 1
    #expect(bill.isMostlyRefused)
    bill.requests = 100_000
    bill.refused = 50_000
    bill.emptyLines = 1_000
    #expect(!bill.isMostlyRefused)
    bill.refused = 50_001
    #expect(bill.isMostlyRefused)
  }

  @Test func `a body has a share of a turn, and a small part whatever the others do`() {
    var budget = TurnBudget()
    #expect(budget.allows(TurnBudget.guaranteed))
    #expect(budget.allows(TurnBudget.share - 1))
    #expect(!budget.allows(TurnBudget.share))
    budget.spend(TurnBudget.total)
    #expect(budget.allows(TurnBudget.guaranteed - 1))
    #expect(!budget.allows(TurnBudget.guaranteed))
  }

  @Test func `empty lines are counted, those of a body's end too`() {
    var splitter = ItemSplitter(.lines)
    let bytes = Array("\n\r\na\n\n\nb\n\n".utf8)
    var items = 0
    while splitter.next2(bytes) != nil { items += 1 }
    #expect(items == 2)
    #expect(splitter.emptyLines == 5)
  }

  @Test func `two key files differ by names`() {
    func key(_ name: ExactText, _ byte: UInt8, apps: Set<ExactText> = ["a"]) -> APIKey {
      APIKey(
        name: name, digest: Array(repeating: byte, count: 32), apps: apps, readable: apps,
        rate: nil, maxBody: nil)
    }
    let changes = KeyChanges(
      from: APIKeyTable([key("a", 1), key("b", 2), key("c", 3), key("d", 4)]),
      to: APIKeyTable([key("b", 2), key("c", 3, apps: ["z"]), key("d", 5), key("e", 6)]))
    #expect(changes.added == ["e"])
    #expect(changes.removed == ["a"])
    #expect(changes.changed == ["c", "d"])
  }

  @Test func `a key ends at its time`() {
    let day: Int64 = 86_400_000
    let key = APIKey(
      name: "k", digest: Array(repeating: 0, count: 32), apps: [], readable: [], rate: nil,
      maxBody: nil, expires: 100 * day)
    #expect(!key.isExpired(now: 100 * day - 1) && key.isExpired(now: 100 * day))
    #expect(key.daysLeft(now: 98 * day) == 2)
    #expect(key.daysLeft(now: 100 * day - 1) == 0)
    #expect(key.daysLeft(now: 100 * day) == 0)
    #expect(key.daysLeft(now: 100 * day + 1) == -1)
  }
}

extension ItemSplitter {
  fileprivate mutating func next2(_ bytes: [UInt8]) -> Range<Int>? {
    try? next(in: bytes.span, isEnd: true)
  }
}
