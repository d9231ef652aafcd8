// SPDX-License-Identifier: Apache-2.0

import Random
import Testing

@testable import Delivery

@Suite struct AddressBookTests {
  private func book(_ addresses: [Int]) -> AddressBook<Int> {
    var book = AddressBook<Int>(shortest: 1_000, longest: 8_000)
    book.resolved(addresses)
    return book
  }

  @Test func `takes the first that is least used`() {
    let book = book([3, 1, 2])
    #expect(book.choose(inUse: [], now: 0) == 3)
    #expect(book.choose(inUse: [3], now: 0) == 1)
    #expect(book.choose(inUse: [3, 1], now: 0) == 2)
    #expect(book.choose(inUse: [3, 1, 2, 3], now: 0) == 1)
    #expect(AddressBook<Int>().choose(inUse: [], now: 0) == nil)
  }

  @Test func `a failed address is avoided longer each time`() {
    var book = book([1, 2])
    book.failed(1, now: 0, random: 0)
    #expect(book.isAside(1, now: 499))
    #expect(!book.isAside(1, now: 500))
    #expect(book.choose(inUse: [2, 2, 2], now: 499) == 2, "used as it is, it has not failed")
    book.failed(1, now: 500, random: 0)
    #expect(book.isAside(1, now: 1_499))
    #expect(book.hasOther(now: 1_000))
    book.succeeded(1)
    #expect(!book.isAside(1, now: 501))
    book.failed(1, now: 2_000, random: 0)
    #expect(!book.isAside(1, now: 2_500), "a success starts again")
  }

  @Test func `when all have failed the one that may come back first is taken`() {
    var book = book([1, 2])
    book.failed(2, now: 0, random: 0)
    book.failed(1, now: 100, random: 0)
    #expect(!book.hasOther(now: 200))
    #expect(book.choose(inUse: [], now: 200) == 2)
    #expect(book.aside(now: 200) == 2)
  }

  @Test func `addresses that the name no longer has are not taken`() {
    var book = book([1, 2])
    book.resolved([3])
    #expect(book.choose(inUse: [], now: 0) == 3)
  }

  /// Any failures and look-ups: the choice is always one of the last look-up, never one that is aside while
  /// another is not, and what is remembered is bounded.
  @Test(arguments: 0..<50 as Range<UInt64>)
  func `after random failures and look-ups the choice keeps the rules`(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var book = AddressBook<Int>(shortest: 1_000, longest: 60_000)
    var now: UInt64 = 0
    for step in 0..<2_000 {
      now += UInt64(random.below(500))
      switch random.below(4) {
      case 0: book.resolved((0..<random.below(6)).map { _ in random.below(400) })
      case 1: book.failed(random.below(400), now: now, random: random.next())
      case 2: book.succeeded(random.below(400))
      default: break
      }
      let choice = book.choose(inUse: [random.below(400)], now: now)
      if (choice == nil) != book.latest.isEmpty || choice.map(book.latest.contains) == false {
        Issue.record("seed \(seed), step \(step): a wrong choice")
        return
      }
      if let choice, book.isAside(choice, now: now), book.hasOther(now: now) {
        Issue.record("seed \(seed), step \(step): an address that failed, though another has not")
        return
      }
      if book.aside(now: now) > AddressBook<Int>.capacity {
        Issue.record("seed \(seed), step \(step): remembers too much")
        return
      }
    }
  }
}
