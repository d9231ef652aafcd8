// SPDX-License-Identifier: Apache-2.0

import Contract
import SenderDecisions
import Testing
import Waiting

@Suite struct RetryPolicyTests {
  private let policy = RetryPolicy(maximumAttempts: 6, promptAttempts: 2)

  private func decide(_ cause: RetryPolicy.Cause, _ attempts: Int, left: Int64? = nil)
    -> RetryPolicy.Decision
  {
    policy.decide(cause, attempts: attempts, now: 1_000_000, expiresAt: left.map { 1_000_000 + $0 })
  }

  @Test func `a push that its destination failed is kept while it is of use`() {
    for cause in [
      RetryPolicy.Cause.unprocessed, .ambiguous, .answered(.retryElsewhere),
      .answered(.retryLater(.fault)),
    ] {
      var failure = RetryPolicy.Failure(cause, attempts: 9, now: 1_000)
      failure.isOfDestination = true
      #expect(policy.decide(failure) == .keep)
      failure.expiresAt = 1_000
      #expect(policy.decide(failure) == .expired)
    }
  }

  @Test func `a send that APNs did not process is free`() {
    for attempts in [1, 6, 100] { #expect(decide(.unprocessed, attempts) == .now(counts: false)) }
    #expect(decide(.unprocessed, 1, left: 0) == .expired)
  }

  @Test func `an unknown fate is tried again promptly then later and later`() {
    let decisions = (1...6).map { decide(.ambiguous, $0) }
    #expect(
      decisions == [
        .now(counts: true), .now(counts: true), .tier(.seconds5), .tier(.minute1),
        .tier(.minutes15), .deadLetter,
      ])
  }

  @Test func `a server fault is tried elsewhere once or twice then after a quarter of an hour`() {
    let fault = RetryPolicy.Cause.answered(.retryLater(.fault))
    #expect(decide(fault, 1) == .now(counts: true))
    #expect(decide(fault, 3) == .tier(.minutes15))
    #expect(decide(fault, 5) == .tier(.minutes15))
    #expect(decide(fault, 6) == .deadLetter)
  }

  @Test func `a throttled device is never tried at once`() {
    let throttled = RetryPolicy.Cause.answered(.retryLater(.throttled))
    let decisions = (1...4).map { decide(throttled, $0) }
    #expect(decisions == [.tier(.seconds5), .tier(.minute1), .tier(.minutes15), .tier(.minutes15)])
  }

