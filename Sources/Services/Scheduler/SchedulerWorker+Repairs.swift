// SPDX-License-Identifier: Apache-2.0
import ConsumerGroup
import Contract
import EventLoop
import Identity
import Kafka
import Records
import Schedule
import ServiceKit
import Store

/// Records of the schedule that cannot be read, or took the place of one that counts.
extension SchedulerWorker {
  /// Writes again what counts and would be dropped by compaction; false when that has to go on later.
  ///
  /// Not before the partition has been read to its end: while it is read anew, the database has what counted long ago.
  func restore(_ now: UInt64) -> Bool {
    for index in owed.repairs.indices.reversed()
    where machine.isCaughtUp(owed.repairs[index].source.partition) {
      let repair = owed.repairs[index]
      var entry: ScheduledEntry?
      let isFound = withDatabase(now) { () throws(StoreError) in
        entry = try store.entries(repair.source.partition, [repair.key])[repair.key]
      }
      guard isFound, write(repair, entry) else { return false }
      owed.repairs.remove(at: index)
    }
    return true
  }

  /// - Parameter entry: what counts for the key.
  /// - Returns: false when Kafka's client has no room.
  private func write(_ repair: ScheduleRepair, _ entry: ScheduledEntry?) -> Bool {
    let tag = Tag.restored(repair.source, epoch: member.epoch, repair.offset)
    do throws(KafkaError) {
      if let entry, entry.row.offset < repair.offset {
        let isTaken = try producer.produce(
          topics.schedule, key: Array(entry.key.utf8), value: Array(entry.value.utf8), as: tag)
        if isTaken { counters.add(.restored) }
        return isTaken
      }
      if entry == nil, let unreadable = repair.unreadable {
        return try producer.produce(
          topics.schedule, key: unreadable.key, value: nil, headers: unreadable.ends, as: tag)
      }
    } catch {
      failure = failure ?? ServiceFailure("\(error)")
      return false
    }
    // Its key has a newer record by now, or none.
    member.completed(repair.source, epoch: member.epoch, repair.offset)
    return true
  }

  /// Ends a request of the database that cannot be worked on: it becomes a dead letter, and its tombstone follows.
  ///
  /// - Returns: false when Kafka's client has no room.
  func bury(_ slot: Int) -> Bool {
    let entry = machine.entry(slot)
    let record = UnreadableRecord(
      reason: .invalidSchedule, detail: DeadLetter.crashed, key: Array(entry.key.utf8),
      value: Array(entry.content.utf8))
    let place = TopicPartition(topic: topics.scheduleName, partition: entry.partition)
    do throws(KafkaError) {
      let isTaken = try producer.produce(
        topics.deadLetters, key: record.key, value: record.value,
        headers: record.headers(
          by: .scheduler, from: place, entry.row.offset, at: WallClock.milliseconds()),
        as: .late)
      guard isTaken else {
        machine.postponed(slot)
        return false
      }
    } catch {
      failure = failure ?? ServiceFailure("\(error)")
      return false
    }
    counters.add(.unreadable)
    return end(slot)
  }

  /// Writes the dead letters of records that cannot be read; false when Kafka's client has no room.
  func writeDeadLetters() -> Bool {
    while let job = owed.letters.last, let record = job.refused {
      let place = TopicPartition(topic: topics.scheduleName, partition: job.source.partition)
      do throws(KafkaError) {
        let isTaken = try producer.produce(
          topics.deadLetters, key: record.key, value: record.value,
          headers: record.headers(
            by: .scheduler, from: place, job.offset, at: WallClock.milliseconds()),
          as: .deadLetter(ScheduleRepair(job), epoch: member.epoch))
        guard isTaken else { return false }
      } catch {
        failure = failure ?? ServiceFailure("\(error)")
        return false
      }
      owed.letters.removeLast()
    }
    return true
  }
}
