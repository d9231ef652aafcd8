// SPDX-License-Identifier: Apache-2.0
import Contract
import IngestDecisions
import SenderDecisions
import Waiting

/// One process of ingest: the shipped group membership, offsets and `IngestMachine`, on the topics as models.
final class IngestModel: GroupProcess {
  private struct Outgoing {
    enum What {
      case notification(PushFacts)
      case outcome(Outcome)
      /// The request at this place goes to the schedule.
      case scheduled(ScheduleModel.Record, partition: Int, offset: Int64)
    }
    var what: What
    /// What it is about: a refusal ends all notifications of its request.
    var notifications: Range<Int>
    var slot: Int
    var storedAt: UInt64
    var acknowledgedAt: UInt64
    var isStored = false
  }

  var member = MemberModel(.ingest)
  private var machine = IngestMachine(capacity: 40)
  /// What the machine has at hand.
  private var request: Request?
  private var outgoing: [Outgoing] = []
  private var invalid: Set<DeviceOfApp> = []
  private var marksRead = 0

  func turn(_ world: inout World) {
    drainDeliveries(&world)
    followMarks(world)
    followGroup(&world)
    readRequests(&world)
    if machine.count > 40 || outgoing.count > 90 { world.kafka.fail("ingest holds too much") }
  }

  var isIdle: Bool { machine.count == 0 }

  func crash(_ world: inout World) {
    for record in outgoing where !record.isStored && world.chance.oneIn(2) { store(record, &world) }
  }

  // MARK: The group

  private func followGroup(_ world: inout World) {
    while let task = member.next(&world, isIdle: machine.count == 0) {
      if case .drain = task { machine.drop() }
    }
  }

  // MARK: Requests

  private func readRequests(_ world: inout World) {
    guard member.isAssigned else { return }
    for _ in 0..<20 {
      if !machine.isExpanding {
        guard !machine.isFull,
          let (partition, offset) = member.take(&world, end: world.requests.end)
        else { return }
        machine.take(partition: Int32(partition), epoch: member.epoch, offset: offset, created: 0)
        let request = world.requests.partitions[partition][Int(offset)]
        machine.make(walk(request, world))
        self.request = request
      }
      guard finishRequest(&world) else { return }
    }
  }

  private func walk(_ request: Request, _ world: World) -> FanOut {
    if request.isBad { return .refusal }
    if let schedule = request.schedule,
      SendTime.waits(
        schedule.sendAt, written: schedule.written, requeuedAt: schedule.released?.requeuedAt,
        now: world.wall)
    {
      return .scheduled
    }
    return .tokens(request.devices.count)
  }

  /// Goes on with the request at hand; false when it has to wait.
  private func finishRequest(_ world: inout World) -> Bool {
    while let step = machine.next, let request {
      guard outgoing.count < 80, world.isCalm || !world.chance.oneIn(200) else { return false }
      perform(step, of: request, &world)
      machine.made()
    }
    complete(machine.finish())
    return true
  }

  private func perform(_ step: FanOut.Step, of request: Request, _ world: inout World) {
    switch step {
    case .schedule: schedule(request, &world)
    case .summarize: preconditionFailure("no request of the model is for users")
    case .refuse:
      let all = request.first..<request.first + request.devices.count
      produce(.outcome(.deadLettered), of: all, &world)
    case .broadcast: world.kafka.fail("a request for devices became a broadcast")
    case .notify(let index): notify(index, of: request, &world)
    }
  }

  /// Hands the request at hand to the schedule; back, if that has released it.
  private func schedule(_ request: Request, _ world: inout World) {
    let schedule = request.schedule!
    let value = ScheduleModel.Value.request(
      work: schedule.work, accepted: schedule.released?.accepted ?? request.created,
      requeuedAt: schedule.released.map { SendTime.requeue(now: world.wall, after: $0.requeuedAt) })
    let entry = machine.entry(machine.slot)
    let record = ScheduleModel.Record(key: ScheduleModel.key(ofWork: schedule.work), value: value)
    produce(
      .scheduled(record, partition: Int(entry.partition), offset: entry.offset), of: 0..<0, &world)
  }

  private func notify(_ index: Int, of request: Request, _ world: inout World) {
    let notification = request.first + index
    let key = DeviceOfApp(app: request.app, device: request.devices[index])
    if let schedule = request.schedule, index == 0 {
      world.schedule.made(schedule.work, wall: world.wall, &world.kafka)
    }
    let what: Outgoing.What
    if invalid.contains(key) {
      if !world.devices.wasMarked(key) {
        world.kafka.fail("a push was suppressed whose device was never called invalid or removed")
      }
      what = .outcome(.suppressed)
    } else {
      var facts = PushFacts(
        dedupKey: world.kafka.notifications[notification].id, app: key.app, device: key.device,
        lane: request.lane,
        created: request.schedule?.sendAt ?? request.created, expiresAt: request.expiresAt)
      if let campaign = request.campaign {
        facts.campaign = ScheduleModel.hash(ofCampaign: campaign)
      }
      if request.isKeyed {
        // The same key for all: an identity is a device's, and devices have one app each.
        facts.state = StateFacts(
          key.device + 1, of: facts.dedupKey, isFinal: request.isFinal, urgency: request.urgency)
      }
      what = .notification(facts)
    }
    produce(what, of: notification..<notification + 1, &world)
  }

  private func produce(_ what: Outgoing.What, of notifications: Range<Int>, _ world: inout World) {
    machine.expect()
    let stored = world.now + UInt64(world.chance.within(1...60))
    let late = world.chance.oneIn(100) ? 5_000 : 40
    outgoing.append(
      Outgoing(
        what: what, notifications: notifications, slot: machine.slot, storedAt: stored,
        acknowledgedAt: stored + UInt64(world.chance.within(1...late))))
  }

  // MARK: Kafka

  private func drainDeliveries(_ world: inout World) {
    for index in outgoing.indices where !outgoing[index].isStored {
      guard outgoing[index].storedAt <= world.now else { continue }
      outgoing[index].isStored = true
      store(outgoing[index], &world)
    }
    let acknowledged = outgoing.filter { $0.isStored && $0.acknowledgedAt <= world.now }
    outgoing.removeAll { $0.isStored && $0.acknowledgedAt <= world.now }
    for record in acknowledged { complete(machine.settle(record.slot)) }
  }

  private func store(_ record: Outgoing, _ world: inout World) {
    if case .scheduled(let scheduled, let partition, let offset) = record.what,
      case .request(let work, _, _) = scheduled.value
    {
      world.schedule.append(
        scheduled, to: ScheduleModel.partition(work), at: world.wall, &world.kafka)
      world.requests.handOver(partition, offset)
    }
    for notification in record.notifications {
      switch record.what {
      case .notification(let facts): world.kafka.write(facts, of: notification, at: world.wall)
      case .outcome(let outcome): world.kafka.notifications[notification].add(outcome)
      case .scheduled: break
      }
    }
  }

  private func complete(_ entry: RequestTable.Entry?) {
    guard let entry else { return }
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
