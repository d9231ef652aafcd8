// SPDX-License-Identifier: Apache-2.0
import ConsumerGroup
import Contract
import EventLoop
import Kafka
import Records
import ScheduleDecisions
import ServiceKit
import Store

/// What is due: its release, its tombstone, and Kafka's answers.
extension SchedulerWorker {
  /// - Returns: the number of actions performed; `actionsATurn` if there are more.
  func act(_ now: UInt64) -> Int {
    guard failure == nil else { return 0 }
    // What of it waits for the database or for room is tried again in the next turn. Nothing in memory waits for it.
    if writeDeadLetters() { restore(now) }
    guard writeAgain(now) else { return 0 }
    if machine.hasClockGoneBack {
      let isDone = withDatabase(now) { () throws(StoreError) in
        for partition in machine.owned { try mendTimes(partition) }
      }
      if isDone { machine.reload() }
    }
    guard failure == nil else { return 0 }
    let wall = WallClock.milliseconds()
    for count in 0..<Self.actionsATurn {
      guard let action = machine.next(now: wall) else { return count }
      switch action {
      case .ask(let partitions):
        guard !watermarks.isAsked else {
          machine.askFailed()
          return count
        }
        watermarks.ask(partitions.map { TopicPartition(topic: topics.scheduleName, partition: $0) })
      case .load(let partition, let after, let through, let limit):
        guard load(partition, after, through, limit, now) else { return count }
      case .release(let slot): guard release(slot) else { return count }
      case .end(let slot): guard end(slot) else { return count }
      }
    }
    return Self.actionsATurn
  }

  private func load(
    _ partition: Int32, _ after: Machine.Place, _ through: Int64, _ limit: Int, _ now: UInt64
  ) -> Bool {
    var entries: [ScheduledEntry] = []
    let room = machine.bytesLeft
    let isDone = withDatabase(now) { () throws(StoreError) in
      entries = try store.due(
        partition, through: through, after: after.due, after.key, limit: limit, bytes: room)
    }
    guard isDone else {
      // The entries in memory are still released.
      machine.notLoaded(until: WallClock.milliseconds() + Int64(Self.databasePause))
      return true
    }
    // A page that was cut is a full one: there may be more.
    let isCut = entries.reduce(0) { $0 + $1.bytes } >= room
    machine.loaded(
      partition, entries.map { ($0.machineEntry(partition), $0.bytes) }, through: through,
      limit: isCut ? entries.count : limit)
    return true
  }

  /// - Returns: false when the producer's queue is full.
  private func release(_ slot: Int) -> Bool {
    let entry = machine.entry(slot)
    var content = entry.content
    return content.withUTF8 { bytes in
      let bytes = UnsafeRawBufferPointer(bytes)
      let request = topics.stored.work(on: entry.row.identity, key: entry.key.text) {
        () -> ScheduledRequest? in
        guard case .request(let request)? = try? ScheduleRecord(bytes) else { return nil }
        return request
      }
      // Content that has crashed this process, or was written by another program: it ends unsent.
      guard let request else { return bury(slot) }
      let json = ScheduleRecord.request(in: bytes)
      if let recipients = request.recipients, let key = ScheduleKey(entry.key) {
        people.add(slot, key, recipients, request, Array(json))
        return true
      }
      return release(slot, entry.key, request, json)
    }
  }

  /// - Parameter reach: that of a request to users.
  func release(
    _ slot: Int, _ key: ExactText, _ request: ScheduledRequest, _ json: UnsafeRawBufferPointer,
    _ reach: RecipientResolver.Reach? = nil
  ) -> Bool {
    produce(
      topics.requests, key: key, json, request.headers,
      as: .request(slot: slot, round: round, reach: reach), slot)
  }

  func end(_ slot: Int) -> Bool {
    let entry = machine.entry(slot)
    let header = KafkaHeader(ScheduleRecord.endsHeader, "\(entry.row.identity)")
    return produce(
      topics.schedule, key: entry.key, nil, [header], as: .tombstone(slot: slot, round: round), slot
    )
  }

  func produce(
    _ topic: KafkaTopic, key: ExactText, _ value: UnsafeRawBufferPointer?, _ headers: [KafkaHeader],
    as tag: Tag, _ slot: Int
  ) -> Bool {
    var (key, isTaken) = (key.text, false)
    do {
      isTaken = try key.withUTF8 { key in
        try producer.produce(
          topic, key: UnsafeRawBufferPointer(key), value: value, headers: headers, as: tag)
      }
    } catch {
      if value != nil, (error as? KafkaError)?.isOfSize == true { return bury(slot, "\(error)") }
      fail("\(error)")
    }
    if !isTaken { machine.postponed(slot) }
    return isTaken
  }

  /// Hands a record to Kafka's client; a record that Kafka can never accept ends the process.
  ///
  /// - Returns: false when the queue is full or the service has failed.
  func write(
    _ topic: KafkaTopic, key: [UInt8]?, _ value: [UInt8]?, _ headers: [KafkaHeader] = [],
    as tag: Tag
  ) -> Bool {
    do throws(KafkaError) {
      return try producer.produce(topic, key: key, value: value, headers: headers, as: tag)
    } catch {
      fail("\(error)")
      return false
    }
  }

  /// A record that Kafka can never accept ends the process: nothing is lost, and it is retried after the repair. A request
  /// that is too large for its topic is a dead letter, as with ingest: whoever may write the schedule made it so. A
  /// dead letter that is too large itself is cut.
  func drainAnswers() {
    let wall = WallClock.milliseconds()
    for answer in producer.drainAnswers() {
      if let problem = answer.problem {
        switch answer.tag {
        case .request(let slot, round, _) where answer.refused?.isOfSize == true,
          .activity(let slot, round, _, _, _) where answer.refused?.isOfSize == true:
          _ = bury(slot, problem)
        case let tag: if answer.refused?.isOfSize != true || !cut(tag) { fail(problem) }
        }
        continue
      }
      switch answer.tag {
      case .request(let slot, round, let reach):
        lateness.recorder.record(wall - machine.due(slot), in: 0)
        counters.add(.released)
        if let reach { count(reach) }
        machine.released(slot)
      case .tombstone(let slot, round): machine.ended(slot)
      case .buried(let slot, round, let letter): buried(slot, in: letter)
      case .activity(let slot, round, let request, let json, let reach):
        _ = json.withUnsafeBytes { release(slot, machine.entry(slot).key, request, $0, reach) }
      case .restored(let source, let epoch, let offset):
        member.completed(source, epoch: epoch, offset)
      case .campaign(let tag): campaigns.acknowledged(tag)
      case .deadLetter(let repair, let epoch, let letter):
        noteUnreadable(letter, of: repair.source.partition, repair.offset)
        if epoch == member.epoch { owed.repairs.append(repair) }
      case .again(let partition, let key, let round):
        wroteAgain(key, of: partition, to: answer.partition, round: round)
      case .request, .tombstone, .buried, .activity, .late: break
      }
    }
  }
}
