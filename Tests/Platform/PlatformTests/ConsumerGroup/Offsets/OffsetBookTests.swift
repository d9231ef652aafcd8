// SPDX-License-Identifier: Apache-2.0
import ConsumerGroup
import Testing
import Waiting

@Suite struct OffsetBookTests {
  private let one = Source(topic: 0, partition: 1)
  private let two = Source(topic: 1, partition: 3)

  private func book() -> OffsetBook {
    var book = OffsetBook(topics: 2)
    book.begin([one, two], epoch: 1)
    return book
  }

  private func committable(_ book: OffsetBook, _ source: Source) -> Int64? {
    book.progress.first { $0.partition == source }?.committable
  }

  @Test func `a partition begins with its first record, wherever that is`() {
    var book = book()
    #expect(book.progress.isEmpty)
    #expect(book.received(one, 40) == .new)
    #expect(committable(book, one) == 40 && committable(book, two) == nil)
    #expect(book.received(two, 7) == .new)
    book.completed(two, epoch: book.epoch, 7)
    #expect(committable(book, two) == 8 && committable(book, one) == 40)
  }

  @Test func `only a contiguous prefix counts as done`() {
    var book = book()
    for offset in 0..<4 as Range<Int64> { #expect(book.received(one, offset) == .new) }
    book.completed(one, epoch: book.epoch, 2)
    book.completed(one, epoch: book.epoch, 0)
    #expect(committable(book, one) == 1)
    book.completed(one, epoch: book.epoch, 1)
    #expect(committable(book, one) == 3)
  }

  @Test func `missing and repeated records are reported`() {
    var book = book()
    #expect(book.received(one, 5) == .new)
    #expect(book.received(one, 9) == .newAfter(6..<9))
    #expect(book.received(one, 9) == .known(expected: 10))
    #expect(book.received(one, 2) == .known(expected: 10))
    book.completed(one, epoch: book.epoch, 2)
    book.completed(one, epoch: book.epoch, 5)
    #expect(committable(book, one) == 9)
  }

  /// The marker of a transaction has an offset and is no record.
  @Test func `a group is not behind by what is no record`() {
    var book = book()
    for offset in 5..<8 as Range<Int64> { _ = book.received(one, offset) }
    #expect(book.ended(one, at: 8) == nil)
    #expect(book.ended(one, at: 9) == 8..<9)
    #expect(book.ended(one, at: 9) == nil)
    #expect(committable(book, one) == 5, "three are open")
    for offset in 5..<8 as Range<Int64> { book.completed(one, epoch: book.epoch, offset) }
    #expect(committable(book, one) == 9)
    #expect(book.received(one, 9) == .new)
    #expect(committable(book, one) == 9)
  }

  @Test
  func
    `a group is not behind by a partition of which nothing came, as after a restart behind a marker`()
  {
    var book = book()
    #expect(book.ended(one, at: 9) == nil)
    #expect(committable(book, one) == 9)
    #expect(book.ended(two, at: 0) == nil)
    #expect(committable(book, two) == 0, "the next owner knows that nothing was there")
    #expect(book.received(one, 9) == .new)
    #expect(book.received(one, 8) == .known(expected: 10))
  }

  @Test
  func `records missing from a log that was empty are reported, although nothing was read before`()
  {
    var book = book()
    #expect(book.ended(one, at: 0) == nil)
    #expect(book.received(one, 30) == .newAfter(0..<30))
    #expect(book.ended(two, at: 0) == nil)
    #expect(book.received(two, 0) == .new)
    #expect(book.received(two, 1) == .new)
  }

  @Test func `a record that was taken in an earlier assignment completes nothing`() {
    var book = book()
    let before = book.epoch
    _ = book.received(one, 3)
    book.removeAll()
    #expect(book.progress.isEmpty)
    book.completed(one, epoch: before, 3)
    book.begin([one], epoch: 2)
    _ = book.received(one, 3)
    book.completed(one, epoch: before, 3)
    #expect(committable(book, one) == 3)
    book.completed(one, epoch: book.epoch, 3)
    #expect(committable(book, one) == 4)
  }

  @Test func `a log that is another one is started again`() {
    var book = book()
    for offset in 100..<103 as Range<Int64> { _ = book.received(one, offset) }
    book.restart(one, at: 0)
    #expect(committable(book, one) == 0)
    book.completed(one, epoch: book.epoch, 100)
    #expect(committable(book, one) == 0)
    book.completed(one, epoch: book.epoch, 0)
    #expect(committable(book, one) == 1)
  }

  /// Records of several partitions, taken and completed in any order, with offsets that are no records among them.
  @Test(arguments: 0..<50 as Range<UInt64>)
  func `no open record is ever passed, and all is done in the end`(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var book = book()
    let sources = [one, two]
    var next: [Int64] = [3, 0]
    var open: [Set<Int64>] = [[], []]
    for _ in 0..<2_000 {
      let place = random.below(2)
      switch random.below(10) {
      case 0..<4:
        if random.oneIn(5) { next[place] += Int64(random.below(3)) }
        let expected = book.received(sources[place], next[place])
        if case .known = expected { Issue.record("seed \(seed): \(next[place]) is new") }
        open[place].insert(next[place])
        next[place] += 1
      case 4..<8:
        guard let offset = open[place].randomElement(using: &random) else { continue }
        open[place].remove(offset)
        book.completed(sources[place], epoch: book.epoch, offset)
      default:
        if random.oneIn(2) { next[place] += 1 }
        _ = book.ended(sources[place], at: next[place])
      }
      guard let done = committable(book, sources[place]) else { continue }
      #expect(done <= open[place].min() ?? next[place], "seed \(seed)")
    }
    for place in 0..<2 {
      for offset in open[place] { book.completed(sources[place], epoch: book.epoch, offset) }
      _ = book.ended(sources[place], at: next[place])
      #expect(committable(book, sources[place]) == next[place], "seed \(seed)")
    }
  }
}
