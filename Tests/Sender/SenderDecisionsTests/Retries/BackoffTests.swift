// SPDX-License-Identifier: Apache-2.0

import Testing
import Waiting

@Suite struct BackoffTests {
  @Test func `a backoff doubles up to its cap`() {
    var backoff = Backoff(base: 1_000, cap: 60_000)
    let waits = (0..<9).map { _ in backoff.failed(random: .max) }
    let bounds: [UInt64] = [1, 2, 4, 8, 16, 32, 60, 60, 60]
    for (wait, bound) in zip(waits, bounds) {
      #expect((bound * 500...bound * 1_000).contains(wait))
    }
    backoff.succeeded()
    #expect(backoff.failed(random: 0) == 500)
  }

  @Test func `thousands of failures do not overflow`() {
    var backoff = Backoff(base: 1 << 40, cap: 1 << 62)
    for random in 0..<5_000 as Range<UInt64> { #expect(backoff.failed(random: random) <= 1 << 62) }
  }

  @Test func `jitter spreads over the upper half`() {
    var random = SeededGenerator(seed: 1)
    var seen: Set<UInt64> = []
    for _ in 0..<2_000 {
      var backoff = Backoff(base: 100, cap: 100)
      seen.insert(backoff.failed(random: random.next()))
    }
    #expect(seen == Set(50...100))
  }
}
