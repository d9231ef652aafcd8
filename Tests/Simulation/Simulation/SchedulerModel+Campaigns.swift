// SPDX-License-Identifier: Apache-2.0
import Contract
import ScheduleDecisions
import Waiting

/// One campaign in the process that owns it.
final class CampaignRun {
  let number: Int
  let campaign: Int
  let partition: Int
  var machine: CampaignMachine
  /// Pages that were read and that Kafka does not have.
  var pages: [Int: Range<Int>] = [:]
  /// A question to the database of devices, and when the answer is here.
  var question: (asked: CampaignMachine.Action, answersAt: UInt64)?
  /// As its last record has it.
  var state: CampaignProgress.State
  /// The end of its last page; nil before the first one.
  var addressed: Int?

  init(_ number: Int, _ campaign: Int, _ partition: Int, _ machine: CampaignMachine) {
    (self.number, self.campaign, self.partition) = (number, campaign, partition)
    self.machine = machine
    state = machine.progress.state
  }
}

/// The campaigns of a scheduler's partitions.
extension SchedulerModel {
  func removeCampaigns() {
    campaigns = [:]
    isDraining = false
  }

  func drainCampaigns() {
    isDraining = true
    for run in campaigns.values { run.machine.drain() }
  }

  /// The database has this record; nothing is done if it is none of a campaign.
  func follow(_ key: String, _ entry: ScheduleDatabase.Entry, _ partition: Int, _ world: World) {
    guard case .campaign(let number, let progress) = entry.value else { return }
    if let run = campaigns[number], run.machine.progress.revision >= progress.revision { return }
    lastRun += 1
    let plan = world.schedule.campaigns[number].plan
    let run = CampaignRun(
      lastRun, number, partition, CampaignMachine(plan, progress, pageSize: CampaignModel.pageSize))
    if isDraining { run.machine.drain() }
    campaigns[number] = run
  }

  func runCampaigns(_ world: inout World) {
    for number in campaigns.keys.sorted() {
      let run = campaigns[number]!
      guard machine.isCaughtUp(Int32(run.partition)) else { continue }
      let isCancelled = world.schedule.campaigns[number].isCancelled
      run.machine.pace = world.schedule.campaigns[number].pace
      run.machine.control = CampaignControl(cancelledBy: isCancelled ? "an operator" : nil)
      let evidence = evidence(number, world)
      repeat {
        while let action = run.machine.next(now: ownTime(world), evidence) {
          judge(run, evidence, &world)
          guard perform(action, run, evidence, &world) else { return }
        }
      } while answer(run, &world)
    }
  }

  /// The outcomes of its pushes so far.
  private func evidence(_ number: Int, _ world: World) -> CampaignEvidence {
    let campaign = world.schedule.campaigns[number]
    guard !campaign.progress.state.isOver else { return CampaignEvidence() }
    var evidence = CampaignEvidence()
    for notification in campaign.first..<campaign.first + campaign.devices.count {
      let one = world.kafka.notifications[notification]
      if one.hasOutcome {
        evidence.devices.outcomes += 1
        evidence.ended += 1
      }
      if one.has(.rejected) { evidence.rejected += 1 }
    }
    return evidence
  }

  // MARK: Devices

  /// In the order of the numbers.
  private static func token(_ device: Int) -> String { "\(1_000 + device)" }

  /// - Returns: whether there was an answer.
  private func answer(_ run: CampaignRun, _ world: inout World) -> Bool {
    guard let question = run.question, world.now >= question.answersAt else { return false }
    run.question = nil
    if !world.isCalm, world.schedule.chance.oneIn(20) {
      run.machine.unanswered(now: ownTime(world))
      return true
    }
    let count = world.schedule.campaigns[run.campaign].devices.count
    guard case .read(let after, let limit) = question.asked else {
      run.machine.counted(count)
      return true
    }
    let first = after.isEmpty ? 0 : Int(after)! - 1_000 + 1
    let page = first..<min(first + limit, count)
    let last = page.isEmpty ? after : Self.token(page.upperBound - 1)
    if let number = run.machine.read(
      count: page.count, last: last, limit: limit, now: ownTime(world))
    {
      run.pages[number] = page
    }
    return true
  }

  // MARK: Actions

