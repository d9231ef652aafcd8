// SPDX-License-Identifier: Apache-2.0
import Testing
import Waiting

@testable import Contract
@testable import ScheduleDecisions

/// Campaigns with a pace: nobody is addressed much before the turn of his push, so that what is asked of a campaign, and what
/// becomes of its devices, holds until the last one.
@Suite struct CampaignPaceTests {
  /// A machine that runs, with so many devices in its audience.
  private func running(
    _ total: Int, perSecond: Double, _ plan: CampaignPlan = .init(startAt: 0), page: Int = 1_000
  ) -> CampaignMachine {
    var progress = CampaignProgress()
    (progress.state, progress.total, progress.revision) = (.running, total, 1)
    var machine = CampaignMachine(plan, progress, pageSize: page)
    machine.pace = perSecond / 1_000
    return machine
  }

  /// Does what the machine asks for, at once.
  private func run(
    _ machine: inout CampaignMachine, of total: Int, now: Int64, _ evidence: CampaignEvidence
  ) {
    while let action = machine.next(now: now, evidence) {
      switch action {
      case .read(_, let limit):
        let left = total - machine.progress.addressed
        let count = min(limit, left)
        _ = machine.read(count: count, last: "x", limit: limit, now: now)
      case .produce(let page): machine.produced(page: page)
      case .save: machine.saved()
      default: return
      }
    }
  }

