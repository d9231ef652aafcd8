// SPDX-License-Identifier: Apache-2.0
import Testing
import Waiting

@testable import Contract
@testable import ScheduleDecisions

/// A campaign's database, topic and process, which may die at any step.
struct CampaignWorld {
  var random: SeededGenerator
  let audience: [String]
  let plan: CampaignPlan
  let pageSize: Int
  /// The instants of the waves with a local time: the devices belong to them by turns.
  let waves: [Int64]
  /// As the topic has it.
  var saved = CampaignProgress()
  var machine: CampaignMachine
  var now: Int64 = 0
  var evidence = CampaignEvidence()
  var pages: [Int: ArraySlice<String>] = [:]
  var questions: [CampaignMachine.Action] = []
  var producing: [Int] = []
  var saving: [CampaignProgress] = []
  /// Devices that were addressed and have no outcome yet.
  var unsent: [String] = []
  /// Whether Kafka has a pace, and whether one is on its way.
  var (hasPace, isPacing) = (false, false)
  var times: [String: Int] = [:]
  var kills = 0

  init(_ plan: CampaignPlan, devices: Int, pageSize: Int, waves: [Int64] = [], seed: UInt64) {
    random = SeededGenerator(seed: seed)
    audience = (0..<devices).map { number in
      let digits = String(number)
      return String(repeating: "0", count: 6 - digits.count) + digits
    }
    (self.plan, self.pageSize, self.waves) = (plan, pageSize, waves)
    machine = CampaignMachine(plan, saved, pageSize: pageSize)
  }

  /// The devices of the wave that is addressed.
  var recipients: [String] {
    guard !waves.isEmpty else { return audience }
    let number = waves.firstIndex { $0 == machine.progress.wave }
    return audience.indices.filter { $0 % waves.count == number }.map { audience[$0] }
  }

  mutating func chance(_ percent: UInt64) -> Bool { random.next() % 100 < percent }

  /// Does what the machine asks for until it asks for nothing.
  mutating func turn() {
    while let action = machine.next(now: now, evidence) {
      switch action {
      case .setPace(let isSet):
        #expect(isSet && plan.hasPace)
        if chance(10) {
          machine.paceFailed()
          return
        }
        isPacing = true
      case .forget: Issue.record("it is forgotten")
      case .count, .findWaves: questions.append(action)
      case .read:
        #expect(now >= machine.progress.wave ?? 0)
        questions.append(action)
      case .produce(let page):
        if chance(10) { machine.postponed(page: page) } else { producing.append(page) }
        if chance(10) { return }
      case .save(let progress):
        if chance(10) {
          machine.saveFailed()
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
      case .findWaves: machine.found(waves: waves, now: now)
      case .read(let after, let limit):
        let page = recipients.drop { $0 <= after }.prefix(limit)
        if let number = machine.read(
          count: page.count, last: page.last ?? "", limit: limit, now: now)
        {
          pages[number] = page
        }
      default: break
      }
    }
    if isPacing, chance(60) {
      (hasPace, isPacing) = (true, false)
      machine.paced(now: now)
    }
    #expect(producing.isEmpty || hasPace == plan.hasPace)
    if !producing.isEmpty, chance(60) {
      let page = producing.remove(at: Int(random.next() % UInt64(producing.count)))
      for token in pages[page]! { times[token, default: 0] += 1 }
      unsent += pages[page]!
      machine.produced(page: page)
    }
    if !unsent.isEmpty, machine.pace == nil || chance(50) {
      let sent = machine.pace == nil ? unsent.count : 1
      unsent.removeFirst(sent)
      evidence.devices.outcomes += sent
      evidence.ended += sent
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
      unsent += pages[page]!
    }
    if let progress = saving.first, chance(50) { saved = progress }
    (questions, producing, saving, pages, isPacing) = ([], [], [], [:], false)
    let pace = machine.pace
    machine = CampaignMachine(plan, saved, pageSize: pageSize)
    machine.pace = pace
  }

  mutating func run(
    killing percent: UInt64, steps: Int = 20_000,
    until isEnough: (CampaignWorld) -> Bool = { _ in false }
  ) {
    for _ in 0..<steps where !saved.state.isOver && !isEnough(self) {
      now += Int64(random.next() % 500)
      turn()
      answer()
      if percent > 0, random.next() % 1_000 < percent { kill() }
    }
  }
}
