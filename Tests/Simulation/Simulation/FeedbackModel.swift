// SPDX-License-Identifier: Apache-2.0
import Contract
import FeedbackDecisions
import SenderDecisions
import Waiting

/// The topics about devices: answers of APNs, registrations, and the marks that follow.
struct DeviceTopicsModel {
  struct Answer {
    var key: DeviceOfApp
    var answer: TokenAnswer
  }
  struct MarkRecord {
    var key: DeviceOfApp
    var mark: DeviceState.Mark?
    /// What was requested before is not sent any more.
    var release: DeviceRelease?
  }
  /// A record of registrations.
  struct Fact {
    var key: DeviceOfApp
    var presence: DeviceState.Presence
    var user: String?
  }

  /// Partitions 0 and 1 of the group are of answers, 2 and 3 of registrations, by device.
  private(set) var answers: [[Answer]] = [[], []]
  private(set) var registrations: [[Fact]] = [[], []]
  private(set) var marks: [MarkRecord] = []
  private var verified = [0, 0]
  /// What follows from all answers and registrations together.
  private var aliveFrom: [DeviceOfApp: Int64] = [:]
  private var registeredAt: [DeviceOfApp: Int64] = [:]
  private var marked: [DeviceOfApp: DeviceState.Mark] = [:]
  private var everMarked: Set<DeviceOfApp> = []
  /// The newest fact of each device.
  private var newest: [DeviceOfApp: Fact] = [:]
  /// When a device last was not any more whose it had been, and since when that is said.
  private var released: [DeviceOfApp: Int64] = [:]
  private var saidReleased: [DeviceOfApp: Int64] = [:]

  func end(_ partition: Int) -> Int64 {
    Int64(partition < 2 ? answers[partition].count : registrations[partition - 2].count)
  }

  mutating func append(_ key: DeviceOfApp, _ answer: TokenAnswer) {
    answers[Int(key.device % 2)].append(Answer(key: key, answer: answer))
    guard answer.status == 410 else { return }
    let revival = TokenInvalidation.earliestRevival(
      timestamp: answer.timestamp, sentAt: answer.sentAt)
    aliveFrom[key] = max(aliveFrom[key] ?? .min, revival)
  }

  mutating func register(_ key: DeviceOfApp, user: String?, at time: Int64) {
    if let known = newest[key] {
      let isOther = known.user != nil && known.user != user
      if case .removed = known.presence { released[key] = time }
      if isOther { released[key] = time }
    }
    append(Fact(key: key, presence: .registered(at: time), user: user))
    registeredAt[key] = time
  }

  /// The application takes a device back.
  mutating func remove(_ key: DeviceOfApp, at time: Int64) {
    released[key] = time
    append(Fact(key: key, presence: .removed(at: time)))
    registeredAt[key] = nil
  }

  private mutating func append(_ fact: Fact) {
    registrations[Int(fact.key.device % 2)].append(fact)
    newest[fact.key] = fact
  }

  private func isRemoved(_ key: DeviceOfApp) -> Bool {
    if case .removed? = newest[key]?.presence { true } else { false }
  }

  mutating func publish(_ record: MarkRecord) {
    marks.append(record)
    marked[record.key] = record.mark
    if let release = record.release {
      saidReleased[record.key] = max(saidReleased[record.key] ?? .min, release.at)
    }
    if record.mark != nil { everMarked.insert(record.key) }
  }

  /// Whether a registration that proves a mark wrong was there before a time.
  func isRefuted(_ record: MarkRecord, before time: Int64) -> Bool {
    guard let mark = record.mark, let registered = registeredAt[record.key] else { return false }
    return registered < time && registered >= mark.aliveFrom
  }

  func wasMarked(_ key: DeviceOfApp) -> Bool { everMarked.contains(key) }

