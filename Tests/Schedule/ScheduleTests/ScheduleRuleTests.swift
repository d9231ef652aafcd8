// SPDX-License-Identifier: Apache-2.0
import Contract
import Testing

/// What one record of the schedule means for its key.
@Suite struct ScheduleRuleTests {
  private static let entry = ScheduleRow(
    offset: 10, identity: 1, kind: .request(due: 5_000, written: 100))
  private static let cancelled = ScheduleRow(
    offset: 20, identity: 2, kind: .cancellation(at: 200, keptUntil: 9_000))

  private static func request(
    due: Int64 = 9_000, written: Int64, identity: Int64 = 5
  ) -> ScheduleChange {
    .value(.request(due: due, written: written), identity: identity)
  }

  @Test func `partitions are gone beyond the count of a topic, if that can be right`() {
    #expect(ScheduleView.gone(known: [0, 1, 2, 5], owned: [0], count: 2) == [2, 5])
    #expect(ScheduleView.gone(known: [0, 1], owned: [0], count: 2) == [])
    #expect(ScheduleView.gone(known: [0, 1, 2], owned: [0, 2], count: 2) == nil)
    #expect(ScheduleView.gone(known: [0, 1], owned: [], count: 0) == nil)
    #expect(ScheduleView.isMoved(from: 3, to: 0) && !ScheduleView.isMoved(from: 3, to: 3))
    #expect(!ScheduleView.isMoved(from: 3, to: -1), "nobody says where it stands")
  }

  @Test func `a later request with the same key replaces the earlier one`() {
    let row = ScheduleRow(offset: 11, identity: 3, kind: .request(due: 7_000, written: 150))
    let later = Self.request(due: 7_000, written: 150, identity: 3)
    #expect(later.verdict(at: 11, over: Self.entry) == .store(row))
    #expect(later.verdict(at: 11, over: nil) == .store(row))
  }

  @Test func `a record that was read before changes nothing`() {
    for change in [
      Self.request(due: 1, written: 1, identity: 1), .cancellation(at: 1, identity: 4),
      .end(of: nil), .end(of: 99),
    ] {
      #expect(change.verdict(at: 10, over: Self.entry) == .ignore)
      #expect(change.verdict(at: 9, over: Self.entry) == .ignore)
    }
  }

