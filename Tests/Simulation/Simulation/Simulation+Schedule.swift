// SPDX-License-Identifier: Apache-2.0
import Contract
import ScheduleDecisions
import Waiting

/// Requests with a time and campaigns, and what happens to the processes that keep them. In runs with schedulers only.
extension Simulation {
  private static let mostWaiting = 300
  private static let mostCampaigns = 12
  private static let devicesOfCampaign = 40

  mutating func addSchedulers() {
    world.schedule.isOn = world.theme == .everything && seed % 4 == 0 && world.sick == nil
    guard world.schedule.isOn else { return }
    schedulers = [0, 1].map { newScheduler($0) }
  }

  mutating func newScheduler(_ index: Int) -> SchedulerModel {
    let place = index % world.schedule.databases.count
    return SchedulerModel(place: place, &world.schedule.chance)
  }

  /// A process that can do nothing more starts again.
  mutating func replaceFailedSchedulers() {
    for index in schedulers.indices where schedulers[index].hasFailed {
      world[.scheduler].wantRebalance(at: world.now + 3_000)
      replace(.scheduler, index)
    }
  }

  mutating func troubleWithSchedule() {
    guard world.schedule.isOn else { return }
    let waiting = world.schedule.works.count { !$0.isMade && $0.cancelledAt == nil }
    if world.schedule.isAddressing {
      if world.schedule.chance.oneIn(100) { hurt(.scheduler) }
      if world.schedule.chance.oneIn(200) { setSchedulersClock() }
    }
    switch world.schedule.chance.below(6_000) {
    case 0..<200 where waiting < Self.mostWaiting: writeForLater()
    case 200..<240: cancelLater()
    case 240 where world.schedule.campaigns.count < Self.mostCampaigns: startCampaign()
    case 241 where world.schedule.chance.oneIn(3): cancelCampaign()
    case 242..<246: hurt(.scheduler)
    case 246..<249: world[.scheduler].wantRebalance(at: world.now)
    case 264..<268: setSchedulersClock()
    case 249..<252: closeDatabase()
    case 253 where world.schedule.chance.oneIn(2): loseDatabase()
    case 270: makeAnew(world.schedule.chance.below(ScheduleModel.partitions))
    case 254..<264: compact(world.schedule.chance.below(ScheduleModel.partitions))
    default: break
    }
  }

  // MARK: Applications and operators

  private mutating func writeForLater() {
    let count = world.schedule.chance.within(1...3)
    let ahead = world.schedule.chance.pick([2_000, 10_000, 60_000, 300_000])
    let app = world.schedule.chance.pick(Self.apps)
    let request = Request(
      first: addNotifications(count), devices: anyDevices(count, of: app), app: app,
      lane: world.schedule.chance.oneIn(3) ? .bulk : .first, created: world.wall,
      expiresAt: .max, isBad: false)
    let sendAt = world.wall + Int64(world.schedule.chance.below(ahead))
    world.requests.append(
      world.schedule.add(request, sendAt: sendAt),
      to: world.schedule.chance.below(world.requests.partitions.count))
  }

  private mutating func addNotifications(_ count: Int) -> Int {
    let first = world.kafka.notifications.count
    for _ in 0..<count {
      world.kafka.notifications.append(
        Notification(
          id: .init(high: world.schedule.chance.next(), low: world.schedule.chance.next())))
    }
    return first
  }

  private mutating func anyDevices(_ count: Int, of app: UInt64) -> [UInt64] {
    let first = 40 * (Self.apps.firstIndex(of: app) ?? 0)
    return (0..<count).map { _ in UInt64(first + world.schedule.chance.below(40)) }
  }

  /// One of the latest requests is cancelled, also when it was sent, or cancelled before.
  private mutating func cancelLater() {
    let works = world.schedule.works.indices.suffix(60)
    guard !works.isEmpty else { return }
    let number =
      world.schedule.chance.oneIn(3) ? works.last! : world.schedule.chance.pick(Array(works))
    world.kafka.note("request \(number) is cancelled")
    world.schedule.cancel(number, at: world.wall, &world.kafka)
  }

