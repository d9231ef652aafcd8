// SPDX-License-Identifier: Apache-2.0

import Testing
import Waiting

@testable import SenderDecisions

@Suite struct AddressBookTests {
  private func book(_ addresses: [Int]) -> AddressBook<Int> {
    var book = AddressBook<Int>(shortest: 1_000, longest: 8_000)
    book.resolved(addresses)
    return book
  }

  @Test func `the book takes the first address that is least used`() {
    let book = book([3, 1, 2])
    #expect(book.ranked(inUse: [], now: 0).first == 3)
    #expect(book.ranked(inUse: [3], now: 0).first == 1)
    #expect(book.ranked(inUse: [3, 1], now: 0).first == 2)
    #expect(book.ranked(inUse: [3, 1, 2, 3], now: 0).first == 1)
    #expect(AddressBook<Int>().ranked(inUse: [], now: 0).first == nil)
  }

  @Test func `a failed address is avoided longer each time`() {
    var book = book([1, 2])
    book.failed(1, now: 0, random: 0)
    #expect(book.isAside(1, now: 499))
    #expect(!book.isAside(1, now: 500))
    #expect(book.ranked(inUse: [2, 2, 2], now: 499).first == 2, "used as it is, it has not failed")
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
    #expect(book.ranked(inUse: [], now: 200).first == 2)
    #expect(book.aside(now: 200) == 2)
  }

  @Test func `one that has failed stands behind those that have not, until that is long ago`() {
    var book = book([1, 2, 3])
    book.failed(1, now: 0, random: 0)
    book.failed(2, now: 0, random: 0)
    book.failed(2, now: 600, random: 0)
    #expect(!book.isAside(1, now: 5_000) && !book.isAside(2, now: 5_000))
    #expect(book.ranked(inUse: [3, 3], now: 5_000) == [3, 1, 2])
    #expect(book.ranked(inUse: [], now: 8_499) == [3, 1, 2])
    #expect(book.ranked(inUse: [], now: 8_500) == [1, 3, 2], "aside until 500, and 8 s more")
    #expect(book.ranked(inUse: [], now: 9_600) == [1, 2, 3])
    book.failed(2, now: 9_600, random: 0)
    #expect(!book.isAside(2, now: 10_100), "as after a first failure")
  }

  @Test func `another address is worth waiting for if it would be tried first`() {
    var book = book([1, 2])
    #expect(book.hasOther(than: 1, now: 0))
    book.failed(2, now: 0, random: 0)
    #expect(!book.hasOther(than: 1, now: 100), "aside")
    #expect(!book.hasOther(than: 1, now: 600), "it has failed, and this one has not")
    book.failed(1, now: 600, random: 0)
    #expect(book.hasOther(than: 1, now: 700))
    #expect(!self.book([1]).hasOther(than: 1, now: 0))
  }

  @Test func `one that has served and failed once stands before those that have only failed`() {
    var book = book([1, 2, 3, 4])
    book.succeeded(3)
    for address in 1...3 { book.failed(address, now: 0, random: 0) }
    #expect(book.ranked(inUse: [], now: 100) == [4, 3, 1, 2], "aside, and known to work")
    #expect(book.ranked(inUse: [], now: 600) == [4, 3, 1, 2])
    book.failed(3, now: 600, random: 0)
    #expect(
      book.ranked(inUse: [], now: 700) == [4, 1, 2, 3], "a second failure: it is like the others")
    book.succeeded(3)
    #expect(book.ranked(inUse: [], now: 700) == [3, 4, 1, 2])
  }

  @Test func `addresses that the name no longer has are not taken`() {
    var book = book([1, 2])
    book.resolved([3])
    #expect(book.ranked(inUse: [], now: 0).first == 3)
  }

  /// Any failures and look-ups: the choice is always one of the last look-up, never one that is aside while
  /// another is not, and what is remembered is bounded.
  @Test(arguments: 0..<50 as Range<UInt64>)
  func `after random failures and look-ups the choice keeps the rules`(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var book = AddressBook<Int>(shortest: 1_000, longest: 60_000)
    var now: UInt64 = 0
    var served: Set<Int> = []
    for step in 0..<2_000 {
      now += UInt64(random.below(500))
      switch random.below(4) {
      case 0: book.resolved((0..<random.below(6)).map { _ in random.below(400) })
      case 1: book.failed(random.below(400), now: now, random: random.next())
      case 2:
        let address = random.below(400)
        served.insert(address)
        book.succeeded(address)
      default: break
      }
      let choice = book.ranked(inUse: [random.below(400)], now: now).first
      if (choice == nil) != book.latest.isEmpty || choice.map(book.latest.contains) == false {
        Issue.record("seed \(seed), step \(step): a wrong choice")
        return
      }
      if let choice, book.isAside(choice, now: now), book.hasOther(now: now),
        !served.contains(choice)
      {
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
