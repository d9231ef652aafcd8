// SPDX-License-Identifier: Apache-2.0
import APNS
import ConsumerGroup
import Contract
import Gateways
import Random

/// What a sender's control thread knows of offsets and windows: the shipped values.
struct SenderOffsets {
  /// A window that is read again.
  struct Rebuild {
    var number: Int
    var start: KeptWindows<Int>.Start
    var readyAt: UInt64
  }

  var memory: PartitionMemory<Int>
  var gaps = RetentionGaps<Int>()
  /// Partitions whose offsets went back, and from where.
  var doubted: [Int: Int64] = [:]
  var remade: Set<Int> = []
  var rebuilds: [Rebuild] = []

  /// The partitions are given back.
  mutating func release() {
    gaps.dropQuestions()
    (doubted, rebuilds) = ([:], [])
  }
}

extension LoopModel {
  // MARK: Producing

  func put(_ what: Outgoing.What, _ slot: UInt32, _ world: inout World) {
    guard let push = taken.removeValue(forKey: slot) else {
      return world.kafka.fail("a push ended twice")
    }
    lastPut = what
    // Receipts follow their side records. What Kafka refuses is produced again, later.
    let refused = world.chance.oneIn(500) ? 3_000 : 0
    let stored = world.now + UInt64(world.chance.within(1...60) + refused)
    let late = world.chance.oneIn(100) ? 5_000 : 40
    outgoing.append(
      Outgoing(
        what: what, notification: push.notification, origin: dispatcher.push(slot).origin,
        place: push.place, log: push.log, storedAt: stored,
        acknowledgedAt: stored + UInt64(world.chance.within(1...late)), isRefused: refused > 0))
  }

  func acknowledge(_ world: inout World) {
    for index in outgoing.indices where !outgoing[index].isStored {
      guard outgoing[index].storedAt <= world.now else { continue }
      outgoing[index].isStored = true
      store(outgoing[index], &world)
    }
    var index = 0
    while index < outgoing.count {
      guard outgoing[index].isStored, outgoing[index].acknowledgedAt <= world.now else {
        index += 1
        continue
      }
      let record = outgoing[index]
      outgoing.swapAt(index, outgoing.count - 1)
      outgoing.removeLast()
      dispatcher.acknowledged(record.origin)
    }
  }

  private func store(_ record: Outgoing, _ world: inout World) {
    world.kafka.note(
      "notification \(record.notification), \(record.place)/\(record.origin.offset): \(record.what)"
    )
    switch record.what {
    case .receipt(let outcome): world.kafka.notifications[record.notification].add(outcome)
    case .feedback(let key, let answer):
      world.devices.append(key, answer)
      world.kafka.notifications[record.notification].add(.rejected)
    case .retry(let tier, let facts):
      world.kafka.retry(facts, of: record.notification, tier, at: world.wall)
    }
    world.kafka.settle(record.place, record.origin.offset, log: record.log)
  }

  /// What was produced and not yet stored is stored by the time that the process is gone, or never.
  func crash(_ world: inout World) {
    for record in outgoing where !record.isStored && world.chance.oneIn(2) { store(record, &world) }
    for number in connections.keys { collectAccepted(number, &world) }
  }

  // MARK: The control thread's turn

  func control(_ world: inout World) {
    rebuildWindows(&world)
    drainReports(&world)
    lookAtLogs(&world)
    handOver()
    followGroup(&world)
  }

  private func rebuildWindows(_ world: inout World) {
    for rebuild in offsets.rebuilds where rebuild.readyAt <= world.now {
      guard rebuild.number < places.count else { continue }
      let state = world.kafka[places[rebuild.number].partition]
      let (start, missing) = (rebuild.start, rebuild.start.missing)
      let isSameLog = start.isOfLog(endingAt: state.end)
      var rebuilt = RebuiltWindow(
        kept: isSameLog ? start.window : nil, missing: missing, capacity: settings.dedupWindow)
      if isSameLog, missing.upperBound > state.end {
        return world.kafka.fail("apns-ids are read of a log that ends before them")
      }
      let first = max(missing.lowerBound, state.low, state.base)
      for offset in first..<max(first, missing.upperBound) where isSameLog {
        rebuilt.insert(state[offset].facts.takenID, at: offset)
      }
      dispatcher.inherit(rebuilt.window(isWhole: true), by: rebuild.number, isWhole: true)
    }
    offsets.rebuilds.removeAll { $0.readyAt <= world.now }
  }

  private func drainReports(_ world: inout World) {
    for report in dispatcher.report() ?? [] {
      let partition = places[report.partition].partition
      if let done = report.done { note(partition, done) }
      if let jump = report.jump { offsets.gaps.jumped(partition, jump) }
      if report.isWithoutWindow { excuseRepeats(partition, &world) }
      if let offset = report.wentBackFrom {
        passedOver[partition] = nil
        offsets.doubted[partition] = offset
        offsets.gaps.begin(partition, at: offset)
      }
    }
  }

  func note(_ partition: Int, _ done: PartitionDone) {
    member.commits.note([
      PartitionProgress(
        partition, epoch: member.epoch, committable: done.committable,
        completedAbove: done.completedAbove)
    ])
  }

  /// A partition began without the ids of the records before: repeats of them are sent again.
  private func excuseRepeats(_ partition: Int, _ world: inout World) {
    let state = world.kafka[partition]
    for offset in max(state.base, state.low)..<max(state.base, state.low, state.end) {
      world.kafka.notifications[state[offset].notification].excusable += 1
    }
  }

  private func lookAtLogs(_ world: inout World) {
    guard offsets.gaps.isCurious, world.chance.oneIn(3) else { return }
    var ends: [Int: RetentionGaps<Int>.Ends] = [:]
    for partition in offsets.gaps.ask() {
      ends[partition] = (world.kafka[partition].low, world.kafka[partition].end)
    }
    var strange: Set<Int> = []
    for finding in offsets.gaps.judge(ends) {
      switch finding {
      case .lost(let partition, let range):
        world.kafka[partition].reported.append(range)
        strange.insert(partition)
      case .endsBefore(let partition, _, _): strange.insert(partition)
      }
    }
    for partition in strange { offsets.memory.forget(partition) }
    for (partition, end) in offsets.doubted
    where ends[partition] != nil && !strange.contains(partition) {
      overlook(partition, below: end, &world)
    }
    let again = strange.filter { offsets.doubted[$0] != nil }
    if !again.isEmpty { resume(again.sorted(), &world) }
  }

  /// The log reaches as far as was read, and is taken for the same one.
  private func overlook(_ partition: Int, below end: Int64, _ world: inout World) {
    let log = world.kafka[partition].log
    guard let number = places.firstIndex(where: { $0.partition == partition }),
      places[number].log != log
    else { return }
    places[number].log = log
    places[number].overlookedBelow = end
    world.kafka.overlook(partition, below: end)
  }

  /// Everything is given back and begun again without the group noticing.
  private func resume(_ partitions: [Int], _ world: inout World) {
    for partition in partitions { offsets.memory.forget(partition) }
    offsets.remade.formUnion(partitions)
    member.remade(partitions, world)
  }

  /// Which log each partition is read from, as far as the reader knows.
  var logs: [Int: Int] {
    Dictionary(places.map { ($0.partition, $0.log) }, uniquingKeysWith: { first, _ in first })
  }
}
