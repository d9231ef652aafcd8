// SPDX-License-Identifier: Apache-2.0

import Contract
import Testing

@Suite struct TokenInvalidationTests {
  private func verdict(
    _ status: UInt16, _ reason: Reason?, timestamp: Int64? = nil, sentAt: Int64 = 1_000,
    registeredAt: Int64? = nil, skew: Int64 = 0
  ) -> TokenInvalidation.Verdict {
    TokenInvalidation.verdict(
      status: status, reason: reason, timestamp: timestamp, sentAt: sentAt,
      registeredAt: registeredAt, skew: skew)
  }

  @Test func `a 410 with a time invalidates since that time`() {
    #expect(verdict(410, .unregistered, timestamp: 500) == .invalidate(since: 500))
    #expect(verdict(410, .expiredToken, timestamp: 500) == .invalidate(since: 500))
  }

  @Test func `a registration at or before the time does not save the token`() {
    #expect(
      verdict(410, .unregistered, timestamp: 500, registeredAt: 500) == .invalidate(since: 500))
    #expect(
      verdict(410, .unregistered, timestamp: 500, registeredAt: 499) == .invalidate(since: 500))
  }

  @Test func `a later registration keeps the token`() {
    #expect(
      verdict(410, .unregistered, timestamp: 500, registeredAt: 501) == .keep(.registeredLater))
  }

  @Test func `the skew stretches APNs' time`() {
    #expect(
      verdict(410, .unregistered, timestamp: 500, registeredAt: 700, skew: 200)
        == .invalidate(since: 500))
    #expect(
      verdict(410, .unregistered, timestamp: 500, registeredAt: 701, skew: 200)
        == .keep(.registeredLater))
  }

  @Test func `without a time the push itself is the proof`() {
    #expect(verdict(410, nil) == .invalidate(since: 1_000))
    #expect(verdict(410, .unregistered, registeredAt: 999) == .invalidate(since: 1_000))
    #expect(verdict(410, .unregistered, registeredAt: 1_000) == .keep(.registeredLater))
  }

  @Test func `the earliest revival is the first registration that keeps the token`() {
    for timestamp in [nil, 500] as [Int64?] {
      for skew in [0, 200] as [Int64] {
        let valid = TokenInvalidation.earliestRevival(
          timestamp: timestamp, sentAt: 1_000, skew: skew)
        let kept = verdict(410, nil, timestamp: timestamp, registeredAt: valid, skew: skew)
        let invalid = verdict(410, nil, timestamp: timestamp, registeredAt: valid - 1, skew: skew)
        #expect(kept == .keep(.registeredLater))
        #expect(invalid == .invalidate(since: timestamp ?? 1_000))
      }
    }
  }

  @Test func `extreme times do not overflow`() {
    for time in [Int64.min, .max - 1, .max] {
      #expect(verdict(410, nil, timestamp: time, skew: 5_000) == .invalidate(since: time))
      #expect(verdict(410, nil, sentAt: time, skew: 5_000) == .invalidate(since: time))
    }
  }

  @Test func `a bad token is only ever a suspect`() {
    for reason in [Reason.badDeviceToken, .deviceTokenNotForTopic] {
      #expect(verdict(400, reason) == .suspect)
      #expect(verdict(400, reason, timestamp: 1, registeredAt: 0) == .suspect)
    }
  }

  @Test func `a known reason decides with its class, whatever the status`() {
    for reason in Reason.allCases {
      let expected: TokenInvalidation.Verdict =
        switch reason.rule.kind {
        case .token: .invalidate(since: 5)
        case .suspect: .suspect
        default: .keep(.notAboutToken)
        }
      #expect(verdict(410, reason, timestamp: 5) == expected, "410 \(reason)")
    }
    #expect(verdict(410, nil, timestamp: 5) == .invalidate(since: 5), "an unknown reason, or none")
  }

  @Test func `no other reason touches a token`() {
    for reason in Reason.allCases where reason.rule.status != 410 {
      let expected: TokenInvalidation.Verdict =
        reason == .badDeviceToken || reason == .deviceTokenNotForTopic
        ? .suspect : .keep(.notAboutToken)
      #expect(verdict(reason.rule.status, reason, timestamp: 5) == expected, "\(reason)")
    }
    #expect(verdict(400, nil) == .keep(.notAboutToken))
    #expect(verdict(200, nil) == .keep(.notAboutToken))
  }

  /// What APNs says of a time that has not come by our clock.
  @Test(arguments: [0, 1, 60_000, 300_000, .max - 1_000] as [Int64], [0, 200] as [Int64])
  func `a time ahead of our clock is no later than the answer, and a registration after it counts`(
    ahead: Int64, skew: Int64
  ) throws {
    let answeredAt: Int64 = 1_000
    var answer = TokenAnswer(
      status: 410, reason: "Unregistered", timestamp: answeredAt + ahead, sentAt: 900,
      at: answeredAt)
    for timestamp in [answeredAt + ahead, nil] as [Int64?] {
      answer.timestamp = timestamp
      let (verdict, mark) = answer.verdict(registeredAt: nil, clockSkew: skew)
      let since = timestamp == nil ? 900 : answeredAt
      #expect(verdict == .invalidate(since: since))
      #expect(try #require(mark).since == since)
      #expect(try #require(mark).aliveFrom <= answeredAt + 1)
      #expect(
        answer.verdict(registeredAt: answeredAt + 1, clockSkew: skew).verdict
          == .keep(.registeredLater))
    }
    // A push that somebody says was sent later than it was answered.
    answer.sentAt = answeredAt + ahead
    answer.timestamp = nil
    #expect(
      answer.verdict(registeredAt: answeredAt, clockSkew: skew).verdict == .keep(.registeredLater))
  }
}