  @Test(arguments: [0.01, 0.2, 2, 20, 200, 5_000])
  func `no more than half a minute's pushes are addressed and not sent`(perSecond: Double) {
    let total = max(5, Int(perSecond * 100))
    var machine = running(total, perSecond: perSecond)
    let most = max(1, Int(perSecond * 30))
    #expect(CampaignMachine.mostAhead(perSecond / 1_000) == most)
    var (now, ended, most0) = (Int64(0), 0, 0)
    while !machine.progress.state.isOver {
      run(&machine, of: total, now: now, .init(outcomes: ended))
      let ahead = machine.progress.addressed - ended
      #expect(ahead <= most)
      most0 = max(most0, ahead)
      guard ahead > 0 || machine.progress.state.isOver else { return #expect(Bool(false)) }
      ended += max(1, Int(perSecond / 10))
      ended = min(ended, machine.progress.addressed)
      now += 100
    }
    // It is not slower than the pace either: there is always something to send.
    #expect(machine.progress.state == .done && machine.progress.addressed == total)
    #expect(most0 >= min(total, most) * 9 / 10)
  }

  @Test
  func `without a pace everybody is addressed at once, and a pace that is cleared frees the rest`()
  {
    var machine = running(5_000, perSecond: 2)
    run(&machine, of: 5_000, now: 0, .init())
    #expect(machine.progress.addressed == 60 && machine.progress.state == .running)
    machine.pace = nil
    run(&machine, of: 5_000, now: 1, .init())
    #expect(machine.progress.state == .done)
  }

  @Test func `a page that was read before a pause is read again after it`() {
    var machine = running(100, perSecond: 2, page: 10)
    #expect(machine.next(now: 0, .init()) == .read(after: "", limit: 6))
    #expect(machine.read(count: 6, last: "f", limit: 6, now: 0) == 1)
    #expect(machine.next(now: 0, .init()) == .produce(page: 1))
    // Read, and not handed over.
    #expect(machine.next(now: 0, .init()) == .read(after: "f", limit: 6))
    #expect(machine.read(count: 6, last: "l", limit: 6, now: 0) == 2)
    #expect(machine.next(now: 0, .init()) == .read(after: "l", limit: 6))
    machine.control.isPaused = true
    guard case .save(let paused) = machine.next(now: 1, .init()) else {
      return #expect(Bool(false))
    }
    machine.saved()
    #expect(paused.isPaused && machine.isOpen(page: 1) && !machine.isOpen(page: 2))
    // So is the answer that comes now, and one that says that there are no more.
    #expect(machine.read(count: 0, last: "l", limit: 6, now: 2) == nil)
    machine.produced(page: 1)
    guard case .save = machine.next(now: 2, .init()) else { return #expect(Bool(false)) }
    machine.saved()
    #expect(machine.next(now: 90_000, .init()) == nil)
    machine.control.isPaused = false
    guard case .save(let resumed) = machine.next(now: 90_000, .init()) else {
      return #expect(Bool(false))
    }
    machine.saved()
    #expect(!resumed.isPaused && resumed.state == .running)
    #expect(machine.next(now: 90_000, .init()) == .read(after: "f", limit: 6))
  }

  @Test func `pages that were read at a faster pace are not addressed at a slower one`() {
    var machine = running(10_000, perSecond: 1_000)
    for page in 1...2 {
      guard case .read(_, let limit) = machine.next(now: 0, .init()) else {
        return #expect(Bool(false))
      }
      #expect(machine.read(count: limit, last: "\(page)", limit: limit, now: 0) == page)
      if page == 1 { #expect(machine.next(now: 0, .init()) == .produce(page: 1)) }
    }
    machine.pace = 0.002
    #expect(machine.next(now: 1, .init()) == nil)
    #expect(machine.isOpen(page: 1) && !machine.isOpen(page: 2))
    machine.produced(page: 1)
    guard case .save = machine.next(now: 1, .init()) else { return #expect(Bool(false)) }
    machine.saved()
    #expect(machine.next(now: 1, .init()) == nil)
    #expect(machine.next(now: 1, .init(outcomes: 946)) == .read(after: "1", limit: 6))
  }

  @Test func `a page that waits for long is read again`() {
    var machine = running(100, perSecond: 2, page: 10)
    #expect(machine.next(now: 0, .init()) == .read(after: "", limit: 6))
    #expect(machine.read(count: 6, last: "f", limit: 6, now: 0) == 1)
    #expect(machine.next(now: 0, .init()) == .produce(page: 1))
    machine.postponed(page: 1)
    #expect(machine.next(now: CampaignMachine.shelfLife, .init()) == .produce(page: 1))
    machine.postponed(page: 1)
    #expect(machine.next(now: CampaignMachine.shelfLife + 1, .init()) == .read(after: "", limit: 6))
    #expect(!machine.isOpen(page: 1))
  }

  @Test func `a kill repeats no more than a tenth of what may be addressed`() {
    var machine = running(1_000, perSecond: 20, page: 1_000)
    #expect(machine.next(now: 0, .init()) == .read(after: "", limit: 60))
    _ = machine.read(count: 60, last: "a", limit: 60, now: 0)
    #expect(machine.next(now: 0, .init()) == .produce(page: 1))
    _ = machine.next(now: 0, .init())
    _ = machine.read(count: 60, last: "b", limit: 60, now: 0)
    // The first page is in no record yet.
    #expect(machine.next(now: 0, .init()) == .read(after: "b", limit: 60))
    machine.produced(page: 1)
    guard case .save = machine.next(now: 0, .init()) else { return #expect(Bool(false)) }
    #expect(machine.next(now: 0, .init()) == nil)
    machine.saved()
    #expect(machine.next(now: 0, .init()) == .produce(page: 2))
  }

  @Test func `outcomes that do not come for an hour are not waited for`() {
    var machine = running(1_000, perSecond: 1)
    run(&machine, of: 1_000, now: 0, .init())
    #expect(machine.progress.addressed == 30)
    func wait(from start: Int64, until end: Int64) {
      for now in stride(from: start, through: end, by: Int(CampaignAhead.longestStep)) {
        run(&machine, of: 1_000, now: now, .init(outcomes: 10))
      }
    }
    // One that came keeps it waiting for another hour.
    wait(from: 60_000, until: CampaignAhead.patience + 60_000)
    #expect(machine.progress.addressed == 39)
    // A clock that is set forward, and back, is no time that has passed.
    wait(from: 40_000_000, until: 40_000_000)
    wait(from: 120_000, until: 120_000)
    #expect(machine.progress.addressed == 39)
    wait(from: 120_000, until: 180_000)
    #expect(machine.progress.addressed == 69)
    // While it is paused that time does not pass.
    var ahead = CampaignAhead()
    for turn in 0...120 as ClosedRange<Int64> {
      ahead.note(planned: 30, ended: 0, 0.001, isHeld: turn == 60, now: turn * 60_000)
      #expect(ahead.room(planned: 30, ended: 0, 0.001) == 0)
    }
  }

  @Test func `a campaign whose devices are all addressed can be cancelled until the last is sent`()
  {
    var progress = CampaignProgress()
    (progress.state, progress.total, progress.addressed) = (.done, 100, 100)
    (progress.revision, progress.endedAt) = (3, 1_000)
    let plan = CampaignPlan(startAt: 0, limits: .init(rejected: 0.5))
    func after(_ change: (inout CampaignMachine) -> Void, _ evidence: CampaignEvidence, now: Int64)
      -> CampaignProgress
    {
      var machine = CampaignMachine(plan, progress, pageSize: 10)
      change(&machine)
      _ = machine.next(now: now, evidence)
      return machine.progress
    }
    let cancel: (inout CampaignMachine) -> Void = {
      $0.control = CampaignControl(cancelledBy: "ann")
    }
    let cancelled = after(cancel, .init(outcomes: 40), now: 2_000)
    #expect(cancelled.state == .cancelled && cancelled.endedAt == 2_000)
    #expect(after(cancel, .init(outcomes: 100), now: 2_000).state == .done)
    #expect(
      after(cancel, .init(outcomes: 40), now: 2_000 + CampaignProgress.countedAfterEnd).state
        == .done)
    #expect(
      after({ _ in }, .init(outcomes: 120, ended: 99, rejected: 99), now: 2_000).state == .stopped)
    #expect(after({ _ in }, .init(outcomes: 100, rejected: 99), now: 2_000).state == .done)
    #expect(after({ $0.control.isPaused = true }, .init(outcomes: 40), now: 2_000).isPaused)
    #expect(!after({ $0.control.isPaused = true }, .init(outcomes: 100), now: 2_000).isPaused)
  }

  @Test func `its pace is not set while its app has too many, and it says what it waits for`() {
    var machine = CampaignMachine(CampaignPlan(startAt: 0, hasPace: true), .init(), pageSize: 10)
    machine.maySetPace = false
    guard case .save = machine.next(now: 0, .init()) else { return #expect(Bool(false)) }
    machine.saved()
    #expect(machine.next(now: 0, .init()) == nil)
    machine.tell("it waits")
    guard case .save(let waiting) = machine.next(now: 0, .init()) else {
      return #expect(Bool(false))
    }
    machine.saved()
    #expect(waiting.note == "it waits" && machine.next(now: 0, .init()) == nil)
    machine.tell("it waits")
    machine.maySetPace = true
    #expect(machine.next(now: 0, .init()) == .setPace(isSet: true))
  }

  @Test func `a request that ingest has refused stops it`() {
    var machine = running(100, perSecond: 2)
    var evidence = CampaignEvidence()
    evidence.refusal = #"lane: "x" is not one of a, b"#
    guard case .save(let stopped) = machine.next(now: 0, evidence) else {
      return #expect(Bool(false))
    }
    #expect(stopped.state == .stopped && stopped.reason?.hasSuffix("one of a, b") == true)
  }

  @Test(arguments: 0..<100)
  func `half a minute holds, whatever dies and whenever it is paused`(_ seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    func chance(_ percent: UInt64) -> Bool { random.next() % 100 < percent }
    let pace = [0.0001, 0.002, 0.01][Int(seed % 3)]
    let (total, most) = (400, CampaignMachine.mostAhead(pace))
    var saved = CampaignProgress()
    var machine = CampaignMachine(CampaignPlan(startAt: 0), saved, pageSize: 7)
    // Of each device how often it was addressed; those before `sent` have their outcomes.
    var (queue, ended, repeats, kills) = ([Int](), 0, 0, 0)
    var cancelledAt: Int?
    var now: Int64 = 0
    var pages: [Int: Range<Int>] = [:]
    for _ in 0..<20_000 where !machine.progress.state.isOver {
      now += Int64(random.next() % 1_000)
      machine.pace = pace
      machine.control = CampaignControl(
        isPaused: chance(5), cancelledBy: cancelledAt == nil ? nil : "ann")
      while let action = machine.next(now: now, .init(outcomes: ended)) {
        switch action {
        case .count: machine.counted(total)
        case .read(let after, let limit):
          let first = after.isEmpty ? 0 : Int(after)!
          let page = first..<min(first + limit, total)
          let number = machine.read(
            count: page.count, last: "\(page.upperBound)", limit: limit, now: now)
          if let number { pages[number] = page }
        case .produce(let number):
          #expect(cancelledAt == nil)
          queue += Array(pages[number]!)
          if chance(10) { continue }
          machine.produced(page: number)
        case .save(let progress):
          if chance(80) {
            saved = progress
            machine.saved()
          } else {
            machine.saveFailed()
          }
        default: break
        }
      }
      repeats = max(0, queue.count - Set(queue).count)
      #expect(Set(queue).count - ended <= most)
      #expect(repeats <= kills * max(7, most / 10))
      if ended < queue.count, chance(50) { ended = min(ended + 1, Set(queue).count) }
      if chance(1) {
        kills += 1
        machine = CampaignMachine(CampaignPlan(startAt: 0), saved, pageSize: 7)
      }
      if seed % 4 == 0, ended > 100, cancelledAt == nil { cancelledAt = queue.count }
    }
    if let cancelledAt {
      #expect(machine.progress.state == .cancelled && queue.count == cancelledAt)
    } else {
      #expect(machine.progress.state == .done && Set(queue) == Set(0..<total))
    }
  }
}
