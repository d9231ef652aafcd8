// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Kafka
import ScheduleDecisions
import ServiceKit
import Store

/// Maintenance of the scheduler's database, besides records.
struct ScheduleUpkeep {
  /// The interval between two checks, in monotonic milliseconds.
  static let period: UInt64 = 2_000
  /// The interval between two truncations of a short write-ahead log.
  static let cutPeriod: UInt64 = 60_000

  var next: UInt64 = 0
  var nextCut: UInt64 = 0
  /// Whether entries were removed since the log was truncated: their requests are still in it.
  var hasRemoved = false
  /// Assigned partitions that the database has not yet recorded as complete.
  var unnoted: Set<Int32> = []
  /// Assigned partitions whose campaigns have not yet been read from the database.
  var unloaded: [Int32] = []
  /// Partitions whose recreated topics are still to be written, and the key after which to continue.
  var unwritten: [(partition: Int32, after: ExactText)] = []
  /// The number of records of them that Kafka has not acknowledged.
  var copies = 0
  /// Entries that Kafka has in another partition now, which are still in the database for the old one.
  var moved: [(partition: Int32, key: ExactText)] = []
  /// Partitions that the topic does not have any more, which the database still knows.
  var gone: Set<Int32> = []
  /// When to look for such partitions, in monotonic milliseconds.
  var nextSurvey = UInt64.max
  /// Until when end offsets are not waited for.
  var impatientUntil: UInt64 = 0
  /// Whether no copy waits for Kafka's acknowledgement, and no entry that has moved for its removal.
  var isIdle: Bool { copies == 0 && moved.isEmpty }
  /// Reads log ranges while partitions are taken over.
  var reader: OffsetRangeReader?

  mutating func begin(_ partitions: [Int32]) {
    (unnoted, unloaded) = (Set(partitions), partitions)
    unwritten = partitions.sorted().map { ($0, "") }
    (copies, gone) = (0, [])
    // What no partition owns any more is the business of the first one's owner.
    nextSurvey = partitions.contains(0) ? 0 : .max
    reader = nil
  }
}

extension SchedulerWorker {
  /// Checks every two seconds whether the database accepts writes and has what it took, and its log; records complete
  /// partitions at once.
  func lookAfterDatabase(_ now: UInt64) {
    let complete = upkeep.unnoted.filter { machine.isCaughtUp($0) }
    guard now >= upkeep.next || !complete.isEmpty else { return }
    upkeep.next = now + ScheduleUpkeep.period
    withDatabase(now) { () throws(StoreError) in
      try store.demandWritable()
      try demandPositions()
      for partition in complete { try store.setComplete(partition) }
      upkeep.unnoted.subtract(complete)
      guard let bytes = store.logBytes else { return }
      let isDue = upkeep.hasRemoved && now >= upkeep.nextCut
      if bytes > TokenStore.longLog || isDue, try store.cutLog() {
        (upkeep.hasRemoved, upkeep.nextCut) = (false, now + ScheduleUpkeep.cutPeriod)
      }
      counters.set(.databaseLogBytes, store.logBytes ?? 0)
    }
  }

  /// Ends the process if the database lacks records that it has taken: Kafka does not send those again, and what they
  /// schedule would never be sent.
  private func demandPositions() throws(StoreError) {
    let stored = try store.positions()
    for partition in machine.owned {
      guard let known = positions[partition], stored[partition] ?? 0 < known else { continue }
      return fail(
        "the database has partition \(partition) of the schedule up to offset"
          + " \(stored[partition] ?? 0) and had it up to \(known): a failover lost the rest, an older"
          + " copy took its place, or another process reads it anew; the next start reads what is"
          + " missing")
    }
  }

  // MARK: Topics that were made anew

