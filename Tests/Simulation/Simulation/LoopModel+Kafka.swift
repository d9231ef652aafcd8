// SPDX-License-Identifier: Apache-2.0
import ConsumerGroup
import Contract
import SenderDecisions
import Waiting

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
        acknowledgedAt: stored + UInt64(world.chance.within(1...late))))
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
    case .lane(var facts):
      // A partition more: it is older than what was first written to this one.
      let place = world.kafka.place(.lane(facts.lane), facts.device)
      let first = world.kafka.notifications[record.notification].firstLog?.partition
      if place != first { facts.state.position = 0 }
      world.kafka.write(facts, of: record.notification, at: world.wall)
    }
    world.kafka.settle(record.place, record.origin.offset, log: record.log)
  }

  func crash(_ world: inout World) {
    for record in outgoing where !record.isStored && world.chance.oneIn(2) { store(record, &world) }
    for number in connections.keys { collectAccepted(number, &world) }
  }

  // MARK: The control thread's turn

  func control(_ world: inout World) {
    readWindows(&world)
    drainReports(&world)
    handOver(world)
    followGroup(&world)
  }

  private func readWindows(_ world: inout World) {
    while let stretch = reading?.next() {
      let wait = world.chance.oneIn(30) ? 7_000 : world.chance.within(10...500)
      stretches.append((stretch, world.now + UInt64(wait)))
    }
    for (stretch, _) in stretches.filter({ $0.readyAt <= world.now }) { read(stretch, &world) }
    stretches.removeAll { $0.readyAt <= world.now }
  }

  private func read(_ stretch: RebuildPlan<Int>.Stretch, _ world: inout World) {
    let (partition, offsets) = (stretch.partition, stretch.offsets)
    let state = world.kafka[partition]
    let isSameLog = reading?.begins(partition, inLogEndingAt: state.end) == true
    if isSameLog, !stretch.isAhead, offsets.upperBound > state.end {
      return world.kafka.fail("apns-ids are read of a log that ends before them")
    }
    let first = max(offsets.lowerBound, state.low, state.base)
    for offset in first..<max(first, min(offsets.upperBound, state.end)) {
      let facts = state[offset].facts
      let record = RebuiltWindow.Record(
        facts.dedupKey, identity: facts.state.identity == 0 ? 0 : facts.state.tracked,
        position: facts.state.position, push: facts.state.push,
        end: facts.state.isFinal ? facts.state.end : 0)
      reading?.take(record, at: offset, of: partition)
      // The record that it repeats is not read again: it counts as a state of its own (docs/dispatch.md).
      let begins = places.first { $0.partition == partition }?.readBackTo ?? 0
      if facts.state.position < 0,
        world.kafka.notifications[state[offset].notification].firstOffset < begins
      {
        world.kafka.notifications[state[offset].notification].takenAsNewAt = offset
      }
    }
    guard let (ids, isWhole) = reading?.finished(partition),
      let number = places.firstIndex(where: { $0.partition == partition })
    else { return }
    dispatcher.inherit(ids, by: number, isWhole: isWhole)
    if isWhole { withoutWindow.remove(number) }
  }

  private func drainReports(_ world: inout World) {
    for report in dispatcher.report() ?? [] {
      let partition = places[report.partition].partition
      if let done = report.done { note(partition, done) }
      if let jump = report.jump { member.machine.jumped(partition, epoch: epoch, jump) }
      if report.isWithoutWindow {
        excuseRepeats(partition, &world)
        withoutWindow.insert(report.partition)
      }
      if let offset = report.wentBackFrom {
        passedOver[partition] = nil
        doubted[partition] = offset
        member.machine.wentBack(partition, epoch: epoch, from: offset)
      }
    }
  }

  func note(_ partition: Int, _ done: PartitionDone) {
    member.machine.note([
      PartitionProgress(
        partition, epoch: epoch, committable: done.committable, completedAbove: done.completedAbove)
    ])
  }

  /// A partition began without the ids of the records before: repeats of them are sent again.
  private func excuseRepeats(_ partition: Int, _ world: inout World) {
    let state = world.kafka[partition]
    for offset in max(state.base, state.low)..<max(state.base, state.low, state.end) {
      world.kafka.notifications[state[offset].notification].excusable += 1
    }
  }

  /// The broker has said where these logs begin and end.
  func told(_ partitions: [Int], _ findings: [GroupFinding<Int>], _ world: inout World) {
    var strange: Set<Int> = []
    for finding in findings {
      switch finding {
      case .lost(let partition, let range):
        world.kafka[partition].reported.append(range)
        strange.insert(partition)
      case .endsBefore(let partition, _, _): strange.insert(partition)
      case .remade(let partitions):
        strange.formUnion(partitions)
        remade.formUnion(partitions)
      case .begins: break
      }
    }
    for (partition, end) in doubted
    where partitions.contains(partition) && !strange.contains(partition)
      && end <= world.kafka[partition].end
    {
      overlook(partition, below: end, &world)
    }
  }

  /// The log reaches as far as was read, and is taken for the same one.
  private func overlook(_ partition: Int, below end: Int64, _ world: inout World) {
    let log = world.kafka[partition].log
    guard let number = places.firstIndex(where: { $0.partition == partition }),
      places[number].log != log
    else { return }
    places[number].log = log
    places[number].overlookedBelow = end
    passedOver[partition] = nil
    world.kafka.overlook(partition, below: end)
  }

  /// Which log each partition is read from, as far as the reader knows.
  var logs: [Int: Int] {
    Dictionary(places.map { ($0.partition, $0.log) }, uniquingKeysWith: { first, _ in first })
  }
}
