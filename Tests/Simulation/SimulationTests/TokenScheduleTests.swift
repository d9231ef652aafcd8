// SPDX-License-Identifier: Apache-2.0
import Contract
import Testing
import Waiting

/// Signers and senders over days of virtual time, with Core's own schedule, books and connections.
///
/// Signers restart, are cut off and go on as zombies until they notice; their clocks are seconds off. Senders
/// restart, lose the topic for a while, get their clocks set. What APNs sees is judged in true time.
@Suite struct TokenScheduleTests {
  @Test
  func `no connection sees two tokens within 20 minutes, none is older than 55, none goes back`() {
    for seed in Runs.seeds(1...3) {
      var fleet = Fleet(seed: seed, signers: 3, senders: 40)
      var step = 0
      // Two days in turns of some 20 seconds.
      let steps = Runs.steps(2 * 24 * 180)
      while step < steps, fleet.broken == nil {
        fleet.step()
        step += 1
      }
      Runs.report(fleet.broken, seed: seed, step: step)
      #expect(fleet.minted > steps / 300, "seed \(seed): only \(fleet.minted) tokens")
      #expect(fleet.tokenChanges > fleet.minted, "seed \(seed): connections take new tokens")
      #expect(fleet.elections > 10, "seed \(seed): only \(fleet.elections) fail-overs")
    }
  }

  @Test func `many short histories with a signer that fails over and over`() {
    for seed in Runs.seeds(100...160) {
      var fleet = Fleet(seed: seed, signers: 4, senders: 4, trouble: 12)
      var step = 0
      let steps = Runs.steps(12 * 180)
      while step < steps, fleet.broken == nil {
        fleet.step()
        step += 1
      }
      Runs.report(fleet.broken, seed: seed, step: step)
    }
  }
}

/// The signers, the topic and the senders.
private struct Fleet {
  private var random: SeededGenerator
  /// True time in milliseconds.
  private var now: Int64 = 1_800_000_000_000
  private var signers: [SimulatedSigner]
  private let senders: [SimulatedSender]
  private var topic: [TopicRecord] = []
  private var owner: Int?
  private var electsAt: Int64
  /// How much more often than usual signers fail.
  private let trouble: Int
  /// Since when there has been an owner, and no trouble with the topic.
  private var calmSince: Int64
  private var topicIsDownUntil: Int64 = 0
  /// Until when there may be a second owner, or a record on its way that the next owner cannot see.
  private var overlapUntil: Int64 = 0
  private(set) var elections = 0
  private(set) var broken: String?

  var minted: Int { topic.count }
  var tokenChanges: Int { senders.reduce(0) { $0 + $1.tokenChanges } }

  init(seed: UInt64, signers: Int, senders: Int, trouble: Int = 4) {
    var random = SeededGenerator(seed: seed)
    let now = now
    self.signers = (0..<signers).map { _ in
      SimulatedSigner(skew: Int64(random.within(-5_000...5_000)))
    }
    self.senders = (0..<senders).map { _ in
      SimulatedSender(
        skew: Int64(random.within(-5_000...5_000)), connections: random.within(1...4), now: now)
    }
    self.trouble = trouble
    electsAt = now
    calmSince = now
    self.random = random
  }

  mutating func step() {
    now += Int64(random.within(1_000...40_000))
    disturb()
    elect()
    for index in signers.indices { turn(index) }
    for sender in senders {
      if let broken = sender.turn(topic, now: now, random: &random) { self.broken = broken }
      if random.oneIn(20_000) { sender.restart(now: now, random: &random) }
      if random.oneIn(1_000) { sender.setClock(by: Int64(random.within(-3_000...3_000))) }
      if random.oneIn(5_000) { sender.cutOff(until: now + Int64(random.within(1_000...600_000))) }
    }
    judgeHolding()
  }

  /// Signers and the broker fail.
  private mutating func disturb() {
    if let owner, random.oneIn(1_500 / trouble) {
      // Killed: the group elects another one after the session time-out. Or cut off: it goes on for a
      // while as if nothing had happened, beside its successor.
      if random.oneIn(2) {
        signers[owner].killed()
        overlapUntil = max(overlapUntil, now + 60_000)
      } else {
        let notices = now + Int64(random.within(0...90_000))
        signers[owner].fence(at: notices)
        overlapUntil = max(overlapUntil, notices + 60_000)
      }
      self.owner = nil
      electsAt = now + Int64(random.within(1_000...180_000))
    }
    if random.oneIn(6_000 / trouble) {
      topicIsDownUntil = now + Int64(random.within(1_000...120_000))
      overlapUntil = max(overlapUntil, topicIsDownUntil + 60_000)
    }
    if random.oneIn(100) { for index in signers.indices { signers[index].requested(now: now) } }
  }

  private mutating func elect() {
    guard owner == nil, now >= electsAt, now >= topicIsDownUntil else { return }
    let free = signers.indices.filter { !signers[$0].isOwner }
    guard !free.isEmpty else { return }
    let chosen = free[random.below(free.count)]
    signers[chosen].elected(now: now, reading: Int64(random.within(100...5_000)))
    owner = chosen
    elections += 1
    calmSince = now
  }

  private mutating func turn(_ index: Int) {
    // While the broker is down a record waits in the producer.
    let latency =
      max(0, topicIsDownUntil - now) + Int64(random.oneIn(50) ? random.below(30_000) : 20)
    guard let appended = signers[index].turn(topic, now: now, latency: latency) else { return }
    // Beyond trouble nobody mints within 20 minutes of the last token, whoever minted that.
    let isNew = !topic.contains { $0.stamp.issuedAt == appended.stamp.issuedAt }
    if isNew, let last = topic.last, now > overlapUntil {
      let interval = appended.mintedAt - last.mintedAt
      if interval < 20 * 60_000 { broken = "two tokens minted within \(interval / 1_000) s" }
    }
    topic.append(appended)
  }

  /// After the fail-over is over, nobody holds for long.
  private mutating func judgeHolding() {
    if owner == nil || now < topicIsDownUntil { calmSince = now }
    for sender in senders {
      guard let since = sender.holdsSince else { continue }
      // Cut off for up to 10 minutes, then a turn or two until connections are up again.
      if now - max(since, calmSince) > 12 * 60_000 {
        broken = "a sender holds for \((now - since) / 1_000) s though a signer works"
      }
    }
  }
}