  /// The end offset of a partition; nil if it cannot be determined within five seconds.
  func logEnd(of partition: Int32) -> Int64? {
    let place = TopicPartition(topic: topics.scheduleName, partition: partition)
    let began = MonotonicClock.milliseconds()
    // After one leader has not answered, the others are not waited for as long.
    let deadline = began + (began < upkeep.impatientUntil ? 100 : 5_000)
    var isAsked = false
    while MonotonicClock.milliseconds() < deadline, !context.signals.isStopping {
      if !isAsked, !watermarks.isAsked {
        watermarks.ask([place])
        isAsked = true
      }
      // An answer to an earlier question concerns partitions of an earlier assignment.
      if let answer = watermarks.drainAnswer(), isAsked {
        if let found = answer[place] { return found.high }
        isAsked = false
      }
      loop.beat()
      _ = loop.wait(20)
    }
    upkeep.impatientUntil = MonotonicClock.milliseconds() + 30_000
    return nil
  }

  /// Whether a partition's log has a different record at an offset that the database has read: the topic was recreated
  /// and has become as long as the old one. Blocks on Kafka.
  func hasAnotherRecord(_ partition: Int32) throws(StoreError) -> Bool {
    guard let entry = try store.firstRead(partition) else { return false }
    do throws(KafkaError) {
      let found = try record(partition, at: entry.row.offset)
      return ScheduleView.isAnotherLog(found: found, known: (entry.key, entry.row.identity))
    } catch {
      context.log(
        SchedulerLog.topicNotChecked,
        ["partition": "\(partition)", "offset": "\(entry.row.offset)", "error": "\(error)"])
      return false
    }
  }

  /// The key and the value's identity of the record at an offset; nil if there is none.
  private func record(
    _ partition: Int32, at offset: Int64
  ) throws(KafkaError) -> (key: ExactText, identity: Int64)? {
    let reader = if let known = upkeep.reader { known } else { try OffsetRangeReader(kafka) }
    upkeep.reader = reader
    var batch = KafkaBatch(capacity: 16)
    defer { batch.release() }
    let place = try reader.read(
      TopicPartition(topic: topics.scheduleName, partition: partition), offset..<offset + 1,
      timeoutMilliseconds: Self.recordPatience)
    let deadline = MonotonicClock.milliseconds() + UInt64(Self.recordPatience)
    while !reader.drainFinished().contains(place) {
      guard MonotonicClock.milliseconds() < deadline, !context.signals.isStopping else {
        upkeep.reader = nil
        throw KafkaError.invalid("no answer within \(Self.recordPatience) ms")
      }
      reader.poll(into: &batch, timeoutMilliseconds: 20)
      loop.beat()
    }
    guard batch.count > 0 else { return nil }
    return (
      String(decoding: batch[0].key, as: UTF8.self).exact,
      ScheduleRow.identity(of: batch[0].value)
    )
  }

  private static let recordPatience: Int32 = 5_000

  /// The partition's log is not the one that the database was read from: no topic has the database's entries. They are
  /// written there again before anything is sent.
  func renew(_ partition: Int32, _ position: Int64?, _ end: Int64?) throws(StoreError) {
    let entries = try store.entryCount(partition)
    try store.renew(partition)
    positions[partition] = 0
    context.log(
      SchedulerLog.topicRecreated,
      [
        "partition": "\(partition)", "entries": "\(entries)", "has": "\(position ?? 0)",
        "ends": "\(end ?? 0)",
      ])
  }

  /// Writes the entries that recreated topics lack; false when that has to continue later.
  ///
  /// Waits until a partition has been read to its end, to know what was rewritten before. Nothing of it is released
  /// until all is written: otherwise an entry that was sent would stand behind its own tombstone.
  ///
  /// A topic that was made anew with another number of partitions has a key in another partition: the old entry is
  /// removed once Kafka has the new record.
  func writeAgain(_ now: UInt64) -> Bool {
    endMoves(now)
    guard !member.isDraining else { return true }
    lookForGonePartitions(now)
    for place in upkeep.unwritten.indices.reversed()
    where machine.isCaughtUp(readFirst(of: upkeep.unwritten[place].partition)) {
      while true {
        let (partition, key) = upkeep.unwritten[place]
        var entries: [ScheduledEntry] = []
        let isFound = withDatabase(now) { () throws(StoreError) in
          entries = try store.unwritten(partition, after: key, limit: 100)
        }
        guard isFound else { return false }
        if entries.isEmpty { break }
        for entry in entries {
          guard write(again: entry, of: partition) else { return false }
          upkeep.unwritten[place].after = entry.key
        }
      }
      upkeep.unwritten.remove(at: place)
    }
    return true
  }

