// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import Contract
@testable import ScheduleDecisions

/// A campaign from its start to its end, with kills: every device of the audience is addressed, and few are twice.
@Suite struct CampaignMachineTests {
  /// By local time in some of the seeds.
  private static func world(_ seed: UInt64, isLocal: Bool) -> CampaignWorld {
    CampaignWorld(
      CampaignPlan(
        startAt: 1_000, local: isLocal ? .init(time: 0, zone: "UTC") : nil,
        trial: seed % 2 == 0 ? .init(share: 0.05, wait: 2_000) : nil,
        limits: .init(rejected: 0.5), hasPace: seed % 5 == 0),
      devices: Int(seed % 400), pageSize: 7, waves: isLocal ? [20_000, 900, 60_000] : [],
      seed: seed)
  }

  private func expectWhole(_ world: CampaignWorld) {
    #expect(world.saved.state == .done)
    #expect(world.saved.addressed == world.audience.count)
    #expect(world.saved.total == world.audience.count || world.saved.total == nil)
    #expect(Set(world.times.keys) == Set(world.audience))
    let repeats = world.times.values.reduce(0) { $0 + $1 - 1 }
    #expect(repeats <= world.kills * CampaignMachine.mostUnsaved * 7)
    if world.kills == 0 { #expect(repeats == 0) }
  }

  @Test(arguments: 0..<300)
  func `every device is addressed, whatever dies`(_ seed: UInt64) {
    var world = Self.world(seed, isLocal: seed % 7 < 3)
    world.run(killing: seed % 3 == 0 ? 0 : 20)
    expectWhole(world)
  }

  @Test(arguments: 0..<3)
  func `every device is addressed at its local time, whatever dies in a wave`(_ number: Int) {
    for seed in 100..<140 as Range<UInt64> {
      var world = Self.world(seed, isLocal: true)
      let wave = world.waves.sorted()[number]
      world.run(killing: 0) {
        $0.machine.progress.wave == wave && !$0.machine.progress.cursor.isEmpty
      }
      #expect(world.machine.progress.wave == wave && !world.saved.state.isOver)
      world.kill()
      world.run(killing: 0)
      expectWhole(world)
    }
  }

  @Test(arguments: [true, false])
  func `a campaign that is done says how many tokens of its topic were gone`(_ isFixed: Bool) {
    var machine = CampaignMachine(CampaignPlan(startAt: 0), CampaignProgress(), pageSize: 10)
    machine.isFixed = isFixed
    var pages = [10, 3]
    while let action = machine.next(now: 1_000, .init()) {
      switch action {
      case .count: machine.counted(25)
      case .read(_, let limit):
        let count = pages.removeFirst()
        _ = machine.read(count: count, last: "\(pages.count)", limit: limit, now: 1_000)
      case .produce(let page): machine.produced(page: page)
      case .save: machine.saved()
      default: break
      }
    }
    #expect(machine.progress.state == .done && machine.progress.addressed == 13)
    #expect(machine.progress.reason?.hasPrefix("12 of its 25 ") == (isFixed ? true : nil))
    for cause in ["retention.ms", "retention.bytes", "compacted", "made anew"] {
      #expect(machine.progress.reason?.contains(cause) == (isFixed ? true : nil))
    }
  }

  @Test func `a wave begins at its time, and a new owner goes on with it`() {
    let plan = CampaignPlan(startAt: 1_000, local: .init(time: 0, zone: "UTC"))
    var progress = CampaignProgress()
    (progress.state, progress.total, progress.revision) = (.running, 20, 1)
    var machine = CampaignMachine(plan, progress, pageSize: 10)
    #expect(machine.next(now: 1_000, .init()) == .findWaves)
    #expect(machine.next(now: 1_000, .init()) == nil)
    machine.unanswered(now: 1_000)
    #expect(machine.next(now: 2_000, .init()) == .findWaves)
    machine.found(waves: [9_000, 3_000, 6_000], now: 2_000)
    #expect(state(&machine, 2_000, 0, 0) == .running && machine.progress.wave == 3_000)
    #expect(machine.next(now: 2_999, .init()) == nil)
    #expect(machine.next(now: 3_000, .init()) == .read(after: "", limit: 10))
    #expect(machine.read(count: 5, last: "f", limit: 10, now: 0) == 1)
    #expect(machine.next(now: 3_000, .init()) == .produce(page: 1))
    #expect(machine.next(now: 6_000, .init()) == nil)
    machine.produced(page: 1)
    // The wave is over: nothing is read before the next one.
    #expect(state(&machine, 4_000, 0, 0) == .running)
    #expect(machine.progress.wave == 6_000 && machine.progress.cursor == "")
    #expect(machine.next(now: 5_999, .init()) == nil)
    #expect(machine.next(now: 6_000, .init()) == .read(after: "", limit: 10))
    // Of a wave that has gone meanwhile the next one is begun.
    progress = machine.progress
    progress.cursor = "c"
    for (waves, wave, cursor) in [
      ([3_000, 6_000, 9_000], 6_000, "c"), ([3_000, 9_000], 9_000, ""),
    ]
      as [([Int64], Int64, String)]
    {
      machine = CampaignMachine(plan, progress, pageSize: 10)
      #expect(machine.next(now: 9_000, .init()) == .findWaves)
      machine.found(waves: waves, now: 9_000)
      if wave != 6_000 { #expect(state(&machine, 9_000, 0, 0) == .running) }
      #expect(machine.next(now: 9_000, .init()) == .read(after: cursor, limit: 10))
      #expect(machine.progress.wave == wave)
    }
    #expect(machine.read(count: 0, last: "", limit: 10, now: 0) == nil)
    #expect(state(&machine, 9_000, 0, 0) == .done)
  }

  @Test func `a new owner does not leave out a zone whose time comes before the current wave`() {
    var progress = CampaignProgress()
    (progress.state, progress.total, progress.revision) = (.running, 20, 1)
    progress.wave = 6_000
    let plan = CampaignPlan(startAt: 1_000, local: .init(time: 0, zone: "UTC"))
    var machine = CampaignMachine(plan, progress, pageSize: 10)
    #expect(machine.next(now: 3_500, .init()) == .findWaves)
    machine.found(waves: [3_000, 5_000, 6_000], now: 3_500)
    #expect(state(&machine, 3_500, 0, 0) == .running && machine.progress.wave == 5_000)
    #expect(machine.next(now: 5_000, .init()) == .read(after: "", limit: 10))
    #expect(machine.read(count: 1, last: "z", limit: 10, now: 5_000) == 1)
    #expect(machine.next(now: 5_000, .init()) == .produce(page: 1))
    machine.produced(page: 1)
    #expect(state(&machine, 5_000, 0, 0) == .running && machine.progress.wave == 6_000)
    #expect(machine.next(now: 6_000, .init()) == .read(after: "", limit: 10))
  }

  @Test func `the first wave begins where the audience does`() {
    let plan = CampaignPlan(startAt: 1_000, local: .init(time: 0, zone: "UTC"))
    var machine = CampaignMachine(plan, .init(), pageSize: 10)
    #expect(state(&machine, 1_000, 0, 0) == .running)
    #expect(machine.next(now: 1_000, .init()) == .count)
    machine.counted(5, start: "0:3.0-9")
    #expect(state(&machine, 1_000, 0, 0) == .running)
    #expect(machine.next(now: 1_000, .init()) == .findWaves)
    machine.found(waves: [2_000], now: 1_000)
    #expect(state(&machine, 1_000, 0, 0) == .running && machine.progress.wave == 2_000)
    #expect(machine.next(now: 2_000, .init()) == .read(after: "0:3.0-9", limit: 10))
  }

  @Test func `nothing is addressed before its time`() {
    var machine = CampaignMachine(CampaignPlan(startAt: 5_000), .init(), pageSize: 10)
    #expect(machine.next(now: 4_999, .init()) == nil)
    guard case .save(let progress) = machine.next(now: 5_000, .init()) else {
      return #expect(Bool(false))
    }
    #expect(progress.state == .running && progress.revision == 1)
    #expect(machine.next(now: 5_000, .init()) == .count)
  }

  /// A machine whose first part of 10 of 1,000 devices is addressed.
  private func afterTrial(
    wait: Int64 = 1_000, _ limits: CampaignLimits = .init(rejected: 0.02)
  ) -> CampaignMachine {
    var progress = CampaignProgress()
    (progress.state, progress.total, progress.addressed) = (.trial, 1_000, 100)
    (progress.revision, progress.trialEndedAt, progress.cursor) = (9, 10_000, "c")
    return CampaignMachine(
      CampaignPlan(startAt: 0, trial: .init(share: 0.1, wait: wait), limits: limits), progress,
      pageSize: 10)
  }

  private func state(
    _ machine: inout CampaignMachine, _ now: Int64, _ outcomes: Int, _ rejected: Int
  ) -> CampaignProgress.State? {
    state(&machine, now, CampaignEvidence(outcomes: outcomes, rejected: rejected))
  }

  private func state(
    _ machine: inout CampaignMachine, _ now: Int64, _ evidence: CampaignEvidence
  ) -> CampaignProgress.State? {
    guard case .save(let progress) = machine.next(now: now, evidence) else { return nil }
    machine.saved()
    return progress.state
  }

  @Test func `the first part is judged after its time, by nearly all of its outcomes`() {
    var machine = afterTrial()
    #expect(state(&machine, 10_999, 100, 0) == nil)
    #expect(state(&machine, 11_000, 89, 0) == nil)
    #expect(state(&machine, 60_000, 90, 1) == .running)
    #expect(machine.next(now: 60_000, .init()) == .read(after: "c", limit: 10))
    // 2 of 95 are more than 2 %.
    machine = afterTrial()
    #expect(state(&machine, 11_000, 95, 2) == .stopped)
    #expect(machine.progress.reason == "2 of 95 pushes were rejected")
    #expect(machine.next(now: 99_000, .init(outcomes: 100)) == nil)
  }

  /// A topic may have a token more than once: there is one push to it, and no outcome for the others.
  @Test func `the first part is judged by its devices, however often it has each of them`() {
    var evidence = CampaignEvidence(outcomes: 71, ended: 91)
    evidence.repeated = 20
    var machine = afterTrial()
    #expect(state(&machine, 11_000, evidence) == nil)
    evidence.devices.outcomes = 72
    #expect(state(&machine, 11_000, evidence) == .running)
  }

  @Test func `a clock that was a day ahead when the first part ended delays nothing by a day`() {
    var machine = afterTrial()
    // The record has 10,000; the next owner's clock is right.
    #expect(state(&machine, -50_000, 100, 0) == .trial)
    #expect(machine.progress.trialEndedAt == -50_000)
    #expect(state(&machine, -49_001, 100, 0) == nil)
    #expect(state(&machine, -49_000, 100, 0) == .running)
    // Nor does a question that was not answered then.
    #expect(machine.next(now: 90_000, .init()) == .read(after: "c", limit: 10))
    machine.unanswered(now: 90_000)
    #expect(machine.next(now: 90_500, .init()) == nil)
    #expect(machine.next(now: 0, .init()) == .read(after: "c", limit: 10))
    // Owners' clocks differ by less than a second.
    machine = afterTrial()
    #expect(state(&machine, 9_000, 100, 0) == nil)
    #expect(machine.progress.trialEndedAt == 10_000)
  }

  @Test func `too many rejections stop it at once, at any time`() {
    var machine = afterTrial()
    // 3 are more than 2 % of the first part, whatever becomes of the rest.
    #expect(state(&machine, 10_001, 3, 2) == nil)
    #expect(state(&machine, 10_001, 3, 3) == .stopped)
    machine = afterTrial()
    #expect(state(&machine, 60_000, 100, 0) == .running)
    #expect(state(&machine, 60_000, 500, 10) == nil)
    #expect(machine.next(now: 60_001, .init(outcomes: 501, rejected: 11)) != nil)
    #expect(machine.progress.state == .stopped)
  }

  @Test func `device tokens that are invalid stop it, before its end and after its first part`() {
    let limits = CampaignLimits(unregistered: 0.1)
    var machine = afterTrial(limits)
    // Of 100 in the first part more than 10.
    #expect(state(&machine, 10_001, .init(outcomes: 12, unregistered: 10)) == nil)
    #expect(state(&machine, 10_001, .init(outcomes: 12, unregistered: 11)) == .stopped)
    #expect(machine.progress.reason == "11 of 12 device tokens were invalid")
    machine = afterTrial(limits)
    #expect(state(&machine, 11_000, .init(outcomes: 91, unregistered: 10)) == .stopped)
    machine = afterTrial(limits)
    #expect(
      state(&machine, 11_000, .init(outcomes: 100, rejected: 100, unregistered: 10)) == .running)
  }

  @Test func `more invalid tokens than the app's other pushes have stop it, if enough is known`() {
    let limits = CampaignLimits(unregisteredTimes: 5)
    func stops(_ unregistered: Int, _ others: CampaignEvidence.Devices) -> String? {
      var machine = afterTrial(limits)
      let evidence = CampaignEvidence(outcomes: 100, unregistered: unregistered, others: others)
      _ = state(&machine, 11_000, evidence)
      return machine.progress.reason
    }
    // 2 % of the others: 10 % is not more than five times that.
    #expect(stops(10, .init(outcomes: 2_000, unregistered: 40)) == nil)
    #expect(
      stops(11, .init(outcomes: 2_000, unregistered: 40))
        == "11 of 100 device tokens were invalid, of the app's other pushes 40 of 2000")
    // Too few others, or too few of its own.
    #expect(stops(100, .init(outcomes: 999, unregistered: 1)) == nil)
    #expect(stops(9, .init(outcomes: 100_000, unregistered: 1)) == nil)
    // None among the others counts as one.
    #expect(stops(10, .init(outcomes: 1_000)) != nil)
    var machine = afterTrial(limits)
    let others = CampaignEvidence.Devices(outcomes: 2_000, unregistered: 40)
    // At once: of the whole first part it is too many.
    #expect(
      state(&machine, 10_001, .init(outcomes: 11, unregistered: 11, others: others)) == .stopped)
  }

  @Test func `outcomes that take too long stop it when they are more than half`() {
    let limits = CampaignLimits(rejected: 0.9, slowerThan: 2_000)
    var machine = afterTrial(limits)
    #expect(state(&machine, 10_001, .init(outcomes: 50, timed: 50, slow: 50)) == nil)
    #expect(state(&machine, 11_000, .init(outcomes: 100, timed: 90, slow: 45)) == .running)
    machine = afterTrial(limits)
    #expect(state(&machine, 11_000, .init(outcomes: 100, timed: 90, slow: 46)) == .stopped)
    #expect(machine.progress.reason == "46 of 90 outcomes took longer than 2000 ms")
    machine = afterTrial(limits)
    #expect(state(&machine, 10_001, .init(outcomes: 51, timed: 51, slow: 51)) == .stopped)
  }

  @Test func `its pace is set before its time, and its first page waits until senders know it`() {
    let plan = CampaignPlan(startAt: 5_000, hasPace: true)
    var machine = CampaignMachine(plan, .init(), pageSize: 10)
    #expect(machine.next(now: 0, .init()) == .setPace(isSet: true))
    #expect(machine.next(now: 0, .init()) == nil && !machine.isIdle)
    machine.paceFailed()
    #expect(machine.next(now: 0, .init()) == .setPace(isSet: true))
    machine.paced(now: 4_800)
    #expect(state(&machine, 4_800, 0, 0) == .scheduled)
    #expect(machine.progress.hasSetPace)
    #expect(state(&machine, 5_000, 0, 0) == .running)
    #expect(machine.next(now: 5_000, .init()) == .count)
    machine.counted(10)
    #expect(state(&machine, 5_000, 0, 0) == .running)
    #expect(machine.next(now: 5_000, .init()) == .read(after: "", limit: 10))
    #expect(machine.read(count: 10, last: "a", limit: 10, now: 0) == 1)
    // Nothing else comes before the page.
    #expect(machine.next(now: 5_799, .init()) == .read(after: "a", limit: 10))
    #expect(machine.next(now: 5_799, .init()) == nil)
    #expect(machine.next(now: 5_800, .init()) == .produce(page: 1))
    // Another owner leaves it as operators have made it.
    var other = CampaignMachine(plan, machine.progress, pageSize: 10)
    #expect(other.next(now: 6_000, .init()) == .read(after: "", limit: 10))
  }

  @Test func `a clock that is set back holds up no page`() {
    var progress = CampaignProgress()
    (progress.state, progress.total, progress.revision) = (.running, 100, 1)
    let plan = CampaignPlan(startAt: 0, hasPace: true)
    var machine = CampaignMachine(plan, progress, pageSize: 10)
    let now: Int64 = 3_600_000
    #expect(machine.next(now: now, .init()) == .setPace(isSet: true))
    machine.paced(now: now)
    #expect(state(&machine, now, 0, 0) == .running)
    #expect(machine.next(now: now, .init()) == .read(after: "", limit: 10))
    #expect(machine.read(count: 10, last: "a", limit: 10, now: now) == 1)
    #expect(machine.next(now: now + 1_000, .init()) == .produce(page: 1))
    #expect(machine.next(now: 1_000, .init()) == .read(after: "a", limit: 10))
    #expect(machine.read(count: 10, last: "b", limit: 10, now: 1_000) == 2)
    #expect(machine.next(now: 1_000, .init()) == .produce(page: 2))
  }

  @Test func `its pace goes with its last push, its record long after its end`() {
    var progress = CampaignProgress()
    (progress.state, progress.revision, progress.endedAt) = (.done, 3, 1_000)
    (progress.addressed, progress.hasSetPace) = (10, true)
    let end = 1_000 + CampaignMachine.kept
    let plan = CampaignPlan(startAt: 0, hasPace: true)
    var machine = CampaignMachine(plan, progress, pageSize: 10)
    #expect(machine.next(now: 2_000, .init(outcomes: 9)) == nil)
    // Repeats count: a device that is there twice has one push.
    #expect(machine.next(now: 2_000, .init(outcomes: 9, ended: 10)) == .setPace(isSet: false))
    #expect(machine.next(now: 2_000, .init(outcomes: 10)) == nil)
    machine.paceFailed()
    // What has no outcome for a day has none any more.
    #expect(
      machine.next(now: 1_001 + CampaignProgress.countedAfterEnd, .init()) == .setPace(isSet: false)
    )
    machine.paced(now: 3_000)
    guard case .save(let saved) = machine.next(now: 3_000, .init()) else {
      return #expect(Bool(false))
    }
    machine.saved()
    #expect(!saved.hasSetPace && machine.next(now: end, .init()) == nil)
    #expect(machine.next(now: end + 1, .init()) == .forget)
    #expect(machine.next(now: end + 1, .init()) == nil)
    machine.forgetFailed()
    #expect(machine.next(now: end + 1, .init()) == .forget)
    machine = CampaignMachine(CampaignPlan(startAt: 0), progress, pageSize: 10)
    #expect(machine.next(now: end + 1, .init()) == .forget)
  }

  @Test
  func `a pause holds everything, and a cancellation ends it when what is under way has ended`() {
    var progress = CampaignProgress()
    (progress.state, progress.total, progress.revision) = (.running, 100, 1)
    var machine = CampaignMachine(CampaignPlan(startAt: 0), progress, pageSize: 10)
    #expect(machine.next(now: 0, .init()) == .read(after: "", limit: 10))
    #expect(machine.read(count: 10, last: "a", limit: 10, now: 0) == 1)
    #expect(machine.next(now: 0, .init()) == .produce(page: 1))
    #expect(machine.next(now: 0, .init()) == .read(after: "a", limit: 10))
    #expect(machine.read(count: 10, last: "b", limit: 10, now: 0) == 2)
    machine.control.isPaused = true
    guard case .save(let paused) = machine.next(now: 0, .init()) else {
      return #expect(Bool(false))
    }
    machine.saved()
    #expect(paused.isPaused && machine.next(now: 0, .init()) == nil)
    machine.control = CampaignControl(cancelledBy: "ann")
    guard case .save(let resumed) = machine.next(now: 0, .init()) else {
      return #expect(Bool(false))
    }
    machine.saved()
    #expect(!resumed.isPaused)
    // The first page is on its way.
    #expect(machine.next(now: 0, .init()) == nil)
    machine.produced(page: 1)
    guard case .save(let end) = machine.next(now: 7, .init()) else { return #expect(Bool(false)) }
    #expect(end.state == .cancelled && end.reason == "cancelled by ann" && end.endedAt == 7)
    #expect(end.addressed == 10 && end.cursor == "a")
    machine.saved()
    #expect(machine.next(now: 9, .init()) == nil)
    #expect(machine.isIdle)
  }

  @Test func `a campaign that passed a limit stops, though later outcomes are within it`() {
    var progress = CampaignProgress()
    (progress.state, progress.total, progress.revision) = (.running, 1_000, 1)
    let plan = CampaignPlan(startAt: 0, limits: .init(rejected: 0.02))
    var machine = CampaignMachine(plan, progress, pageSize: 10)
    #expect(machine.next(now: 0, .init()) == .read(after: "", limit: 10))
    #expect(machine.read(count: 10, last: "a", limit: 10, now: 0) == 1)
    #expect(machine.next(now: 0, .init()) == .produce(page: 1))
    #expect(machine.next(now: 0, .init()) == .read(after: "a", limit: 10))
    // The last page of the audience: it is dropped.
    #expect(machine.read(count: 5, last: "b", limit: 10, now: 0) == 2)
    #expect(machine.next(now: 0, .init(outcomes: 100, rejected: 3)) == nil)
    machine.produced(page: 1)
    #expect(state(&machine, 1, 200, 3) == .stopped)
    #expect(machine.progress.reason == "3 of 100 pushes were rejected")
    #expect(machine.progress.addressed == 10 && machine.isIdle)
  }

  @Test func `draining begins nothing, and says how far it is`() {
    var progress = CampaignProgress()
    (progress.state, progress.total, progress.revision) = (.running, 100, 1)
    var machine = CampaignMachine(CampaignPlan(startAt: 0), progress, pageSize: 10)
    _ = machine.next(now: 0, .init())
    _ = machine.read(count: 10, last: "a", limit: 10, now: 0)
    #expect(machine.next(now: 0, .init()) == .produce(page: 1))
    machine.drain()
    #expect(machine.next(now: 0, .init()) == nil && !machine.isIdle)
    machine.produced(page: 1)
    guard case .save(let saved) = machine.next(now: 0, .init()) else { return #expect(Bool(false)) }
    #expect(saved.addressed == 10 && !machine.isIdle)
    machine.saved()
    #expect(machine.isIdle && machine.next(now: 0, .init()) == nil)
  }

  @Test func `of two records of a campaign the one with the higher revision counts`() {
    let first = ScheduleChange.value(.campaign(revision: 0), identity: 1)
    guard case .store(let row) = first.verdict(at: 5, over: nil) else {
      return #expect(Bool(false))
    }
    #expect(row.kind == .campaign(revision: 0))
    // Started again, or an owner of before.
    let other = ScheduleChange.value(.campaign(revision: 0), identity: 2)
    #expect(other.verdict(at: 6, over: row) == .restore)
    // Written again behind a record of no consequence: it counts from there on.
    let again = first.verdict(at: 6, over: row)
    guard case .store(let moved) = again else { return #expect(Bool(false)) }
    #expect(moved.offset == 6 && moved.identity == 1)
    let next = ScheduleChange.value(.campaign(revision: 1), identity: 3).verdict(at: 7, over: row)
    #expect(next == .store(ScheduleRow(offset: 7, identity: 3, kind: .campaign(revision: 1))))
  }
}
