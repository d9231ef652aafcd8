// SPDX-License-Identifier: Apache-2.0

import SenderDecisions
import Testing

@Suite struct SlotQueueTests {
  @Test func `a line keeps its order over growth, with pushes put in front`() {
    var line = SlotQueue()
    var expected: [UInt32] = []
    for number in 0..<500 as Range<UInt32> {
      if number % 7 == 0 {
        line.prepend(number)
        expected.insert(number, at: 0)
      } else {
        line.append(number)
        expected.append(number)
      }
      if number % 3 == 0 {
        #expect(line.first == expected.first)
        #expect(line.popFirst() == expected.removeFirst())
      }
    }
    #expect(line.count == expected.count)
    while let slot = line.popFirst() { #expect(slot == expected.removeFirst()) }
    #expect(expected.isEmpty)
    #expect(line.isEmpty)
  }
}