  private mutating func startCampaign() {
    let app = world.schedule.chance.pick(Array(Self.apps.prefix(3)))
    let number = UInt64(40 * (Self.apps.firstIndex(of: app) ?? 0))
    let trial = CampaignPlan.Trial(
      share: world.schedule.chance.pick([0.1, 0.4]),
      wait: world.schedule.chance.pick([20_000, 60_000]))
    let plan = CampaignPlan(
      startAt: world.wall + Int64(world.schedule.chance.below(20_000)),
      trial: world.schedule.chance.oneIn(2) ? trial : nil,
      limits: CampaignLimits(rejected: world.schedule.chance.pick([nil, 0.02, 0.3])))
    world.schedule.start(
      CampaignModel(
        plan: plan, app: app, devices: Array(number..<number + UInt64(Self.devicesOfCampaign)),
        first: addNotifications(Self.devicesOfCampaign),
        pace: world.schedule.chance.pick([nil, nil, 0.0002])), at: world.wall, &world.kafka)
  }

  private mutating func cancelCampaign() {
    guard !world.schedule.campaigns.isEmpty else { return }
    world.schedule.cancel(campaign: world.schedule.chance.below(world.schedule.campaigns.count))
  }

  /// Receipts that will never come leave the first part of a campaign without its evidence: its operator ends it.
  mutating func cancelWithoutEvidence() {
    for (number, campaign) in world.schedule.campaigns.enumerated() {
      let all = campaign.first..<campaign.first + campaign.devices.count
      if all.contains(where: { world.kafka.notifications[$0].isRemoved }) {
        world.schedule.cancel(campaign: number)
      }
    }
  }

  // MARK: Processes

  /// Compaction takes nothing from under the eyes of who reads a partition anew.
  private mutating func compact(_ partition: Int) {
    let owner = schedulers.first { $0.machine.owned.contains(Int32(partition)) }
    guard let owner else { return }
    world.schedule.compact(
      partition,
      below: min(world[.scheduler].committed[partition] ?? 0, owner.member.position(partition)))
  }

  /// A topic is deleted and made again, with what was on its way to it; its only database has all that it had.
  private mutating func makeAnew(_ partition: Int) {
    guard world.schedule.databases.count == 1,
      world.schedule.databases[0].positions[partition] == world.schedule.end(partition)
    else { return }
    world.kafka.note("the schedule's partition \(partition) is made anew")
    world.schedule.makeAnew(partition)
    world[.scheduler].committed[partition] = nil
    // What an older copy lacks is nowhere any more.
    copiedSchedule = nil
    for index in schedulers.indices { schedulers[index] = newScheduler(index) }
    // The new log may be as long as the old one when a scheduler looks at it.
    world[.scheduler].wantRebalance(
      at: world.now + world.schedule.chance.pick([3_000, 3_000, 30_000, 120_000]))
  }

  private mutating func setSchedulersClock() {
    let step = Int64(
      world.schedule.chance.pick([-60_000, -3_000, 30_000, 60_000, 40_000_000, 40_000_000]))
    let length = UInt64(world.schedule.chance.within(1_000...60_000))
    let index = world.schedule.chance.below(schedulers.count)
    world.kafka.note("the clock of scheduler \(index) goes by \(step)")
    schedulers[index].setClock(by: step, until: world.now + length)
  }

  private mutating func closeDatabase() {
    let place = world.schedule.chance.below(world.schedule.databases.count)
    let length = UInt64(world.schedule.chance.below(30_000))
    copiedSchedule = world.schedule.databases[place]
    world.schedule.databases[place].downUntil = world.now + length
  }

  /// A database is an empty one, or an older copy, and the processes that use it start with it.
  private mutating func loseDatabase() {
    let place = world.schedule.chance.below(world.schedule.databases.count)
    // What is on no topic is nowhere else.
    guard !world.schedule.databases[place].hasUnwritten else { return }
    let copy = world.schedule.chance.oneIn(2) ? copiedSchedule : nil
    world.kafka.note("database \(place) is \(copy == nil ? "empty" : "an older one")")
    world.schedule.databases[place] = copy ?? ScheduleDatabase()
    for index in schedulers.indices where index % world.schedule.databases.count == place {
      replace(.scheduler, index)
    }
    world[.scheduler].wantRebalance(at: world.now + 3_000)
  }
}
