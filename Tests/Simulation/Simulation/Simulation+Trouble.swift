// SPDX-License-Identifier: Apache-2.0
import Contract
import SenderDecisions
import Waiting

/// What happens outside of the processes, and to them.
extension Simulation {
  mutating func trouble() {
    write()
    revive()
    troubleWithSchedule()
    if let sick = world.sick { return trouble(of: sick) }
    switch world.theme {
    case .everything: troubleAnywhere()
    case .tokens: troubleWithTokens()
    case .logs: troubleWithLogs()
    case .devices: troubleWithDevices()
    }
  }

  private mutating func troubleAnywhere() {
    switch world.chance.below(6_000) {
    case 0..<40: troubleAtGateway()
    case 40..<50: world.throttled = []
    case 50..<58: world.throttled.insert(anyDevice().device)
    case 58..<62: unregister()
    case 62..<66: register()
    case 66..<70: world[.sender].wantRebalance(at: world.now)
    case 70..<74: hurt(.sender)
    case 74..<82: hurt(anyKind())
    case 82: hurtLogs()
    case 83: rebalance()
    case 84: withdraw()
    case 85 where world.chance.oneIn(4): sleep()
    default: break
    }
  }

  private mutating func troubleAtGateway() {
    switch world.chance.below(40) {
    case 0: world.mood.whole = .unavailable
    case 1: world.mood.whole = .silent
    case 2..<12: world.mood.whole = .well
    case 12: world.mood.refusing.insert(world.chance.below(3))
    case 13: world.mood.mute.insert(world.chance.below(3))
    case 14..<18: (world.mood.refusing, world.mood.mute) = ([], [])
    case 18: world.mood.refusedApps.insert(world.chance.pick(Self.apps))
    case 19..<22: world.mood.refusedApps = []
    case 22: world.mood.turnsAway = true
    case 23..<27: world.mood.turnsAway = false
    case 27..<30: world.mood.faults = world.chance.pick([0, 8, 40, 200])
    default: break
    }
  }

  private mutating func troubleWithTokens() {
    switch world.chance.below(4_000) {
    case 0..<6: world.tokens.request("key\(world.chance.below(3))", at: world.wall)
    case 6: setClockAhead()
    default: break
    }
  }

  private mutating func troubleWithLogs() {
    switch world.chance.below(3_000) {
    case 0..<4: hurtLogs()
    case 4..<6: remake(world.chance.below(world.kafka.partitions.count))
    case 6..<12: world[.sender].wantRebalance(at: world.now)
    case 12: hurt(.sender)
    case 13..<17: remakeAgain()
    default: break
    }
  }

  private mutating func troubleWithDevices() {
    switch world.chance.below(2_000) {
    case 0..<20: unregister()
    case 20..<40: register()
    case 40..<44: hurt(.feedback)
    case 44..<46: world[.feedback].wantRebalance(at: world.now)
    default: break
    }
  }

  // MARK: One app alone

  /// The apps of credentials that serve no other app: what hangs stops its connections.
  static func anySickApp(_ chance: inout SeededGenerator) -> SickApp {
    let trouble = chance.pick(SickApp.Trouble.allCases)
    return SickApp(
      app: chance.pick(trouble == .hangs ? [apps[2], apps[3]] : apps), trouble: trouble)
  }

  private mutating func trouble(of sick: SickApp) {
    let what = world.chance.below(12_000)
    switch (sick.trouble, what) {
    case (.hangs, 0): world.mood.hangingApps = [sick.app]
    case (.refused, 0): world.mood.refusedApps = [sick.app]
    case (.floods, 0): for _ in 0..<300 { write(for: sick.app, count: 10) }
    case (_, 1): (world.mood.hangingApps, world.mood.refusedApps) = ([], [])
    default: break
    }
  }

  // MARK: Applications

  /// Applications write requests; some twice.
  private mutating func write() {
    guard world.chance.oneIn(6), world.kafka.pending < 20_000 else { return }
    let partition = world.chance.below(world.requests.partitions.count)
    if world.chance.oneIn(40), let last = world.requests.partitions[partition].last,
      last.schedule == nil
    {
      return world.requests.append(last, to: partition)
    }
    write(for: world.chance.pick(Self.apps), count: world.chance.within(1...8))
  }

  private mutating func write(for app: UInt64, count: Int) {
    let partition = world.chance.below(world.requests.partitions.count)
    let isBad = world.chance.oneIn(200)
    let devices = (0..<(isBad ? 1 : count)).map { _ in anyDevice(of: app).device }
    let expires = world.sick == nil && world.chance.oneIn(10)
    let hasKey = world.hasKeys && world.keys.oneIn(3)
    let request = Request(
      first: world.kafka.notifications.count, devices: devices, app: app,
      lane: world.chance.oneIn(3) ? .bulk : .first, created: world.wall,
      expiresAt: expires ? world.wall + Int64(world.chance.below(100_000)) : .max,
      isKeyed: hasKey, isFinal: hasKey && world.keys.oneIn(12),
      urgency: hasKey ? Urgency(rawValue: world.keys.pick([0, 0, 0, 1, 2, 3])) : [], isBad: isBad)
    for _ in devices {
      world.kafka.notifications.append(
        Notification(id: NotificationID(high: world.chance.next(), low: world.chance.next())))
    }
    world.requests.append(request, to: partition)
  }

  private mutating func anyDevice() -> DeviceOfApp { anyDevice(of: world.chance.pick(Self.apps)) }

  /// Each app has forty tokens of its own.
  private mutating func anyDevice(of app: UInt64) -> DeviceOfApp {
    let first = 40 * (Self.apps.firstIndex(of: app) ?? 0)
    return DeviceOfApp(app: app, device: UInt64(first + world.chance.below(40)))
  }

