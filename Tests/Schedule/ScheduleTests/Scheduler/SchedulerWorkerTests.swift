// SPDX-License-Identifier: Apache-2.0
import ConsumerGroup
import Contract
import EventLoop
import Kafka
import ScheduleDecisions
import ServiceKit
import Store
import TestSupport
import Testing

@testable import Scheduler

/// The worker's turn, part by part.
@Suite struct SchedulerWorkerTests {
  private func worker(
    _ fixture: SchedulerFixture
  ) throws -> (SchedulerWorker, ServiceContext) {
    let path = fixture.folder.file("a.db")
    let context = try SchedulerService.context(
      ["--topic-prefix", fixture.kafka.prefix, "--database", path])
    var settings = try SchedulerSettings(context.values)
    settings.kafka = fixture.kafka.configuration
    let names = fixture.names
    let cluster = try #require(
      try ClusterView.wait(
        settings.kafka, KafkaRights(of: .scheduler, names), optional: [names.audiences], of: names,
        context))
    let worker = try SchedulerWorker(
      settings, context, names, ScheduleStore(TokenStore(path, now: 1)), cluster)
    return (worker, context)
  }

  @Test func `a change that the database took ends nothing though its answer was lost`() throws {
    let fixture = try SchedulerFixture(partitions: 1)
    let (worker, context) = try worker(fixture)
    worker.machine.begin([0])
    try worker.store.startOver(0)
    worker.positions = [0: 0]
    let request = ScheduleChange.value(.request(due: 1_000, written: 5), identity: 7)
    let job = ScheduleJob(
      source: Source(topic: 0, partition: 0), offset: 5, key: "a.b:production:y".exact,
      change: request, value: "x")
    // What the database has after the change, and the batch as it was before its answer.
    try worker.store.setPosition(0, 6)
    worker.batch.move(0, to: 6)
    let batch = worker.batch
    worker.batch.unanswered = [ScheduleOutcome([job], over: [:])]
    #expect(worker.readRecords(MonotonicClock.milliseconds()) == 0)
    #expect(worker.failure == nil && worker.batch.isEmpty && worker.positions == [0: 6])
    #expect(worker.counters[.scheduled] == 1)

    // Without it, another process has written.
    worker.positions = [0: 0]
    worker.batch = batch
    _ = worker.readRecords(MonotonicClock.milliseconds())
    #expect(worker.failure != nil && worker.positions == [0: 0])
    worker.machine.removeAll()
    worker.failure = nil
    context.signals.requestStop()
    try worker.run()
  }

  @Test func `a database that lacks what it had taken ends the process`() throws {
    let fixture = try SchedulerFixture(partitions: 1)
    let (worker, context) = try worker(fixture)
    worker.machine.begin([0, 1])
    try worker.store.startOver(0)
    try worker.store.setPosition(0, 6)
    worker.positions = [0: 6, 2: 9]
    let tick = MonotonicClock.milliseconds()
    worker.lookAfterDatabase(tick)
    #expect(worker.failure == nil, "partition 2 is another process's")
    // The server that took over had not got the last transaction.
    try worker.store.setPosition(0, 5)
    worker.lookAfterDatabase(tick + ScheduleUpkeep.period)
    #expect(worker.failure?.description.contains("offset 5 and had it up to 6") == true)
    worker.machine.removeAll()
    worker.failure = nil
    context.signals.requestStop()
    try worker.run()
  }

  /// Partition 0 is read to its end, and this request is due in memory.
  private func load(
    _ worker: SchedulerWorker, _ value: String, due now: Int64, key: ExactText = "a.b:production:x"
  ) {
    let entry = ScheduledEntry(
      key: key,
      row: ScheduleRow(
        offset: 1, identity: ScheduleRow.identity(of: value.utf8),
        kind: .request(due: now - 10, written: 5)), value: value)
    worker.machine.begin([0])
    guard case .load(_, _, let through, let limit)? = worker.machine.next(now: now) else {
      return #expect(Bool(false))
    }
    worker.machine.loaded(0, [(entry.machineEntry(0), entry.bytes)], through: through, limit: limit)
    #expect(worker.machine.next(now: now) == .ask([0]))
    worker.machine.answered([0: 0])
  }

  @Test func `what is in memory is released while the database is silent and a repair is owed`()
    throws
  {
    let fixture = try SchedulerFixture(partitions: 1)
    let (worker, context) = try worker(fixture)
    let now = WallClock.milliseconds()
    load(worker, "S1\t\(now - 10)\t1000000000000\t\t\n{\"id\":\"x\"}", due: now)
    let job = ScheduleJob(
      source: Source(topic: 0, partition: 0), offset: 5, key: "a.b:production:y".exact,
      change: .end(of: nil), value: "")
    worker.owed.repairs = [ScheduleRepair(job)]

    let tick = MonotonicClock.milliseconds()
    let isDone = worker.withDatabase(tick) { () throws(StoreError) in
      _ = try TokenStore(fixture.folder.file("none/b.db"), now: 1)
    }
    #expect(!isDone && worker.failure == nil)
    #expect(worker.act(tick) > 0)
    #expect(!worker.machine.isIdle && worker.owed.repairs.count == 1)
    expectEventually {
      worker.drainAnswers()
      return worker.counters[.released] == 1
    }
    #expect(try fixture.readAll(fixture.names.requests).count == 1)
    worker.machine.removeAll()
    context.signals.requestStop()
    try worker.run()
  }

  @Test func `a request to users is counted when Kafka has it, once`() throws {
    let fixture = try SchedulerFixture(partitions: 1)
    let devices = try TokenStore(fixture.folder.file("a.db"), now: 1)
    try devices.transaction { () throws(StoreError) in
      let device = DeviceKey(token: SchedulerFixture.token, app: "a.b", environment: .production)
      try devices.put(
        device, DeviceState(presence: .registered(at: 1), details: DeviceDetails(user: "ann")))
    }
    try devices.setComplete(at: 1)
    let (worker, context) = try worker(fixture)
    let now = WallClock.milliseconds()
    let json = #"{"app":"a.b","id":"x","user":"ann","payload":{"aps":{"alert":"x"}}}"#
    load(worker, "S1\t\(now - 10)\t1000000000000\t\t\talert\t\t\tann\n\(json)", due: now)
    let tick = MonotonicClock.milliseconds()
    #expect(worker.act(tick) > 0 && worker.sendToUsers(tick))
    #expect(worker.counters[.addressed] == 0 && worker.counters[.devicesAddressed] == 0)
    expectEventually {
      worker.drainAnswers()
      return worker.counters[.released] == 1
    }
    #expect(worker.counters[.addressed] == 1 && worker.counters[.devicesAddressed] == 1)
    worker.machine.removeAll()
    context.signals.requestStop()
    try worker.run()
  }

  @Test func `a record that cannot be read is counted when Kafka has its dead letter`() throws {
    let fixture = try SchedulerFixture(partitions: 1)
    let (worker, context) = try worker(fixture)
    let job = ScheduleJob(
      source: Source(topic: 0, partition: 0), offset: 5, key: "nonsense".exact,
      change: .unreadable, value: "")
    let record = UnreadableRecord(
      reason: .invalidSchedule, detail: "is nonsense", key: nil, value: [1])
    worker.owed.letters = [(ScheduleRepair(job), worker.letter(record, from: 0, 5))]
    #expect(worker.writeDeadLetters() && worker.counters[.unreadable] == 0)
    expectEventually {
      worker.drainAnswers()
      return worker.counters[.unreadable] == 1
    }
    context.signals.requestStop()
    try worker.run()
  }

  @Test func `a dead letter is written once though its entry's tombstone finds no room`() throws {
    let fixture = try SchedulerFixture(partitions: 1)
    let (worker, context) = try worker(fixture)
    let now = WallClock.milliseconds()
    load(worker, "nonsense", due: now)
    #expect(worker.act(MonotonicClock.milliseconds()) > 0)
    expectEventually {
      worker.drainAnswers()
      return worker.counters[.unreadable] == 1
    }
    var actions: [ScheduleMachine.Action] = []
    for _ in 0..<3 {
      guard let action = worker.machine.next(now: now) else { break }
      actions.append(action)
      // The producer's queue is full.
      if case .end(let slot) = action { worker.machine.postponed(slot) }
    }
    #expect(actions.contains { if case .end = $0 { true } else { false } })
    #expect(!actions.contains { if case .release = $0 { true } else { false } })
    #expect(try fixture.readAll(fixture.names.deadLetters).count == 1)
    worker.machine.removeAll()
    context.signals.requestStop()
    try worker.run()
  }

  @Test func `campaigns of new partitions are taken over once the database answers`() throws {
    let fixture = try SchedulerFixture(partitions: 1)
    let (worker, context) = try worker(fixture)
    worker.upkeep.begin([0])
    let tick = MonotonicClock.milliseconds()
    worker.withDatabase(tick) { () throws(StoreError) in
      _ = try TokenStore(fixture.folder.file("none/b.db"), now: 1)
    }
    worker.loadCampaigns(tick)
    #expect(worker.upkeep.unloaded == [0] && worker.failure == nil)
    worker.loadCampaigns(tick + SchedulerWorker.databasePause)
    #expect(worker.upkeep.unloaded.isEmpty && worker.failure == nil)
    context.signals.requestStop()
    try worker.run()
  }
}
