// SPDX-License-Identifier: Apache-2.0
import Contract
import Records
import ScheduleDecisions
import Store

extension ScheduledEntry {
  /// The request with the time in its record.
  ///
  /// - Parameter now: milliseconds since the epoch.
  func withOwnTime(at now: Int64) -> ScheduledEntry {
    var (row, text) = (row, value)
    let record = text.withUTF8 { try? ScheduleRecord(UnsafeRawBufferPointer($0)) }
    let due = if case .request(let request) = record { request.due } else { row.due }
    row.kind = row.kind.mended(due: due, now: now) ?? row.kind
    return ScheduledEntry(key: key, row: row, value: value)
  }

  func machineEntry(_ partition: Int32) -> ScheduleMachine.Entry {
    .init(partition: partition, key: key, row: row, content: value)
  }
}