  private func perform(
    _ action: CampaignMachine.Action, _ run: CampaignRun, _ evidence: CampaignEvidence,
    _ world: inout World
  ) -> Bool {
    switch action {
    case .setPace, .findWaves, .forget:
      // None has a pace or a local time, and none is over for a month.
      world.kafka.fail("campaign \(run.campaign) asks for \(action)")
      return true
    case .count, .read:
      let delay = world.schedule.chance.oneIn(20) ? 2_000 : world.schedule.chance.pick([0, 0, 10])
      run.question = (action, world.now + UInt64(world.schedule.chance.within(0...delay)))
      return true
    case .produce(let number):
      guard hasRoom(&world) else {
        run.machine.postponed(page: number)
        return false
      }
      let page = run.pages[number]!
      judge(page, of: run, evidence, &world)
      world.kafka.note("campaign \(run.campaign), run \(run.number): devices \(page)")
      produce(.page(campaign: run.campaign, page), .page(run: run.number, number), &world)
      return true
    case .save(let progress):
      guard hasRoom(&world) else {
        run.machine.saveFailed()
        return false
      }
      world.kafka.note("campaign \(run.campaign), run \(run.number): \(progress)")
      let record = ScheduleModel.Record(
        key: ScheduleModel.key(ofCampaign: run.campaign), value: .campaign(run.campaign, progress))
      produce(.record(record, partition: run.partition), .progress(run: run.number), &world)
      return true
    }
  }

  func acknowledge(page: Int, _ number: Int) {
    guard let run = campaigns.values.first(where: { $0.number == number }) else { return }
    run.pages[page] = nil
    run.machine.produced(page: page)
  }

  func acknowledge(progress number: Int) {
    campaigns.values.first { $0.number == number }?.machine.saved()
  }

  // MARK: Rules

  /// Devices are addressed in their order, and a process that takes a campaign over repeats a bounded number of pages.
  private func judge(
    _ page: Range<Int>, of run: CampaignRun, _ evidence: CampaignEvidence, _ world: inout World
  ) {
    let campaign = world.schedule.campaigns[run.campaign]
    let isWhole = !(campaign.first..<campaign.first + campaign.devices.count).contains {
      world.kafka.notifications[$0].isRemoved
    }
    if let pace = campaign.pace, isWhole,
      page.upperBound > evidence.ended + CampaignMachine.mostAhead(pace)
    {
      world.kafka.fail(
        "campaign \(run.campaign): devices \(page), of which \(evidence.ended) have an outcome")
    }
    if campaign.isCancelled {
      world.kafka.fail("campaign \(run.campaign) goes on, and was cancelled")
    }
    let most = CampaignMachine.mostUnsaved * CampaignModel.pageSize
    if let addressed = run.addressed {
      if page.lowerBound != addressed {
        world.kafka.fail("campaign \(run.campaign): devices \(page) follow \(addressed)")
      }
    } else if page.lowerBound + most < campaign.reached {
      world.kafka.fail(
        "campaign \(run.campaign) goes back from \(campaign.reached) to \(page.lowerBound)")
    }
    run.addressed = page.upperBound
  }

  /// A campaign goes on after its first part, or stops itself, for the reasons that its plan names.
  private func judge(_ run: CampaignRun, _ evidence: CampaignEvidence, _ world: inout World) {
    let (campaign, progress) = (world.schedule.campaigns[run.campaign], run.machine.progress)
    guard progress.state != run.state else { return }
    if progress.state == .stopped { world.schedule.hold(campaign: run.campaign) }
    let most = campaign.plan.limits.rejected ?? 1
    let outcomes = Double(evidence.devices.outcomes)
    let isBad = Double(evidence.rejected) > most * outcomes
    switch (run.state, progress.state) {
    case (.trial, .running):
      let isKnown = outcomes >= 0.9 * Double(progress.addressed)
      let isOver = ownTime(world) >= progress.trialEndedAt! + campaign.plan.trial!.wait
      if isBad || !isKnown || !isOver {
        world.kafka.fail("campaign \(run.campaign) goes on with \(evidence)")
      }
    case (_, .stopped) where !isBad:
      world.kafka.fail("campaign \(run.campaign) stops itself with \(evidence)")
    case (_, .done) where progress.addressed != campaign.devices.count:
      world.kafka.fail("campaign \(run.campaign) is done after \(progress.addressed) devices")
    default: break
    }
    run.state = progress.state
  }
}