  private func write(again entry: ScheduledEntry, of partition: Int32) -> Bool {
    let isTaken = write(
      topics.schedule, key: Array(entry.key.utf8), Array(entry.value.utf8),
      as: .again(partition, entry.key, round: round))
    if isTaken {
      upkeep.copies += 1
      counters.add(.writtenAgain)
    }
    return isTaken
  }

  /// Kafka has an entry that was written again.
  ///
  /// - Parameter place: the partition in which it stands.
  func wroteAgain(_ key: ExactText, of partition: Int32, to place: Int32, round: Int) {
    if round == self.round { upkeep.copies -= 1 }
    // In the same partition it is read back.
    if ScheduleView.isMoved(from: partition, to: place) { upkeep.moved.append((partition, key)) }
  }

  /// Removes the old entries of what stands in another partition, and then the partitions that are gone.
  private func endMoves(_ now: UInt64) {
    if !upkeep.moved.isEmpty {
      let isDone = withDatabase(now) { () throws(StoreError) in
        try store.transaction { () throws(StoreError) in
          for (partition, key) in upkeep.moved { try store.removeUnwritten(partition, key) }
        }
      }
      guard isDone else { return }
      (upkeep.moved, upkeep.hasRemoved) = ([], true)
    }
    guard !upkeep.gone.isEmpty, upkeep.copies == 0,
      !upkeep.unwritten.contains(where: { upkeep.gone.contains($0.partition) })
    else { return }
    let isDone = withDatabase(now) { () throws(StoreError) in
      for partition in upkeep.gone { try store.forget(partition) }
    }
    if isDone { upkeep.gone = [] }
  }

  /// The partition that has to be read to its end before this one's entries are written again.
  private func readFirst(of partition: Int32) -> Int32 {
    upkeep.gone.contains(partition) ? 0 : partition
  }

  /// Looks for partitions that the topic had before it was made anew with fewer of them: nobody is assigned them, so the
  /// owner of partition 0 writes what the database has of them. Blocks on Kafka, if there are others than its own.
  private func lookForGonePartitions(_ now: UInt64) {
    guard now >= upkeep.nextSurvey, machine.isCaughtUp(0) else { return }
    upkeep.nextSurvey = now + ScheduleUpkeep.period
    let owned = machine.owned
    var known: [Int32] = []
    let isRead = withDatabase(now) { () throws(StoreError) in known = try store.partitions() }
    guard isRead else { return }
    guard known.contains(where: { !owned.contains($0) }) else {
      upkeep.nextSurvey = .max
      return
    }
    guard let count = partitionCount(),
      let gone = ScheduleView.gone(known: known, owned: owned, count: count)
    else { return }
    var entries: [Int32: Int] = [:]
    let isDone = withDatabase(now) { () throws(StoreError) in
      for partition in gone {
        entries[partition] = try store.entryCount(partition)
        try store.renew(partition)
      }
    }
    guard isDone else { return }
    upkeep.nextSurvey = .max
    upkeep.gone = Set(gone)
    for partition in gone {
      upkeep.unwritten.append((partition, ""))
      context.log(
        SchedulerLog.partitionGone,
        [
          "partition": "\(partition)", "entries": "\(entries[partition] ?? 0)",
          "partitions": "\(count)",
        ])
    }
  }

  /// How many partitions the topic has; nil without an answer.
  private func partitionCount() -> Int? {
    guard let admin = try? KafkaAdmin(kafka) else { return nil }
    defer { admin.close() }
    loop.beat()
    return (try? admin.topicSize(topics.scheduleName, timeoutMilliseconds: 2_000))?.partitions
  }
}
