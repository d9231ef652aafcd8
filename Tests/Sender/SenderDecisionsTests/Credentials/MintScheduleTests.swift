// SPDX-License-Identifier: Apache-2.0

import Testing
import Waiting

@testable import Contract
@testable import SenderDecisions
@testable import SignerDecisions

@Suite struct MintScheduleTests {
  private let start: Int64 = 1_800_000_000
  private let minute: Int64 = 60

  private func stamp(_ issuedAt: Int64, _ generation: UInt64) -> ProviderTokenStamp {
    ProviderTokenStamp(issuedAt: issuedAt, generation: generation)
  }

  /// A schedule that has published a token of its own at offset 0.
  private func schedule(_ issuedAt: Int64, generation: UInt64 = 1) -> MintSchedule {
    var schedule = MintSchedule()
    schedule.published(stamp(issuedAt, generation), at: 0)
    return schedule
  }

  private func minted(_ schedule: MintSchedule, at now: Int64) -> ProviderTokenStamp? {
    guard case .mint(let stamp) = schedule.step(now: now) else { return nil }
    return stamp
  }

  @Test func `the schedule mints at once when there is no token`() {
    #expect(minted(MintSchedule(), at: start) == .init(issuedAt: start - 5, generation: 1))
  }

  @Test func `a token younger than 45 minutes is left alone`() {
    let schedule = schedule(start, generation: 7)
    #expect(schedule.step(now: start) == nil)
    #expect(schedule.step(now: start + 45 * minute - 1) == nil)
    #expect(
      minted(schedule, at: start + 45 * minute)
        == .init(issuedAt: start + 45 * minute - 5, generation: 8))
  }

  @Test func `a refused token is replaced earlier but not before 20 minutes`() {
    var schedule = schedule(start - 5)
    schedule.requested(.refused, now: start)
    // The successor's clock may be up to 15 s ahead of the one that minted.
    let due = start + 20 * minute + MintSchedule.clockDifference
    #expect(schedule.step(now: due - 1) == nil)
    #expect(minted(schedule, at: due)?.generation == 2)
    schedule.published(stamp(due - 5, 2), at: 1)
    #expect(schedule.step(now: due + 45 * minute - 6) == nil, "the request is answered")
    #expect(minted(schedule, at: due + 45 * minute - 5) != nil)
  }

  @Test func `a missing token that is on the topic is no reason to mint`() {
    var schedule = schedule(start)
    schedule.requested(.missing, now: start)
    #expect(schedule.step(now: start + 44 * minute) == nil)
  }

  @Test func `an older token on the topic is followed by the newest`() {
    var schedule = schedule(start, generation: 5)
    schedule.read(.own(stamp(start - 2_000, 4), isComplete: true), at: 1)
    #expect(schedule.issuedAt(now: start) == start)
    #expect(schedule.step(now: start) == .publish(stamp(start, 6)))
    schedule.published(stamp(start, 6), at: 2)
    #expect(schedule.step(now: start) == nil)
  }

  /// A topic that has got another partition has the credential's older records in one and the newer ones in another.
  @Test func `offsets of another partition do not count`() {
    var schedule = MintSchedule()
    schedule.published(stamp(start - 2_700, 1), at: 1_000)
    schedule.published(stamp(start, 2), at: 0, in: 1)
    #expect(schedule.step(now: start) == nil, "published once")
    // The signer reads what it has written, and what is older than that.
    schedule.read(.own(stamp(start, 2), isComplete: true), at: 0, in: 1)
    schedule.read(.own(stamp(start - 2_700, 1), isComplete: true), at: 1_000)
    #expect(schedule.step(now: start) == nil)
    // Whoever reads the partitions in the other order publishes once more.
    schedule.read(.removed, at: 1_001)
    #expect(schedule.step(now: start) == .publish(stamp(start, 3)))
    schedule.published(stamp(start, 3), at: nil, in: 1)
    #expect(schedule.step(now: start) == nil)
  }

  @Test func `a record that is not ours is cleared and replaced`() {
    var schedule = schedule(start, generation: 3)
    schedule.read(.stranger, at: 1)
    #expect(schedule.mustClear)
    #expect(schedule.step(now: start + 60) == .publish(stamp(start, 4)), "no token is minted early")
    schedule.read(.removed, at: 2)
    schedule.published(stamp(start, 4), at: 3)
    #expect(!schedule.mustClear)
    #expect(schedule.step(now: start + 60) == nil)
    // What stands below our own record is history.
    schedule.read(.stranger, at: 2)
    #expect(schedule.step(now: start + 60) == nil)
    // Somebody else's tombstone.
    schedule.read(.removed, at: 4)
    #expect(schedule.step(now: start + 60) == .publish(stamp(start, 5)))
  }

  @Test func `another key's token counts for nothing`() {
    var schedule = MintSchedule()
    schedule.read(.stranger, at: 7)
    #expect(minted(schedule, at: start) == .init(issuedAt: start - 5, generation: 1))
    #expect(schedule.mustClear)
  }

  @Test func `what cannot be opened delays minting only while nothing else is known`() {
    var schedule = MintSchedule()
    schedule.read(.sealed(stamp(start, 7)), at: 0)
    #expect(schedule.step(now: start + 44 * minute) == nil)
    #expect(minted(schedule, at: start + 45 * minute) != nil)
    var owner = self.schedule(start)
    owner.read(.sealed(stamp(start + 30, 1 << 60)), at: 1)
    #expect(owner.step(now: start + 60) == .publish(stamp(start, 2)))
    var future = MintSchedule()
    future.read(.sealed(stamp(start + 86_400, 7)), at: 0)
    #expect(minted(future, at: start) != nil)
  }

  /// They name any time and any generation, and need no key.
  @Test func `records that cannot be opened never bring a token early, however many there are`() {
    var schedule = self.schedule(start)
    for number in 0..<20 {
      let issuedAt = number % 2 == 0 ? Int64(number) : start + 86_400 + Int64(number)
      schedule.read(.sealed(stamp(issuedAt, 1 << 53 + UInt64(number))), at: Int64(number) + 1)
      #expect(schedule.step(now: start + 60) == .publish(stamp(start, 2)))
    }
  }

  @Test func `other apps are published with the token that is there`() {
    var schedule = schedule(start)
    schedule.outdate()
    #expect(schedule.step(now: start + 60) == .publish(stamp(start, 2)))
  }

  /// A clock that is a day ahead for 12 s: the token of the future stops nothing afterwards.
  @Test func `a clock that was ahead for a moment leaves the renewal as it was`() {
    var schedule = schedule(start)
    let day: Int64 = 86_400
    #expect(minted(schedule, at: start + day)?.issuedAt == start + day - 5)
    schedule.published(stamp(start + day - 5, 2), at: 1)
    #expect(schedule.step(now: start + day + 12) == nil)
    #expect(schedule.hasToken(ofFutureAt: start + 12))
    #expect(schedule.step(now: start + 12) == .publish(stamp(start, 3)), "the good one again")
    schedule.published(stamp(start, 3), at: 2)
    #expect(schedule.step(now: start + 44 * minute) == nil)
    #expect(minted(schedule, at: start + 45 * minute)?.generation == 4)
  }

  @Test func `a signer that finds only a token of the future mints`() {
    var schedule = MintSchedule()
    schedule.read(.own(stamp(start + 86_400, 9), isComplete: true), at: 0)
    #expect(minted(schedule, at: start) == .init(issuedAt: start - 5, generation: 10))
  }

  @Test func `a clock that steps back and returns ends with the good token`() {
    var schedule = schedule(start)
    // Two hours back: what is known lies in the future, so one is minted that senders never take.
    #expect(minted(schedule, at: start - 7_200)?.issuedAt == start - 7_205)
    schedule.published(stamp(start - 7_205, 2), at: 1)
    #expect(schedule.step(now: start - 7_190) == nil)
    #expect(schedule.step(now: start + 10) == .publish(stamp(start, 3)))
  }

  /// Signers that come, go, are fenced and fall behind, each reading the topic before it mints; virtual days.
  @Test(arguments: 0..<40 as Range<UInt64>)
  func `no fail over mints within 20 minutes or lets a token grow older than 55`(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var topic: [(stamp: ProviderTokenStamp, mintedAt: Int64)] = []
    var signer = MintSchedule()
    var down: Int64 = 0
    for now in stride(from: start, to: start + 3 * 24 * 3_600, by: 10) {
      if random.oneIn(200) {
        // Another one takes over within two minutes and reads the topic to its end.
        down = now + Int64(random.below(120))
        signer = MintSchedule()
        for (offset, token) in topic.enumerated() {
          signer.read(.own(token.stamp, isComplete: true), at: Int64(offset))
        }
      }
      if random.oneIn(50) { signer.requested(random.oneIn(2) ? .refused : .missing, now: now) }
      guard now >= down else { continue }
      if let token = minted(signer, at: now) {
        if let last = topic.last {
          #expect(now - last.mintedAt >= 20 * minute, "seed \(seed)")
          #expect(token.generation == last.stamp.generation + 1, "seed \(seed)")
        }
        topic.append((token, now))
        signer.published(token, at: Int64(topic.count - 1))
      }
      let age = now - (topic.last?.stamp.issuedAt ?? now)
      #expect(age < 55 * minute, "seed \(seed)")
      if age >= 55 * minute { return }
    }
    #expect(topic.count > 90)
  }
}