  /// An answer may be committed when its mark stands on the topic, or a registration refutes it.
  mutating func verify(_ partition: Int, _ offset: Int64, _ kafka: inout KafkaModel) {
    guard offset <= end(partition) else {
      return kafka.fail("feedback committed offset \(offset), which is no record")
    }
    guard partition < 2 else { return }
    while verified[partition] < Int(offset) {
      let record = answers[partition][verified[partition]]
      verified[partition] += 1
      guard record.answer.status == 410 else { continue }
      let revival = TokenInvalidation.earliestRevival(
        timestamp: record.answer.timestamp, sentAt: record.answer.sentAt)
      let isMarked = (marked[record.key]?.aliveFrom ?? .min) >= revival
      if !isMarked, (registeredAt[record.key] ?? .min) < revival, !isRemoved(record.key) {
        return kafka.fail(
          "an answer about device \(record.key.device) was committed without its mark")
      }
    }
  }

  /// The first device that the topic says something wrong about.
  var wrong: String? {
    for key in released.keys.sorted() where (saidReleased[key] ?? .min) < released[key]! {
      // To one that is invalid nothing is sent anyway.
      if marked[key] == nil { return "device \(key.device) is not any more whose it was: not said" }
    }
    for key in newest.keys.sorted() where isRemoved(key) && marked[key] == nil {
      return "device \(key.device) was removed, and may be sent to"
    }
    for key in aliveFrom.keys.sorted() where !isRemoved(key) {
      let isInvalid = aliveFrom[key]! > registeredAt[key] ?? .min
      if isInvalid != (marked[key] != nil) {
        return "device \(key.device) is \(isInvalid ? "invalid" : "valid") and is not called so"
      }
    }
    let strangers = marked.keys.filter { aliveFrom[$0] == nil && !isRemoved($0) }
    return strangers.isEmpty ? nil : "a device is called invalid that APNs said nothing of"
  }
}

/// One process of feedback: the shipped group membership, `FeedbackMachine`, and rules of token hygiene and completeness
/// of tables, on the topics as models.
final class FeedbackModel: GroupProcess {
  var member = MemberModel(.feedback)
  private var machine = FeedbackMachine<DeviceOfApp>(records: 20, atOnce: 1)
  private var jobs: [(partition: Int, offset: Int64)] = []
  private var outgoing: [DeviceTopicsModel.MarkRecord] = []
  /// When Kafka has what follows from the batch; nil when nothing is on its way.
  private var storedAt: UInt64?
  private var states: [DeviceOfApp: DeviceState] = [:]
  /// Its clients have fetched nothing of the tables before: that takes up to a minute at the start, when answers come
  /// already, and now and then they lag.
  private var fetchesAt: UInt64?
  /// Registrations of both partitions, and marks.
  private var read: [Int64] = [0, 0, 0]
  private var completeness = TableCompleteness([0, 1, 2])
  private var answersAt: UInt64?
  private var refuted: Set<DeviceOfApp> = []
  private var hasJudged = false
  /// When the batch was complete.
  private var takenAt: Int64 = 0

  func turn(_ world: inout World) {
    store(&world)
    followGroup(&world)
    if hasFetched(&world) { follow(world) }
    askEnds(&world)
    drainJobs(&world)
    while let action = machine.next(
      now: world.now, isVerified: completeness.isComplete { self.read[$0] },
      outstanding: storedAt == nil ? 0 : outgoing.count)
    {
      perform(action, &world)
      if action == .complete { break }
    }
  }

  var isIdle: Bool { machine.isIdle && refuted.isEmpty }

  func crash(_ world: inout World) {
    guard storedAt != nil else { return }
    for record in outgoing.prefix(world.chance.below(outgoing.count + 1)) {
      world.devices.publish(record)
    }
  }

  // MARK: The group

  private func followGroup(_ world: inout World) {
    while let task = member.next(&world, isIdle: machine.isIdle) {
      switch task {
      case .begun(let partitions):
        machine.begin(Set(partitions.filter { $0 < 2 }.map { Int32($0) }), now: world.now)
        refuted = Set(states.keys.filter { states[$0]!.isMarkObsolete && isOwned($0) })
      case .drain: if machine.drain(isRebuilding: !hasJudged) { drop() }
      case .abandon: drop()
      case .unassigned:
        machine.unassigned()
        refuted = []
      case .begin, .forget, .told: break
      }
    }
  }

  private func drop() {
    // What Kafka has not acknowledged is withdrawn from the producer.
    machine.drop()
    (jobs, outgoing, storedAt) = ([], [], nil)
  }