  @Test(
    arguments: [
      (nil, 3, .seconds5), (.seconds5, 3, .seconds5), (.seconds5, 4, .minute1),
      (.minute1, 5, .minutes15), (.minutes15, 4, .minutes15), (.minutes15, 7, .minutes15),
    ] as [(RetryTier?, Int, RetryTier)])
  func
    `the first 503 of a stay is the next step of the ladder, whatever failed before; a second one waits for long`(
      cameFrom: RetryTier?, attempts: Int, tier: RetryTier
    )
  {
    let policy = RetryPolicy(maximumAttempts: 8, promptAttempts: 2)
    for isFirst in [true, false] {
      #expect(
        policy.decide(
          .answered(.retryLater(.fault)), attempts: attempts, now: 0, expiresAt: nil,
          cameFrom: cameFrom, isFirstFault: isFirst) == .tier(isFirst ? tier : .minutes15))
    }
  }

  @Test(
    arguments: [
      (nil, .seconds5), (.seconds5, .minute1), (.minute1, .minutes15), (.minutes15, .minutes15),
    ] as [(RetryTier?, RetryTier)])
  func
    `the first 429 after lost connections is the next step of the ladder, however many attempts they took`(
      cameFrom: RetryTier?, tier: RetryTier
    )
  {
    #expect(
      policy.decide(
        .answered(.retryLater(.throttled)), attempts: 5, now: 0, expiresAt: nil, cameFrom: cameFrom)
        == .tier(tier))
  }

  @Test func `a wait that the notification would not survive is shortened`() {
    let fault = RetryPolicy.Cause.answered(.retryLater(.fault))
    #expect(decide(fault, 3, left: 900_001) == .tier(.minutes15))
    #expect(decide(fault, 3, left: 900_000) == .tier(.minute1))
    #expect(decide(fault, 3, left: 60_000) == .tier(.seconds5))
    #expect(decide(fault, 3, left: 5_000) == .expired)
    #expect(decide(fault, 1, left: 1) == .now(counts: true))
  }

  @Test func `a final answer is never retried`() {
    for verdict in [Verdict.delivered, .rejected(aboutToken: true), .rejected(aboutToken: false)] {
      #expect(decide(.answered(verdict), 1) == .final)
      #expect(decide(.answered(verdict), 1, left: 0) == .final, "the answer says more than time")
    }
  }

  @Test func `a push whose credential is refused is kept, however often that is said`() {
    for verdict in [Verdict.credentialRefused, .refreshToken, .retryElsewhere] {
      for attempts in [1, 2, 9, 1_000] {
        var failure = RetryPolicy.Failure(.answered(verdict), attempts: attempts, now: 1_000)
        failure.isOfDestination = true
        #expect(policy.decide(failure) == .keep)
        failure.expiresAt = 1_000
        #expect(policy.decide(failure) == .expired)
      }
    }
  }

  /// Whatever the causes, a notification ends: attempts that count are bounded and time only goes on.
  @Test(arguments: 0..<200 as Range<UInt64>)
  func `every sequence of failures ends`(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let causes: [RetryPolicy.Cause] = [
      .ambiguous, .answered(.retryElsewhere), .answered(.refreshToken),
      .answered(.retryLater(.throttled)), .answered(.retryLater(.fault)),
    ]
    var now: Int64 = 0
    let expiresAt: Int64? = random.oneIn(2) ? Int64(random.below(2_000_000)) : nil
    for attempts in 1...6 {
      let cause = causes[random.below(causes.count)]
      switch policy.decide(cause, attempts: attempts, now: now, expiresAt: expiresAt) {
      case .now(let counts): #expect(counts, "seed \(seed)")
      case .tier(let tier):
        now += tier.delay
        #expect(expiresAt == nil || now < expiresAt!, "seed \(seed): due before it expires")
      case .deadLetter:
        #expect(attempts == 6, "seed \(seed)")
        return
      case .expired: return
      case .final, .keep, .pause:
        Issue.record("seed \(seed): nothing was final, and the destination was well")
        return
      }
    }
    Issue.record("seed \(seed): six attempts did not end it")
  }

  @Test
  func `a prompt retry that the budget refused waits for seconds, not for a quarter of an hour`() {
    let policy = RetryPolicy(maximumAttempts: 8, promptAttempts: 2)
    let cause = RetryPolicy.Cause.answered(.retryLater(.fault))
    for (attempts, tier) in [(1, RetryTier.seconds5), (2, .seconds5), (3, .minutes15)] {
      #expect(
        policy.decide(cause, attempts: attempts, now: 0, expiresAt: nil, promptly: false)
          == .tier(tier))
    }
  }

  @Test
  func `a server's fault waits for seconds first while nothing shows that only this push fails`() {
    let policy = RetryPolicy(maximumAttempts: 8, promptAttempts: 2)
    func decide(_ attempts: Int, retryAfter: Int64 = 0) -> RetryPolicy.Decision {
      policy.decide(
        .answered(.retryLater(.fault)), attempts: attempts, now: 0, expiresAt: nil,
        retryAfter: retryAfter, isAlone: false)
    }
    #expect(
      (1...8).map { decide($0) } == [
        .now(counts: true), .now(counts: true), .tier(.seconds5), .tier(.minute1),
        .tier(.minutes15), .tier(.minutes15), .tier(.minutes15), .deadLetter,
      ])
    #expect(decide(3, retryAfter: 30_000) == .tier(.minute1))
  }

  @Test
  func
    `a push never goes out earlier than was asked for: not in an outage, and not because time is short`()
  {
    let policy = RetryPolicy(maximumAttempts: 8, promptAttempts: 2)
    let causes: [RetryPolicy.Cause] = [
      .answered(.retryLater(.fault)), .answered(.retryLater(.throttled)),
      .answered(.retryElsewhere), .answered(.refreshToken), .answered(.foreign),
      .answered(.credentialRefused),
    ]
    for cause in causes {
      for isOfDestination in [false, true] {
        for wait in [1, 4_999, 5_000, 5_001, 30_000, 60_001, 900_000] as [Int64] {
          for left in [1, 5_001, 45_000, 60_001, 900_001, nil] as [Int64?] {
            for attempts in 1...8 {
              var failure = RetryPolicy.Failure(cause, attempts: attempts, now: 0)
              failure.retryAfter = wait
              failure.isOfDestination = isOfDestination
              failure.expiresAt = left ?? .max
              switch policy.decide(failure) {
              case .tier(let tier):
                #expect(tier.delay >= wait && tier.delay < left ?? .max && !isOfDestination)
              case .pause(let tier):
                #expect(tier.delay >= wait && tier.delay < left ?? .max && isOfDestination)
              case .expired: #expect(left != nil)
              case .deadLetter, .final: #expect(!isOfDestination)
              case .now, .keep: Issue.record("\(cause) after \(wait) ms goes out at once")
              }
            }
          }
        }
      }
    }
  }

  @Test func `a first 503 that names a time waits that long, in the shortest tier that does`() {
    let policy = RetryPolicy(maximumAttempts: 8, promptAttempts: 2)
    let cause = RetryPolicy.Cause.answered(.retryLater(.fault))
    for (wait, tier) in [(2_000, RetryTier.seconds5), (30_000, .minute1), (70_000, .minutes15)] {
      #expect(
        policy.decide(cause, attempts: 1, now: 0, expiresAt: nil, retryAfter: Int64(wait))
          == .tier(tier))
    }
  }
}

extension RetryPolicy {
  fileprivate func decide(
    _ cause: Cause, attempts: Int, now: Int64, expiresAt: Int64?, retryAfter: Int64 = 0,
    promptly: Bool = true, isAlone: Bool = true, cameFrom: RetryTier? = .minutes15,
    isFirstFault: Bool = false
  ) -> Decision {
    var failure = Failure(cause, attempts: attempts, now: now)
    failure.expiresAt = expiresAt ?? .max
    failure.retryAfter = retryAfter
    failure.isAlone = isAlone
    failure.cameFrom = cameFrom
    failure.isFirstFault = isFirstFault
    return decide(failure, promptly: promptly)
  }
}