/// A signer and senders whose clocks are wrong, in virtual time: what the topic, the schedule, the book and the watch
/// make of it together.
@Suite struct WrongClockTests {
  private struct World {
    var now: Int64 = 1_800_000_000
    var signer = MintSchedule()
    var signerAhead: Int64 = 0
    var topic: [ProviderTokenStamp] = []
    var mints = 0

    /// One second: the signer works, then the senders read and look.
    mutating func second(_ senders: [Sender]) {
      now += 1
      let clock = now + signerAhead
      switch signer.step(now: clock) {
      case .mint(let stamp):
        mints += 1
        append(stamp)
      case .publish(let stamp): append(stamp)
      case nil: break
      }
      for sender in senders where sender.turn(topic, now: now) {
        signer.requested(.refused, now: clock)
      }
    }

    private mutating func append(_ stamp: ProviderTokenStamp) {
      signer.published(stamp, at: Int64(topic.count))
      topic.append(stamp)
    }
  }

  private final class Sender {
    private var book = ProviderTokenBook()
    private var watch = ProviderTokenWatch()
    private var position = 0
    var ahead: Int64 = 0
    private(set) var heldSeconds = 0
    private(set) var usedTooOld = 0

    /// - Returns: whether it asks for a token.
    func turn(_ topic: [ProviderTokenStamp], now: Int64) -> Bool {
      let wall = (now + ahead) * 1_000
      while position < topic.count {
        let entry = ProviderTokenBook.Entry(
          credential: "T/K/any", teamID: "T", keyID: "K", scope: .any, apps: ["*"],
          stamp: topic[position], token: [1])
        _ = book.apply(entry, now: wall)
        position += 1
      }
      _ = book.refresh(now: wall)
      if book.entries.isEmpty || !book.isUsable(0, now: wall) {
        heldSeconds += 1
      } else if now - book.stamp(0).issuedAt > 3_600 {
        usedTooOld += 1
      }
      return watch.look(at: book, now: now * 1_000, wall: wall)?.asks.isEmpty == false
    }
  }

