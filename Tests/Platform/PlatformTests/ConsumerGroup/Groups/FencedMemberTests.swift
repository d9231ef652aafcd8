// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import ConsumerGroup

@Suite struct FencedMemberTests {
  @Test func `a member joins again a few times, later each time, and then gives its name up`() {
    var member = FencedMember()
    #expect(member.fenced(now: 0) == 1_000)
    #expect(member.fenced(now: 1_300) == 2_000)
    #expect(member.fenced(now: 4_000) == 4_000)
    #expect(member.fenced(now: 9_000) == nil)
  }

  @Test func `fencing that happened long ago does not count`() {
    var member = FencedMember()
    for outage in 0..<100 as Range<UInt64> {
      #expect(member.fenced(now: outage * FencedMember.window) == 1_000)
    }
  }

  /// Two processes with one name put each other out, each by its new client.
  @Test(arguments: [300, 3_000, 10_000] as [UInt64])
  func `of two processes with one name one gives up, and soon`(heartbeat: UInt64) {
    var members = [FencedMember(), FencedMember()]
    var (now, told, swaps) = (0 as UInt64, 0, 0)
    while let delay = members[told].fenced(now: now) {
      now += delay + heartbeat
      told = 1 - told
      swaps += 1
      guard swaps < 100 else { break }
    }
    #expect(swaps == 2 * FencedMember.attempts)
    #expect(now < 80_000)
  }
}
