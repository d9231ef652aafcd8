// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import SenderDecisions

/// The circuit breaker of a credential.
@Suite struct CredentialBreakerTests {
  @Test func `untried: two pushes at a time, until the first answer`() {
    var breaker = CredentialBreaker()
    #expect(breaker.state(now: 0) == .untried)
    #expect(breaker.allowance(now: 0) == 2)
    var refused = breaker
    breaker.served()
    #expect(breaker.state(now: 1) == .closed)
    #expect(breaker.allowance(now: 1) == .max)
    refused.refused(.credential, now: 1, random: 0)
    #expect(refused.state(now: 1) == .open(until: 30_001))
    #expect(refused.allowance(now: 30_000) == 0)
    #expect(refused.state(now: 30_001) == .halfOpen)
    #expect(refused.allowance(now: 30_001) == 1)
  }

  @Test func `a renewed credential is half-open: one push tries at once`() {
    var breaker = CredentialBreaker()
    breaker.refused(.credential, now: 0, random: 0)
    breaker.renewed()
    #expect(breaker.state(now: 1) == .halfOpen)
    #expect(breaker.allowance(now: 1) == 1)
    breaker.served()
    #expect(breaker.state(now: 2) == .closed)
  }
}
