// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Kafka
import SenderDecisions
import Testing

@testable import Sender

/// What is acknowledged is complete, and nothing else.
@Suite struct AcknowledgementTests {
  private func origin(_ offset: Int64) -> Origin { Origin(partition: 0, epoch: 1, offset: offset) }

  @Test func `a batch completes its own records when it lands, in any order of landing`() {
    var batches = ReceiptBatches()
    var slots: [Int] = []
    for batch in 0..<3 as Range<Int64> {
      for line in 0..<10 {
        batches.lines.append(UInt8(ascii: "x"))
        batches.lineAdded(for: origin(batch * 10 + Int64(line)), now: 100)
      }
      let slot = batches.launchSlot()
      batches.launched(in: slot)
      slots.append(slot)
      let isEmpty = batches.isEmpty && batches.lines.isEmpty
      #expect(isEmpty)
    }
    let flying = batches.flyingCount
    #expect(flying == 3)
    var completed: [Int64] = []
    for slot in [slots[2], slots[0], slots[1]] {
      batches.landed(in: slot) { completed.append($0.offset) }
    }
    #expect(completed == Array(20..<30) + Array(0..<20))
    let left = batches.flyingCount
    #expect(left == 0)
  }

  @Test func `a batch that the producer had no room for keeps its records`() {
    var batches = ReceiptBatches()
    batches.lineAdded(for: origin(7), now: 5)
    _ = batches.launchSlot()
    batches.lineAdded(for: origin(8), now: 6)
    let begun = batches.begun
    #expect(begun == 5)
    let slot = batches.launchSlot()
    batches.launched(in: slot)
    var completed: [Int64] = []
    batches.landed(in: slot) { completed.append($0.offset) }
    #expect(completed == [7, 8])
  }

  @Test
  func `while the producer has no room, batches stay as large as a record may be, and in order`() {
    var batches = ReceiptBatches()
    for number in 0..<Int64(2 * ReceiptLimits.outcomes + 1) {
      batches.lines.append(UInt8(ascii: number < 500 ? "a" : number < 1_000 ? "b" : "c"))
      batches.lineAdded(for: origin(number), now: 5)
      if batches.isFull { batches.putAside() }
    }
    var sizes: [Int] = []
    var completed: [Int64] = []
    while let lines = batches.nextAside {
      sizes.append(lines.count)
      let isOfOneBatch = lines.allSatisfy { $0 == lines[0] }
      #expect(isOfOneBatch)
      let slot = batches.launchSlot()
      batches.launched(in: slot)
      batches.landed(in: slot) { completed.append($0.offset) }
    }
    #expect(sizes == [500, 500])
    #expect(completed == Array(0..<1_000))
    let (left, isEmpty, unacknowledged) = (
      batches.lines.count, batches.isEmpty, batches.unacknowledged
    )
    #expect(left == 1 && !isEmpty && unacknowledged == 1)
  }

  @Test func `with enough batches on their way the next one grows, until one lands or it is large`()
  {
    var batches = ReceiptBatches()
    var offset: Int64 = 0
    func add(_ lines: Int, of bytes: Int = 1) {
      for _ in 0..<lines {
        batches.lines.append(Array(repeating: UInt8(ascii: "x"), count: bytes))
        batches.lineAdded(for: origin(offset), now: 100)
        offset += 1
      }
    }
    for _ in 0..<ReceiptLimits.flying {
      add(ReceiptLimits.outcomes)
      let isFull = batches.isFull
      #expect(isFull)
      batches.launched(in: batches.launchSlot())
    }
    add(3 * ReceiptLimits.outcomes)
    let later = 100 + 10 * ReceiptLimits.age
    let (isFull, isDue, mayFly) = (batches.isFull, batches.isDue(now: later), batches.mayFly)
    #expect(!isFull && !isDue && !mayFly)
    batches.landed(in: 3) { _ in }
    let (isFullAfter, isDueAfter) = (batches.isFull, batches.isDue(now: 100))
    #expect(isFullAfter && isDueAfter)
    batches.launched(in: batches.launchSlot())
    add(2, of: ReceiptLimits.bytes / 2)
    let isLarge = batches.isFull
    #expect(isLarge)
  }

  @Test func `a refused batch goes again before all others, in two halves down to single lines`() {
    var batches = ReceiptBatches()
    for number in 0..<Int64(5) {
      if number > 0 { batches.lines.append(UInt8(ascii: "\n")) }
      batches.lines.append(Array("line \(number)".utf8))
      batches.lineAdded(for: origin(number), now: 5)
    }
    let all = Array(batches.lines.bytes)
    let slot = batches.launchSlot()
    batches.launched(in: slot)
    batches.lines.append(Array("line 5".utf8))
    batches.lineAdded(for: origin(5), now: 6)
    batches.takeBack(slot, all)
    var texts: [String] = []
    var completed: [Int64] = []
    while let lines = batches.nextAside {
      if batches.halveNext() { continue }
      texts.append(String(decoding: lines, as: UTF8.self))
      let slot = batches.launchSlot()
      batches.launched(in: slot)
      batches.landed(in: slot) { completed.append($0.offset) }
    }
    #expect(texts == (0..<5).map { "line \($0)" })
    #expect(completed == Array(0..<5))
    let (unacknowledged, flying) = (batches.unacknowledged, batches.flyingCount)
    #expect(unacknowledged == 1 && flying == 0)
    let isSplit = batches.halveNext()
    #expect(!isSplit)
  }

  @Test func `side records keep their place until they are removed, and places are reused`() {
    var sides = SideRecords()
    let first = sides.add(SideRecord(origin: origin(1), receipt: [1]))
    let second = sides.add(SideRecord(origin: origin(2)))
    #expect(sides.remove(first).receipt == [1])
    let third = sides.add(SideRecord(origin: origin(3)))
    #expect(third == first)
    #expect(sides.remove(second).origin?.offset == 2)
    #expect(sides.remove(third).origin?.offset == 3)
    #expect(sides.count == 0)
  }

  @Test(arguments: [0, 1, 77, 1 << 40])
  func `delivery tags tell receipts from side records`(slot: Int) {
    guard case .receipts(slot) = DeliveryTag(DeliveryTag.receipts(slot: slot).value) else {
      return #expect(Bool(false), "a receipts tag did not survive")
    }
    guard case .side(slot) = DeliveryTag(DeliveryTag.side(slot: slot).value) else {
      return #expect(Bool(false), "a side tag did not survive")
    }
  }
}