  private func isOwned(_ key: DeviceOfApp) -> Bool { machine.owns(Int32(key.device % 2)) }

  // MARK: Tables

  private func hasFetched(_ world: inout World) -> Bool {
    if world.isCalm { return true }
    if fetchesAt == nil {
      fetchesAt = world.now + UInt64(world.chance.below(60_000))
    } else if world.chance.oneIn(500) {
      fetchesAt = world.now + UInt64(world.chance.below(10_000))
    }
    return world.now >= fetchesAt!
  }

  private func follow(_ world: World) {
    for table in 0..<2 {
      let log = world.devices.registrations[table]
      for place in Int(read[table])..<min(log.count, Int(read[table]) + 50) {
        states[log[place].key, default: DeviceState()].apply(
          log[place].presence, DeviceDetails(user: log[place].user))
        note(log[place].key)
        read[table] += 1
      }
    }
    for place in Int(read[2])..<min(world.devices.marks.count, Int(read[2]) + 50) {
      let record = world.devices.marks[place]
      states[record.key, default: DeviceState()].apply(record.mark)
      note(record.key)
      read[2] += 1
    }
  }

  private func note(_ key: DeviceOfApp) {
    if states[key]!.isMarkObsolete, isOwned(key) {
      refuted.insert(key)
    } else {
      refuted.remove(key)
    }
  }

  private func askEnds(_ world: inout World) {
    if completeness.question({ self.read[$0] }) != nil {
      answersAt = world.now + UInt64(world.chance.within(1...60))
    }
    guard let answersAt, world.now >= answersAt else { return }
    self.answersAt = nil
    if completeness.answered([
      0: Int64(world.devices.registrations[0].count),
      1: Int64(world.devices.registrations[1].count), 2: Int64(world.devices.marks.count),
    ]) != nil {
      world.kafka.fail("a table is called another one")
    }
  }

  // MARK: Batches

  private func drainJobs(_ world: inout World) {
    if !refuted.isEmpty { machine.marksAreRefuted() }
    while machine.hasRoom, let job = member.take(&world, end: world.devices.end) {
      machine.took(timestamp: world.wall, bytes: 100, lines: 0)
      jobs.append(job)
    }
  }

  private func perform(_ action: FeedbackMachine<DeviceOfApp>.Action, _ world: inout World) {
    switch action {
    case .verify:
      takenAt = world.wall
      completeness.want()
    case .judge: judge(&world)
    case .publish:
      storedAt = world.now + UInt64(world.chance.within(2...100))
      machine.handedOver(below: outgoing.count)
    case .complete:
      for job in jobs { member.completed(job.partition, epoch: member.epoch, job.offset) }
      (jobs, outgoing) = ([], [])
    }
  }

  private func judge(_ world: inout World) {
    hasJudged = true
    var marks = DeviceMarks<DeviceOfApp>(clockSkew: 0)
    for job in jobs {
      if job.partition < 2 {
        let record = world.devices.answers[job.partition][Int(job.offset)]
        _ = marks.judge(record.answer, record.key, state(record.key))
      } else {
        let fact = world.devices.registrations[job.partition - 2][Int(job.offset)]
        marks.release(
          by: fact.presence, received: fact.presence.time, fact.key, state(fact.key))
      }
    }
    outgoing = marks.publications().map {
      .init(key: $0.device, mark: $0.mark, release: $0.release)
    }
    for record in outgoing where world.devices.isRefuted(record, before: takenAt) {
      world.kafka.fail("device \(record.key.device) is called invalid, and was registered later")
    }
    if machine.rounds.refuting.isDue { refute() }
    machine.judged(following: outgoing.count)
  }

  private func state(_ key: DeviceOfApp) -> DeviceState { states[key] ?? DeviceState() }

  private func refute() {
    let said = Set(outgoing.map(\.key))
    for key in refuted.sorted() where isOwned(key) && !said.contains(key) {
      outgoing.append(.init(key: key, mark: nil))
    }
    refuted = []
    machine.rounds.refuting.read(to: nil)
  }

  private func store(_ world: inout World) {
    guard let storedAt, world.now >= storedAt else { return }
    for record in outgoing { world.devices.publish(record) }
    self.storedAt = nil
  }
}
