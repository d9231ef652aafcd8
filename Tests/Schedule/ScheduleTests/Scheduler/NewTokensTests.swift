// SPDX-License-Identifier: Apache-2.0
import Contract
import Testing

@testable import Scheduler
@testable import Store

/// Which update tokens may have missed the last state of their activity.
@Suite struct NewTokensTests {
  private static func token(_ number: Int, at: Int64) -> ActivityToken {
    ActivityToken(
      device: DeviceKey(token: "\(number)", app: "a.b", environment: .production),
      user: "ann", activity: "order-1", registeredAt: at)
  }

  @Test func `a token is looked at for ten seconds, until it is served`() {
    var tokens = NewTokens()
    let start: Int64 = 1_000_000
    #expect(tokens.since(start) == start - 900_000)
    let (first, second) = (Self.token(1, at: start - 5), Self.token(2, at: start - 4))
    #expect(Set(tokens.look([first, second], wall: start).map(\.token)) == [first, second])
    #expect(tokens.since(start) == start - 120_000)
    tokens.served(first)
    let later = tokens.look([first, second], wall: start + 9_000)
    #expect(later.map(\.token) == [second] && later.map(\.firstSeen) == [start])
    #expect(tokens.look([first, second], wall: start + 10_001).isEmpty)
    // Registered anew it is another one.
    let again = Self.token(1, at: start + 10_000)
    #expect(tokens.look([again, second], wall: start + 11_000).map(\.token) == [again])
  }

  @Test func `what is no longer in the window is forgotten`() {
    var tokens = NewTokens()
    let token = Self.token(1, at: 0)
    _ = tokens.look([token], wall: 0)
    tokens.served(token)
    _ = tokens.look([], wall: 200_000)
    #expect(tokens.look([token], wall: 300_000).map(\.firstSeen) == [300_000])
  }
}
