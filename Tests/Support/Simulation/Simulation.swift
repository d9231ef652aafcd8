// SPDX-License-Identifier: Apache-2.0
import APNS
import Delivery
import Dispatch
import Pipeline
import Random

/// The sender's shipped decisions in virtual time: two processes of one consumer group, the topics that they read and
/// write, and a gateway that keeps APNs' rules and misbehaves within them. Everything follows from the seed.
///
/// After every step holds what `docs/chaos.md` and APNs ask: nothing is committed before its outcome is stored, a push
/// has one end, streams stay within their limit, token changes are 20 minutes apart, nothing is sent after its
/// expiration, connects back off, memory is bounded; in the end every notification has its outcome, and none was
/// accepted more often than lost answers and records that were read again excuse.
package struct Simulation {
  private static let credentials = [["app.a", "app.b"], ["app.c"], ["*"]]
  private static let apps = ["app.a", "app.b", "app.c", "app.other", "app.certificate"]

  private var world: World
  private var loops: [LoopModel]
  private let settings: DispatchSettings
  private var epoch = 0
  /// A rebalance is under way.
  private var isHandingOver = false
  private var nextSeed: UInt64
  /// Steps done.
  package private(set) var steps = 0

  package init(seed: UInt64) {
    world = World(seed: seed, apps: Self.credentials.map(\.self))
    var settings = DispatchSettings()
    settings.maxInFlight = world.chance.pick([60, 200, 600])
    settings.isOrdered = world.chance.oneIn(3)
    settings.dedupWindow = 500
    settings.partitionBounds = PartitionBounds(openAtMost: world.chance.pick([40, 200]))
    settings.connectionAge = 3_600_000
    settings.pool = .init(minimum: 1, maximum: world.chance.pick([2, 4]))
    settings.requestTimeout = 20_000
    settings.connectTimeout = 5_000
    settings.maxAge = (1_800_000, 7_200_000)
    self.settings = settings
    nextSeed = seed
    loops = []
    for _ in 0..<2 { loops.append(newLoop()) }
    deal()
  }

  /// What broke, or nil.
  package var problem: String? {
    world.kafka.problem.map {
      "step \(steps): \($0) (" + loops.map(\.summary).joined(separator: "; ") + ")"
    }
  }

  package var notifications: Int { world.kafka.notifications.count }
  package var delivered: Int {
    world.kafka.notifications.count { $0.outcomes.contains(.delivered) }
  }

  // MARK: Steps

  /// One turn of each process, at a later time.
  package mutating func step() {
    steps += 1
    world.now += UInt64(
      world.chance.oneIn(200) ? world.chance.below(20_000) : world.chance.below(30))
    if !world.isCalm { trouble() }
    world.signer.turn(wall: world.wall, isCalm: world.isCalm, &world.chance)
    for loop in loops { loop.turn(&world) }
    finishRebalance()
  }

  /// Runs so many steps, then until everything has its outcome.
  ///
  /// - Returns: what broke, or nil.
  package mutating func run(steps count: Int) -> String? {
    while steps < count, problem == nil { step() }
    if let problem { return problem }
    calm()
    var patience = 60_000
    while patience > 0, problem == nil, !world.kafka.isSettled {
      step()
      patience -= 1
    }
    return problem ?? verdict
  }

  /// Everything works from now on.
  private mutating func calm() {
    world.isCalm = true
    world.mood = GatewayMood()
    world.throttled = []
  }

  private var verdict: String? {
    if !world.kafka.isSettled {
      return "it never comes to its end: " + loops.map(\.summary).joined(separator: "; ")
    }
    if let lost = world.kafka.lost { return "notification \(lost) is lost" }
    for (number, one) in world.kafka.notifications.enumerated() {
      if one.outcomes.contains(.delivered), one.accepted == 0 {
        return "notification \(number) is called delivered and was never accepted"
      }
      if one.accepted > 1 + one.excusable {
        return
          "notification \(number) was accepted \(one.accepted) times, and \(one.excusable) are excused"
      }
    }
    return nil
  }

  // MARK: What happens outside

  private mutating func trouble() {
    write()
    switch world.chance.below(6_000) {
    case 0: crash()
    case 1..<4: beginRebalance()
    case 4: world.mood.whole = .unavailable
    case 5: world.mood.whole = .silent
    case 6..<14: world.mood.whole = .well
    case 14: world.mood.refusing.insert(world.chance.below(3))
    case 15: world.mood.mute.insert(world.chance.below(3))
    case 16..<20: (world.mood.refusing, world.mood.mute) = ([], [])
    case 20: world.mood.refusedApps.insert(AppTable.hash(world.chance.pick(Self.apps).utf8.span))
    case 21..<24: world.mood.refusedApps = []
    case 24: world.mood.turnsAway = true
    case 25..<29: world.mood.turnsAway = false
    case 29..<32: world.mood.faults = world.chance.pick([0, 8, 40, 200])
    case 32..<40: world.throttled.insert(UInt64(world.chance.below(40)))
    case 40..<50: world.throttled = []
    default: break
    }
  }

  /// Applications write notifications; some twice.
  private mutating func write() {
    guard world.chance.oneIn(3), world.kafka.written - world.kafka.settled < 20_000 else { return }
    for _ in 0..<world.chance.below(6) {
      let device = UInt64(world.chance.below(40))
      let isBulk = world.chance.oneIn(3)
      let last = world.kafka.notifications.last
      let isRepeat = last != nil && world.chance.oneIn(50)
      let id =
        isRepeat
        ? last!.id : NotificationID(high: world.chance.next(), low: world.chance.next())
      let facts = PushFacts(
        takenID: id, app: AppTable.hash(world.chance.pick(Self.apps).utf8.span), device: device,
        lane: isBulk ? .bulk : .transactional, created: world.wall,
        expiresAt: world.chance.oneIn(10)
          ? world.wall + Int64(world.chance.below(100_000)) : .max)
      world.kafka.write(
        facts, to: isBulk ? 3 + Int(device % 2) : Int(device % 3), isRepeat: isRepeat,
        at: world.wall)
    }
  }

  // MARK: Processes

  private mutating func newLoop() -> LoopModel {
    nextSeed &+= 1
    return LoopModel(
      settings,
      [
        .init(
          apps: ["app.certificate"], scope: .any, expiresAt: World.epoch / 1_000 + 10_000_000)
      ], now: world.now, wall: world.wall, seed: nextSeed)
  }

  /// A process ends without a word; another one begins.
  private mutating func crash() {
    let index = world.chance.below(loops.count)
    loops[index].crash(&world)
    loops[index] = newLoop()
    if isHandingOver {
      // The group waits for every member, also for the new one, which has nothing to give back.
      loops[index].release(until: world.now, &world)
    } else {
      // The group notices: the others give back what they have.
      beginRebalance()
    }
  }

  private mutating func beginRebalance() {
    guard !isHandingOver else { return }
    isHandingOver = true
    let deadline = world.now + UInt64(world.chance.pick([0, 1_500, 3_000]))
    for loop in loops { loop.release(until: deadline, &world) }
  }

  private mutating func finishRebalance() {
    guard isHandingOver, loops.allSatisfy({ $0.given != nil }) else { return }
    isHandingOver = false
    deal()
  }

  /// Each process gets half of the partitions, each time others.
  private mutating func deal() {
    epoch += 1
    let all = Array(world.kafka.partitions.indices)
    for (index, loop) in loops.enumerated() {
      loop.grant(all.filter { ($0 + epoch) % loops.count == index }, world)
    }
  }
}
