// SPDX-License-Identifier: Apache-2.0
import ConsumerGroup
import Contract
import Kafka
import LabCommand
import Records
import Testing

@testable import ChaosSuite

/// Planted errors in committed offsets and in the offset maps with them.
@Suite struct CommitAuditTests {
  private let auditor = Auditor()
  private let partition = TopicPartition(topic: "push.notifications", partition: 2)

  /// Records 0 to 9, all requested; those in `closed` have a dead letter.
  private func records(closed: Set<Int64>) -> TopicReaders.LaneLog {
    var log = TopicReaders.LaneLog()
    for offset in 0..<10 as Range<Int64> {
      let id = NotificationID(high: 7, low: UInt64(offset))
      auditor.ledger.produced(partition: 0, offset: offset, ids: [id])
      log.offsets.append(offset)
      log.ids.append(id)
      log.end = offset + 1
      guard closed.contains(offset) else { continue }
      auditor.deadLetter(nil, id: id, isOneToken: false, isRequest: false, reason: "x")
    }
    return log
  }

  private func committed(_ offset: Int64, _ runs: Range<Int64>...) throws -> CommittedOffset {
    let map = runs.isEmpty ? "" : try #require(OffsetMap.encode(of: partition, base: offset, runs))
    return CommittedOffset(partition, offset: offset, metadata: Array(map.utf8))
  }

  @Test func `a map whose records all ended is believed, and they are counted`() throws {
    var log = records(closed: [0, 1, 3, 4, 7])
    let finding = CommitAudit.judge(try committed(2, 3..<5, 7..<8), &log, auditor)
    #expect(finding.problems == [])
    #expect(finding.mapped == 3)
    #expect(log.checked == 2)
  }

  @Test func `a map must not call completed what is open`() throws {
    var log = records(closed: [0, 1, 3, 4])
    let finding = CommitAudit.judge(try committed(2, 3..<5, 7..<8), &log, auditor)
    #expect(finding.problems.count == 1)
    #expect(finding.problems.first?.contains("calls completed 7, which is open") == true)
  }

  @Test func `an offset must not pass what is open, and is not judged twice for it`() throws {
    var log = records(closed: [0, 2])
    #expect(CommitAudit.judge(try committed(3), &log, auditor).problems.count == 1)
    #expect(CommitAudit.judge(try committed(3), &log, auditor).problems == [])
    #expect(CommitAudit.judge(try committed(4), &log, auditor).problems.count == 1)
  }

  @Test func `a map must not speak of records that are not there`() throws {
    var log = records(closed: Set(0..<10))
    #expect(CommitAudit.judge(try committed(2, 3..<10), &log, auditor).problems == [])
    let finding = CommitAudit.judge(try committed(2, 3..<11), &log, auditor)
    #expect(finding.problems.first?.contains("records end at 10") == true)
  }

  @Test func `a map of another offset, or cut off, is a problem and not a map`() throws {
    var log = records(closed: Set(0..<10))
    let map = Array(try #require(OffsetMap.encode(of: partition, base: 2, [3..<5])).utf8)
    for (offset, text) in [(1, map), (2, Array(map.dropLast()))] as [(Int64, [UInt8])] {
      let entry = CommittedOffset(partition, offset: offset, metadata: text)
      #expect(CommitAudit.judge(entry, &log, auditor).problems.count == 1)
    }
  }
}
