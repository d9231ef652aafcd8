// SPDX-License-Identifier: Apache-2.0
import ConsumerGroup
import Contract
import EventLoop
import Kafka
import Records
import ScheduleDecisions
import ServiceKit
import Store

/// Schedule records that cannot be read, or that took the place of the record that counts.
extension SchedulerWorker {
  /// Rewrites the records that count and that compaction would remove; what it cannot now it does when it is called again.
  ///
  /// Waits until the partition has been read to its end: during a new reading the database has outdated records.
  func restore(_ now: UInt64) {
    for index in owed.repairs.indices.reversed()
    where machine.isCaughtUp(owed.repairs[index].source.partition) {
      let repair = owed.repairs[index]
      var entry: ScheduledEntry?
      let isFound = withDatabase(now) { () throws(StoreError) in
        entry = try store.entries(repair.source.partition, [repair.key])[repair.key]
      }
      guard isFound, write(repair, entry) else { return }
      owed.repairs.remove(at: index)
    }
  }

  /// - Parameter entry: the entry that counts for the key.
  /// - Returns: false when the producer's queue is full.
  private func write(_ repair: ScheduleRepair, _ entry: ScheduledEntry?) -> Bool {
    let tag = Tag.restored(repair.source, epoch: member.epoch, repair.offset)
    // Behind the tombstone of its own entry, a request would be released again.
    let isEnding = machine.isEnding(repair.source.partition, repair.key)
    if let entry, entry.row.offset < repair.offset, !isEnding {
      let isTaken = write(
        topics.schedule, key: Array(entry.key.utf8), Array(entry.value.utf8), as: tag)
      if isTaken { counters.add(.restored) }
      return isTaken
    }
    if entry == nil, let unreadable = repair.unreadable {
      return write(topics.schedule, key: unreadable.key, nil, unreadable.ends, as: tag)
    }
    // The key has a newer record, or was removed, or is about to be.
    member.completed(repair.source, epoch: member.epoch, repair.offset)
    return true
  }

  /// Ends a request that cannot be processed: it becomes a dead letter, and its tombstone follows when Kafka has that. What
  /// is too large for one topic may be too large for the letters, too.
  ///
  /// - Parameter size: why its topic does not take it; nil if it has crashed the process.
  /// - Returns: false when the producer's queue is full.
  func bury(_ slot: Int, _ size: String? = nil) -> Bool {
    let entry = machine.entry(slot)
    let record = UnreadableRecord(
      reason: size == nil ? .invalidSchedule : .recordTooLarge, detail: size ?? DeadLetter.crashed,
      key: Array(entry.key.utf8), value: Array(entry.content.utf8))
    let place = TopicPartition(topic: topics.scheduleName, partition: entry.partition)
    let headers = record.headers(
      by: .scheduler, from: place, entry.row.offset, at: WallClock.milliseconds())
    let tag = Tag.buried(slot: slot, round: round)
    guard write(topics.deadLetters, key: record.key, record.value, headers, as: tag) else {
      machine.postponed(slot)
      return false
    }
    counters.add(.unreadable)
    if let size {
      context.log(
        SchedulerLog.recordUnreadable,
        [
          "partition": "\(entry.partition)", "offset": "\(entry.row.offset)", "problem": size,
        ])
    }
    return true
  }

  /// Writes the dead letters of unreadable records; false when the producer's queue is full.
  func writeDeadLetters() -> Bool {
    while let job = owed.letters.last, let record = job.refused {
      let place = TopicPartition(topic: topics.scheduleName, partition: job.source.partition)
      let headers = record.headers(
        by: .scheduler, from: place, job.offset, at: WallClock.milliseconds())
      let tag = Tag.deadLetter(ScheduleRepair(job), epoch: member.epoch)
      guard write(topics.deadLetters, key: record.key, record.value, headers, as: tag) else {
        return false
      }
      owed.letters.removeLast()
    }
    return true
  }
}