  private mutating func unregister() {
    let key = anyDevice()
    world.kafka.note("device \(key.device) loses its app")
    world.unregistered[key] = world.wall
    if world.owners.oneIn(3) {
      world.kafka.note("device \(key.device) is removed")
      world.devices.remove(key, at: world.wall)
    }
  }

  private mutating func register() {
    let key = world.chance.oneIn(4) ? anyDevice() : world.unregistered.keys.min() ?? anyDevice()
    world.kafka.note("device \(key.device) is registered")
    let user = world.owners.pick(["ada", "ada", "bob", nil] as [String?])
    world.devices.register(key, user: user, at: world.wall)
    let delay = world.chance.oneIn(2) ? UInt64(world.chance.below(30_000)) : 0
    world.revivals.append((key, world.now + delay))
  }

  /// APNs knows of registrations.
  private mutating func revive() {
    for revival in world.revivals where revival.at <= world.now {
      world.unregistered[revival.key] = nil
    }
    world.revivals.removeAll { $0.at <= world.now }
  }

  // MARK: Processes

  /// A group, but for the senders'.
  private mutating func anyKind() -> GroupModel.Kind {
    world.chance.pick([.ingest, .signer, .feedback])
  }

  /// A process is killed, stopped, or stands still.
  mutating func hurt(_ kind: GroupModel.Kind) {
    let index = world.chance.below(2)
    let patience = UInt64(world.chance.within(3_000...6_000))
    if kind == .signer { world.tokens.troubleUntil = world.now + 90_000 }
    switch world.chance.below(4) {
    case 0, 1:
      world.kafka.note("\(kind) \(index) is killed")
      replace(kind, index)
      world[kind].wantRebalance(at: world.now + patience)
    case 2:
      world.kafka.note("\(kind) \(index) is stopped")
      processes(kind)[index].member.stop()
    default:
      world.kafka.note("\(kind) \(index) stands still")
      processes(kind)[index].member.stalledUntil = world.now + 4 * patience
      world[kind].wantRebalance(at: world.now + patience)
    }
  }

  /// Everything stands still for an hour, as on a machine that is suspended, and the signers some minutes longer: no
  /// provider token may be used any more until they are back.
  private mutating func sleep() {
    guard schedulers.allSatisfy({ $0.hasRightClock(world) }) else { return }
    world.kafka.note("everything sleeps for an hour")
    world.now += 3_600_000
    world.tokens.troubleUntil = world.now + 600_000
    let longer = world.now + UInt64(world.chance.within(60_000...300_000))
    for signer in signers { signer.member.stalledUntil = longer }
  }

  private mutating func rebalance() {
    let kind = anyKind()
    world[kind].wantRebalance(at: world.now)
  }

  /// A credential is taken out of the signer's file, or comes back; a signer's clock is wrong for a while.
  private mutating func withdraw() {
    switch world.chance.below(4) {
    case 0: world.tokens.withdrawn.insert(world.chance.below(3))
    case 1, 2: world.tokens.withdrawn = []
    default: setClockAhead()
    }
  }

  private mutating func setClockAhead() {
    let length = UInt64(world.chance.within(1_000...60_000))
    world.tokens.troubleUntil = world.now + length + 60_000
    world.chance.pick(signers).setClock(by: 86_400_000, until: world.now + length)
  }

  // MARK: Logs

  private mutating func hurtLogs() {
    let partition = world.chance.below(world.kafka.partitions.count)
    switch world.chance.below(4) {
    case 0: grow()
    case 1: remake(partition)
    case 2 where world.chance.oneIn(2): removeUnread()
    default: removeDone(partition)
    }
  }

  /// Retention removes records that are done.
  private mutating func removeDone(_ partition: Int) {
    let state = world.kafka[partition]
    let low = max(state.low, state.base)
    let count = max(0, min(state.committed ?? 0, state.end) - low)
    world.kafka.cut(partition, below: low + Int64(world.chance.below(Int(count) + 1)))
  }

  /// Retention removes records that nobody has read, of the partition that has the most of them, and all before them.
  private mutating func removeUnread() {
    let unread = world.kafka.partitions.map { max(0, $0.end - max($0.readTo, $0.low, $0.base)) }
    guard let partition = unread.indices.max(by: { unread[$0] < unread[$1] }) else { return }
    let end = world.kafka[partition].end
    world.kafka.cut(partition, below: end - Int64(world.chance.below(Int(unread[partition]) + 1)))
  }

  private mutating func grow() {
    guard world.kafka.partitions.count < 24 else { return }
    if world.chance.oneIn(4) {
      world.kafka.note("requests get another partition")
      world.requests.grow()
      world[.ingest].grow()
      return world[.ingest].wantRebalance(at: world.now + 5_000)
    }
    let topicKind = world.chance.pick(world.kafka.partitions.map(\.topicKind))
    world.kafka.note("\(topicKind) gets another partition")
    world.kafka.grow(topicKind)
    world[.sender].grow()
    world[.sender].wantRebalance(at: world.now + 5_000)
  }

  /// The topic that was made again last is made again once more: its reader began at its first record, and only offsets
  /// that go back, to where it has read already, tell that this is another log.
  private mutating func remakeAgain() {
    if let lastRemade { remake(lastRemade) }
  }

  /// A topic is deleted and made again, while somebody reads it.
  private mutating func remake(_ partition: Int) {
    let owner = senders.first {
      $0.member.isAssigned && !$0.member.isFenced && $0.member.stalledUntil <= world.now
        && $0.places.contains { $0.partition == partition }
    }
    guard let owner, world.kafka[partition].end > 0 else { return }
    world.kafka.remake(partition)
    owner.remade(partition)
    lastRemade = partition
  }
}
