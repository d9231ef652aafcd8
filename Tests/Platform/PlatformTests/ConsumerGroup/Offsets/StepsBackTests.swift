// SPDX-License-Identifier: Apache-2.0
import ConsumerGroup
import Testing

@Suite struct StepsBackTests {
  @Test func `each step back is one, and what follows it is none`() {
    var steps = StepsBack()
    let offsets: [Int64] = [3, 4, 5, 9, 9, 0, 1, 1, 7, 6]
    #expect(
      offsets.map { steps.isOne($0, below: 10) } == [
        true, false, false, false, true, true, false, true, false, true,
      ])
  }

  @Test func `what goes back from another place is a step of its own`() {
    var steps = StepsBack()
    #expect(steps.isOne(3, below: 10) && !steps.isOne(4, below: 10))
    #expect(steps.isOne(20, below: 30) && !steps.isOne(21, below: 30))
  }
}
