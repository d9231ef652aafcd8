// SPDX-License-Identifier: Apache-2.0
import IngestDecisions
import Testing

@Suite struct FanOutTests {
  private func steps(_ walk: FanOut) -> [FanOut.Step] {
    var walk = walk
    var steps: [FanOut.Step] = []
    while let step = walk.next {
      #expect(walk.next == step, "asking changes nothing")
      steps.append(step)
      walk.advance()
    }
    return steps
  }

  @Test func `a refusal and a broadcast are one record, tokens one each, in their order`() {
    #expect(steps(.refusal) == [.refuse])
    #expect(steps(.broadcast) == [.broadcast])
    #expect(steps(.tokens(3)) == [.notify(0), .notify(1), .notify(2)])
    #expect(steps(.tokens(0)) == [])
    #expect(steps(.people(2)) == [.notify(0), .notify(1), .summarize])
    #expect(steps(.people(0)) == [.summarize])
    #expect(steps(.peopleBroadcast) == [.broadcast, .summarize])
  }

  /// The owner holds the entry until the walk is at its end, so that records which are acknowledged meanwhile do not
  /// complete the offset.
  @Test(arguments: 0...4)
  func `a fan-out that is given up after any record does not complete the offset`(made: Int) {
    var table = RequestTable(capacity: 1)
    let entry = table.insert(partition: 0, epoch: 7, offset: 9, created: 0)
    var walk = FanOut.tokens(4)
    for _ in 0..<made {
      table.expect(entry)
      walk.advance()
      let settled = table.settle(entry)
      #expect(settled == nil)
    }
    guard walk.next == nil else { return table.abandon(entry) }
    let settled = table.settle(entry)
    #expect(settled?.offset == 9 && settled?.epoch == 7)
  }
}
