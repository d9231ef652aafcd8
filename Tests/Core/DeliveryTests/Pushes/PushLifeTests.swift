// SPDX-License-Identifier: Apache-2.0

import APNS
import Delivery
import Pipeline
import Random
import Testing

/// The life of pushes with random destinations, devices, answers, outages and times, over all the values that
/// decide about it together. What must hold: a push has one end and no more answers than sends, none is lost,
/// none waits for ever, and no more are open than the connections allow.
@Suite struct PushLifeTests {
  @Test(arguments: 0..<16 as Range<UInt64>)
  func everyPushEndsOnce(seed: UInt64) {
    var model = PushModel(seed: seed, isOrdered: seed % 2 == 1)
    for _ in 0..<130_000 { model.step() }
    model.drain()
    #expect(model.problems.isEmpty, "seed \(seed): \(model.problems)")
    #expect(model.ended == model.made, "seed \(seed): \(model.made - model.ended) pushes are lost")
    #expect(
      (1...3).allSatisfy { model.fairness.held(by: $0) == 0 }, "seed \(seed): slots are miscounted")
    #expect(model.delivered > 300, "seed \(seed): the model delivers nothing")
    #expect(model.held + model.kept + model.parked > 0, "seed \(seed): nothing ever went wrong")
  }

  @Test func attemptsOfAnOutageAreNotHeldAgainstAPush() {
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

/// A sender loop without sockets and Kafka: the same values, told of random events.
private struct PushModel {
  static let slots = 96
  static let destinations = 3

  /// A notification, wherever it is.
  struct Record {
    var number: Int
    var destination: Int
    var device: UInt64
    var sendClass: SendClass
    var attempts: UInt16 = 0
    var created: UInt64
  }

  enum Mood: CaseIterable { case well, unavailable, refusing, silent, moody }

  var random: SeededGenerator
  var now: UInt64 = 1_000_000
  var lives = Array(repeating: PushLife(), count: slots)
  var records = [Record?](repeating: nil, count: slots)
  var sends = Array(repeating: 0, count: slots)
  var free = Array(0..<UInt32(slots))
  var queues: [SendQueue]
  var fairness = Fairness()
  /// By slot: whether it is held for its destination.
  var isHeld = Array(repeating: false, count: slots)
  var moods = Array(repeating: Mood.well, count: destinations)
  var capacities = Array(repeating: 20, count: destinations)
  var open: [[UInt32]] = Array(repeating: [], count: destinations)
  var deadlines = RequestDeadlines(capacity: slots, timeout: 2_000)
  var holds = ThrottleTable(capacity: 64)
  var order: DeviceOrder?
  var hasTurn = Array(repeating: false, count: slots)
  var turns: [UInt32] = []
  /// By tier: first in, first out, and how many are out.
  var tiers: [[(due: UInt64, record: Record)]] = [[], [], []]
  var heads = [0, 0, 0]
  let policy = RetryPolicy(maximumAttempts: 6)
  var ends: Set<Int> = []
  var problems: [String] = []
  var made = 0
  var ended = 0
  var delivered = 0
  var kept = 0
  var held = 0
  var parked = 0

  init(seed: UInt64, isOrdered: Bool) {
    random = SeededGenerator(seed: seed)
    queues = (0..<Self.destinations).map { _ in SendQueue(shares: LaneShares(reserved: 25)) }
    if isOrdered { order = DeviceOrder(slots: Self.slots, waitingAtMost: 8) }
  }

  mutating func step() {
    if random.oneIn(3) { now += UInt64(random.below(40)) }
    if random.oneIn(2_000) { moods[random.below(3)] = Mood.allCases[random.below(5)] }
    if random.oneIn(3_000) { capacities[random.below(3)] = random.below(40) }
    fairness.turn(known: Self.destinations, canDivert: true, now: now)
    switch random.below(4) {
    case 0: takeNew()
    case 1: takeDue()
    case 2: answerOne(random.below(3))
    default: break
    }
    expire()
    for destination in 0..<3 { dispatch(destination) }
    while let slot = turns.popLast() {
      lives[Int(slot)].resume()
      route(slot)
    }
  }

  /// Everything becomes well, and time goes on: all that was made must end.
  mutating func drain() {
    moods = Array(repeating: .well, count: 3)
    capacities = Array(repeating: 20, count: 3)
    var rounds = 0
    while ended < made, rounds < 400_000 {
      rounds += 1
      now += 20
      fairness.turn(known: Self.destinations, canDivert: true, now: now)
      takeDue()
      for destination in 0..<3 {
        for _ in 0..<4 { answerOne(destination) }
        dispatch(destination)
      }
      expire()
      while let slot = turns.popLast() {
        lives[Int(slot)].resume()
        route(slot)
      }
    }
  }

  mutating func takeNew() {
    guard !free.isEmpty else { return }
    let record = Record(
      number: made, destination: random.below(3), device: UInt64(random.below(50)),
      sendClass: random.oneIn(2) ? .bulk : .transactional, created: now)
    made += 1
    take(record)
  }

  mutating func takeDue() {
    for tier in 0..<3 {
      guard !free.isEmpty, heads[tier] < tiers[tier].count, tiers[tier][heads[tier]].due <= now
      else { continue }
      var record = tiers[tier][heads[tier]].record
      heads[tier] += 1
      record.sendClass = .retry
      take(record)
    }
  }

  mutating func take(_ record: Record) {
    let slot = free.removeLast()
    lives[Int(slot)].begin(record.sendClass, earlier: record.attempts)
    records[Int(slot)] = record
    sends[Int(slot)] = 0
    route(slot)
  }

  mutating func route(_ slot: UInt32) {
    let record = records[Int(slot)]!
    if isExpired(record) { return end(slot) }
    if holds.mayThrottle(now: now) {
      let remaining = holds.remaining(record.device, now: now)
      if remaining > 0, record.sendClass != .retry {
        held += 1
        return park(slot, RetryTier.fitting(Int64(remaining)))
      }
    }
    if order != nil, !hasTurn[Int(slot)] {
      switch order!.enter(slot, device: record.device) {
      case .goes: hasTurn[Int(slot)] = true
      case .waits: return lives[Int(slot)].putAside()
      case .refused:
        held += 1
        return park(slot, .seconds5)
      }
    }
    let destination = record.destination
    if fairness.decide(destination + 1, free: free.count / 2) == .divert {
      held += 1
      return park(slot, Fairness.tier(age: Int64(now - record.created)))
    }
    if !isHeld[Int(slot)] {
      isHeld[Int(slot)] = true
      fairness.took(destination + 1)
    }
    lives[Int(slot)].wait()
    queues[destination].append(slot, record.sendClass)
  }

  mutating func dispatch(_ destination: Int) {
    let capacity = capacities[destination]
    while open[destination].count < capacity,
      let slot = queues[destination].next(capacity: capacity, now: now)
    {
      let record = records[Int(slot)]!
      if isExpired(record) {
        queues[destination].ended(record.sendClass)
        end(slot)
        continue
      }
      if lives[Int(slot)].attempts == 0 { queues[destination].budget.sent() }
      lives[Int(slot)].send()
      sends[Int(slot)] += 1
      deadlines.insert(slot, now: now)
      open[destination].append(slot)
      let others = open[destination].count {
        records[Int($0)]!.sendClass != .transactional
      }
      if open[destination].count > capacity { problems.append("above the limit") }
      if others != queues[destination].openOthers { problems.append("others are miscounted") }
      if order != nil {
        let same = open.joined().count { records[Int($0)]!.device == record.device }
        if same > 1 { problems.append("two of one device are open") }
      }
    }
  }

  mutating func answerOne(_ destination: Int) {
    guard !open[destination].isEmpty else { return }
    let place = random.below(open[destination].count)
    let mood = moods[destination]
    if mood == .silent { return }
    let slot = open[destination].remove(at: place)
    deadlines.remove(slot)
    let choice = mood == .moody ? random.below(6) : mood == .unavailable ? 1 : 0
    if mood == .refusing { return close(slot, .unprocessed, isFailure: true) }
    switch choice {
    case 1: close(slot, .answered(.retryLater(.quarterHour)), isFailure: true)
    case 2:
      let device = records[Int(slot)]!.device
      close(slot, .answered(.retryLater(.soon)), isFailure: false)
      holds.throttle(device, until: now + 5_000)
    case 3: close(slot, .ambiguous, isFailure: true)
    case 4: close(slot, .answered(.rejected(aboutToken: true)), isFailure: false)
    default: close(slot, .answered(.delivered), isFailure: false)
    }
  }

  mutating func expire() {
    while let slot = deadlines.expire(now: now) {
      lives[Int(slot)].timeOut()
      let destination = records[Int(slot)]!.destination
      open[destination].removeAll { $0 == slot }
      close(slot, .ambiguous, isFailure: true)
    }
  }

  mutating func close(_ slot: UInt32, _ cause: RetryPolicy.Cause, isFailure: Bool) {
    let record = records[Int(slot)]!
    let destination = record.destination
    lives[Int(slot)].close(isUnprocessed: cause == .unprocessed)
    queues[destination].ended(record.sendClass)
    if isFailure {
      queues[destination].health.failed(now: now, random: random.next())
    } else {
      queues[destination].health.served(sentAt: 0)
      fairness.answered(destination + 1)
    }
    if queues[destination].health.keeps(PushLife(), failingSince: 0, cause), isFailure,
      !isExpired(record)
    {
      kept += 1
      if cause != .unprocessed { lives[Int(slot)].spare() }
      lives[Int(slot)].wait()
      return queues[destination].append(slot, record.sendClass)
    }
    let attempts = lives[Int(slot)].countedAttempts
    var decision = policy.decide(
      cause, attempts: attempts, now: Int64(now), expiresAt: expiry(record))
    if decision == .now(counts: true), !queues[destination].budget.spend(now: now) {
      decision = policy.decide(
        cause, attempts: attempts, now: Int64(now), expiresAt: expiry(record), promptly: false)
    }
    switch decision {
    case .now:
      lives[Int(slot)].wait()
      queues[destination].prepend(slot, record.sendClass)
    case .tier(let tier):
      parked += 1
      park(slot, tier)
    case .final:
      if cause == .answered(.delivered) { delivered += 1 }
      end(slot)
    case .deadLetter, .expired: end(slot)
    }
  }

  mutating func park(_ slot: UInt32, _ tier: RetryTier) {
    var record = records[Int(slot)]!
    record.attempts = UInt16(lives[Int(slot)].countedAttempts)
    tiers[Int(tier.rawValue)].append((now + UInt64(tier.delay), record))
    release(slot)
  }

  mutating func end(_ slot: UInt32) {
    let record = records[Int(slot)]!
    if !ends.insert(record.number).inserted { problems.append("\(record.number) ended twice") }
    ended += 1
    release(slot)
  }

  mutating func release(_ slot: UInt32) {
    if hasTurn[Int(slot)] {
      hasTurn[Int(slot)] = false
      if let next = order!.leave(slot) {
        hasTurn[Int(next)] = true
        turns.append(next)
      }
    }
    if isHeld[Int(slot)] { fairness.released(records[Int(slot)]!.destination + 1) }
    isHeld[Int(slot)] = false
    lives[Int(slot)].end()
    records[Int(slot)] = nil
    free.append(slot)
  }

  func expiry(_ record: Record) -> Int64 { Int64(record.created) + 3_600_000 }
  func isExpired(_ record: Record) -> Bool { Int64(now) >= expiry(record) }
}
