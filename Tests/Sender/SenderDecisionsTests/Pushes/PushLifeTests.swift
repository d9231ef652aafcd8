// SPDX-License-Identifier: Apache-2.0

import SenderDecisions
import Testing

@Suite struct PushLifeTests {
  @Test func `attempts of an outage are not held against a push`() {
    var life = PushLife()
    life.begin(.retry, earlier: 2)
    for _ in 0..<3 {
      life.wait()
      life.send()
      life.close()
      life.spare()
    }
    life.wait()
    life.send()
    life.close(isUnprocessed: true)
    #expect(life.attempts == 5)
    #expect(life.countedAttempts == 2)
    life.end()
    #expect(life.state == .free)
  }
}