  @Test(arguments: [-29, -20, -12, -10, -5, -1, 0, 1, 5, 9])
  func `a signer whose clock is wrong all the time starves no sender`(minutes: Int64) {
    var world = World()
    world.signerAhead = minutes * 60
    let senders = [Sender(), Sender()]
    senders[1].ahead = 20
    for _ in 0..<5 * 3_600 { world.second(senders) }
    for sender in senders {
      // The very first token of a clock that is ahead is waited for: APNs would refuse it.
      #expect(Int64(sender.heldSeconds) <= max(0, minutes - 1) * 60 + 1)
      #expect(sender.usedTooOld == 0)
    }
    // Five hours: none is minted more often than every 20 minutes.
    #expect(world.mints <= 15)
  }

  @Test func `clocks that jump by up to a day and come back stop nothing, and minting goes on`() {
    for seed in 0..<12 as Range<UInt64> {
      var random = SeededGenerator(seed: seed)
      var world = World()
      let senders = [Sender(), Sender()]
      for _ in 0..<600 { world.second(senders) }
      var heldBefore = 0
      for _ in 0..<12 {
        let step = Int64(1 + random.below(1_440)) * 60 * (random.oneIn(2) ? 1 : -1)
        let isSigner = random.oneIn(2)
        if isSigner { world.signerAhead = step } else { senders[1].ahead = step }
        for _ in 0..<5 + random.below(56) { world.second(senders) }
        world.signerAhead = 0
        senders[1].ahead = 0
        for _ in 0..<60 + random.below(2_341) { world.second(senders) }
        // The sender whose clock was right all the time has never been without a token.
        #expect(senders[0].heldSeconds <= 1, "seed \(seed)")
        heldBefore = senders[1].heldSeconds
      }
      let mints = world.mints
      for _ in 0..<2 * 3_600 { world.second(senders) }
      #expect(world.mints - mints >= 2, "seed \(seed): minting goes on")
      #expect(senders[1].heldSeconds == heldBefore, "seed \(seed): nothing is held afterwards")
    }
  }

  @Test
  func `a sender that starts while a token of the future stands on the topic gets a good one`() {
    var world = World()
    let first = Sender()
    for _ in 0..<600 { world.second([first]) }
    world.signerAhead = 86_400
    for _ in 0..<12 { world.second([first]) }
    world.signerAhead = 0
    for _ in 0..<5 { world.second([first]) }
    // Compaction leaves the newest record alone.
    let late = Sender()
    world.topic.removeFirst(world.topic.count - 1)
    #expect(!late.turn(world.topic, now: world.now))
    #expect(late.heldSeconds == 0)
    #expect(first.heldSeconds <= 1)
  }
}
