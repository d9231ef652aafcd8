// SPDX-License-Identifier: Apache-2.0

import Contract
import Testing
import Waiting

@testable import ConsumerGroup

@Suite struct DedupWindowTests {
  private func id(_ number: UInt64) -> NotificationID { NotificationID(high: 7, low: number) }

  @Test func `the window refuses an id that is in it`() {
    var window = DedupWindow(capacity: 3)
    #expect(window.insert(id(1)) == true)
    #expect(window.insert(id(1)) == false)
    #expect(window.insert(id(2)) == true)
    #expect(window.count == 2)
  }

  @Test func `the oldest leaves first`() {
    var window = DedupWindow(capacity: 3)
    for number in 1...4 as ClosedRange<UInt64> { #expect(window.insert(id(number)) == true) }
    #expect(window.count == 3)
    #expect(!window.contains(id(1)))
    #expect(window.contains(id(2)))
    #expect(window.insert(id(1)) == true, "it left, so it is new again")
    #expect(!window.contains(id(2)))
  }

  @Test func `the nil id is an id like any other`() {
    var window = DedupWindow(capacity: 2)
    let zero = NotificationID(high: 0, low: 0)
    #expect(!window.contains(zero))
    #expect(window.insert(zero) == true)
    #expect(window.insert(zero) == false)
  }

  /// Whoever makes a request may choose it (RFC 9562 §5.10); it also stands for ids that were freed.
  @Test func `the id of all ones is an id like any other`() throws {
    let ones = NotificationID(high: .max, low: .max)
    var window = DedupWindow(capacity: 3)
    for round in 0..<40 as Range<UInt64> {
      #expect(window.insert(ones) == true)
      #expect(window.insert(ones) == false)
      var seen: [NotificationID] = []
      window.visit { id, _ in seen.append(id) }
      #expect(seen.last == ones)
      // Another id was freed before it leaves.
      #expect(window.insert(id(round * 3)) == true)
      window.free(id(round * 3))
      for number in 1...2 as ClosedRange<UInt64> {
        #expect(window.insert(id(round * 3 + number)) == true)
      }
      #expect(!window.contains(ones) && window.count == 3)
      let places = window.table.filter { !$0.isEmpty }.count
      try #require(places == 2, "places that nothing frees fill the table, and a search has no end")
    }
    #expect(window.insert(ones) == true)
    #expect(window.remove(ones) && !window.contains(ones))
    #expect(window.insert(ones) == true)
    window.free(ones)
    #expect(!window.contains(ones) && window.insert(ones) == true)
  }

  @Test func `memory is as stated`() {
    #expect(DedupWindow(capacity: 100_000).memoryBytes == 256 * 18 + 452 * 8)
  }

  /// Few distinct ids, ids that count up and ids that share their place, against a queue and a set.
  @Test(arguments: 0..<40 as Range<UInt64>)
  func `the window agrees with a queue in any order of ids`(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let capacity = 1 + random.below(40)
    var window = DedupWindow(capacity: capacity)
    let crowded = (0..<2_000).map { id(UInt64($0)) }
      .filter { window.home(DedupWindow.hash(of: $0)) < 6 }
    var queue: [NotificationID] = []
    for step in 0..<6_000 {
      let candidate =
        random.oneIn(2)
        ? crowded[random.below(crowded.count)] : id(random.next() % UInt64(capacity * 3))
      let isNew = !queue.contains(candidate)
      #expect(window.insert(candidate) == isNew, "seed \(seed), step \(step)")
      if isNew {
        queue.append(candidate)
        if queue.count > capacity { queue.removeFirst() }
      }
      let probe = id(random.next() % UInt64(capacity * 3))
      #expect(window.contains(probe) == queue.contains(probe), "seed \(seed), step \(step)")
      if window.contains(probe) != queue.contains(probe) { return }
    }
    #expect(window.count == queue.count)
  }

  /// Ids that are taken back, against a list: the newest takes the place of the one that goes.
  @Test(arguments: 0..<40 as Range<UInt64>)
  func `the window takes ids back in any order`(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let capacity = 1 + random.below(seed < 20 ? 12 : 600)
    var window = DedupWindow(capacity: capacity)
    var list: [NotificationID] = []
    for step in 0..<4_000 {
      let candidate = id(random.next() % UInt64(capacity * 2))
      if random.oneIn(3) {
        window.remove(candidate)
        if let index = list.firstIndex(of: candidate) {
          list[index] = list[list.count - 1]
          list.removeLast()
        }
      } else if window.insert(candidate) {
        list.append(candidate)
        if list.count > capacity { list.removeFirst() }
      }
      #expect(window.count == list.count, "seed \(seed), step \(step)")
      #expect(window.contains(candidate) == list.contains(candidate), "seed \(seed), step \(step)")
    }
    var order: [NotificationID] = []
    window.visit { id, _ in order.append(id) }
    #expect(order == list)
  }

  @Test func `an id that is free again is new, and the others stay as they were`() {
    var window = DedupWindow(capacity: 4)
    for number in 1...4 as ClosedRange<UInt64> { #expect(window.insert(id(number)) == true) }
    window.free(id(2))
    window.free(id(9))
    #expect(!window.contains(id(2)) && window.contains(id(1)) && window.contains(id(4)))
    #expect(window.insert(id(2)) == true, "and the oldest leaves for it")
    #expect(!window.contains(id(1)) && window.count == 4)
    var order: [NotificationID] = []
    window.visit { id, _ in order.append(id) }
    #expect(order == [id(3), id(4), id(2)], "the place of what is free is nobody's")
  }

  @Test func `each id has the payload that came with it, wherever it stands`() {
    var window = DedupWindow(capacity: 300)
    for number in 1...600 as ClosedRange<UInt64> {
      _ = window.insert(id(number), payload: UInt16(number))
    }
    window.remove(id(500))
    for number in 301...600 as ClosedRange<UInt64> {
      #expect(window.payload(of: id(number)) == (number == 500 ? nil : UInt16(number)))
    }
    #expect(window.payload(of: id(300)) == nil)
  }

  /// Ids that come, are taken back and are free again, against a queue.
  @Test(arguments: 0..<40 as Range<UInt64>)
  func `the window agrees with a queue when ids leave from anywhere`(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let capacity = 1 + random.below(20)
    var window = DedupWindow(capacity: capacity)
    var queue: [NotificationID?] = []
    for step in 0..<4_000 {
      let candidate = id(random.next() % UInt64(capacity * 2))
      let place = queue.firstIndex(of: candidate)
      switch random.below(6) {
      case 0:
        window.free(candidate)
        if let place { queue[place] = nil }
      case 1 where queue.last != nil:
        // Only the newest is taken back here: others change places.
        guard let newest = queue.last ?? nil else { continue }
        let wasThere = window.remove(newest)
        #expect(wasThere)
        queue.removeLast()
      default:
        #expect(
          window.insert(candidate, payload: UInt16(step)) == (place == nil),
          "seed \(seed), step \(step)")
        if place == nil {
          queue.append(candidate)
          if queue.count > capacity { queue.removeFirst() }
        }
      }
      #expect(window.count == queue.count)
    }
    var order: [NotificationID] = []
    window.visit { id, _ in order.append(id) }
    #expect(order == queue.compactMap(\.self), "seed \(seed)")
  }
}
