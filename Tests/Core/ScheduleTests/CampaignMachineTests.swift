// SPDX-License-Identifier: Apache-2.0
import Random
import Testing

@testable import Schedule

/// A campaign from its start to its end, with kills: every device of the audience is addressed, and few are twice.
@Suite struct CampaignMachineTests {
  /// A database, a topic and a process that may die at any step.
  private struct World {
    var random: SeededGenerator
    let audience: [String]
    let plan: CampaignPlan
    let pageSize: Int
    /// As the topic has it.
    var saved = CampaignProgress()
    var machine: CampaignMachine
    var now: Int64 = 0
    var evidence = CampaignEvidence()
    var pages: [Int: ArraySlice<String>] = [:]
    var questions: [CampaignMachine.Action] = []
    var producing: [Int] = []
    var saving: [CampaignProgress] = []
    var times: [String: Int] = [:]
    var kills = 0

    init(_ plan: CampaignPlan, devices: Int, pageSize: Int, seed: UInt64) {
      random = SeededGenerator(seed: seed)
      audience = (0..<devices).map { number in
        let digits = String(number)
        return String(repeating: "0", count: 6 - digits.count) + digits
      }
      (self.plan, self.pageSize) = (plan, pageSize)
      machine = CampaignMachine(plan, saved, pageSize: pageSize)
    }

    mutating func chance(_ percent: UInt64) -> Bool { random.next() % 100 < percent }

    /// Does what the machine asks for until it asks for nothing.
    mutating func turn() {
      while let action = machine.next(now: now, evidence) {
        switch action {
        case .count, .read: questions.append(action)
        case .produce(let page):
          if chance(10) { machine.postponed(page: page) } else { producing.append(page) }
          if chance(10) { return }
        case .save(let progress):
          if chance(10) {
            machine.unsaved()
            return
          }
          saving.append(progress)
        }
      }
    }

    mutating func answer() {
      if let question = questions.popLast() {
        if chance(10) { return machine.unanswered(now: now) }
        switch question {
        case .count: machine.counted(audience.count)
        case .read(let after, let limit):
          let page = audience.drop { $0 <= after }.prefix(limit)
          if let number = machine.read(count: page.count, last: page.last ?? "", limit: limit) {
            pages[number] = page
          }
        default: break
        }
      }
      if !producing.isEmpty, chance(60) {
        let page = producing.remove(at: Int(random.next() % UInt64(producing.count)))
        for token in pages[page]! { times[token, default: 0] += 1 }
        evidence.outcomes += pages[page]!.count
        machine.produced(page: page)
      }
      if let progress = saving.first, chance(60) {
        saving.removeFirst()
        if progress.revision > saved.revision { saved = progress }
        machine.saved()
      }
    }

    /// The process dies: what is under way may have reached Kafka.
    mutating func kill() {
      kills += 1
      for page in producing where chance(50) {
        for token in pages[page]! { times[token, default: 0] += 1 }
      }
      if let progress = saving.first, chance(50) { saved = progress }
      (questions, producing, saving, pages) = ([], [], [], [:])
      machine = CampaignMachine(plan, saved, pageSize: pageSize)
    }

    mutating func run(killing percent: UInt64, steps: Int = 20_000) {
      for _ in 0..<steps where !saved.state.isOver {
        now += Int64(random.next() % 500)
        turn()
        answer()
        if percent > 0, random.next() % 1_000 < percent { kill() }
      }
    }
  }

  @Test(arguments: 0..<300)
  func `every device is addressed, whatever dies`(_ seed: UInt64) {
    var world = World(
      CampaignPlan(
        startAt: 1_000,
        trial: seed % 2 == 0 ? .init(share: 0.05, wait: 2_000) : nil, mostRejected: 0.5),
      devices: Int(seed % 400), pageSize: 7, seed: seed)
    world.run(killing: seed % 3 == 0 ? 0 : 20)
    #expect(world.saved.state == .done)
    #expect(world.saved.addressed == world.audience.count)
    #expect(world.saved.total == world.audience.count || world.saved.total == nil)
    #expect(Set(world.times.keys) == Set(world.audience))
    let repeats = world.times.values.reduce(0) { $0 + $1 - 1 }
    #expect(repeats <= world.kills * CampaignMachine.mostUnsaved * 7)
    if world.kills == 0 { #expect(repeats == 0) }
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
  private func afterTrial(wait: Int64 = 1_000, most: Double = 0.02) -> CampaignMachine {
    var progress = CampaignProgress()
    (progress.state, progress.total, progress.addressed) = (.trial, 1_000, 100)
    (progress.revision, progress.trialEndedAt, progress.cursor) = (9, 10_000, "c")
    return CampaignMachine(
      CampaignPlan(startAt: 0, trial: .init(share: 0.1, wait: wait), mostRejected: most), progress,
      pageSize: 10)
  }

  private func state(
    _ machine: inout CampaignMachine, _ now: Int64, _ outcomes: Int, _ rejected: Int
  )
    -> CampaignProgress.State?
  {
    guard
      case .save(let progress) = machine.next(
        now: now, CampaignEvidence(outcomes: outcomes, rejected: rejected))
    else { return nil }
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

  @Test
  func `a pause holds everything, and a cancellation ends it when what is under way has ended`() {
    var progress = CampaignProgress()
    (progress.state, progress.total, progress.revision) = (.running, 100, 1)
    var machine = CampaignMachine(CampaignPlan(startAt: 0), progress, pageSize: 10)
    #expect(machine.next(now: 0, .init()) == .read(after: "", limit: 10))
    #expect(machine.read(count: 10, last: "a", limit: 10) == 1)
    #expect(machine.next(now: 0, .init()) == .produce(page: 1))
    #expect(machine.next(now: 0, .init()) == .read(after: "a", limit: 10))
    #expect(machine.read(count: 10, last: "b", limit: 10) == 2)
    machine.control.isPaused = true
    #expect(machine.next(now: 0, .init()) == nil)
    machine.control = CampaignControl(cancelledBy: "ann")
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

  @Test func `draining begins nothing, and says how far it is`() {
    var progress = CampaignProgress()
    (progress.state, progress.total, progress.revision) = (.running, 100, 1)
    var machine = CampaignMachine(CampaignPlan(startAt: 0), progress, pageSize: 10)
    _ = machine.next(now: 0, .init())
    _ = machine.read(count: 10, last: "a", limit: 10)
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
    let first = ScheduleChange.campaign(revision: 0, identity: 1)
    guard case .store(let row) = first.verdict(at: 5, over: nil) else {
      return #expect(Bool(false))
    }
    #expect(row.isCampaign && row.at == 0 && !row.isCancellation)
    // Started again, or an owner of before.
    #expect(ScheduleChange.campaign(revision: 0, identity: 2).verdict(at: 6, over: row) == .restore)
    let next = ScheduleChange.campaign(revision: 1, identity: 3).verdict(at: 7, over: row)
    #expect(
      next
        == .store(
          ScheduleRow(
            offset: 7, due: ScheduleRow.never, at: 1, isCancellation: false, identity: 3)))
  }
}
