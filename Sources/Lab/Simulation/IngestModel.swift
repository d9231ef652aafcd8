// SPDX-License-Identifier: Apache-2.0
import APNS
import Delivery
import Dispatch
import Pipeline
import Random

/// One process of ingest: the shipped group membership, offsets, walk over a request and table of requests.
final class IngestModel: GroupProcess {
  private struct Outgoing {
    enum What {
      case notification(PushFacts)
      case outcome(Outcome)
    }
    var what: What
    /// What it is about: a refusal ends all notifications of its request.
    var notifications: Range<Int>
    var slot: Int
    var storedAt: UInt64
    var acknowledgedAt: UInt64
    var isStored = false
  }

  /// The request in the middle of which it may stop.
  private struct Work {
    var request: Request
    var slot: Int
    var fanOut: FanOut
  }

  var member = MemberModel(.ingest)
  private var table = RequestTable(capacity: 40)
  private var work: Work?
  private var outgoing: [Outgoing] = []
  private var invalid: Set<DeviceOfApp> = []
  private var marksRead = 0

  func turn(_ world: inout World) {
    takeDeliveries(&world)
    followMarks(world)
    followGroup(&world)
    takeRequests(&world)
    if table.count > 40 || outgoing.count > 90 { world.kafka.fail("ingest holds too much") }
  }

  var isIdle: Bool { table.count == 0 && work == nil }

  /// What was produced and not yet stored is stored by the time that the process is gone, or never.
  func crash(_ world: inout World) {
    for record in outgoing where !record.isStored && world.chance.oneIn(2) { store(record, &world) }
  }

  // MARK: The group

  private func followGroup(_ world: inout World) {
    repeat {
      while let task = member.next(&world) {
        switch task {
        case .begun, .released: break
        case .drain:
          if let work { table.abandon(work.slot) }
          work = nil
        case .abandon: member.drained(world)
        }
      }
    } while finishDrain(world)
  }

  private func finishDrain(_ world: World) -> Bool {
    guard member.isDraining, table.count == 0 else { return false }
    member.drained(world)
    return true
  }

  // MARK: Requests

  private func takeRequests(_ world: inout World) {
    guard member.isAssigned else { return }
    for _ in 0..<20 {
      if work == nil {
        guard !table.isFull,
          let (partition, offset) = member.take(&world, end: world.requests.end)
        else { return }
        let slot = table.insert(
          partition: Int32(partition), epoch: member.epoch, offset: offset, created: 0)
        let request = world.requests.partitions[partition][Int(offset)]
        work = Work(
          request: request, slot: slot,
          fanOut: request.isBad ? .refusal : .tokens(request.devices.count))
      }
      guard finishRequest(&world) else { return }
    }
  }

  /// Goes on with the request at hand; false when it has to wait.
  private func finishRequest(_ world: inout World) -> Bool {
    guard var work else { return true }
    while let step = work.fanOut.next {
      guard outgoing.count < 80, world.isCalm || !world.chance.oneIn(200) else {
        self.work = work
        return false
      }
      perform(step, of: work.request, work.slot, &world)
      work.fanOut.advance()
    }
    self.work = nil
    settle(work.slot)
    return true
  }

  private func perform(
    _ step: FanOut.Step, of request: Request, _ slot: Int, _ world: inout World
  ) {
    switch step {
    case .refuse:
      let all = request.first..<request.first + request.devices.count
      produce(.outcome(.deadLettered), of: all, slot, &world)
    case .broadcast: world.kafka.fail("a request for devices became a broadcast")
    case .notify(let index): notify(index, of: request, slot, &world)
    }
  }

  private func notify(_ index: Int, of request: Request, _ slot: Int, _ world: inout World) {
    let notification = request.first + index
    let key = DeviceOfApp(app: request.app, device: request.devices[index])
    let what: Outgoing.What
    if invalid.contains(key) {
      if !world.devices.wasMarked(key) {
        world.kafka.fail("a push was suppressed whose device was never called invalid")
      }
      what = .outcome(.suppressed)
    } else {
      what = .notification(
        PushFacts(
          takenID: world.kafka.notifications[notification].id, app: key.app, device: key.device,
          lane: request.lane, created: request.created, expiresAt: request.expiresAt))
    }
    produce(what, of: notification..<notification + 1, slot, &world)
  }

  private func produce(
    _ what: Outgoing.What, of notifications: Range<Int>, _ slot: Int, _ world: inout World
  ) {
    table.expect(slot)
    let stored = world.now + UInt64(world.chance.within(1...60))
    let late = world.chance.oneIn(100) ? 5_000 : 40
    outgoing.append(
      Outgoing(
        what: what, notifications: notifications, slot: slot, storedAt: stored,
        acknowledgedAt: stored + UInt64(world.chance.within(1...late))))
  }

  // MARK: Kafka

  private func takeDeliveries(_ world: inout World) {
    for index in outgoing.indices where !outgoing[index].isStored {
      guard outgoing[index].storedAt <= world.now else { continue }
      outgoing[index].isStored = true
      store(outgoing[index], &world)
    }
    let acknowledged = outgoing.filter { $0.isStored && $0.acknowledgedAt <= world.now }
    outgoing.removeAll { $0.isStored && $0.acknowledgedAt <= world.now }
    for record in acknowledged { settle(record.slot) }
  }

  private func store(_ record: Outgoing, _ world: inout World) {
    for notification in record.notifications {
      switch record.what {
      case .notification(let facts): world.kafka.write(facts, of: notification, at: world.wall)
      case .outcome(let outcome): world.kafka.notifications[notification].add(outcome)
      }
    }
  }

  private func settle(_ slot: Int) {
    guard let entry = table.settle(slot) else { return }
    member.completed(Int(entry.partition), epoch: entry.epoch, entry.offset)
  }

  /// The table of invalid tokens.
  private func followMarks(_ world: World) {
    while marksRead < world.devices.marks.count {
      let record = world.devices.marks[marksRead]
      marksRead += 1
      if record.mark == nil { invalid.remove(record.key) } else { invalid.insert(record.key) }
    }
  }
}
