// SPDX-License-Identifier: Apache-2.0
import APNS
import Delivery
import Dispatch
import Pipeline
import Random

/// One process of ingest: the shipped group membership, offsets and table of requests, and what `IngestLoop` does with
/// them: requests become notifications, and an offset is complete when all records of its request are acknowledged.
final class IngestModel: GroupProcess {
  private struct Outgoing {
    enum What {
      case notification(PushFacts)
      case outcome(Outcome)
    }
    var what: What
    var notification: Int
    var slot: Int
    var storedAt: UInt64
    var acknowledgedAt: UInt64
    var isStored = false
  }

  /// The request in the middle of which it may stop.
  private struct Work {
    var request: Request
    var slot: Int
    var next = 0
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
        work = Work(request: world.requests.partitions[partition][Int(offset)], slot: slot)
      }
      guard finishRequest(&world) else { return }
    }
  }

  /// Goes on with the request at hand; false when it has to wait.
  private func finishRequest(_ world: inout World) -> Bool {
    guard var work else { return true }
    let request = work.request
    while work.next < request.devices.count {
      guard outgoing.count < 80, world.isCalm || !world.chance.oneIn(200) else {
        self.work = work
        return false
      }
      make(work.next, of: request, work.slot, &world)
      work.next += 1
    }
    self.work = nil
    settle(work.slot)
    return true
  }

  private func make(_ index: Int, of request: Request, _ slot: Int, _ world: inout World) {
    let notification = request.first + index
    let key = DeviceOfApp(app: request.app, device: request.devices[index])
    let what: Outgoing.What
    if request.isBad {
      what = .outcome(.deadLettered)
    } else if invalid.contains(key) {
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
    table.expect(slot)
    let stored = world.now + UInt64(world.chance.within(1...60))
    let late = world.chance.oneIn(100) ? 5_000 : 40
    outgoing.append(
      Outgoing(
        what: what, notification: notification, slot: slot, storedAt: stored,
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
    switch record.what {
    case .notification(let facts):
      world.kafka.write(facts, of: record.notification, at: world.wall)
    case .outcome(let outcome): world.kafka.notifications[record.notification].add(outcome)
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
