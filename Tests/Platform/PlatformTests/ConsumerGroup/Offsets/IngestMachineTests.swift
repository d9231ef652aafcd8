// SPDX-License-Identifier: Apache-2.0
import IngestDecisions
import Testing

@Suite struct IngestMachineTests {
  private func taken(_ walk: FanOut) -> IngestMachine {
    var machine = IngestMachine(capacity: 2)
    machine.take(partition: 3, epoch: 1, offset: 7, created: 5)
    machine.make(walk)
    return machine
  }

  @Test func `a request is complete when all its records are made and acknowledged`() {
    var machine = taken(.tokens(2))
    for index in 0..<2 {
      let step = machine.next
      #expect(step == .notify(index))
      machine.expect()
      machine.made()
    }
    let slot = machine.slot
    // The first acknowledgement comes before the last record is made.
    let early = machine.settle(slot)
    let (rest, whileMade) = (machine.next, machine.finish())
    #expect(early == nil && rest == nil && whileMade == nil)
    let (count, isExpanding, oldest) = (machine.count, machine.isExpanding, machine.oldest)
    #expect(count == 1 && !isExpanding && oldest == 5)
    let done = machine.settle(slot)
    #expect(done?.offset == 7 && done?.partition == 3 && done?.epoch == 1)
    let left = machine.count
    #expect(left == 0)
  }

  @Test func `a request of which nothing is written is complete at once`() {
    var machine = taken(.tokens(0))
    let (step, done) = (machine.next, machine.finish())
    #expect(step == nil && done?.offset == 7)
  }

  @Test func `a request that was dropped in the middle completes nothing`() {
    var machine = taken(.tokens(2))
    machine.expect()
    machine.made()
    machine.drop()
    let isExpanding = machine.isExpanding
    #expect(!isExpanding)
    let done = machine.settle(machine.slot)
    #expect(done?.epoch == RequestTable.noEpoch)
    machine.drop()
    let count = machine.count
    #expect(count == 0, "there was nothing at hand")
  }
}
