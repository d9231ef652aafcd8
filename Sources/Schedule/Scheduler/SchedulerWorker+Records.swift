// SPDX-License-Identifier: Apache-2.0
import ConsumerGroup
import Contract
import EventLoop
import Kafka
import Records
import ScheduleDecisions
import ServiceKit
import Store

/// Records of the schedule, from the topic into the database and the machine's memory.
extension SchedulerWorker {
  /// - Returns: the number of records read.
  func readRecords(_ now: UInt64) -> Int {
    guard !member.isDraining else { return 0 }
    batch.begin(now: now)
    var count = 0
    if batch.unanswered == nil, batch.count < records.capacity {
      count = member.take(into: &records, upTo: records.capacity)
      for index in 0..<count { receive(records[index]) }
      records.release()
    }
    if batch.isDue(now: now, capacity: records.capacity) { apply(now) }
    return count
  }

  private func receive(_ record: KafkaRecord) {
    let source = member.source(record)
    if record.isEndOfPartition {
      batch.ends.append((source, record.offset))
      return batch.move(source.partition, to: record.offset)
    }
    if let error = record.error {
      return context.report(error, as: SchedulerLog.recordsNotRead)
    }
    batch.move(source.partition, to: record.offset + 1)
    let admission = member.admit(source, record)
    if admission == .known { return }
    do throws(RecordError) {
      guard admission == .new else {
        throw RecordError(record: "schedule", field: nil, problem: DeadLetter.crashed)
      }
      batch.take(
        try ScheduleJob(
          record, source, topics.audiences, now: WallClock.milliseconds(),
          isCaughtUp: machine.isCaughtUp(source.partition)))
    } catch {
      batch.take(ScheduleJob(unreadable: record, source, "\(error)"))
    }
  }

  /// Writes the batch to the database, now or, if that does not answer, later.
  private func apply(_ now: UInt64) {
    guard !batch.isEmpty else { return }
    // One for each share; none if nothing changes.
    var outcomes: [ScheduleOutcome] = []
    var isOwner = true
    let isDone = withDatabase(now) { () throws(StoreError) in
      guard batch.changes(positions) else { return }
      outcomes = []
      try store.transaction { () throws(StoreError) in
        var stored: [Int32: Int64] = [:]
        for share in batch.shares { stored[share.partition] = try store.position(share.partition) }
        if let unanswered = batch.unanswered, batch.isTaken(stored, over: positions) {
          outcomes = unanswered
          return
        }
        // Another owner has advanced: our records are older.
        isOwner = batch.shares.allSatisfy { stored[$0.partition] == positions[$0.partition] }
        guard isOwner else { return }
        for share in batch.shares {
          outcomes.append(try outcome(of: share))
          try store.setPosition(
            share.partition, max(share.position, positions[share.partition] ?? 0))
        }
        batch.unanswered = outcomes
      }
    }
    guard isDone else { return }
    guard isOwner else {
      return fail(
        "another process writes the schedule of our partitions;"
          + " the next start goes on with what the database has")
    }
    for (share, outcome) in zip(batch.shares, outcomes) { took(outcome, share.partition) }
    for (index, share) in batch.shares.enumerated() {
      finish(share, open: index < outcomes.count ? outcomes[index].open : [])
    }
    for end in batch.ends { member.ended(end.source, at: end.offset) }
    batch = ScheduleBatch()
  }

  private func outcome(of share: ScheduleBatch.Share) throws(StoreError) -> ScheduleOutcome {
    let partition = share.partition
    // A tombstone only needs what identifies the key's record, which memory has as well.
    if let ends = ScheduleOutcome(ends: share, over: { machine.row(partition, $0) }) {
      try store.remove(partition, ends.removed)
      return ends
    }
    var rows: [ExactText: ScheduleRow] = [:]
    var others: Set<ExactText> = []
    for job in share.jobs {
      if case .end = job.change, let row = machine.row(partition, job.key) {
        rows[job.key] = row
      } else {
        others.insert(job.key)
      }
    }
    for (key, entry) in try store.entries(partition, Array(others)) { rows[key] = entry.row }
    let outcome = ScheduleOutcome(share.jobs, over: rows)
    if !outcome.stored.isEmpty { try store.put(partition, outcome.stored) }
    if !outcome.removed.isEmpty { try store.remove(partition, outcome.removed) }
    return outcome
  }

  /// The database has what a partition's records have changed.
  private func took(_ outcome: ScheduleOutcome, _ partition: Int32) {
    for key in outcome.ended { removed(key, partition) }
    for entry in outcome.stored {
      machine.stored(entry.machineEntry(partition), bytes: entry.bytes)
      if entry.row.isCampaign { campaigns.stored(entry, partition) }
    }
    upkeep.hasRemoved = upkeep.hasRemoved || !outcome.removed.isEmpty
    for key in outcome.removed { removed(key, partition) }
    counters.add(.scheduled, outcome.scheduled)
    counters.add(.cancelled, outcome.cancelled)
    if outcome.handedBack > 0, counters[.handedBack] == 0 {
      context.log(SchedulerLog.requestEarly)
    }
    counters.add(.handedBack, outcome.handedBack)
    for key in outcome.startedAgain { reportStart(key) }
    owed.repairs += outcome.restored
    for job in outcome.refused {
      guard let record = job.refused else { continue }
      owed.letters.append(
        (ScheduleRepair(job), letter(record, from: job.source.partition, job.offset)))
    }
  }

  private func removed(_ key: ExactText, _ partition: Int32) {
    machine.removed(partition, key)
    campaigns.removed(key: key)
  }

  /// Completes the offsets of a partition's records, except those where a record must be rewritten first.
  private func finish(_ share: ScheduleBatch.Share, open: Set<Int64>) {
    positions[share.partition] = max(share.position, positions[share.partition] ?? 0)
    machine.read(share.partition, to: share.position)
    for job in share.jobs where !open.contains(job.offset) {
      member.completed(job.source, epoch: member.epoch, job.offset)
    }
  }

  private func reportStart(_ key: ExactText) {
    counters.add(.campaignsStartedAgain)
    context.log(
      SchedulerLog.campaignNameUsed,
      [
        "campaign": key.text,
        "remedy": "use another name, or wait until 30 days after the end of the first",
      ])
  }
}
