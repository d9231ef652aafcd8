// SPDX-License-Identifier: Apache-2.0
import Bytes
import Kafka
import Testing

@testable import Sender

@Suite("What is acknowledged is complete, and nothing else")
struct AcknowledgementTests {
  private func origin(_ offset: Int64) -> Origin {
    Origin(partition: 0, epoch: 1, offset: offset)
  }

  @Test("a batch completes its own records when it lands, in any order of landing")
  func batchesComplete() {
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

  @Test("a batch that the producer had no room for keeps its records")
  func fullProducerKeepsTheBatch() {
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

  @Test("side records keep their place until they are removed, and places are reused")
  func sideRecords() {
    var sides = SideRecords()
    let first = sides.add(SideRecord(origin: origin(1), receipt: [1]))
    let second = sides.add(SideRecord(origin: origin(2)))
    #expect(sides.remove(first).receipt == [1])
    let third = sides.add(SideRecord(origin: origin(3)))
    #expect(third == first)
    #expect(sides.remove(second).origin.offset == 2)
    #expect(sides.remove(third).origin.offset == 3)
    #expect(sides.count == 0)
  }

  @Test("delivery tags tell receipts from side records", arguments: [0, 1, 77, 1 << 40])
  func tags(slot: Int) {
    guard case .receipts(slot) = DeliveryTag(DeliveryTag.receipts(slot: slot).value) else {
      Issue.record("a receipts tag did not survive")
      return
    }
    guard case .side(slot) = DeliveryTag(DeliveryTag.side(slot: slot).value) else {
      Issue.record("a side tag did not survive")
      return
    }
  }
}

@Suite("Commits")
struct CommitStateTests {
  private let partition = TopicPartition(topic: "push.notifications", partition: 3)

  private func progress(_ offset: Int64, epoch: UInt32 = 1) -> [PartitionProgress] {
    [PartitionProgress(partition: partition, epoch: epoch, committable: offset)]
  }

  @Test("only what moved is committed, one commit at a time")
  func oneAtATime() {
    var commits = CommitState()
    commits.begin(partition, epoch: 1, committed: 10, next: 10)
    #expect(commits.due().isEmpty)
    commits.note(progress(15))
    #expect(commits.due() == [CommitRequest(partition, offset: 15)])
    commits.note(progress(20))
    #expect(commits.due().isEmpty)
    commits.answered([CommitResult(partition: partition, offset: 15, error: nil)])
    #expect(commits.due() == [CommitRequest(partition, offset: 20)])
  }

  @Test("a refused commit comes again")
  func refusedComesAgain() {
    var commits = CommitState()
    commits.begin(partition, epoch: 1, committed: nil, next: nil)
    commits.note(progress(5))
    _ = commits.due()
    let error = KafkaError(code: 27, message: "rebalance", isFatal: false, isRetriable: true)
    commits.answered([CommitResult(partition: partition, offset: 5, error: error)])
    #expect(commits.due() == [CommitRequest(partition, offset: 5)])
  }

  @Test("what an earlier assignment reports is never committed")
  func staleEpoch() {
    var commits = CommitState()
    commits.begin(partition, epoch: 2, committed: 10, next: 10)
    commits.note(progress(99, epoch: 1))
    #expect(commits.due().isEmpty)
    #expect(commits.everything().isEmpty)
    var memory = CompletionMemory()
    commits.handOver(to: &memory)
    commits.note(progress(99, epoch: 2))
    #expect(commits.everything().isEmpty)
  }
}

@Suite("What was completed before a rebalance is not sent again after it")
struct CompletionMemoryTests {
  private let partition = TopicPartition(topic: "push.notifications", partition: 3)

  private func memory() -> CompletionMemory {
    var memory = CompletionMemory()
    memory.remember(
      partition, committed: 100, committable: 150, completedAbove: [160..<170, 180..<200])
    return memory
  }

  @Test("a refused last commit is made good by what is remembered")
  func refusedCommit() {
    var memory = memory()
    let (next, above) = memory.resume(partition, committed: 100)
    #expect(next == 150)
    #expect(above == [160..<170, 180..<200])
  }

  @Test("another owner's progress goes before, and what it passed is dropped")
  func othersProgress() {
    var memory = memory()
    let (next, above) = memory.resume(partition, committed: 175)
    #expect(next == 175)
    #expect(above == [180..<200])
  }

  @Test("a log that begins anew is read from its own offset", arguments: [nil, 0, 99])
  func anotherLog(committed: Int64?) {
    var memory = memory()
    let (next, above) = memory.resume(partition, committed: committed)
    #expect(next == committed)
    #expect(above.isEmpty)
  }

  @Test("what was never committed is not believed, and each memory serves once")
  func oncePerMemory() {
    var memory = memory()
    _ = memory.resume(partition, committed: 100)
    #expect(memory.resume(partition, committed: 100).next == 100)
    memory.remember(partition, committed: -1, committable: 10, completedAbove: [])
    #expect(memory.resume(partition, committed: nil).next == nil)
  }
}
