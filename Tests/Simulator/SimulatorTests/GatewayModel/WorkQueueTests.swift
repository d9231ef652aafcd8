// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import GatewayModel

@Suite struct WorkQueueTests {
  @Test(arguments: [1, 7, 1_000, 30_000, 3_000_000])
  func `answers come at the capacity, however many requests there are`(capacity: Int) {
    var queue = WorkQueue()
    var last: UInt64 = 0
    for number in 1...(capacity * 2) {
      let wait = queue.take(capacity: capacity, most: .max, now: 5_000)
      #expect(wait ?? 0 >= last)
      last = wait ?? 0
      // The n-th is done after n of `capacity` parts of a second, to a millisecond.
      #expect(abs(Double(last) - Double(number) * 1_000 / Double(capacity)) <= 1)
    }
    #expect(abs(Int(last) - 2_000) <= 1)
  }

  @Test func `nobody waits at a gateway that is idle`() {
    var queue = WorkQueue()
    for second in 1..<100 {
      #expect(queue.take(capacity: 1_000, most: 5, now: UInt64(second) * 1_000) == 1)
    }
  }

  @Test func `a full queue takes nothing until there is room`() {
    var queue = WorkQueue()
    let taken = (0..<100).count { _ in queue.take(capacity: 1_000, most: 10, now: 7_000) != nil }
    #expect(taken == 11)
    #expect(queue.take(capacity: 1_000, most: 10, now: 7_001) != nil)
    #expect(queue.take(capacity: 1_000, most: 10, now: 7_001) == nil)
  }
}
