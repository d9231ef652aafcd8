// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

@testable import Delivery

@Suite struct MintScheduleTests {
  private let start: Int64 = 1_800_000_000
  private let minute: Int64 = 60

  @Test func mintsAtOnceWhenThereIsNoToken() {
    let schedule = MintSchedule()
    let order = schedule.order(now: start)
    #expect(order == .init(issuedAt: start - 5, generation: 1))
  }

  @Test func aTokenYoungerThan45MinutesIsLeftAlone() {
    var schedule = MintSchedule()
    schedule.published(issuedAt: start, generation: 7)
    #expect(schedule.order(now: start) == nil)
    #expect(schedule.order(now: start + 45 * minute - 1) == nil)
    #expect(
      schedule.order(now: start + 45 * minute)
        == .init(issuedAt: start + 45 * minute - 5, generation: 8))
  }

  @Test func aRefusedTokenIsReplacedEarlierButNotBefore20Minutes() {
    var schedule = MintSchedule()
    schedule.published(issuedAt: start - 5, generation: 1)
    schedule.requested(.refused)
    // The successor's clock may be up to 15 s ahead of the one that minted.
    let due = start + 20 * minute + MintSchedule.clockDifference
    #expect(schedule.order(now: due - 1) == nil)
    #expect(schedule.order(now: due)?.generation == 2)
    schedule.published(issuedAt: due - 5, generation: 2)
    #expect(schedule.dueAt == due + 45 * minute - 5, "the request is answered")
  }

  @Test func aMissingTokenThatIsOnTheTopicIsNoReasonToMint() {
    var schedule = MintSchedule()
    schedule.published(issuedAt: start, generation: 1)
    schedule.requested(.missing)
    #expect(schedule.order(now: start + 44 * minute) == nil)
  }

  @Test func anOlderTokenOnTheTopicChangesNothing() {
    var schedule = MintSchedule()
    schedule.published(issuedAt: start, generation: 5)
    schedule.published(issuedAt: start - 3_000, generation: 4)
    #expect(schedule.issuedAt == start)
    #expect(schedule.generation == 5)
  }

  @Test func aClockThatStepsBackMintsNothing() {
    var schedule = MintSchedule()
    schedule.published(issuedAt: start, generation: 1)
    #expect(schedule.order(now: start - 7_200) == nil)
  }

  /// Signers that come, go, are fenced and fall behind, each reading the topic before it mints; virtual days.
  @Test(arguments: 0..<40 as Range<UInt64>)
  func noFailOverMintsWithin20MinutesOrLetsATokenGrowOlderThan55(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var topic: [(issuedAt: Int64, generation: UInt64, mintedAt: Int64)] = []
    var signer = MintSchedule()
    var down: Int64 = 0
    for now in stride(from: start, to: start + 3 * 24 * 3_600, by: 10) {
      if random.oneIn(200) {
        // Another one takes over within two minutes and reads the topic to its end.
        down = now + Int64(random.below(120))
        signer = MintSchedule()
        for token in topic {
          signer.published(issuedAt: token.issuedAt, generation: token.generation)
        }
      }
      if random.oneIn(50) { signer.requested(random.oneIn(2) ? .refused : .missing) }
      guard now >= down else { continue }
      if let order = signer.order(now: now) {
        if let last = topic.last {
          #expect(now - last.mintedAt >= 20 * minute, "seed \(seed)")
          #expect(order.generation == last.generation + 1, "seed \(seed)")
        }
        topic.append((order.issuedAt, order.generation, now))
        signer.published(issuedAt: order.issuedAt, generation: order.generation)
      }
      let age = now - (topic.last?.issuedAt ?? now)
      #expect(age < 55 * minute, "seed \(seed)")
      if age >= 55 * minute { return }
    }
    #expect(topic.count > 90)
  }
}
