// SPDX-License-Identifier: Apache-2.0
import ConsumerGroup
import Contract
import Testing

@Suite struct PartitionMemoryTests {
  private var memory: PartitionMemory<Int> {
    var memory = PartitionMemory<Int>(capacity: 10)
    var window = DedupWindow(capacity: 10)
    for number in 0..<20 as Range<UInt64> {
      _ = window.insert(NotificationID(high: 1, low: number))
    }
    memory.keep(1, window, next: 20)
    memory.completions.remember(1, committed: 15, committable: 20, completedAbove: [22..<25])
    return memory
  }

  @Test func `a partition that comes back goes on where it stopped, with the ids it had`() {
    var memory = memory
    let start = memory.start(1, takesIDs: true, committed: 15, map: [])
    #expect(start.resume == ResumePoint(next: 20, completedAbove: [22..<25]))
    #expect(start.isNews && start.ids?.window?.count == 10 && !start.mustRead)
    let again = memory.start(1, takesIDs: true, committed: 15, map: [])
    #expect(again.resume.next == 15 && again.ids?.window == nil, "what is remembered is used up")
  }

  @Test func `another process has worked on it meanwhile, although the offset stayed where it was`()
  {
    var memory = memory
    let start = memory.start(1, takesIDs: true, committed: 20, map: [22..<24, 27..<28])
    #expect(start.resume == ResumePoint(next: 20, completedAbove: [22..<25, 27..<28]))
    #expect(start.ids?.window?.count == 10 && start.ids?.missing == 20..<20)
    #expect(start.mustRead && start.ids?.ahead == 20..<38, "states that it may have sent")
  }

  @Test func `one that is new has its ids read, as many as a window holds`() {
    var memory = memory
    let start = memory.start(2, takesIDs: true, committed: 30, map: [32..<33])
    #expect(start.resume == ResumePoint(next: 30, completedAbove: [32..<33]) && !start.isNews)
    #expect(start.mustRead && start.ids?.window == nil && start.ids?.missing == 20..<30)
    // What the owner before may have sent: as far as its map goes, and a window beyond.
    #expect(start.ids?.ahead == 30..<43)
  }

  @Test func `no ids are read where none are taken, none was read before, or nobody wants them`() {
    var memory = memory
    #expect(memory.start(2, takesIDs: false, committed: 30, map: []).ids == nil)
    #expect(memory.start(2, takesIDs: true, committed: nil, map: [], logStart: 30).ids == nil)
    #expect(memory.start(2, takesIDs: true, committed: 0, map: []).ids == nil)
    let above = memory.start(3, takesIDs: true, committed: 0, map: [2..<4]).ids
    #expect(above?.missing == 0..<0 && above?.ahead == 0..<14)
    var without = PartitionMemory<Int>(capacity: 0)
    #expect(without.start(2, takesIDs: true, committed: 30, map: []).ids == nil)
    var unread = PartitionMemory<Int>(capacity: 10, isRebuilding: false)
    #expect(!unread.start(2, takesIDs: true, committed: 30, map: []).mustRead)
  }

  @Test(arguments: [true, false])
  func `of another log, or another process's partition, nothing is remembered`(isAll: Bool) {
    var memory = memory
    if isAll { memory.removeAll() } else { memory.forget(1) }
    let start = memory.start(1, takesIDs: true, committed: 15, map: [])
    #expect(start.resume == ResumePoint(next: 15) && start.ids?.missing == 5..<15)
  }
}
