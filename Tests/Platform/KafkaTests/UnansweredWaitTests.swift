// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import Kafka

@Suite struct UnansweredWaitTests {
  @Test func `a wait is told from the look that found its record on`() {
    var wait = UnansweredWait()
    #expect(wait.look(next: 0, count: 0, now: 1_000) == 0)
    // Record 0 is produced, and waits.
    #expect(wait.look(next: 1, count: 1, now: 1_500) == 0)
    #expect(wait.look(next: 1, count: 1, now: 2_500) == 1_000)
    // What is answered meanwhile is younger.
    #expect(wait.look(next: 3, count: 3, now: 3_500) == 2_000)
    wait.answered(2)
    #expect(wait.look(next: 3, count: 2, now: 4_500) == 3_000)
    wait.answered(0)
    // Record 1 is the oldest, marked by this look.
    #expect(wait.look(next: 3, count: 1, now: 4_600) == 0)
    #expect(wait.look(next: 3, count: 1, now: 5_000) == 400)
    wait.answered(1)
    #expect(wait.look(next: 3, count: 0, now: 5_100) == 0)
  }

  @Test func `under steady traffic nothing waits, though something is always on its way`() {
    var wait = UnansweredWait()
    var next: UInt64 = 0
    for now in stride(from: UInt64(0), to: 60_000, by: 100) {
      for sequence in next..<next + 10 where next >= 10 { wait.answered(sequence - 10) }
      next += 10
      #expect(wait.look(next: next, count: 10, now: now) <= 100)
    }
  }

  @Test func `time in which nobody took answers does not count`() {
    var wait = UnansweredWait()
    _ = wait.look(next: 1, count: 1, now: 0)
    #expect(wait.look(next: 1, count: 1, now: 60_000) == UnansweredWait.longestStep)
    // A clock that steps back.
    #expect(wait.look(next: 1, count: 1, now: 50_000) == UnansweredWait.longestStep)
  }
}
