// SPDX-License-Identifier: Apache-2.0
import ConsumerGroup
import Contract
import Kafka
import Records
import Schedule
import Store

/// One record of the schedule as it was read; a copy, so that Kafka's memory is free while it waits for the database.
struct ScheduleJob {
  let source: Source
  let offset: Int64
  let key: String
  let change: ScheduleChange
  /// The record's value; empty for a tombstone.
  let value: String
  /// Whether ingest has handed the request back.
  var isHandedBack = false
}

/// The records that were taken and are not in the database yet.
struct ScheduleBatch {
  /// In the order in which they were read.
  var jobs: [Int32: [ScheduleJob]] = [:]
  /// The next offset to read of each partition that has moved.
  var positions: [Int32: Int64] = [:]
  /// Partitions that were read to their ends, there.
  var ends: [(source: Source, offset: Int64)] = []
  /// Records that are none of the schedule.
  var unreadable: [(source: Source, offset: Int64)] = []
  var isEmpty: Bool { positions.isEmpty }

  /// Whether the database has anything to take, given the positions that it has.
  func changes(_ known: [Int32: Int64]) -> Bool {
    !jobs.isEmpty || positions.contains { known[$0.key] ?? -1 < $0.value }
  }

  mutating func take(_ job: ScheduleJob) {
    jobs[job.source.partition, default: []].append(job)
    move(job.source.partition, to: job.offset + 1)
  }

  mutating func move(_ partition: Int32, to position: Int64) {
    positions[partition] = max(position, positions[partition] ?? 0)
  }
}

extension ScheduleJob {
  /// Reads a record.
  ///
  /// - Parameters:
  ///   - now: milliseconds since the epoch.
  ///   - isCaughtUp: whether its partition has been read to the end before.
  init(
    _ record: KafkaRecord, _ source: Source, now: Int64, isCaughtUp: Bool
  ) throws(RecordError) {
    guard let key = String(validating: record.key, as: UTF8.self), ScheduleKey(key) != nil else {
      throw RecordError(
        record: "schedule", field: "key", problem: "is not <app>:<environment>:<id>")
    }
    self.key = key
    self.source = source
    offset = record.offset
    guard record.value.baseAddress != nil else {
      value = ""
      let header = record.header(named: ScheduleRecord.endsHeader)
      change = .end(of: header.flatMap { Int64(String(decoding: $0, as: UTF8.self)) })
      return
    }
    guard let text = String(validating: record.value, as: UTF8.self) else {
      throw RecordError(record: "schedule", field: nil, problem: "is not UTF-8")
    }
    value = text
    let identity = ScheduleRow.identity(of: record.value)
    switch try ScheduleRecord(record.value) {
    case .cancellation(let cancellation):
      change = .cancellation(at: min(cancellation.at, now), identity: identity)
    // Kept as long as a cancellation, and never sent by itself.
    case .activity(let state):
      change = .cancellation(at: min(state.sentAt, now), identity: identity)
    case .request(let request):
      isHandedBack = request.handedBackAt != nil
      change = .request(
        due: ScheduleView.release(
          due: request.due, handedBackAt: request.handedBackAt, now: now, isCaughtUp: isCaughtUp),
        accepted: min(request.accepted, now), identity: identity)
    }
  }
}

/// The consequences of one partition's records, in their order.
struct ScheduleOutcome {
  /// The last state of each key that has changed; nil for nothing.
  var changed: [String: ScheduledEntry?] = [:]
  /// What is to be written again, by the records that make it necessary.
  var restored: [(entry: ScheduledEntry, job: ScheduleJob)] = []
  var scheduled = 0
  var cancelled = 0
  var handedBack = 0

  /// - Parameter rows: what the database has of the keys.
  init(_ jobs: [ScheduleJob], over rows: [String: ScheduledEntry]) {
    for job in jobs {
      let current = changed[job.key] ?? rows[job.key]
      switch job.change.verdict(at: job.offset, over: current?.row) {
      case .ignore: break
      case .store(let row):
        changed[job.key] = .some(ScheduledEntry(key: job.key, row: row, value: job.value))
        if !row.isCancellation { scheduled += 1 }
        if job.isHandedBack { handedBack += 1 }
        if row.isCancellation, current?.row.isCancellation == false { cancelled += 1 }
      case .remove: changed.updateValue(nil, forKey: job.key)
      case .restore:
        if let current { restored.append((current, job)) }
        if case .request = job.change { cancelled += 1 }
      }
    }
  }

  var stored: [ScheduledEntry] { changed.values.compactMap(\.self) }
  var removed: [String] { changed.filter { $0.value == nil }.map(\.key) }
}