  @Test
  func
    `a cancellation counts for requests that were written before it, also when they arrive after it`()
  {
    guard
      case .store(let row) = ScheduleChange.cancellation(at: 200, identity: 4).verdict(
        at: 20, over: Self.entry)
    else { return #expect(Bool(false)) }
    let keptUntil = 200 + ScheduleChange.cancellationKept
    #expect(row.kind == .cancellation(at: 200, keptUntil: keptUntil) && row.due == keptUntil)
    #expect(Self.request(written: 200).verdict(at: 21, over: row) == .restore)
    let anew = ScheduleRow(offset: 21, identity: 5, kind: .request(due: 9_000, written: 201))
    #expect(Self.request(written: 201).verdict(at: 21, over: row) == .store(anew))
  }

  @Test func `of two cancellations both count, whichever comes last`() {
    for times in [(200, 100), (100, 200)] as [(Int64, Int64)] {
      var row: ScheduleRow?
      for (offset, at) in [(20, times.0), (21, times.1)] as [(Int64, Int64)] {
        let verdict = ScheduleChange.cancellation(at: at, identity: at).verdict(
          at: offset, over: row)
        guard case .store(let stored) = verdict else { return #expect(Bool(false)) }
        row = stored
      }
      #expect(row?.offset == 21 && row?.due == 200 + ScheduleChange.cancellationKept)
      #expect(row?.identity == times.1, "that of the record that stands last on the topic")
      #expect(Self.request(written: 150).verdict(at: 22, over: row) == .restore)
    }
  }

  @Test func `a cancellation counts as of the canceller's clock, whatever that of its reader says`()
  {
    // The reader's clock is a second behind, and it reads the cancellation first.
    let cancellation = ScheduleChange.cancellation(at: 200, keptFrom: -800, identity: 4)
    guard case .store(let row) = cancellation.verdict(at: 20, over: nil) else {
      return #expect(Bool(false))
    }
    #expect(row.due == ScheduleChange.cancellationKept - 800)
    let late = ScheduleChange.request(
      due: 9_000, accepted: 190, requeuedAt: nil, now: -700, isCaughtUp: true, identity: 5)
    #expect(late == Self.request(written: -700) && late.verdict(at: 21, over: row) == .restore)
    // By then its clock was set.
    #expect(Self.request(written: 190).verdict(at: 21, over: row) == .restore)
  }

  @Test func `a request that is read again does not replace what was handed back of it`() {
    // Released at 300, handed back, and read again by an ingest that came after a crash; then the first one's end comes.
    let back = ScheduleChange.request(
      due: 9_000, accepted: 100, requeuedAt: 290, now: 300, isCaughtUp: false, identity: 2)
    guard case .store(let row) = back.verdict(at: 11, over: Self.entry) else {
      return #expect(Bool(false))
    }
    let requeue = Requeue(written: 100, at: 290)
    #expect(row.kind == .handedBack(due: 9_000, requeue, read: 300))
    let again = Self.request(due: 5_000, written: 100, identity: 1)
    #expect(again.verdict(at: 12, over: row) == .restore)
    #expect(ScheduleChange.end(of: 1).verdict(at: 13, over: row) == .restore)
    #expect(back.verdict(at: 14, over: row) != .restore)
  }

  @Test func `what replaces a request that was handed back counts, however late both are read`() {
    // A scheduler with a new database reads them long after they were written.
    let back = ScheduleChange.request(
      due: 9_000, accepted: 100, requeuedAt: 290, now: 5_000, isCaughtUp: false, identity: 2)
    guard case .store(let row) = back.verdict(at: 11, over: nil) else {
      return #expect(Bool(false))
    }
    let anew = ScheduleRow(offset: 12, identity: 3, kind: .request(due: 7_000, written: 300))
    let request = Self.request(due: 7_000, written: 300, identity: 3)
    #expect(request.verdict(at: 12, over: row) == .store(anew))
    #expect(back.verdict(at: 13, over: anew) == .restore)
  }

  @Test func `what was handed back last counts, whatever comes behind it`() {
    func back(_ written: Int64, at: Int64, identity: Int64) -> ScheduleChange {
      .request(
        due: 9_000, accepted: written, requeuedAt: at, now: 300, isCaughtUp: false,
        identity: identity)
    }
    guard case .store(let row) = back(100, at: 290, identity: 3).verdict(at: 12, over: Self.entry)
    else { return #expect(Bool(false)) }
    // A copy of what was handed back before, whose end may be on its way, and the same one.
    #expect(back(100, at: 250, identity: 2).verdict(at: 13, over: row) == .restore)
    #expect(back(100, at: 290, identity: 3).verdict(at: 14, over: row) != .restore)
    #expect(back(100, at: 291, identity: 4).verdict(at: 14, over: row) != .restore)
    // The request was replaced before it was handed back.
    let replaced = ScheduleRow(offset: 11, identity: 5, kind: .request(due: 7_000, written: 150))
    #expect(back(100, at: 290, identity: 3).verdict(at: 12, over: replaced) == .restore)
    #expect(back(150, at: 290, identity: 3).verdict(at: 12, over: replaced) != .restore)
    var other = row
    other.kind = .handedBack(due: 9_000, Requeue(written: 150, at: 200), read: 300)
    #expect(back(100, at: 290, identity: 3).verdict(at: 13, over: other) == .restore)
  }

  @Test func `a record says when it was handed back`() {
    let value = "S1\t9000\t100\t290\t\n{\"id\":\"a\\tb\"}"
    #expect(Requeue(value: value.utf8.span) == Requeue(written: 100, at: 290))
    for value in [
      "S1\t9000\t100\t\t\n{}", "C1\t100\tann\tb\tc\n", "S1\t1\n\t2\t3\t4", "", "S1\t1\tx\t2\t\n",
    ] {
      #expect(Requeue(value: value.utf8.span) == nil)
    }
  }

  @Test func `the record of a campaign that is written again is not written once more`() {
    func record(_ revision: Int64, identity: Int64) -> ScheduleChange {
      .value(.campaign(revision: revision), identity: identity)
    }
    let row = ScheduleRow(offset: 10, identity: 1, kind: .campaign(revision: 3))
    // Another one of the same revision, by an owner that went on: the first one counts, and is written again behind it.
    #expect(record(3, identity: 2).verdict(at: 11, over: row) == .restore)
    let again = ScheduleRow(offset: 12, identity: 1, kind: row.kind)
    #expect(record(3, identity: 1).verdict(at: 12, over: row) == .store(again))
    #expect(record(2, identity: 1).verdict(at: 13, over: row) == .restore)
  }

  @Test func `a tombstone of a release ends nothing that was written after the request`() {
    #expect(ScheduleChange.end(of: 1).verdict(at: 30, over: Self.entry) == .remove)
    #expect(ScheduleChange.end(of: 7).verdict(at: 30, over: Self.entry) == .restore)
    #expect(ScheduleChange.end(of: 1).verdict(at: 30, over: Self.cancelled) == .restore)
    #expect(ScheduleChange.end(of: nil).verdict(at: 30, over: Self.entry) == .remove)
    #expect(ScheduleChange.end(of: 10).verdict(at: 30, over: nil) == .ignore)
  }

  @Test func `a database that lacks what the group has committed is read again`() {
    #expect(ScheduleView.isComplete(position: 10, committed: 10))
    #expect(ScheduleView.isComplete(position: 12, committed: 10))
    #expect(!ScheduleView.isComplete(position: 9, committed: 10))
    #expect(!ScheduleView.isComplete(position: nil, committed: 10))
    #expect(!ScheduleView.isComplete(position: 10, committed: nil))
  }

  @Test func `what ingest hands back waits for as long as ingest's clock says, within bounds`() {
    func release(_ requeuedAt: Int64?, _ isCaughtUp: Bool = true) -> Int64 {
      ScheduleView.release(
        due: 1_000_000, requeuedAt: requeuedAt, now: 4_600_000, isCaughtUp: isCaughtUp)
    }
    #expect(release(nil) == 1_000_000)
    #expect(release(990_000) == 4_610_000)
    #expect(release(999_999) == 4_601_000)
    #expect(release(0) == 4_900_000)
    #expect(release(990_000, false) == 1_000_000)
  }

  /// Every order in which a producer, a cancellation and the scheduler's tombstone can meet on the topic, read with any
  /// crash between: what the topic says after compaction, and what the database says, are the same in the end.
  @Test func `the database and the compacted topic agree in the end, whatever is read again`() {
    let changes: [ScheduleChange] = [
      Self.request(due: 5, written: 1, identity: 1), Self.request(due: 6, written: 3, identity: 2),
      .cancellation(at: 2, identity: 3), .end(of: 1), .end(of: 2), .end(of: nil),
    ]
    for first in changes {
      for second in changes {
        for third in changes {
          for crash in 0..<4 {
            var topic = [first, second, third]
            let row = run(&topic, crashAfter: crash)
            let newest = topic.last.map { change -> Bool in
              if case .end = change { false } else { true }
            }
            // Whatever counts stands last on the topic.
            #expect(newest == (row != nil) || row == nil, "\(topic) \(String(describing: row))")
            if let row { #expect(row.offset == Int64(topic.count - 1), "\(topic)") }
          }
        }
      }
    }
  }

  /// Reads a topic with one key; a record that is to be written again is added at its end.
  private func run(_ topic: inout [ScheduleChange], crashAfter: Int) -> ScheduleRow? {
    var row: ScheduleRow?
    var written: ScheduleChange?
    var next = 0
    var hasCrashed = false
    while next < topic.count, topic.count < 20 {
      let change = topic[next]
      switch change.verdict(at: Int64(next), over: row) {
      case .store(let new): (row, written) = (new, change)
      case .remove: row = nil
      case .restore: if let written { topic.append(written) }
      case .ignore: break
      }
      next += 1
      if next == crashAfter, !hasCrashed { (next, hasCrashed) = (0, true) }
    }
    return row
  }
}
