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

  /// Ends a request that cannot be processed: it becomes a dead letter, and its tombstone follows when Kafka has that.
  ///
  /// - Parameter size: why its topic does not take it; nil if it has crashed the process.
  /// - Returns: false when the producer's queue is full.
  func bury(_ slot: Int, _ size: String? = nil) -> Bool {
    let entry = machine.entry(slot)
    let record = UnreadableRecord(
      reason: size == nil ? .invalidSchedule : .recordTooLarge, detail: size ?? DeadLetter.crashed,
      key: Array(entry.key.utf8), value: Array(entry.content.utf8))
    let letter = letter(record, from: entry.partition, entry.row.offset)
    let isOver = size == nil || endStart(entry.content)
    if isOver, bury(slot, in: letter) { return true }
    machine.postponed(slot)
    return false
  }

  /// Kafka has the dead letter of an entry. What is left is the entry's tombstone, as of a released one.
  func buried(_ slot: Int, in letter: OutgoingLetter) {
    let entry = machine.entry(slot)
    noteUnreadable(letter, of: entry.partition, entry.row.offset)
    machine.released(slot)
  }

  /// Kafka has a dead letter: counted here, as one that it does not get is written anew, perhaps by another process.
  func noteUnreadable(_ letter: OutgoingLetter, of partition: Int32, _ offset: Int64) {
    counters.add(.unreadable)
    context.log(
      SchedulerLog.recordUnreadable,
      [
        "partition": "\(partition)", "offset": "\(offset)",
        "problem": DeadLetter(letter.headers).detail,
      ])
  }

  private func bury(_ slot: Int, in letter: OutgoingLetter) -> Bool {
    write(letter) { .buried(slot: slot, round: round, $0) }
  }

  func letter(
    _ record: UnreadableRecord, from partition: Int32, _ offset: Int64
  ) -> OutgoingLetter {
    let place = TopicPartition(topic: topics.scheduleName, partition: partition)
    return OutgoingLetter(
      key: record.key, value: record.value,
      headers: record.headers(by: .scheduler, from: place, offset, at: WallClock.milliseconds()))
  }

  /// Hands a dead letter to Kafka's client, with less of its record where that takes none of its size.
  ///
  /// - Returns: false when the queue is full or the service has failed.
  private func write(_ letter: OutgoingLetter, as tag: (OutgoingLetter) -> Tag) -> Bool {
    var letter = letter
    while true {
      do throws(KafkaError) {
        return try producer.produce(
          topics.deadLetters, key: letter.key, value: letter.value, headers: letter.headers,
          as: tag(letter))
      } catch {
        guard error.isOfSize, let shorter = letter.cut() else {
          fail("\(error)")
          return false
        }
        letter = shorter
      }
    }
  }

  /// Writes a dead letter again that is too large for its topic, with less of its record.
  ///
  /// - Returns: false where that does not help.
  func cut(_ tag: Tag) -> Bool {
    switch tag {
    case .buried(let slot, let round, let letter):
      guard let shorter = letter.cut() else { return false }
      if round == self.round, !bury(slot, in: shorter) { machine.postponed(slot) }
    case .deadLetter(let repair, let epoch, let letter):
      guard let shorter = letter.cut() else { return false }
      if epoch == member.epoch { owed.letters.append((repair, shorter)) }
    default: return false
    }
    return true
  }

  /// Writes the dead letters of unreadable records; false when the producer's queue is full.
  func writeDeadLetters() -> Bool {
    while let (repair, letter) = owed.letters.last {
      guard write(letter, as: { .deadLetter(repair, epoch: member.epoch, $0) }) else {
        return false
      }
      owed.letters.removeLast()
    }
    return true
  }
}
